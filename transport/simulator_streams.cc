// The simulator: the world in which its streams run.

#include <utility>

#include "transport/simulator_impl.h"

namespace nekton {

SimNetwork::Fate Simulator::Impl::SendSegment(SimId from, SimId to) {
  const SimNetwork::Fate fate = network_.Segment(from, to, options_.lossy_streams, now_);
  Mix((std::uint64_t{from} << 32) | to);
  Mix(static_cast<std::uint64_t>((now_ + fate.delay).count()) ^
      (std::uint64_t{static_cast<std::uint8_t>(fate.drop)} << 40) ^ (std::uint64_t{1} << 63));
  return fate;
}

void Simulator::Impl::Schedule(std::uint64_t handle, SimStreams::Step step, Duration at) {
  const std::uint32_t slot = flights_.New();
  flights_[slot].kind = FlightKind::kSegment;
  flights_[slot].code = static_cast<std::uint8_t>(step);
  flights_[slot].handle = handle;
  flights_.Launch(slot, at);
}

SimStreams::Listener Simulator::Impl::ListenerAt(const Address& address) const {
  using Kind = SimStreams::Listener::Kind;
  const SimId owner = Owner(address);
  if (owner == kNobody) return {};
  const Process& process = *processes_[owner];
  if (!process.member) return {process.port == Port::kRefuses ? Kind::kRefuses : Kind::kSilent, owner, process.life};
  const bool suspended = process.paused && process.pause.kind == PauseOptions::Kind::kSuspended;
  return {suspended ? Kind::kSilent : Kind::kAccepts, owner, process.life};
}

bool Simulator::Impl::Reachable(SimId member, std::uint32_t life) const {
  const Process& process = *processes_[member];
  return process.member && process.life == life &&
         !(process.paused && process.pause.kind == PauseOptions::Kind::kSuspended);
}

void Simulator::Impl::Deliver(SimId server, const Address& client, ExchangeId id, std::vector<std::byte> request) {
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = FlightKind::kServe;
  flight.to = server;
  flight.life = processes_[server]->life;
  flight.handle = id;
  flight.from_address = client;
  flight.bytes = std::move(request);
  Arrive(slot, *processes_[server]);
}

void Simulator::Impl::End(SimId client, std::uint32_t life, ExchangeId id, const Address& server, StreamEnd end,
                          std::vector<std::byte> answer) {
  switch (end) {
    case StreamEnd::kAnswered:
      ++counters_.streams_answered;
      break;
    case StreamEnd::kRefused:
      ++counters_.streams_refused;
      break;
    case StreamEnd::kReset:
    case StreamEnd::kClosed:
      ++counters_.streams_reset;
      break;
    case StreamEnd::kExpired:
      ++counters_.streams_expired;
      break;
  }
  Process& process = *processes_[client];
  if (end == StreamEnd::kRefused) {
    const std::uint32_t slot = flights_.New();
    Flight& report = flights_[slot];
    report.kind = FlightKind::kTrouble;
    report.code = static_cast<std::uint8_t>(Trouble::kRefused);
    report.to = client;
    report.life = life;
    report.to_address = server;
    Arrive(slot, process);
  }
  if (!process.member || process.life != life) return;
  const std::uint32_t slot = flights_.New();
  Flight& flight = flights_[slot];
  flight.kind = FlightKind::kAnswer;
  flight.code = static_cast<std::uint8_t>(end);
  flight.to = client;
  flight.life = life;
  flight.handle = id;
  flight.bytes = std::move(answer);
  Arrive(slot, process);
}

}  // namespace nekton
