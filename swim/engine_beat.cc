// Heartbeats: one timer for each other member, and what is made of silence and of answers.
//
// Source: heartbeat-and-stm (HB) for the mesh, the ADR on leases for the pair. A member is *convicted* from the instant
// at which its detector says so, or, among two, at which nothing proves any more that it hears us. From then on it is
// asked again and again, and each time that it has not answered is one kSuspect; what commits is the STM's affair.
//
// Among two, what a heartbeat of the other says of ours stands until the next one. HB evaluates both directions at all
// times; but who dies stops acknowledging, too, and a moment before its silence convicts it would be told as a broken
// way there, and sooner than the bands promise.
#include <algorithm>

#include "swim/engine_impl.h"
#include "swim/wire.h"

namespace nekton {

// A member of which we have just heard, or a new life of one: it gets a heartbeat at once, and has its grace.
void Engine::Impl::OpenLink(PeerId row) {
  if (!config_.beats()) return;
  if (row >= beats_.size()) beats_.resize(row + 1);
  // A member that was forgotten and is met again, or frames under way, may know our sequences: they never fall.
  std::uint32_t sent = 0;
  for (const Beat& beat : beats_) sent = std::max(sent, beat.link.sent());
  beats_[row] = Beat{.link = Link(now_.boot, sent), .next_send = now_.boot};
  ScheduleBeat(row);
}

// It is back, by whatever evidence: it has its grace, and a heartbeat at once.
void Engine::Impl::RenewLink(PeerId row) {
  Acquit(row);
  beats_[row].link.Renew(now_.boot);
  beats_[row].next_send = now_.boot;
  ScheduleBeat(row);
}

bool Engine::Impl::Convicted(PeerId row) const { return config_.beats() && beats_[row].convicted; }

bool Engine::Impl::JoinOnly() const { return config_.beats() && config_.revive == Revive::kJoinOnly; }

void Engine::Impl::CloseLink(PeerId row) { beat_timers_.Cancel(row); }

// The first instant at which silence convicts. Who was never heard has the fixed time: it may have come up a moment
// before us.
Instant Engine::Impl::SilenceEnd(PeerId row) const {
  const Link& link = beats_[row].link;
  Instant end = detector_->DeadlineFor(row, link.heard());
  // What was open when the detectors were swapped keeps the later of its two deadlines.
  if (link.heard() <= swapped_at_) {
    end = std::max(fixed_.DeadlineFor(row, link.heard()), phi_->DeadlineFor(row, link.heard()));
  }
  return link.watermark() == 0 ? std::max(end, Later(link.heard(), BeatDeadline())) : end;
}

// HB's "HEARTBEAT_DEADLINE": also under phi, for an acknowledgement has no rhythm of its own.
Duration Engine::Impl::BeatDeadline() const { return config_.suspect_after + config_.acceptable_pause; }

Duration Engine::Impl::AskInterval() const {
  return config_.repeat_after != Duration{} ? config_.repeat_after : config_.period / 2;
}

// Among two there is nobody to ask, so both directions must be proven. Who is dead still counts, else a death would
// switch this on.
bool Engine::Impl::BothWays() const { return table_.present() == 2; }

void Engine::Impl::ScheduleBeat(PeerId row) {
  const Beat& beat = beats_[row];
  Instant when = std::min(beat.next_send, beat.next_ask);
  if (table_.IsAlive(row)) {
    const Instant silence = SilenceEnd(row);
    if (!beat.convicted) when = std::min(when, silence);
    if (!beat.given_up) when = std::min(when, Later(silence, Terms().min));
  }
  beat_timers_.Set(row, when);
}

void Engine::Impl::ScheduleBeats() {
  for (PeerId row = 0; row < beats_.size(); ++row) {
    if (beat_timers_.Get(row).has_value()) ScheduleBeat(row);
  }
}

void Engine::Impl::BeatsDue(Outbox& out) {
  while (phase_ == Phase::kRunning && !beat_timers_.empty() && beat_timers_.top().when <= now_.boot) {
    const PeerId row = beat_timers_.top().id;
    if (beats_[row].next_send <= now_.boot) SendBeat(out, row, config_.repeat_after != Duration{} ? kFlagAsks : 0);
    CheckBeat(out, row);
    ScheduleBeat(row);
  }
}

// `flags` without kFlagExtra: the next of its rhythm, whose interval is rolled anew each time, so that members that began
// together do not go on together (HB, "jitter").
void Engine::Impl::SendBeat(Outbox& out, PeerId row, std::uint8_t flags) {
  Beat& beat = beats_[row];
  if ((flags & kFlagExtra) == 0) {
    const double share = 2 * random_.Unit() - 1;
    const Duration jitter(static_cast<Duration::rep>(share * static_cast<double>(config_.jitter.count())));
    beat.next_send = now_.boot + config_.period + jitter;
    if (config_.repeat_after != Duration{} && !beat.convicted && table_.IsAlive(row)) {
      beat.next_ask = now_.boot + config_.repeat_after;
      beat.asked = beat.link.sent() + 1;
    }
  }
  Frame frame = Header(FrameType::kHeartbeat, beat.link.Send(now_.boot));
  frame.flags = flags;
  frame.watermark = beat.link.watermark();
  frame.digest = table_.digest();
  Send(out, table_[row].address, frame, Purpose::kHeartbeat, answers_, true);
}

// The evidence of time: what is due, and what did not come.
void Engine::Impl::CheckBeat(Outbox& out, PeerId row) {
  Beat& beat = beats_[row];
  const Instant now = now_.boot;
  if (!table_.IsAlive(row)) return Acquit(row);
  const bool silent = SilenceEnd(row) <= now;
  const bool unreached = BothWays() && Later(beat.link.reached(), BeatDeadline()) <= now;
  // What it was convicted of may be void: a third has joined, or the detectors were swapped.
  if (beat.convicted && !silent && !unreached) Acquit(row);
  if (!beat.convicted && silent) Convict(row);
  if (beat.next_ask <= now) {
    if (beat.convicted) Testify(out, row, Signal::kSuspect, silent ? SilenceReason() : Reason::kAsymmetric);
    if (!table_.IsAlive(row)) return Acquit(row);
    SendBeat(out, row, kFlagAsks | kFlagExtra);
    beat.next_ask = now + AskInterval();
  }
  if (!beat.given_up && Later(SilenceEnd(row), Terms().min) <= now) {
    beat.given_up = true;
    Testify(out, row, Signal::kDead, SilenceReason());
  }
}

void Engine::Impl::Convict(PeerId row) {
  ++counters_[Counter::kConvictions];
  beats_[row].convicted = true;
  beats_[row].next_ask = now_.boot;
}

// No question is open; of a member that was given up, what came before is no interval either.
void Engine::Impl::Acquit(PeerId row) {
  Beat& beat = beats_[row];
  beat.convicted = false;
  beat.given_up = false;
  beat.next_ask = kNever;
  if (!table_.IsAlive(row)) beat.link.VoidInterval();
}

Reason Engine::Impl::SilenceReason() const { return detector_ == &fixed_ ? Reason::kDeadline : Reason::kPhi; }

// One signal of our own heartbeats to the STM.
void Engine::Impl::Testify(Outbox& out, PeerId row, Signal signal, Reason reason) {
  const auto before = stm_.HoldOf(row);
  stm_.Apply(now_, Own(row, signal, reason, 1), table_[row].key, Terms(), changes_);
  Cause cause;
  cause.own = true;
  cause.reason = reason;
  cause.silence = now_.boot - beats_[row].link.heard();
  if (out.wants_events() && !changes_.empty()) cause.observers = {table_[kSelf].who->name};
  Commit(out, &cause);
  const auto after = stm_.HoldOf(row);
  if (signal == Signal::kHealthy) {
    if (after.has_value()) Waver(row);
    return;
  }
  const bool ran = before.has_value() && before->running && before->own;
  if (after.has_value() && after->running && after->own && !ran) {
    Accuse(row, reason == Reason::kRefused);
    Spread(row);
  }
}

// The pair keeps its suspicions to itself: there is nobody to tell.
void Engine::Impl::Spread(PeerId row) {
  if (config_.rumour_weight != 0) news_.Put(row);
}

// Any frame of the current life and incarnation proves the sender alive, and a heartbeat may prove that it hears us. A
// heartbeat that is not newer than all before proves nothing.
void Engine::Impl::ProofOfLife(Outbox& out, const Frame& frame, PeerId sender) {
  if (sender == kNoPeer || sender == kSelf || table_[sender].status == MemberStatus::kLeft) return;
  if (!beat_timers_.Get(sender).has_value()) return;
  const auto lag =
      static_cast<std::int16_t>(frame.incarnation - static_cast<std::uint16_t>(table_[sender].key.incarnation));
  if (lag < 0) return;
  Beat& beat = beats_[sender];
  Link& link = beat.link;
  const bool is_beat = frame.type == FrameType::kHeartbeat;
  if (is_beat) {
    const bool extra = (frame.flags & kFlagExtra) != 0;
    const auto interval = link.HeardBeat(frame.sequence, extra, now_.boot);
    if (!interval.has_value()) {
      ++counters_[Counter::kHeartbeatsOld];
      return;
    }
    if (interval->beats != 0 && table_.IsAlive(sender)) {
      // Extra ones that were lost are among them, so no more than the time allows.
      const auto due = static_cast<std::uint32_t>((now_.boot - interval->opened + config_.period / 2) / config_.period);
      Learn(sender, interval->opened, std::clamp(interval->beats, 1U, std::max(due, 1U)));
    }
    if (link.Acknowledged(frame.watermark) && !beat.convicted && link.acknowledged() >= beat.asked) {
      beat.next_ask = kNever;
    }
  } else {
    link.Heard(now_.boot);
  }
  const bool lately = now_.boot < Later(link.reached(), BeatDeadline());
  if (!BothWays() || (lately && link.acknowledged() != 0)) {
    if (is_beat || beat.convicted) {
      if (beat.convicted) ++counters_[Counter::kConvictionsWrong];
      if (beat.convicted || !table_.IsAlive(sender)) Acquit(sender);
      Testify(out, sender, Signal::kHealthy, Reason::kHeard);
    }
  } else if (is_beat && !lately && !beat.convicted && table_.IsAlive(sender)) {
    Convict(sender);
    CheckBeat(out, sender);
  }
  ScheduleBeat(sender);
}

void Engine::Impl::OnHeartbeat(Outbox& out, const Address& from, const Frame& frame, PeerId sender) {
  if (sender == kNoPeer || !beat_timers_.Get(sender).has_value()) {
    // It does not know that we do not know it, or that we have no use for heartbeats.
    Frame reply = Header(FrameType::kGossip, 0);
    if (sender == kNoPeer) reply.flags |= kFlagStranger;
    Send(out, from, reply, Purpose::kGossip, answers_, false);
    return;
  }
  if ((frame.flags & kFlagAsks) != 0) {
    SendBeat(out, sender, kFlagExtra);
  } else if (!answers_.empty()) {
    Send(out, from, Header(FrameType::kGossip, 0), Purpose::kGossip, answers_, false);
  }
  CompareTables(out, frame.digest != table_.digest(), sender);
  CompareBroadcasts(out, heard_parts_.digest != broadcasts_.digest(), sender);
}

// Its connection closed, or its port refused one: a kDead, which begins a hold and ends none.
void Engine::Impl::TransportGone(Outbox& out, const Address& about, Reason reason) {
  const PeerId row = table_.FindAddress(about);
  if (row == kNoPeer || row == kSelf || !table_.IsAlive(row) || !beat_timers_.Get(row).has_value()) return;
  Testify(out, row, Signal::kDead, reason);
}

// Revive::kJoinOnly: we were removed, so we join again through the one who says so.
void Engine::Impl::Rejoin(Outbox& out, PeerId through) {
  if (through == kNoPeer || repairing_ || now_.boot < next_repair_ || phase_ != Phase::kRunning) return;
  repairing_ = true;
  next_repair_ = now_.boot + config_.period;
  StartSync(out, {Errand::kRepair, table_[through].address, 0, /*join=*/true, /*reconnect=*/true});
}

// A join has just been served or answered.
void Engine::Impl::Readmit(Outbox& out, PeerId row) {
  if (!JoinOnly() || row == kNoPeer || table_[row].status != MemberStatus::kInactive) return;
  former_generation_ = table_[row].key.generation;
  stm_.Restarted(now_, row, table_[row].key, changes_);
  Commit(out);
  news_.Put(row);
}

// The INACTIVE or LEFT member that will be forgotten first; kNoPeer: there is none.
PeerId Engine::Impl::OldestTombstone() const {
  PeerId oldest = kNoPeer;
  Instant when = kNever;
  for (PeerId row = kSelf + 1; row < table_.capacity(); ++row) {
    if (!table_.used(row) || table_.IsAlive(row)) continue;
    const Instant forget = row_timers_.Get(row).value_or(kNever);
    if (oldest != kNoPeer && forget >= when) continue;
    oldest = row;
    when = forget;
  }
  return oldest;
}

}  // namespace nekton
