// A prober that is stuck in a send: what a simulation needs of processes in which it is a thread of its own.
#include "swim/engine_impl.h"

namespace nekton {

void Engine::Impl::HoldProbes(const Tick& now, bool hold, Outbox& out) {
  if (!Begin(now, out)) return;
  probes_held_ = hold;
  if (!hold) {
    rounds_.ForEachOpen([&](ProbeRound& round) {
      if (!round.last_sent && round.end <= now_.boot) EndStuckRound(out, round);
    });
  }
  Finish(out);
}

// Its send has returned too late. Memberlist's prober then asks the relays before it looks at the clock, so that none of
// them can have answered; and it takes no ack, for it let one in until the round's end alone.
void Engine::Impl::EndStuckRound(Outbox& out, ProbeRound& round) {
  const Instant ack_until = round.end;
  round.end = now_.boot + config_.period;  // what the relays are granted
  const std::uint32_t attempt = round.attempts++;
  round.sent_at[attempt] = now_.boot;
  AskRelays(out, round, round.Sequence(attempt));
  round.asked_by[attempt] = round.asked;
  EndRound(out, round);
  if (round.phase == ProbeRound::Phase::kClosed) rounds_.Close(round, ack_until);
}

}  // namespace nekton
