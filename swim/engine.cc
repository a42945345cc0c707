#include "swim/engine.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/engine_impl.h"
#include "swim/engine_mail.h"
#include "swim/tags.h"

namespace nekton {
namespace {

constexpr const char* kGone = "the member has left, or was displaced or expelled";

}  // namespace

absl::StatusOr<Engine> Engine::Create(const Config& config, const Address& self,
                                      std::shared_ptr<Identities> identities) {
  absl::Status valid = config.Validate();
  if (!valid.ok()) return valid;
  if (config.generation == 0) return absl::InvalidArgumentError("generation = 0: must be at least 1");
  if (!config.standalone && (self.is_unspecified() || self.port == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("self = ", self.ToString(), ": others cannot reach an unspecified address or port 0"));
  }
  return Engine(std::make_unique<Impl>(config, self, std::move(identities)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out) {
  impl_->Receive(now, from, datagram, out);
}
void Engine::Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request, Outbox& out,
                   bool busy) {
  impl_->Serve(now, from, id, request, out, busy);
}
void Engine::Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
                    Outbox& out) {
  impl_->Answer(now, id, status, answer, out);
}
void Engine::Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out) {
  impl_->Report(now, about, trouble, out);
}
// No engine asks for anything to be stored yet, so there is no id that it could be waiting for.
void Engine::Stored(const Tick&, StoreId, const absl::Status&, Outbox&) {}
void Engine::Wake(const Tick& now, Outbox& out) { impl_->Wake(now, out); }
absl::Status Engine::Order(const Tick& now, const Command& command, Outbox& out) {
  return impl_->Order(now, command, out);
}
template <typename Take>
absl::Status Engine::Inner(const Tick& now, Outbox& out, Take take) {
  if (!impl_->Begin(now, out)) return absl::FailedPreconditionError(kGone);
  const absl::Status status = take();
  impl_->Finish(out);
  return status;
}
absl::Status Engine::SendInner(const Tick& now, const nekton::Send& message, Outbox& out) {
  return Inner(now, out, [&] { return impl_->Mailing().Take(out, message, /*inner=*/true); });
}
absl::Status Engine::AskInner(const Tick& now, const Request& request, Outbox& out) {
  return Inner(now, out, [&] { return impl_->Mailing().Take(out, request, /*inner=*/true); });
}
absl::Status Engine::SayInner(const Tick& now, std::string_view name, std::string_view bytes, Outbox& out) {
  return Inner(now, out, [&]() -> absl::Status {
    if (impl_->phase_ == Impl::Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
    return impl_->SayBroadcast(out, InnerKey(name), bytes, impl_->config_.broadcast_keep);
  });
}
void Engine::HoldProbes(const Tick& now, bool hold, Outbox& out) { impl_->HoldProbes(now, hold, out); }
Instant Engine::NextWake() const { return impl_->NextWake(); }
std::uint64_t Engine::Fingerprint() const { return impl_->Fingerprint(); }
const Counters& Engine::counters() const { return impl_->counters(); }
const StmCounters& Engine::stm_counters() const { return impl_->stm_counters(); }
absl::StatusOr<MemberExplanation> Engine::Explain(const Tick& now, std::string_view name) const {
  return impl_->Explain(now, name);
}
absl::StatusOr<double> Engine::Level(const Tick& now, std::string_view member) const {
  return impl_->Level(now, member);
}
std::size_t Engine::size() const { return impl_->table().size(); }
std::size_t Engine::alive() const { return impl_->table().alive(); }
std::uint32_t Engine::digest() const { return impl_->table().digest(); }
std::uint64_t Engine::version() const { return impl_->table().version(); }
MemberPtr Engine::Find(std::string_view name) const {
  MemberTable& table = impl_->table();
  const PeerId row = table.FindName(name);
  return row == kNoPeer ? nullptr : table.Info(row);
}
MemberPtr Engine::Self() const { return impl_->table().Info(kSelf); }
const Config& Engine::config() const { return impl_->config_; }
Contact Engine::contact() const { return impl_->contact(); }

std::vector<BroadcastInfo> Engine::HeldBroadcasts(const Tick& now) const { return impl_->HeldBroadcasts(now); }

std::vector<MemberPtr> Engine::Members() const {
  std::vector<MemberPtr> members;
  members.reserve(size());
  MemberTable& table = impl_->table();
  for (PeerId row = 0; row < table.capacity(); ++row) {
    if (table.used(row)) members.push_back(table.Info(row));
  }
  return members;
}

Engine::Impl::Impl(const Config& config, const Address& self, std::shared_ptr<Identities> identities)
    : config_(config),
      label_(LabelTag(config.label)),
      terms_(EncodeTerms(config)),
      random_(config.seed ^ MemberId(config.name, config.generation)),
      table_(config.members_max, config.beats(), std::move(identities)),
      stm_(config.Stm()),
      fixed_(config.beats() ? config.suspect_after + config.acceptable_pause : config.period / config.attempts,
             config.phi_threshold),
      phi_(MakePhi(config)),
      detector_(DetectorOf(config.detector)),
      broadcasts_(config.period * kSettlePeriods),
      rounds_(static_cast<std::uint32_t>(random_.Next())),
      suspicions_(std::min<std::size_t>(config.confirmers + 1, kAccusersMax)),
      health_(config.local_health_max),
      isolation_(config.isolation_share, config.isolation_after, config.bootstrap_expect) {
  const PeerId row = table_.Add(config.name, self, {config.generation, 0}, MemberStatus::kActive, random_);
  table_.SetDetails(row, *EncodeTags(config.tags), kProtocolVersion, kProtocolVersion);
}

Engine::Impl::~Impl() = default;

// Every input begins here: it notices when we ourselves were away.
bool Engine::Impl::Begin(const Tick& now, Outbox& out) {
  if (phase_ == Phase::kGone) return false;
  // We were due at wake_, or at once if that had passed when we last ran.
  const Instant due = std::max(wake_, now_.boot);
  now_ = now;
  answers_.clear();
  heard_parts_.Clear();
  broadcasts_.Advance(now.boot);
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kRunning;
    const double phase = random_.Unit() * static_cast<double>(config_.period.count());
    next_period_ = now.boot + Duration(static_cast<Duration::rep>(phase));
    quiet_since_ = heard_ = deaf_until_ = now.boot;
  } else if (now.boot > Later(due, config_.max_local_pause)) {
    NoticePause(out, now.boot - due);
  }
  return true;
}

void Engine::Impl::Finish(Outbox& out) {
  if (!admissions_.empty()) AdmissionsDue(out);
  if (phase_ != Phase::kGone) GossipIfDue(out);
  NoticeContact(out);
  if (mail_ != nullptr) mail_->Settle(out);
  wake_ = ComputeWake();
}

// Rule B: a gap of two periods and more in which nobody at all was heard counts, all of it, toward no hold: it is we who
// are cut off. Where there are but two of us the other's death is such a gap; and after so many periods it is the others
// who are gone.
bool Engine::Impl::NoticeDeafness() {
  const Duration gap = now_.boot - heard_;
  if (!config_.rules.excuse_deafness || config_.beats() || table_.present() < 3) return false;
  if (gap < 2 * config_.period || gap > kDeafPeriodsMax * config_.period) return false;
  stm_.Deaf(now_, std::max(heard_, deaf_until_), now_.boot);
  deaf_until_ = now_.boot;
  return true;
}

void Engine::Impl::HeardSomebody() {
  // That we were cut off is over, and so is what it told of our health.
  if (NoticeDeafness()) {
    health_.Reset();
    probation_.Trouble(now_.boot);
  }
  if (IsAlone()) alone_until_ = now_.boot + config_.forget_after;
  heard_ = now_.boot;
}

// How much of the group is reached, after each input. Rules A and B have us hold all others for ACTIVE for a minute and
// more after nobody answers us any more; but we reach none of them. Once the table says so too, it alone tells when they
// are back.
void Engine::Impl::NoticeContact(Outbox& out) {
  if (phase_ != Phase::kRunning) return;
  if (isolation_.TooFew(table_.alive(), table_.present())) unanswered_ = 0;
  const bool alone = unanswered_ != 0 || OnProbation();  // in the second case it is we who are dead to the others
  isolation_.Count(now_.boot, alone ? 1 : table_.alive(), table_.present());
  if (!isolation_.Turn(now_.boot)) return;
  const bool isolated = isolation_.contact().isolated;
  Emit(out, isolated ? EventKind::kIsolated : EventKind::kRejoined, kSelf, MemberStatus::kActive, {});
}

// We did not run for `overshoot`: no round of that time proves anything about anybody.
void Engine::Impl::NoticePause(Outbox& out, Duration overshoot) {
  ++counters_[Counter::kPauses];
  stale_input_ = true;
  rounds_.ForEachOpen([&](ProbeRound& round) {
    ++counters_[Counter::kRoundsVoid];
    rounds_.Close(round, now_.boot + config_.period);
  });
  relays_.Clear();
  health_.Worse();
  heard_ = Later(heard_, overshoot);
  deaf_until_ = std::max(deaf_until_, now_.boot);  // the pause itself is excused below
  for (Beat& beat : beats_) {
    beat.link.Excuse(overshoot);
    beat.next_ask = Later(beat.next_ask, overshoot);
  }
  if (swapped_at_ != Instant::min()) swapped_at_ = Later(swapped_at_, overshoot);
  ScheduleBeats();
  ExcuseWatches(overshoot);
  isolation_.Excuse(overshoot);
  stm_.Paused(now_, overshoot);
  for (PeerId row = 0; row < table_.capacity(); ++row) {
    if (!table_.used(row) || table_[row].status != MemberStatus::kSuspect) continue;
    if (const auto ask = row_timers_.Get(row); ask.has_value()) row_timers_.Set(row, Later(*ask, overshoot));
  }
  if (next_period_ != kNever) next_period_ = now_.boot;
  if (overshoot + config_.period >= Terms().min) {
    slept_long_ = true;
    probation_.Trouble(now_.boot);
  }
  if (overshoot > config_.forget_after / 3 && !config_.beats()) pulls_until_ = now_.boot + config_.forget_after;
  if (out.wants_events()) {
    Event event;
    event.kind = EventKind::kPaused;
    event.at = now_.boot;
    event.duration = overshoot;
    out.Add(std::move(event));
  }
}

Instant Engine::Impl::ComputeWake() const {
  if (phase_ == Phase::kGone) return kNever;
  Instant wake = std::min({next_period_, probes_held_ ? kNever : rounds_.NextDue(), stagger_.next(), relays_.next(),
                           next_gossip_, next_contact_, join_calls_.next(), next_question_, stm_.NextDeadline(),
                           leave_until_, next_farewell_, watches_.next(), watchers_.next()});
  if (mail_ != nullptr) wake = std::min(wake, mail_->next());
  if (!row_timers_.empty()) wake = std::min(wake, row_timers_.top().when);
  if (!beat_timers_.empty() && phase_ == Phase::kRunning) wake = std::min(wake, beat_timers_.top().when);
  if (phase_ == Phase::kRunning) wake = std::min(wake, isolation_.next());
  return wake;
}

void Engine::Impl::Wake(const Tick& now, Outbox& out) {
  if (!Begin(now, out)) return;
  stale_input_ = false;  // a shell hands over first what waited
  RunTimers(out);
  Finish(out);
}

void Engine::Impl::RunTimers(Outbox& out) {
  const Instant now = now_.boot;
  ReturnIfDue(out);
  if (relays_.next() <= now) NackDue(out);
  if (next_period_ <= now) PeriodTick(out);
  if (rounds_.NextDue() <= now) RoundsDue(out);
  if (stagger_.next() <= now) TurnsDue(out);
  BeatsDue(out);
  TimersOfRows(out);
  if (stm_.NextDeadline() <= now) {
    NoticeDeafness();
    stm_.Advance(now_, changes_);
    Commit(out);
  }
  WatchesDue(out);
  if (mail_ != nullptr) mail_->Due(out);
  if (next_contact_ <= now) ContactsDue(out);
  if (join_calls_.next() <= now) EndJoinCalls(out);
  if (next_question_ <= now) QuestionDue(out);
  if (std::min(leave_until_, next_farewell_) <= now) LeaveTick(out);
}

// Rule G: the first news after a quiet time goes out at once, more of it in rounds.
void Engine::Impl::GossipIfDue(Outbox& out) {
  next_gossip_ = kNever;
  if (probes_held_ || Alone()) return;
  const auto nothing = [this] { return news_.empty() && !broadcasts_.has_news(); };
  if (nothing() || table_.ring_size() == 0) {
    gossip_due_ = now_.boot + config_.gossip_interval;
    return;
  }
  Instant due = last_gossip_ == Instant::min() ? now_.boot : last_gossip_ + config_.gossip_interval;
  if (!config_.rules.gossip_at_once) due = std::max(due, gossip_due_);
  if (due > now_.boot) {
    next_gossip_ = due;
    return;
  }
  last_gossip_ = now_.boot;
  // Distinct members: steps from a random start through the shuffled ring.
  const std::uint32_t fanout = std::min(config_.gossip_fanout, table_.ring_size());
  const std::uint32_t start = random_.Below(table_.ring_size());
  for (std::uint32_t i = 0; i < fanout && !nothing(); ++i) {
    Send(out, table_[table_.RingAt(start + i)].address, Header(FrameType::kGossip, 0), Purpose::kGossip, {}, true);
  }
  if (!nothing()) next_gossip_ = now_.boot + config_.gossip_interval;
}

absl::Status Engine::Impl::Order(const Tick& now, const Command& command, Outbox& out) {
  if (!Begin(now, out)) return absl::FailedPreconditionError(kGone);
  const absl::Status status = std::visit(
      [&](const auto& order) {
        using Order = std::decay_t<decltype(order)>;
        if constexpr (std::is_same_v<Order, Join>) {
          if (!config_.standalone) return TakeContacts(out, order);
          return absl::FailedPreconditionError("standalone: this member joins nobody");
        }
        if constexpr (std::is_same_v<Order, Leave>) return BeginLeave(out, order);
        if constexpr (std::is_same_v<Order, Observe>) return TakeObservations(out, order);
        if constexpr (std::is_same_v<Order, Reconfigure>) return TakeConfig(out, order);
        if constexpr (std::is_same_v<Order, Watch>) return TakeWatch(out, order);
        if constexpr (std::is_same_v<Order, Unwatch>) return TakeUnwatch(out, order);
        if constexpr (std::is_same_v<Order, SetTag> || std::is_same_v<Order, EraseTag>) return TakeTag(out, order);
        if constexpr (std::is_same_v<Order, SetTags>) return TakeTags(out, order.tags);
        if constexpr (std::is_same_v<Order, Broadcast>) return TakeBroadcast(out, order);
        if constexpr (std::is_same_v<Order, Maintenance>) return TakeMaintenance(out, order);
        if constexpr (std::is_same_v<Order, Expel>) return TakeExpel(out, order);
        if constexpr (MailDesk::Takes<Order>) return Mailing().Take(out, order);
      },
      command);
  Finish(out);
  return status;
}

void Engine::Impl::Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out) {
  if (!Begin(now, out)) return;
  if (trouble == Trouble::kSendFailed) ++counters_[Counter::kSendFailed];
  if (trouble == Trouble::kTooBig) ++counters_[Counter::kSendTooBig];
  rounds_.ForEachOpen([&](ProbeRound& round) {
    if (table_[round.target].address != about) return;
    if (trouble == Trouble::kSendFailed || trouble == Trouble::kTooBig) round.local_trouble = true;
    if (trouble != Trouble::kRefused) return;
    round.refused = true;
    EndRound(out, round);
  });
  if (trouble == Trouble::kClosed) TransportGone(out, about, Reason::kTransportClosed);
  if (trouble == Trouble::kRefused) TransportGone(out, about, Reason::kRefused);
  Finish(out);
}

}  // namespace nekton
