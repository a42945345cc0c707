// Watching members by their pulses, and giving pulses to who watches us.
//
// A watch feeds levels and events, never the STM: its frames are no evidence, carry no news, and bring no answer but
// pulses. So the verdicts of a group are the same whoever is watched, and no random number is drawn here.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "swim/engine_impl.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

bool IsInterval(Duration interval) {
  return interval >= WatchedMember::kIntervalMin && interval <= WatchedMember::kIntervalMax;
}

// What is wrong with an order but for the member that it names; one a line.
std::vector<std::string> Mistakes(const Watch& order) {
  std::vector<std::string> mistakes;
  if (!IsInterval(order.interval)) {
    mistakes.push_back(absl::StrCat("interval = ", order.interval.count(), " ns: must be 10 ms to 1 h"));
  } else if (order.interval % std::chrono::milliseconds(1) != Duration{}) {
    mistakes.push_back(absl::StrCat("interval = ", order.interval.count(), " ns: must be whole milliseconds"));
  }
  const std::vector<double>& all = order.thresholds;
  if (all.empty() || all.size() > WatchedMember::kThresholdsMax) {
    mistakes.push_back(
        absl::StrCat("thresholds: ", all.size(), " of them: must be 1 to ", WatchedMember::kThresholdsMax));
  }
  for (std::size_t i = 0; i < all.size() && i < WatchedMember::kThresholdsMax; ++i) {
    if (!(all[i] > 0 && all[i] <= WatchedMember::kThresholdMax)) {
      mistakes.push_back(absl::StrCat("thresholds[", i, "] = ", all[i], ": must be above 0 and at most ",
                                      WatchedMember::kThresholdMax));
    } else if (const auto at = all.begin() + static_cast<std::ptrdiff_t>(i); std::find(all.begin(), at, *at) != at) {
      mistakes.push_back(absl::StrCat("thresholds[", i, "] = ", all[i], ": stands there twice"));
    }
  }
  return mistakes;
}

}  // namespace

// The row of one that can be watched.
absl::StatusOr<PeerId> Engine::Impl::Watchable(std::string_view member) const {
  const PeerId row = table_.FindName(member);
  if (row == kSelf) return absl::InvalidArgumentError("member: a member does not watch itself");
  if (row == kNoPeer) return absl::NotFoundError(absl::StrCat("member = ", Quoted(member), ": no such member"));
  if (table_[row].status == MemberStatus::kLeft) {
    return absl::NotFoundError(absl::StrCat("member = ", Quoted(member), ": it has left"));
  }
  return row;
}

absl::Status Engine::Impl::TakeWatch(Outbox& out, const nekton::Watch& order) {
  if (phase_ != Phase::kRunning) return absl::FailedPreconditionError("the member is leaving");
  const absl::StatusOr<PeerId> row = Watchable(order.member);
  std::vector<std::string> mistakes = Mistakes(order);
  if (!mistakes.empty()) {
    if (!row.ok()) mistakes.insert(mistakes.begin(), std::string(row.status().message()));
    return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
  }
  if (!row.ok()) return row.status();
  if (watches_.Find(*row) != nullptr) {
    TellEnded(out, *row, absl::AbortedError("another watch of it takes its place"));
  } else if (watches_.full()) {
    return absl::ResourceExhaustedError(absl::StrCat(Watches::kMax, " members are watched: no room for one more"));
  }
  const DetectorKind kind = detector_ == phi_.get() ? DetectorKind::kPhi : DetectorKind::kFixed;
  WatchedMember& watched = watches_.Open(*row, order.interval, order.thresholds, kind, now_.boot);
  if (table_[*row].status == MemberStatus::kInactive) watched.GiveUp();
  AskForPulses(out, *row, watched);
  return absl::OkStatus();
}

absl::Status Engine::Impl::TakeUnwatch(Outbox& out, const Unwatch& order) {
  const PeerId row = table_.FindName(order.member);
  if (row == kNoPeer || watches_.Find(row) == nullptr) {
    return absl::NotFoundError(absl::StrCat("member = ", Quoted(order.member), ": it is not watched"));
  }
  SendToWatched(out, row, Header(FrameType::kWatch, 0));
  EndWatch(out, row, absl::OkStatus());
  return absl::OkStatus();
}

absl::StatusOr<double> Engine::Impl::Level(const Tick& now, std::string_view member) {
  const absl::StatusOr<PeerId> known = Watchable(member);
  if (!known.ok()) return known.status();
  const PeerId row = *known;
  if (const WatchedMember* watched = watches_.Find(row); watched != nullptr) return watched->Level(now.boot);
  if (config_.beats()) {
    return row < beats_.size() ? detector_->Level(row, beats_[row].link.heard(), now.boot) : 0.0;
  }
  const ProbeRound* round = rounds_.FindOpen(row);
  return round != nullptr ? detector_->Level(row, round->sent_at[0], now.boot) : 0.0;
}

void Engine::Impl::AskForPulses(Outbox& out, PeerId row, WatchedMember& watched) {
  watched.Asked(now_.boot);
  Frame request = Header(FrameType::kWatch, watched.asked_sequence());
  request.interval = watched.interval();
  SendToWatched(out, row, request);
  watches_.Schedule(row, watched);
}

// Where another name has its address, that one is meant by nothing of this.
void Engine::Impl::SendToWatched(Outbox& out, PeerId row, const Frame& frame) {
  if (table_.FindAddress(table_[row].address) != row) return;
  Send(out, table_[row].address, frame, Purpose::kWatch, {}, false);
}

// Frames of an unknown sender, of a former life or of an earlier incarnation are of no use.
bool Engine::Impl::IsCurrent(const Frame& frame, PeerId sender) const {
  if (sender == kNoPeer || sender == kSelf) return false;
  const auto known = static_cast<std::uint16_t>(table_[sender].key.incarnation);
  return static_cast<std::int16_t>(frame.incarnation - known) >= 0;
}

void Engine::Impl::OnWatch(Outbox& out, const Address& from, const Frame& frame, PeerId sender) {
  const bool ends = frame.interval == Duration{};
  if (!IsCurrent(frame, sender) || !table_.IsAlive(sender) || (!ends && !IsInterval(frame.interval))) {
    ++counters_[Counter::kWatchesIgnored];
    return;
  }
  if (ends) return watchers_.Drop(sender);
  if (!watchers_.Ask(sender, from, frame.interval, frame.sequence, now_.boot)) {
    ++counters_[Counter::kWatchersRefused];
    Frame refusal = Header(FrameType::kPulse, frame.sequence);
    refusal.flags = kFlagFull;
    Send(out, from, refusal, Purpose::kWatch, {}, false);
    return;
  }
  PulsesDue(out);
}

void Engine::Impl::PulsesDue(Outbox& out) {
  watchers_.Due(now_.boot, [&](const Watcher& watcher) {
    Frame pulse = Header(FrameType::kPulse, watcher.sequence);
    if (watcher.first) pulse.flags = kFlagExtra;
    Send(out, watcher.address, pulse, Purpose::kWatch, {}, false);
  });
}

void Engine::Impl::OnPulse(Outbox& out, const Frame& frame, PeerId sender) {
  WatchedMember* watched = sender == kNoPeer ? nullptr : watches_.Find(sender);
  if (watched == nullptr) {
    ++counters_[Counter::kPulsesStray];
    return;
  }
  if (!IsCurrent(frame, sender)) {
    ++counters_[Counter::kPulsesOld];
    return;
  }
  if ((frame.flags & kFlagFull) != 0) {
    if (frame.sequence != watched->asked_sequence()) {  // of an earlier request
      ++counters_[Counter::kPulsesOld];
      return;
    }
    EndWatch(out, sender, absl::ResourceExhaustedError("it has no room for one more watcher"));
    return;
  }
  if (!watched->Heard(frame.sequence, (frame.flags & kFlagExtra) != 0, now_.boot)) {
    ++counters_[Counter::kPulsesOld];
    return;
  }
  SettleWatch(out, sender, *watched);
}

// Tells which thresholds its level has passed, and sets its timer.
void Engine::Impl::SettleWatch(Outbox& out, PeerId row, WatchedMember& watched) {
  watched.Settle(now_.boot, [&](double threshold, bool rose, double level) {
    Event event;
    event.kind = EventKind::kLevel;
    event.threshold = threshold;
    event.rose = rose;
    event.level = level;
    TellOfWatch(out, row, std::move(event));
  });
  watches_.Schedule(row, watched);
}

void Engine::Impl::WatchesDue(Outbox& out) {
  PulsesDue(out);
  for (std::size_t left = watches_.size(); left > 0 && watches_.next() <= now_.boot; --left) {
    const PeerId row = watches_.first_due();
    WatchedMember& watched = *watches_.Find(row);
    SettleWatch(out, row, watched);
    if (watched.NextAsk() <= now_.boot) AskForPulses(out, row, watched);
  }
}

void Engine::Impl::ExcuseWatches(Duration pause) {
  watchers_.Excuse(pause);
  watches_.ForEach([&](PeerId row, WatchedMember& watched) {
    watched.Excuse(pause);
    watches_.Schedule(row, watched);
  });
}

// The level may jump with the detector that is asked.
void Engine::Impl::SwapWatches(Outbox& out, DetectorKind detector) {
  watches_.ForEach([&](PeerId row, WatchedMember& watched) {
    watched.Use(detector);
    SettleWatch(out, row, watched);
  });
}

// A new life knows of no watch of its former life's, and nothing that was learned of that one holds for it.
void Engine::Impl::RestartWatches(Outbox& out, PeerId row) {
  watchers_.Drop(row);
  WatchedMember* watched = watches_.Find(row);
  if (watched == nullptr) return;
  watched->Restarted(now_.boot);
  SettleWatch(out, row, *watched);
  AskForPulses(out, row, *watched);
}

// It was declared dead: it gets no pulses.
void Engine::Impl::SuspendWatches(PeerId row) {
  watchers_.Drop(row);
  if (WatchedMember* watched = watches_.Find(row); watched != nullptr) watched->GiveUp();
}

// It was dead, and is not: what is known of its level is old.
void Engine::Impl::ResumeWatches(Outbox& out, PeerId row) {
  WatchedMember* watched = watches_.Find(row);
  if (watched == nullptr) return;
  watched->Resume();
  AskForPulses(out, row, *watched);
}

// The member is gone.
void Engine::Impl::CloseWatches(Outbox& out, PeerId row, const char* why) {
  watchers_.Drop(row);
  if (watches_.Find(row) != nullptr) EndWatch(out, row, absl::NotFoundError(why));
}

// We ourselves go. The watched ones will hear of that.
void Engine::Impl::EndAllWatches(Outbox& out) {
  watches_.ForEach([&](PeerId row, WatchedMember&) { TellEnded(out, row, absl::CancelledError("we are leaving")); });
  watches_ = Watches();
}

void Engine::Impl::EndWatch(Outbox& out, PeerId row, absl::Status why) {
  watches_.Close(row);
  TellEnded(out, row, std::move(why));
}

void Engine::Impl::TellEnded(Outbox& out, PeerId row, absl::Status why) {
  Event event;
  event.kind = EventKind::kWatchEnded;
  event.status = std::move(why);
  TellOfWatch(out, row, std::move(event));
}

void Engine::Impl::TellOfWatch(Outbox& out, PeerId row, Event event) {
  MixFingerprint(static_cast<std::uint64_t>(event.kind) << 56 ^ table_[row].id);
  MixFingerprint(static_cast<std::uint64_t>(now_.boot.time_since_epoch().count()));
  if (!out.wants_events()) return;
  event.at = now_.boot;
  event.member = table_.MakeInfo(row);
  out.Add(std::move(event));
}

}  // namespace nekton
