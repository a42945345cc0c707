// The probe rounds: one member each period, and every member that we accuse ourselves.
#include <algorithm>
#include <bit>
#include <utility>

#include "phi/phi_heartbeat.h"
#include "phi/phi_probe.h"
#include "swim/engine_impl.h"
#include "swim/tags.h"
#include "swim/wire.h"

namespace nekton {

Detector* Engine::Impl::DetectorOf(DetectorKind kind) {
  if (kind == DetectorKind::kPhi) return phi_.get();
  return &fixed_;
}

std::unique_ptr<Detector> Engine::Impl::MakePhi(const Config& config) {
  if (config.beats()) {
    return std::make_unique<PhiHeartbeat>(
        PhiHeartbeat::Options{.threshold = config.phi_threshold,
                              .mean = config.period,
                              .deviation = config.jitter == Duration{} ? config.period / 10 : config.period / 4,
                              .deviation_min = config.period / 100,
                              .acceptable_pause = config.acceptable_pause});
  }
  const Duration share = config.period / config.attempts;
  return std::make_unique<PhiProbe>(
      PhiProbe::Options{.threshold = config.phi_threshold, .mean = share / 4, .deviation = share / 4});
}

void Engine::Impl::Learn(PeerId target, Instant opened, std::uint32_t beats) {
  fixed_.Heard(target, opened, now_.boot, beats);
  phi_->Heard(target, opened, now_.boot, beats);
}

void Engine::Impl::Unlearn(PeerId row) {
  fixed_.Forget(row);
  phi_->Forget(row);
}

// The detector says when an attempt is overdue, within reason: no sooner than half its share, no later than half a
// period.
Instant Engine::Impl::AttemptDue(const ProbeRound& round, Instant sent) const {
  const Duration length = Length(round);
  const double stretch = static_cast<double>(length.count()) / static_cast<double>(config_.period.count());
  const auto answer = static_cast<double>((detector_->DeadlineFor(round.target, sent) - sent).count());
  const Duration wait(static_cast<Duration::rep>(std::min(answer * stretch, 1e18)));
  return sent + std::clamp<Duration>(wait, length / config_.attempts / 2, length / 2);
}

// What a round is planned for: the period as it was when the round began, whatever has become of our health since. One
// that began late has fewer attempts, and not shorter ones.
Duration Engine::Impl::Length(const ProbeRound& round) const { return std::max(round.end - round.start, round.period); }

// Local health: who does not trust itself takes more time.
Duration Engine::Impl::Period() const { return config_.period * (1 + health_.score()); }

void Engine::Impl::PeriodTick(Outbox& out) {
  const Instant now = now_.boot;
  RoundsDue(out);
  if (phase_ != Phase::kRunning) {
    next_period_ = kNever;
    return;
  }
  ++periods_;
  const Duration period = Period();
  next_period_ = next_period_ + period > now ? next_period_ + period : now + period;
  if (config_.beats()) return;  // the tick alone goes on: an engine without a next wake is one that is over
  if (ProberStuck()) return;
  if (config_.probing == Probing::kStaggered) {
    stagger_.Reform(table_, now, config_.period, random_);
  } else {
    ProbeNext(out);
  }
  const auto& accused = suspicions_.own();
  for (std::size_t i = 0; config_.rules.accusers_go_on && i < accused.size() && i < kExtraRoundsMax; ++i) {
    StartRound(out, accused[i], next_period_);
  }
  for (const PeerId row : looks_) {
    if (table_.IsAlive(row)) StartRound(out, row, next_period_);
  }
  looks_.clear();
  if (periods_ % config_.reconnect_periods == 0) TryDeadMember(out);
}

// Random probing: the next of the shuffled round.
void Engine::Impl::ProbeNext(Outbox& out) {
  // Two passes less one meet everybody; in a large group so many tries find somebody who is not accused.
  for (std::uint32_t tries = 0; tries < 2 * table_.ring_size(); ++tries) {
    const PeerId target = table_.NextInRound(random_);
    if (tries < 2 * kExtraRoundsMax && HasOwnRounds(target)) continue;
    StartRound(out, target, next_period_);
    break;
  }
}

// Staggered probing: whose turn it is.
void Engine::Impl::TurnsDue(Outbox& out) {
  while (stagger_.next() <= now_.boot) {
    const PeerId target = stagger_.Take(table_, now_.boot, Period());
    if (target == kNoPeer || HasOwnRounds(target)) continue;
    if (ProbeRound* round = StartRound(out, target, now_.boot + Period()); round != nullptr) round->in_turn = true;
  }
}

// Those that we accuse have rounds of their own.
bool Engine::Impl::HasOwnRounds(PeerId target) const {
  const auto& accused = suspicions_.own();
  return config_.rules.accusers_go_on && std::find(accused.begin(), accused.end(), target) != accused.end();
}

// Null: a round at it is open already, or there is no room for one more.
ProbeRound* Engine::Impl::StartRound(Outbox& out, PeerId target, Instant end, bool stream_first) {
  if (rounds_.FindOpen(target) != nullptr || ProberStuck()) return nullptr;
  ProbeRound* round = rounds_.Open(target, table_[target].id, now_.boot, end);
  if (round == nullptr) return nullptr;
  round->stream_first = stream_first;
  round->period = config_.period;
  ++counters_[Counter::kRounds];
  SendAttempt(out, *round);
  return round;
}

void Engine::Impl::RoundsDue(Outbox& out) {
  rounds_.ForEachOpen([&](ProbeRound& round) {
    if (probes_held_ && !round.last_sent) return;
    if (round.end <= now_.boot) {
      EndRound(out, round);
    } else if (round.next_attempt <= now_.boot) {
      ++counters_[Counter::kAttemptsFailed];
      SendAttempt(out, round);
    }
  });
}

void Engine::Impl::SendAttempt(Outbox& out, ProbeRound& round) {
  const Instant now = now_.boot;
  const bool classic = config_.attempts == 1;  // SWIM: one ping, and at half time its relays alone; one signal
  const std::uint32_t attempt = round.attempts++;
  round.sent_at[attempt] = now;
  const Instant due = AttemptDue(round, now);
  round.last_sent = round.attempts == (classic ? 2 : config_.attempts) || due >= round.end;
  round.next_attempt = round.last_sent ? kNever : due;
  rounds_.Reschedule();

  Frame ping = Header(FrameType::kPing, round.Sequence(attempt));
  ping.digest = table_.digest();
  const Row& row = table_[round.target];
  round.accusing = row.status == MemberStatus::kSuspect && config_.rules.tell_the_suspect;
  const PeerId forced[] = {round.target};
  if (attempt == 0 || !classic) {
    Send(out, row.address, ping, Purpose::kProbe, std::span(forced, round.accusing ? 1 : 0), true);
  }
  if (attempt > 0 && (classic || round.last_sent || RelaysDue(round))) {
    AskRelays(out, round, round.Sequence(attempt));
  }
  round.asked_by[attempt] = round.asked;
  if ((round.last_sent || round.stream_first) && round.stream == 0 && config_.stream_ping) {
    SendStreamPing(out, round, round.Sequence(attempt));
  }
}

bool Engine::Impl::RelaysDue(const ProbeRound& round) const {
  const double passed = static_cast<double>((now_.boot - round.start).count());
  return passed >= config_.relay_after * static_cast<double>(Length(round).count());
}

void Engine::Impl::AskRelays(Outbox& out, ProbeRound& round, std::uint32_t sequence) {
  Frame request = Header(FrameType::kPingReq, sequence);
  request.target = round.target_id;
  request.target_address = table_[round.target].address;
  request.budget = round.end - now_.boot;
  const PeerId forced[] = {round.target};
  for (std::uint32_t i = 0; i < config_.relays && round.asked < kRelaysMax; ++i) {
    const PeerId relay = PickRelay(round, i);
    if (relay == kNoPeer) return;
    round.relays[round.asked++] = table_[relay].id;
    Send(out, table_[relay].address, request, Purpose::kRelay, std::span(forced, round.accusing ? 1 : 0), true);
  }
}

// An ACTIVE member that fits: a few random picks, then a bounded walk.
PeerId Engine::Impl::PickActive(absl::FunctionRef<bool(PeerId)> fits) {
  if (table_.ring_size() == 0) return kNoPeer;
  const auto good = [&](PeerId row) { return table_[row].status == MemberStatus::kActive && fits(row); };
  for (int tries = 0; tries < 8; ++tries) {
    const PeerId row = table_.PickRandom(random_);
    if (good(row)) return row;
  }
  const std::uint32_t start = random_.Below(table_.ring_size());
  const std::uint32_t steps = std::min<std::uint32_t>(table_.ring_size(), 2 * kRelaysMax);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const PeerId row = table_.RingAt(start + i);
    if (good(row)) return row;
  }
  return kNoPeer;
}

// One that was not asked in this round before. Where rounds were void of late, for the relays were as silent as the
// member, those whom we still hear are asked, and they alone: so a few that are cut off from most of the group learn it.
PeerId Engine::Impl::PickRelay(const ProbeRound& round, std::uint32_t nth) {
  const auto fits = [&](PeerId row) {
    return row != round.target && table_[row].status == MemberStatus::kActive && !round.HasAsked(table_[row].id);
  };
  if (now_.boot < void_until_) {
    const PeerId near = companions_.Find(now_.boot - 2 * Period(), fits);
    if (near != kNoPeer || round.asked > 0) return near;
  }
  const PeerId zoned = PickByZone(round, nth, fits);
  return zoned != kNoPeer ? zoned : PickActive(fits);
}

// Where members say in which zone they are, a link between two zones that is broken must not blind all relays of an
// attempt. The first is of another zone than ours, and rather of a third one than of the target's: it goes around such a
// link. The second is of the target's zone. Both as far as a few picks find one (PickActive); nobody without a zone pays.
PeerId Engine::Impl::PickByZone(const ProbeRound& round, std::uint32_t nth, absl::FunctionRef<bool(PeerId)> fits) {
  const auto zone_of = [this](PeerId row) { return TagOf(table_[row].who->tags, kZoneTag); };
  const std::string_view ours = zone_of(kSelf);
  if (nth > 1 || ours.empty()) return kNoPeer;
  const std::string_view theirs = zone_of(round.target);
  if (nth == 1 && theirs.empty()) return kNoPeer;
  if (nth == 1) return PickActive([&](PeerId row) { return fits(row) && zone_of(row) == theirs; });
  const auto elsewhere = [&](PeerId row) { return fits(row) && !zone_of(row).empty() && zone_of(row) != ours; };
  const PeerId third = PickActive([&](PeerId row) { return elsewhere(row) && zone_of(row) != theirs; });
  return third != kNoPeer || theirs == ours ? third : PickActive(elsewhere);
}

void Engine::Impl::SendStreamPing(Outbox& out, ProbeRound& round, std::uint32_t sequence) {
  Frame ping = Header(FrameType::kPing, sequence);
  ping.digest = table_.digest();
  Outbox::Request request;
  request.id = ++last_exchange_;
  request.to = table_[round.target].address;
  request.limit = round.end - now_.boot;
  FrameWriter writer(ping, config_.datagram_max, request.bytes);
  if (round.accusing) writer.Add(SuspicionOf(round.target));
  MixFingerprint(writer.Finish());
  exchanges_[request.id] = {Errand::kStreamPing, request.to, sequence, false, false};
  round.stream = request.id;
  ++counters_[Counter::kStreamPingsSent];
  out.Add(std::move(request));
}

Observation Engine::Impl::Own(PeerId peer, Signal signal, Reason reason, std::uint32_t weight) {
  Observation observation;
  observation.peer = peer;
  observation.observer = kSelf;
  observation.signal = signal;
  observation.reason = reason;
  observation.epoch = table_[peer].key.generation;
  observation.sequence = ++observation_sequence_;
  observation.nonce = random_.Next();
  observation.weight = weight;
  return observation;
}

// The first ack of a round, in time or late, is a kHealthy; further ones are only counted.
void Engine::Impl::Acked(Outbox& out, ProbeRound& round, std::uint32_t attempt, bool direct, bool stream) {
  if (round.acked || (round.phase == ProbeRound::Phase::kClosed && round.end <= now_.boot)) {
    ++counters_[Counter::kAcksLate];
    return;
  }
  round.acked = true;
  unanswered_ -= unanswered_ > 0 ? 1 : 0;
  const PeerId target = round.target;
  if (direct) Learn(target, round.sent_at[attempt]);
  if (round.phase == ProbeRound::Phase::kOpen) {
    health_.Better();
    rounds_.Close(round, round.end + config_.period);
  } else {
    ++counters_[Counter::kAcksLate];
  }
  if (stream) {
    ++counters_[Counter::kAcksStream];
    if (stream_only_.Due(target, now_.boot)) {
      Emit(out, EventKind::kStreamOnly, target, table_[target].status, RoundCause(round));
    }
  }
  stm_.Apply(now_, Own(target, Signal::kHealthy, Reason::kHeard, 1), table_[target].key, Terms(), changes_);
  Commit(out);
  if (table_[target].status == MemberStatus::kSuspect) Waver(target);
}

// A kHealthy has cancelled its hold: our suspicion is passed on no more, and our next round decides.
void Engine::Impl::Waver(PeerId target) {
  news_.Drop(target);
  suspicions_.Unsay(target, table_[kSelf].id);
  suspicions_.MarkOwn(target);
}

// The period is over, or its port refused: what does the round say?
void Engine::Impl::EndRound(Outbox& out, ProbeRound& round) {
  const bool relays_silent = round.asked > 0 && round.answered == 0;
  const MemberStatus status = table_[round.target].status;
  if (status != MemberStatus::kActive && status != MemberStatus::kSuspect) {
    rounds_.Close(round, now_.boot + config_.period);
    return;
  }
  Judge(round);
  // Rule A: with every relay silent too, we are the deaf one. And what we could not send proves nothing.
  const bool deaf = config_.rules.void_deaf_rounds && config_.nacks && relays_silent &&
                    now_.boot - heard_ < config_.period * kDeafPeriodsMax;
  // Who is isolated because of such rounds goes on being so while more rounds fail in any way than are answered.
  const bool unanswered = (deaf && !round.refused) || (unanswered_ > 0 && isolation_.contact().isolated);
  if (unanswered) unanswered_ = std::min(unanswered_ + 1, kUnansweredMax);
  if (!round.refused && (deaf || round.local_trouble)) {
    ++counters_[Counter::kRoundsVoid];
    rounds_.Close(round, now_.boot + config_.period);
    void_until_ = now_.boot + kVoidPeriods * Period();
    return;
  }
  FailRound(out, round);
}

// Local health: a failed round in which fewer than half of the relays said a word is our own trouble as likely.
void Engine::Impl::Judge(const ProbeRound& round) {
  if (config_.nacks && !round.refused && round.asked > 0 && 2 * std::popcount(round.answered) < round.asked) {
    health_.Worse();
    probation_.Trouble(now_.boot);
  }
}

// One batch: a kSuspect per attempt, the last with the weight that is missing, so that a failed round commits SUSPECT.
void Engine::Impl::FailRound(Outbox& out, ProbeRound& round) {
  const PeerId target = round.target;
  round.failed = true;
  // Rule H: it has refuted again and again.
  if (config_.rules.back_off && !round.refused && table_[target].status == MemberStatus::kActive &&
      now_.boot < refutations_.Until(target, config_.period)) {
    ++counters_[Counter::kRoundsBackedOff];
    rounds_.Close(round, now_.boot + config_.period);
    return;
  }
  ++counters_[Counter::kRoundsFailed];
  ++counters_[Counter::kAttemptsFailed];
  rounds_.Close(round, now_.boot + config_.period);
  const bool held = HoldRuns(target);
  const bool named = Accuse(target, round.refused);
  const Cause cause = RoundCause(round);
  const std::uint32_t threshold = config_.Stm().demote_threshold;
  const std::uint32_t signals = config_.attempts == 1 ? 1 : round.attempts;
  for (std::uint32_t i = 0; i < signals; ++i) {
    const bool last = i + 1 == signals;
    const std::uint32_t weight = last && threshold > i ? threshold - i : 1;
    stm_.Apply(now_, Own(target, Signal::kSuspect, cause.reason, weight), table_[target].key, Terms(true), changes_);
  }
  Commit(out, &cause);
  // Begun, or begun again after a cancel, or confirmed: that shortens the hold of everyone.
  if (HoldRuns(target) && (!held || named)) news_.Put(target);
}

// Our own evidence stands against it now. Returns whether that is new.
bool Engine::Impl::Accuse(PeerId target, bool refused) {
  suspicions_.MarkOwn(target);
  row_timers_.Cancel(target);  // who accuses itself asks nobody
  return suspicions_.Merge(target, {table_[kSelf].id, refused});
}

bool Engine::Impl::HoldRuns(PeerId row) const {
  const auto hold = stm_.HoldOf(row);
  return hold.has_value() && hold->running;
}

// Among two, an ack is what proves both directions. Without one, anything else that was heard meanwhile tells that it
// is the way there that is cut, and not the member that is dead.
Reason Engine::Impl::RoundReason(const ProbeRound& round) const {
  if (round.refused) return Reason::kRefused;
  return BothWays() && partner_heard_ >= round.start ? Reason::kAsymmetric : Reason::kProbeTimeout;
}

Cause Engine::Impl::RoundCause(const ProbeRound& round) const {
  Cause cause;
  cause.own = true;
  cause.reason = RoundReason(round);
  cause.observers = {table_[kSelf].who->name};
  for (std::uint32_t i = 0; i < round.attempts; ++i) {
    AttemptReport report;
    report.after = round.sent_at[i] - round.start;
    const std::uint32_t first = i == 0 ? 0 : round.asked_by[i - 1];
    report.relays = round.asked_by[i] - first;
    for (std::uint32_t r = first; r < round.asked_by[i]; ++r) report.nacks += round.answered >> r & 1;
    const bool last = i + 1 == round.attempts;
    report.stream = last && round.stream != 0;
    report.refused = last && round.refused;
    cause.attempts.push_back(report);
  }
  return cause;
}

// Rule D: a refutation heard meanwhile ends the round without a signal.
void Engine::Impl::RefutedDuringRound(PeerId target) {
  if (!config_.rules.refutation_ends_round) return;
  if (ProbeRound* round = rounds_.FindOpen(target); round != nullptr) {
    rounds_.Close(*round, now_.boot + config_.period);
  }
}

}  // namespace nekton
