#include "lease/named_lease.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr std::size_t kNameMax = 200;
constexpr Duration kLookAtLeastEvery = std::chrono::milliseconds(500);  // LeaseHold
constexpr Duration kNanosecond{1};

void CheckName(const char* field, std::string_view name, std::vector<std::string>& problems) {
  if (name.empty() || name.size() > kNameMax) {
    problems.push_back(absl::StrCat(field, ": must have 1 to ", kNameMax, " bytes, has ", name.size()));
  }
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    problems.push_back(absl::StrCat(field, ": must have no control characters"));
  }
}

NamedLeaseOptions WithDefaults(NamedLeaseOptions options) {
  const Duration t = options.duration;
  const auto or_else = [](Duration& field, Duration value) {
    if (field == Duration::zero()) field = value;
  };
  or_else(options.notice, t / 4);
  or_else(options.spread, std::min<Duration>(t / 10, std::chrono::seconds(1)));
  or_else(options.release_spread, std::min<Duration>(t / 20, std::chrono::milliseconds(100)));
  or_else(options.patience, t / 8);
  return options;
}

}  // namespace

std::vector<std::string> ProblemsOf(const NamedLeaseOptions& options) {
  std::vector<std::string> problems;
  CheckName("name", options.name, problems);
  CheckName("holder", options.holder, problems);
  if (options.duration < kLeaseDurationMin || options.duration > kLeaseDurationMax) {
    problems.push_back("duration: must be from 20 ms to 24 h");
    return problems;
  }
  if (options.drift_ppm < 0 || options.drift_ppm > kDriftPpmMax) {
    problems.push_back(absl::StrCat("drift_ppm: must be from 0 to ", kDriftPpmMax, ", is ", options.drift_ppm));
    return problems;
  }
  const Duration usable = UsableOf(options.duration, options.drift_ppm);
  const auto below = [&problems](const char* field, Duration value, Duration limit, const char* of) {
    if (value < Duration::zero() || value >= limit) {
      problems.push_back(absl::StrCat(field, ": must be from 0 to below ", of));
    }
  };
  below("handover_delay", options.handover_delay, usable, "the usable part of the duration");
  below("notice", options.notice, usable, "the usable part of the duration");
  below("spread", options.spread, options.duration * 4, "four durations");
  below("release_spread", options.release_spread, options.duration * 4, "four durations");
  below("patience", options.patience, options.duration / 3, "a third of the duration");
  return problems;
}

std::string_view Name(LeaseEventKind kind) {
  switch (kind) {
    case LeaseEventKind::kAcquired:
      return "acquired";
    case LeaseEventKind::kAboutToLose:
      return "about-to-lose";
    case LeaseEventKind::kLost:
      return "lost";
    case LeaseEventKind::kReleased:
      return "released";
  }
  return "?";
}

std::string_view Name(LossReason reason) {
  switch (reason) {
    case LossReason::kNone:
      return "none";
    case LossReason::kExpired:
      return "expired";
    case LossReason::kTaken:
      return "taken";
    case LossReason::kGone:
      return "gone";
    case LossReason::kBehind:
      return "behind";
    case LossReason::kUnsettled:
      return "unsettled";
  }
  return "?";
}

NamedLease::NamedLease(NamedLeaseOptions options, std::uint64_t seed, std::shared_ptr<LeaseHold> hold)
    : options_(WithDefaults(std::move(options))),
      usable_(UsableOf(options_.duration, options_.drift_ppm)),
      random_(seed),
      hold_(std::move(hold)) {}

NamedLease::~NamedLease() {
  if (hold_) hold_->End();
}

// ---- Inputs ----

void NamedLease::Begin(const Tick& now) {
  clock_.Advance(now);
  if (begun_) longer_ += LongestBetween(now.boot - now_.boot, now.raw - now_.raw);
  begun_ = true;
  now_ = now;
  shorter_ = clock_.Shorter(now);
}

void NamedLease::Acquire(const Tick& now, LeaseOutbox& out) {
  Begin(now);
  wanted_ = true;
  Step(out);
}

bool NamedLease::Release(const Tick& now, LeaseOutbox& out) {
  Begin(now);
  wanted_ = false;
  if (held_ && Left() < Duration::zero()) Lose(LossReason::kExpired, out);
  if (!releasing_ && held_) {
    hold_->End();
    releasing_ = Releasing{.record = held_->record, .until = held_->base + options_.duration};
    held_.reset();
  } else if (!releasing_ && open_ && open_->wrote.renewals == 0 && open_->expected == version_) {
    // An attempt without an answer: perhaps we have it, and perhaps we shall.
    releasing_ = Releasing{.record = open_->wrote, .until = open_->first_sent + options_.duration};
  }
  if (!pending_ || pending_->what != Sent::kRelease) pending_.reset();
  retry_at_ = now.boot;
  failures_ = 0;
  const bool releases = releasing_.has_value();
  Step(out);
  return releases;
}

void NamedLease::Answer(std::uint64_t id, const RegisterAnswer& answer, const Tick& now, LeaseOutbox& out) {
  Begin(now);
  // First, so that an answer that comes too late helps nobody.
  CheckHold(out);
  if (pending_ && pending_->id == id) {
    const Pending sent = *std::exchange(pending_, std::nullopt);
    if (answer.verdict == RegisterVerdict::kUnknown) {
      Backoff();
    } else {
      failures_ = 0;
      retry_at_ = now.boot;
      if (answer.verdict == RegisterVerdict::kYes) {
        Yes(sent, answer, out);
      } else {
        Learn(answer, false);
        Reconcile(out);
      }
    }
  }
  Step(out);
}

void NamedLease::Observe(const RegisterAnswer& there, const Tick& now, LeaseOutbox& out) {
  Begin(now);
  CheckHold(out);
  if (there.verdict == RegisterVerdict::kYes) {
    Learn(there, true);
    Reconcile(out);
  }
  Step(out);
}

void NamedLease::Hint(const Tick& now, LeaseOutbox& out) {
  Begin(now);
  // Everybody gets the hint at once.
  if (!options_.watched) poll_at_ = std::min(poll_at_, now.boot + Part(options_.spread));
  Step(out);
}

void NamedLease::RaiseAbove(FencingToken token, const Tick& now, LeaseOutbox& out) {
  Begin(now);
  CheckHold(out);
  floor_ = std::max(floor_, token);
  if (held_ && held_->record.token <= token) Lose(LossReason::kBehind, out);
  Step(out);
}

void NamedLease::Wake(const Tick& now, LeaseOutbox& out) {
  Begin(now);
  Step(out);
}

// ---- What follows ----

void NamedLease::Step(LeaseOutbox& out) {
  CheckHold(out);
  if (pending_ && now_.boot >= pending_->give_up) {
    pending_.reset();
    Backoff();
  }
  if (!pending_) SendNext(out);
  next_wake_ = NextOf();
}

void NamedLease::CheckHold(LeaseOutbox& out) {
  if (!held_) return;
  const Duration left = Left();
  if (left < Duration::zero()) {
    Lose(LossReason::kExpired, out);
    return;
  }
  if (!held_->told && shorter_ >= held_->tell_at) {
    held_->told = true;
    hold_->Begin(held_->record.token, now_, left);
    Tell(LeaseEventKind::kAcquired, held_->record.token, LossReason::kNone, out);
  }
  if (!held_->told) return;
  hold_->Extend(now_, left);
  if (!held_->noticed && left <= options_.notice) {
    held_->noticed = true;
    Tell(LeaseEventKind::kAboutToLose, held_->record.token, LossReason::kNone, out);
  }
}

void NamedLease::Tell(LeaseEventKind kind, FencingToken token, LossReason reason, LeaseOutbox& out) const {
  out.events.push_back({.kind = kind, .token = token, .reason = reason, .by = {}});
}

void NamedLease::SendNext(LeaseOutbox& out) {
  if (releasing_ && (longer_ > releasing_->until || (wanted_ && failures_ > 0))) Settled(LossReason::kUnsettled, out);
  if (now_.boot < retry_at_) return;
  if (releasing_) SendRelease(out);
  if (pending_ || releasing_) return;
  if (held_) {
    if (longer_ >= held_->renew_at) SendRenew(out);
  } else if (wanted_) {
    Contend(out);
  }
}

void NamedLease::Contend(LeaseOutbox& out) {
  if (known_ && Takeable()) {
    SendTake(out);
  } else if (!known_ || now_.boot >= poll_at_) {
    Send(Sent::kRead, std::nullopt, out);
  }
}

// Not before this time from now; zero or less: now.
Duration NamedLease::TakeableIn() const {
  if (bad_record_) return std::chrono::hours(24 * 365);  // as good as never, and nothing overflows
  if (Ours()) return Duration::zero();
  const Duration known_for = shorter_ - seen_at_;
  if (!record_ || record_->free()) return wait_ - known_for;
  return record_->duration + kNanosecond + wait_ - known_for;
}

void NamedLease::Send(Sent what, std::optional<LeaseRecord> record, LeaseOutbox& out) {
  RegisterRequest request;
  request.id = next_id_++;
  request.key = options_.name;
  pending_ = Pending{.id = request.id,
                     .what = what,
                     .sent = longer_,
                     .give_up = Later(now_.boot, Hurried(options_.patience)),
                     .wrote = record.value_or(LeaseRecord{})};
  if (record) {
    request.write = true;
    request.expected = version_;
    request.value = Encode(*record);
  }
  out.requests.push_back(std::move(request));
}

void NamedLease::SendTake(LeaseOutbox& out) {
  const bool again =
      open_ && open_->expected == version_ && open_->wrote.SameHold(mine_[0]) && open_->wrote.renewals == 0;
  if (!again) {
    LeaseRecord take;
    const FencingToken above = std::max(record_ ? record_->token : FencingToken{}, floor_);
    take.token = FencingToken{above.value + 1};
    take.duration = options_.duration;
    take.generation = options_.generation;
    take.nonce = random_.Next();
    take.holder = options_.holder;
    from_other_ = record_ && !record_->free() && !Ours();
    mine_[1] = std::exchange(mine_[0], take);
    open_ = Open{.expected = version_, .wrote = take, .first_sent = longer_};
  }
  Send(Sent::kTake, open_->wrote, out);
}

void NamedLease::SendRenew(LeaseOutbox& out) {
  LeaseRecord renewed = held_->record;
  ++renewed.renewals;
  if (!open_ || open_->expected != version_ || open_->wrote != renewed) {
    open_ = Open{.expected = version_, .wrote = renewed, .first_sent = longer_};
  }
  Send(Sent::kRenew, renewed, out);
}

void NamedLease::SendRelease(LeaseOutbox& out) {
  const bool ours = record_ && record_->SameHold(releasing_->record);
  // A free record in its place also makes sure that the attempt is never done.
  const bool may_become_ours = open_ && open_->wrote.SameHold(releasing_->record) && open_->expected == version_;
  if (!ours && !may_become_ours) {
    Settled(LossReason::kNone, out);
    return;
  }
  LeaseRecord free = releasing_->record;
  free.holder.clear();
  Send(Sent::kRelease, std::move(free), out);
}

void NamedLease::Yes(const Pending& sent, const RegisterAnswer& answer, LeaseOutbox& out) {
  if (sent.what == Sent::kRead) {
    Learn(answer, false);
    Reconcile(out);
    return;
  }
  // A watch has told of what came after it.
  if (answer.version < version_) return;
  version_ = answer.version;
  record_ = sent.wrote;
  seen_at_ = shorter_;
  wait_ = Duration::zero();
  open_.reset();
  if (sent.what == Sent::kTake) Got(sent.wrote, sent.sent, out);
  if (sent.what == Sent::kRenew && held_) Renewed(sent.wrote, sent.sent);
  if (sent.what == Sent::kRelease && releasing_) Settled(LossReason::kNone, out);
}

// What stands in the register. A watch may tell old news.
void NamedLease::Learn(const RegisterAnswer& there, bool watch) {
  if (watch && known_ && there.version <= version_) return;
  const Duration interval = options_.watched ? options_.duration : options_.duration / 4;
  poll_at_ = Later(now_.boot, interval * 4 / 5 + Part(interval * 2 / 5));
  if (known_ && there.version == version_) return;
  const bool news = watch && known_;
  // What a read is about to tell may be older.
  if (news && pending_ && pending_->what == Sent::kRead) pending_.reset();
  known_ = true;
  version_ = there.version;
  seen_at_ = shorter_;
  record_.reset();
  bad_record_ = false;
  if (there.version != kAbsent) {
    absl::StatusOr<LeaseRecord> record = DecodeLeaseRecord(there.value);
    // The last token of all is followed by none.
    bad_record_ = !record.ok() || ~record->token.value == 0;
    if (!bad_record_) record_ = *std::move(record);
  }
  const bool held = record_ && !record_->free();
  if (held) wait_ = Part(options_.spread);
  // Who waited hears of a release together with all others who did; who has just come does not wait.
  if (!held) wait_ = news ? Part(options_.release_spread) : Duration::zero();
}

// Holds what was done and what we hold against what we have learnt.
void NamedLease::Reconcile(LeaseOutbox& out) {
  if (open_ && open_->expected != version_) {
    const Open open = *std::exchange(open_, std::nullopt);  // either it was done, or it never will be
    if (record_ && *record_ == open.wrote) {
      if (held_) {
        Renewed(open.wrote, open.first_sent);
      } else if (wanted_ && !releasing_ && open.wrote.SameHold(mine_[0]) && open.wrote.renewals == 0) {
        // A take that is still under way a second time must not be waited for.
        if (pending_ && pending_->what == Sent::kTake) pending_.reset();
        Got(open.wrote, open.first_sent, out);
      }
    }
  }
  if (!held_ || (record_ && record_->SameHold(held_->record))) return;
  // A read that was answered before our last write was done knows less than we do, and changes nothing here: one request
  // at a time is under way.
  Lose(record_ ? LossReason::kTaken : LossReason::kGone, out);
}

void NamedLease::Got(const LeaseRecord& record, Duration base, LeaseOutbox& out) {
  // Too late, or of no use at the resource: the record is ours, so the next attempt need not wait.
  if (longer_ - base > usable_ || record.token <= floor_) return;
  held_ = Held{.record = record,
               .base = base,
               .renew_at = base + Part(options_.duration / 3),
               .tell_at = shorter_ + (from_other_ ? options_.handover_delay : Duration::zero()),
               .told = false,
               .noticed = false};
  CheckHold(out);
}

void NamedLease::Renewed(const LeaseRecord& record, Duration base) {
  held_->record = record;
  held_->base = std::max(held_->base, base);
  held_->renew_at = base + options_.duration / 3;
  if (Left() > options_.notice) held_->noticed = false;
}

void NamedLease::Lose(LossReason reason, LeaseOutbox& out) {
  if (held_->told) {
    hold_->End();
    Tell(LeaseEventKind::kLost, held_->record.token, reason, out);
    if (reason == LossReason::kTaken) out.events.back().by = record_->holder;
  }
  held_.reset();
  // Its answer would tell of what is over.
  pending_.reset();
}

void NamedLease::Settled(LossReason reason, LeaseOutbox& out) {
  Tell(LeaseEventKind::kReleased, releasing_->record.token, reason, out);
  releasing_.reset();
}

// There is to be time for some more attempts before a hold ends.
Duration NamedLease::Hurried(Duration time) const {
  return held_ ? std::clamp(Left() / 4, std::min(options_.duration / 64, time), time) : time;
}

void NamedLease::Backoff() {
  const Duration t = options_.duration;
  // Many may read, few write.
  const Duration limit = held_ || releasing_ || open_ ? Hurried(t / 8) : t / 2;
  const Duration delay = std::min(limit, (t / 64) * (std::int64_t{1} << std::min(failures_, 6U)));
  ++failures_;
  retry_at_ = Later(now_.boot, delay / 2 + Part(delay / 2));
}

Instant NamedLease::NextOf() const {
  if (idle()) return pending_ ? pending_->give_up : kNever;
  Instant next = now_.boot + kLookAtLeastEvery;
  const auto by = [&next](Instant when) { next = std::min(next, when); };
  const auto by_longer = [&](Duration when) { by(now_.boot + std::max(Duration::zero(), when - longer_)); };
  if (pending_) by(pending_->give_up);
  if (releasing_) {
    if (!pending_) {
      by_longer(releasing_->until + kNanosecond);
      by(retry_at_);
    }
  } else if (held_) {
    const Duration end = held_->base + usable_;
    by_longer(end + kNanosecond);
    if (held_->told && !held_->noticed) by_longer(end - options_.notice);
    if (!held_->told) by(now_.boot + std::max(Duration::zero(), held_->tell_at - shorter_));
    if (!pending_) by(std::max(retry_at_, now_.boot + std::max(Duration::zero(), held_->renew_at - longer_)));
  } else if (!pending_) {
    const Duration take_in = known_ ? std::max(Duration::zero(), TakeableIn()) : Duration::zero();
    const Instant act = std::min(Later(now_.boot, take_in), poll_at_);
    by(std::max(retry_at_, act));
  }
  return std::max(next, now_.boot);
}

}  // namespace nekton
