// The simulator: what its members get, and the seals that some of them stand behind.

#include <utility>

#include "transport/simulator_impl.h"

namespace nekton {

class Simulator::Impl::SealWorld final : public Seal::Below, public Transport::Receiver {
 public:
  SealWorld(Impl& sim, Process& process) : sim_(sim), process_(process), life_(process.life) {}

  void Send(const Address& to, std::span<const std::byte> bytes) override { sim_.SendOut(process_, to, bytes); }
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override {
    ++sim_.counters_.streams;
    sim_.counters_.stream_bytes += request.size();
    const bool blocked = process_.blocked();
    const std::uint64_t handle = sim_.streams_.Open(process_.id, process_.life, process_.address,
                                                    Outbox::Request{id, to, limit, std::move(request)});
    if (blocked) {
      sim_.Hold(process_, FlightKind::kConnect, {}, handle, {});
    } else {
      sim_.streams_.Connect(handle);
    }
  }
  void Reply(ExchangeId id, std::vector<std::byte> answer) override {
    sim_.counters_.stream_bytes += answer.size();
    if (process_.blocked()) {
      sim_.Hold(process_, FlightKind::kReply, {}, id, answer);
    } else {
      sim_.streams_.Reply(id, std::move(answer));
    }
  }

  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override {
    Feed([&](Member& member, const Tick& now, Outbox& out) { member.Receive(now, from, bytes, out); });
  }
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override {
    Feed([&](Member& member, const Tick& now, Outbox& out) { member.Serve(now, from, id, bytes, out, busy); });
  }
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override {
    Feed([&](Member& member, const Tick& now, Outbox& out) { member.Answer(now, id, status, bytes, out); });
  }
  void OnTrouble(const Address&, Trouble) override {}  // it passes no seal

 private:
  template <typename Input>
  void Feed(Input input) {
    if (process_.member && process_.life == life_) sim_.Feed(process_, input);
  }

  Impl& sim_;
  Process& process_;
  std::uint32_t life_;
};

// The member gets an input. Its slot is free before what it causes is sent, so that this may use it.
void Simulator::Impl::Handle(std::uint32_t slot, Process& process) {
  const FlightKind kind = flights_[slot].kind;
  const bool local = kind == FlightKind::kTrouble || kind == FlightKind::kStored;
  if (process.seal != nullptr && !local) return Unseal(slot, process);
  switch (kind) {
    case FlightKind::kDatagram:
      ++counters_.datagrams_delivered;
      counters_.bytes_delivered += flights_[slot].bytes.size();
      if (tap_) {
        const Flight flight = flights_[slot];
        const std::uint32_t life = process.life;
        Tell(SimDatagram::Moment::kDelivered, Drop::kNone, flight.from, process.id, flight.from_address,
             flight.to_address, flight.bytes);
        if (!process.member || process.life != life) return flights_.Free(slot);
      }
      return Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
        member.Receive(now, flights_[slot].from_address, flights_[slot].bytes, out);
        flights_.Free(slot);
      });
    case FlightKind::kServe:
      return Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
        member.Serve(now, flights_[slot].from_address, flights_[slot].handle, flights_[slot].bytes, out);
        flights_.Free(slot);
      });
    case FlightKind::kAnswer:
      return Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
        const absl::Status status = StatusOf(static_cast<StreamEnd>(flights_[slot].code));
        member.Answer(now, flights_[slot].handle, status, flights_[slot].bytes, out);
        flights_.Free(slot);
      });
    case FlightKind::kTrouble:
      return Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
        member.Report(now, flights_[slot].to_address, static_cast<Trouble>(flights_[slot].code), out);
        flights_.Free(slot);
      });
    case FlightKind::kStored:
      return Feed(process, [&](Member& member, const Tick& now, Outbox& out) {
        const absl::Status status = flights_[slot].code == 0 ? absl::OkStatus() : absl::UnavailableError("the store");
        member.Stored(now, flights_[slot].handle, status, out);
        flights_.Free(slot);
      });
    default:
      return flights_.Free(slot);
  }
}

// The same through the seal of a member.
void Simulator::Impl::Unseal(std::uint32_t slot, Process& process) {
  const Flight flight = std::move(flights_[slot]);
  flights_.Free(slot);
  if (flight.kind == FlightKind::kDatagram) {
    ++counters_.datagrams_delivered;
    counters_.bytes_delivered += flight.bytes.size();
    if (tap_) {
      const std::uint32_t life = process.life;
      Tell(SimDatagram::Moment::kDelivered, Drop::kNone, flight.from, process.id, flight.from_address,
           flight.to_address, flight.bytes);
      if (!process.member || process.life != life) return;
    }
  }
  SealWorld world(*this, process);
  const std::shared_ptr<Seal> seal = process.seal;  // what it says may end the process
  const Instant now = process.clock.At(now_).boot;
  switch (flight.kind) {
    case FlightKind::kDatagram:
      return seal->OnDatagram(now, flight.from_address, flight.bytes, world, world);
    case FlightKind::kServe:
      return seal->OnRequest(now, flight.from_address, flight.handle, flight.bytes, false, world, world);
    case FlightKind::kAnswer:
      return seal->OnAnswer(now, flight.handle, StatusOf(static_cast<StreamEnd>(flight.code)), flight.bytes, world,
                            world);
    default:
      return;
  }
}

void Simulator::Impl::Send(Process& process, const Address& to, std::span<const std::byte> bytes) {
  if (process.seal == nullptr) return SendOut(process, to, bytes);
  SealWorld world(*this, process);
  process.seal->Send(to, bytes, world);
}

void Simulator::Impl::OpenStream(Process& process, Outbox::Request request) {
  SealWorld world(*this, process);
  if (process.seal == nullptr) return world.Exchange(request.id, request.to, request.limit, std::move(request.bytes));
  process.seal->Exchange(process.clock.At(now_).boot, request.id, request.to, request.limit, std::move(request.bytes),
                         world);
}

void Simulator::Impl::AnswerStream(Process& process, ExchangeId id, std::vector<std::byte> answer) {
  SealWorld world(*this, process);
  if (process.seal == nullptr) return world.Reply(id, std::move(answer));
  process.seal->Reply(id, std::move(answer), world);
}

}  // namespace nekton
