// The simulator: what goes into its members, and what comes out of them.

#include <algorithm>

#include "transport/simulator_impl.h"

namespace nekton {
namespace {

constexpr std::size_t kDatagramOverhead = 256;  // bytes that a socket buffer counts on top of each
constexpr Duration kStuckDelay = std::chrono::milliseconds(1);

}  // namespace

Outbox& Simulator::Impl::Borrow(bool with_events) {
  auto& pool = outboxes_[with_events];
  std::size_t& borrowed = borrowed_[with_events];
  if (borrowed == pool.size()) pool.push_back(std::make_unique<Outbox>(with_events));
  return *pool[borrowed++];
}

void Simulator::Impl::Over(Process& process) {
  if (process.leaving) {
    Stop(process, SimState::kLeft, Port::kRefuses);
  } else {
    process.displaced = true;
  }
}

void Simulator::Impl::Reschedule(Process& process) {
  if (!process.member || (process.paused && !process.blocked())) return;
  Duration at = process.clock.When(process.member->NextWake());
  if (at != Duration::max()) at = std::max(at + process.slowness.wake, now_);
  if (at == process.wake_at) return;
  process.wake_at = at;
  if (at == Duration::max()) {
    wakes_.Cancel(process.id);
  } else {
    wakes_.Set(process.id, Instant(at));
  }
}

void Simulator::Impl::Wake(Process& process) {
  ++counters_.wakes;
  bool stuck = false;
  Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
    member.Wake(now, out);
    stuck = member.NextWake() <= now.boot;
  });
  if (!stuck) return;
  ++counters_.stuck_wakes;
  if (process.member && process.wake_at <= now_) {  // time must go on
    process.wake_at = now_ + kStuckDelay;
    wakes_.Set(process.id, Instant(process.wake_at));
  }
}

void Simulator::Impl::Land(std::uint32_t slot) {
  Flight& flight = flights_[slot];
  switch (flight.kind) {
    case FlightKind::kDatagram:
      return LandDatagram(slot);
    case FlightKind::kServe:
    case FlightKind::kAnswer:
    case FlightKind::kTrouble:
    case FlightKind::kStored: {
      Process& process = *processes_[flight.to];
      if (process.member && process.life == flight.life) return Arrive(slot, process);
      return flights_.Free(slot);
    }
    case FlightKind::kSegment: {
      const std::uint64_t handle = flight.handle;
      const auto step = static_cast<SimStreams::Step>(flight.code);
      flights_.Free(slot);
      return streams_.Advance(handle, step);
    }
    case FlightKind::kLookup: {
      Process& process = *processes_[flight.to];
      const bool goes_on = process.member && process.life == flight.life;
      flights_.Free(slot);
      if (goes_on) JoinSeeds(process);
      return;
    }
    case FlightKind::kAction: {
      const std::uint64_t index = flight.handle;
      flights_.Free(slot);
      return RunAction(index);
    }
    case FlightKind::kConnect:
    case FlightKind::kReply:
      return;  // never in the air
  }
}

void Simulator::Impl::LandDatagram(std::uint32_t slot) {
  const Flight& flight = flights_[slot];
  const SimId owner = Owner(flight.to_address);
  if (owner == kNobody) return DropFlight(slot, owner, Drop::kNoListener);
  Process& process = *processes_[owner];
  if (!process.member || (flight.late && flight.life != process.life)) {
    return DropFlight(slot, owner, Drop::kNoListener);
  }
  Arrive(slot, process);
}

void Simulator::Impl::DropFlight(std::uint32_t slot, SimId to, Drop why) {
  ++counters_.dropped[static_cast<std::size_t>(why)];
  if (tap_) {
    const Flight flight = flights_[slot];  // the tap may launch others
    Tell(SimDatagram::Moment::kDropped, why, flight.from, to, flight.from_address, flight.to_address, flight.bytes);
  }
  flights_.Free(slot);
}

// An input has reached the member's machine.
void Simulator::Impl::Arrive(std::uint32_t slot, Process& process) {
  if (process.paused) return Keep(slot, process);
  if (process.slow && !flights_[slot].late) {
    const Duration wait = process.slowness.fixed + Exponential(slow_random_, process.slowness.random);
    flights_[slot].late = true;
    flights_[slot].life = process.life;
    return flights_.Launch(slot, now_ + wait);
  }
  Handle(slot, process);
}

void Simulator::Impl::Keep(std::uint32_t slot, Process& process) {
  if (flights_[slot].kind == FlightKind::kDatagram) {
    if (!process.pause.keep_input) return DropFlight(slot, process.id, Drop::kPaused);
    const std::size_t cost = flights_[slot].bytes.size() + kDatagramOverhead;
    if (process.inbox_bytes + cost > options_.socket_buffer) return DropFlight(slot, process.id, Drop::kBuffer);
    process.inbox_bytes += cost;
  }
  process.inbox.push_back(slot);
}

void Simulator::Impl::Release(Process& process) {
  const std::uint32_t life = process.life;
  const auto goes_on = [&] { return process.member && process.life == life; };
  std::vector<std::uint32_t> held = std::move(process.held);
  std::vector<std::uint32_t> inbox = std::move(process.inbox);
  process.held.clear();
  process.inbox.clear();
  process.held_bytes = process.inbox_bytes = 0;
  for (const std::uint32_t slot : held) {
    Flight flight = std::move(flights_[slot]);
    flights_.Free(slot);
    if (!goes_on()) continue;
    switch (flight.kind) {
      case FlightKind::kConnect:
        streams_.Connect(flight.handle);
        break;
      case FlightKind::kReply:
        streams_.Reply(flight.handle, std::move(flight.bytes));
        break;
      default:
        Transmit(process, flight.to_address, flight.bytes);
        break;
    }
  }
  if (goes_on() && !process.paused) HoldProbes(process, false);  // its prober looks at the clock before it reads
  if (goes_on() && !process.paused) HearRegister(process);
  for (const std::uint32_t slot : inbox) {
    if (goes_on()) {
      Arrive(slot, process);  // which keeps it, if a callback has paused the member again
    } else {
      flights_.Free(slot);
    }
  }
}

void Simulator::Impl::Drain(Process& process, Outbox& out) {
  const std::uint32_t life = process.life;
  const auto goes_on = [&] { return process.member && process.life == life; };
  for (const Outbox::Datagram& datagram : out.datagrams()) {
    if (!goes_on()) return;
    Send(process, datagram.to, out.bytes(datagram));
  }
  for (Outbox::Request& request : out.requests()) {
    if (!goes_on()) return;
    OpenStream(process, std::move(request));
  }
  for (Outbox::Reply& reply : out.replies()) {
    if (!goes_on()) return;
    AnswerStream(process, reply.id, std::move(reply.bytes));
  }
  for (const Outbox::Store& store : out.stores()) Write(process, store);
  for (const Event& event : out.events()) {
    if (!goes_on()) return;
    Log(process, event);
  }
  for (const Mail& mail : out.mail()) {
    if (!goes_on()) return;
    Hand(process, mail);
  }
}

void Simulator::Impl::SendOut(Process& process, const Address& to, std::span<const std::byte> bytes) {
  if (process.sends_fail) {
    ++counters_.dropped[static_cast<std::size_t>(Drop::kSendFailed)];
    const std::uint32_t slot = flights_.New();
    Flight& flight = flights_[slot];
    flight.kind = FlightKind::kTrouble;
    flight.code = static_cast<std::uint8_t>(Trouble::kSendFailed);
    flight.to = process.id;
    flight.life = process.life;
    flight.to_address = to;
    return flights_.Launch(slot, now_);
  }
  if (process.paused) return Hold(process, FlightKind::kDatagram, to, 0, bytes);
  Transmit(process, to, bytes);
}

void Simulator::Impl::Hold(Process& process, FlightKind kind, const Address& to, std::uint64_t handle,
                           std::span<const std::byte> bytes) {
  if (kind == FlightKind::kDatagram) {
    const std::size_t cost = bytes.size() + kDatagramOverhead;
    if (process.held_bytes + cost > options_.socket_buffer) {
      ++counters_.dropped[static_cast<std::size_t>(Drop::kBuffer)];
      return Tell(SimDatagram::Moment::kDropped, Drop::kBuffer, process.id, Owner(to), process.address, to, bytes);
    }
    process.held_bytes += cost;
  }
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = kind;
  flight.handle = handle;
  flight.to_address = to;
  flight.bytes.assign(bytes.begin(), bytes.end());
  process.held.push_back(slot);
}

// It is written at once, and its member hears of it later, if it lives.
void Simulator::Impl::Write(Process& process, const Outbox::Store& store) {
  const absl::StatusOr<View> view = DecodeView(store.bytes);
  if (!view.ok()) Die("a member stores what is no view");
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = FlightKind::kStored;
  flight.code = process.options.store->Write(*view).ok() ? 0 : 1;
  flight.handle = store.id;
  flight.to = process.id;
  flight.life = process.life;
  flights_.Launch(slot, now_ + options_.store_time);
}

void Simulator::Impl::Transmit(const Process& process, const Address& to, std::span<const std::byte> bytes) {
  const SimId target = Owner(to);
  ++counters_.datagrams_sent;
  counters_.bytes_sent += bytes.size();
  if (tap_) Tell(SimDatagram::Moment::kSent, Drop::kNone, process.id, target, process.address, to, bytes);
  SimNetwork::Fate fate;
  if (filter_ &&
      !filter_({SimDatagram::Moment::kSent, Drop::kNone, now_, process.id, target, process.address, to, bytes})) {
    fate.drop = Drop::kFilter;
  } else if (flights_.size() >= options_.flights_max) {
    fate.drop = Drop::kFull;
  } else {
    fate = network_.Datagram(process.id, target, bytes.size(), now_);
  }
  Mix((std::uint64_t{process.id} << 32) | target);
  Mix(static_cast<std::uint64_t>((now_ + fate.delay).count()) ^ (bytes.size() << 48) ^
      (std::uint64_t{static_cast<std::uint8_t>(fate.drop)} << 40));
  if (fate.drop != Drop::kNone) {
    ++counters_.dropped[static_cast<std::size_t>(fate.drop)];
    return Tell(SimDatagram::Moment::kDropped, fate.drop, process.id, target, process.address, to, bytes);
  }
  counters_.reordered += fate.reordered ? 1 : 0;
  Copy(process, to, bytes, fate.delay);
  if (!fate.twice) return;
  ++counters_.duplicated;
  Copy(process, to, bytes, fate.second);
}

void Simulator::Impl::Copy(const Process& process, const Address& to, std::span<const std::byte> bytes,
                           Duration delay) {
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = FlightKind::kDatagram;
  flight.from = process.id;
  flight.from_address = process.address;
  flight.to_address = to;
  flight.bytes.assign(bytes.begin(), bytes.end());
  flights_.Launch(slot, now_ + delay);
}

void Simulator::Impl::Tell(SimDatagram::Moment moment, Drop drop, SimId from, SimId to, const Address& from_address,
                           const Address& to_address, std::span<const std::byte> bytes) {
  if (tap_) tap_({moment, drop, now_, from, to, from_address, to_address, bytes});
}

void Simulator::Impl::Inject(SimId to, const Address& from, std::span<const std::byte> bytes) {
  Process& process = At(to);
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = FlightKind::kDatagram;
  flight.from = Owner(from);
  flight.from_address = from;
  flight.to_address = process.address;
  flight.bytes.assign(bytes.begin(), bytes.end());
  if (!process.member) return DropFlight(slot, to, Drop::kNoListener);
  Arrive(slot, process);
}

void Simulator::Impl::InjectRequest(SimId to, const Address& from, std::span<const std::byte> bytes, OnAnswer done) {
  streams_.OpenFromOutside(ListenerAt(At(to).address), from, bytes, std::move(done));
}

}  // namespace nekton
