#include "lease/lease_room.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lease/fetched_view.h"
#include "lease/lease_answer.h"

namespace nekton {

using Kind = LeaseMessage::Kind;
using Result = LeaseMessage::Result;

namespace {

constexpr std::uint64_t kRoomStream = 0x6c65617365;  // of randomness
constexpr Duration kAnswerWait = std::chrono::milliseconds(500);
constexpr Duration kTermsWait = std::chrono::seconds(10);  // until somebody may have mended the configuration

}  // namespace

LeaseRoom::LeaseRoom(const LeaseConfig& leases, const Config& config, const Address& self, View stored)
    : config_(leases),
      label_(config.label),
      self_{config.name, config.generation, self},
      say_every_(config.broadcast_keep / 2),
      stored_(std::move(stored)),
      leases_(config.name, config.generation, leases.terms),
      gate_(config.label, leases.key, &leases_),
      random_(config.seed ^ config.generation ^ kRoomStream) {
  if (!leases.by_lease()) {
    authority_ = leases.authority;
  } else {
    authority_ = leases.candidates.front();
  }
  if (leases.signing.has_value() && !leases.by_lease()) {
    root_ = std::make_unique<ViewRoot>(leases, label_, self_);
  }
}

absl::Status LeaseRoom::Begin(const Tick& now, LeaseOutput& out) {
  if (root_ == nullptr) return absl::OkStatus();
  AuthorityOutput first;
  const absl::Status status = root_->Begin(now, std::exchange(stored_, {}), first);
  if (status.ok()) Obey(now, first, out);
  return status;
}

bool LeaseRoom::InView() const {
  const ViewMember* us = view_.Find(self_.name);
  return us != nullptr && us->generation == self_.generation;
}

void LeaseRoom::Send(std::string_view to, const LeaseMessage& message, LeaseOutput& out) {
  out.letters.push_back({std::string(to), Encode(message)});
}

// --- time

void LeaseRoom::Turn(const Tick& now, LeasePeers peers, std::uint64_t version, LeaseOutput& out) {
  if (over_ || (now.boot < wake_ && version == version_)) return;
  const bool news = version != version_;
  version_ = version;
  if (now.boot >= next_tick_) {
    leases_.Advance(now);
    next_tick_ = Later(now.boot, kTickEvery);
  }
  if (root_ != nullptr) {
    AuthorityOutput authority;
    root_->Turn(now, peers, version, authority);
    Obey(now, authority, out);
    if (!root_->authority().behind()) leases_.RenewOwn(now, root_->authority().settled());
  } else {
    if (news) NoticeContact(now, peers, out);
    if (leases_.WriteRanOut(now)) SetContact(now, false, out);
    if (alive_ && now.boot >= next_ask_) Ask(now, peers, out);
    if (wanted_ > view_.epoch() && fetching_ == 0 && now.boot >= next_fetch_) Fetch(now, peers, out);
  }
  if (root_ != nullptr && view_.epoch() != 0 && now.boot >= next_say_) {
    out.say = view_.head;
    next_say_ = Later(now.boot, say_every_);
  }
  Reschedule(now);
}

void LeaseRoom::Reschedule(const Tick& now) {
  wake_ = std::max(next_tick_, now.boot);
  if (root_ != nullptr) {
    wake_ = std::min({wake_, root_->NextWake(), next_say_});
    return;
  }
  if (alive_) wake_ = std::min(wake_, next_ask_);
  if (leases_.authority() && leases_.WriteRuns(now))
    wake_ = std::min(wake_, Later(now.boot, leases_.WriteLeft(now) + Duration(1)));
  if (wanted_ > view_.epoch() && fetching_ == 0) wake_ = std::min(wake_, next_fetch_);
}

void LeaseRoom::NotSaid(const Tick& now) {
  next_say_ = Later(now.boot, kSayAgain);
  wake_ = std::min(wake_, next_say_);
}

void LeaseRoom::End() {
  over_ = true;
  leases_.Void();
  leases_.SetAuthority(false);
  wake_ = kNever;
}

void LeaseRoom::NewLife(const Tick& now, std::uint64_t generation) {
  self_.generation = generation;
  leases_ = HomeLeases(self_.name, generation, config_.terms);
  leases_.Install(view_);
  pings_.clear();
  asked_ = false;
  next_ask_ = next_tick_ = wake_ = now.boot;
  if (root_ != nullptr) root_->authority().SetGeneration(generation);
}

// --- a member and its authority

// What was asked is asked again soon: an answer that is lost costs no lease.
void LeaseRoom::Ask(const Tick& now, LeasePeers peers, LeaseOutput& out) {
  if (config_.by_lease() && ++silent_ > kSilentMax) {
    authority_ = NextCandidate(peers);
    silent_ = 1;
  }
  LeaseMessage question;
  question.kind = InView() ? Kind::kPing : Kind::kJoin;
  question.nonce = random_.Next();
  question.write = config_.terms.write;
  question.drift_ppm = config_.terms.drift_ppm;
  question.key = config_.key;
  question.head = view_.head;
  if (pings_.size() >= kPingsMax) pings_.pop_front();
  pings_.push_back({question.nonce, leases_.Stamp(now)});
  Send(authority_, question, out);
  ++counters_.pings;
  next_ask_ = Later(now.boot, std::min(kAnswerWait, config_.terms.renew_every() / 4));
  if (question.kind == Kind::kJoin && !std::exchange(asked_, true)) {
    Note(now, JoinEvidence{JoinEvidence::State::kAsked, self_.name, view_.epoch(), {}}, out);
  }
}

void LeaseRoom::OnAnswer(const Tick& now, std::string_view from, const LeaseMessage& answer, LeaseOutput& out) {
  const auto open =
      std::find_if(pings_.begin(), pings_.end(), [&](const OpenPing& p) { return p.nonce == answer.nonce; });
  if (open == pings_.end()) {
    ++counters_.stray_answers;
    return;
  }
  // Whoever forges one must not be able to take the ping from the true answer either.
  const AnswerTo to{self_.name, self_.generation, config_.terms.write, config_.terms.drift_ppm};
  if (!VerifyAnswer(config_.key, label_, to, answer)) {
    ++counters_.forged_answers;
    // The authority of another key cannot sign what we believe, and its user must learn what is wrong. So once it is passed
    // on, in words alone.
    if (answer.result != Result::kOtherTerms || InView() || !refused_.empty()) return;
    refused_ = answer.text;
    return Note(now, JoinEvidence{JoinEvidence::State::kRefused, self_.name, 0, answer.text}, out);
  }
  const Duration sent = open->stamp;
  silent_ = 0;
  authority_ = std::string(from);  // whoever answers is it
  pings_.erase(pings_.begin(), open + 1);
  Want(now, answer.epoch);
  const bool renewed = answer.result == Result::kRenewed;
  next_ask_ =
      Later(now.boot, InView() && renewed                    ? config_.terms.renew_every()
                      : answer.result == Result::kOtherTerms ? kTermsWait
                                                             : std::min(kAnswerWait, config_.terms.renew_every() / 4));
  if (renewed && leases_.Renew(now, sent, answer.epoch, answer.settled)) {
    ++counters_.renewals;
    answered_by_ = authority_;
    SetContact(now, true, out);
  }
  if (answer.result != Result::kOtherTerms && answer.result != Result::kRefused) return;
  counters_.other_terms += answer.result == Result::kOtherTerms ? 1 : 0;
  if (refused_ == answer.text) return;
  refused_ = answer.text;
  Note(now, JoinEvidence{JoinEvidence::State::kRefused, self_.name, answer.epoch, answer.text}, out);
}

void LeaseRoom::NoticeContact(const Tick& now, LeasePeers peers, LeaseOutput& out) {
  bool alive = IsThere(authority_, peers);
  if (!alive && config_.by_lease()) {
    SetContact(now, false, out);
    authority_ = NextCandidate(peers);
    silent_ = 0;
    next_ask_ = now.boot;
    alive = IsThere(authority_, peers);
  }
  if (alive == alive_) return;
  alive_ = alive;
  if (alive) next_ask_ = now.boot;
  if (!alive) SetContact(now, false, out);
}

void LeaseRoom::SetContact(const Tick& now, bool current, LeaseOutput& out) {
  if (current == leases_.authority()) return;
  leases_.SetAuthority(current);
  const bool told = current ? std::exchange(contact_lost_, false) : !std::exchange(contact_lost_, true);
  if (!told) return;
  Note(now,
       ContactEvidence{current, view_.epoch(), current || answered_by_.empty() ? authority_ : answered_by_,
                       leases_.MayCommit(now), !current && leases_.MayRead(now)},
       out);
}

// --- views

void LeaseRoom::Want(const Tick& now, std::uint64_t epoch) {
  if (root_ != nullptr || epoch <= std::max(wanted_, view_.epoch())) return;
  wanted_ = epoch;
  fetch_failures_ = 0;
  next_fetch_ = now.boot;
  wake_ = std::min(wake_, now.boot);
}

// The authority; or, where that has not answered, somebody of the view that we hold.
std::string LeaseRoom::FetchFrom(LeasePeers peers) {
  if (fetch_failures_ % 2 == 0 && alive_) return authority_;
  for (int tries = 0; tries < 8 && !view_.members.empty(); ++tries) {
    const ViewMember& some = view_.members[random_.Below(static_cast<std::uint32_t>(view_.members.size()))];
    const std::optional<LeasePeer> peer = peers(some.name);
    if (some.name != self_.name && peer.has_value() && peer->alive) return some.name;
  }
  return alive_ ? authority_ : std::string();
}

void LeaseRoom::Fetch(const Tick& now, LeasePeers peers, LeaseOutput& out) {
  const Duration wait = std::min(kFetchAgainMax, kFetchAgain * (1 << std::min(fetch_failures_, 8u)));
  next_fetch_ = Later(now.boot, wait);
  std::string from = FetchFrom(peers);
  if (from.empty()) {
    ++fetch_failures_;
    return;
  }
  LeaseMessage question;
  question.kind = Kind::kFetch;
  question.epoch = view_.epoch();
  if (!fetch_whole_) question.digest = view_.head.digest;
  fetching_ = ++last_request_;
  ++counters_.fetches;
  out.questions.push_back({fetching_, std::move(from), Encode(question)});
}

// To who asks: how our view differs from its own, if we remember that one and it is worth it. Empty: ours is no newer.
std::vector<std::byte> LeaseRoom::Fetched(const LeaseMessage& question) const {
  if (view_.epoch() <= question.epoch) return {};
  std::optional<ViewDelta> delta = history_.Since(question.epoch, question.digest, view_);
  if (!delta.has_value() || delta->changes.size() >= view_.members.size()) return EncodeFetched(view_);
  return EncodeFetched(*std::move(delta));
}

void LeaseRoom::OnFetched(const Tick& now, const Mail& mail, LeaseOutput& out) {
  if (mail.id != fetching_) return;
  fetching_ = 0;
  if (!mail.status.ok()) {
    ++fetch_failures_;
    return;
  }
  counters_.fetched_bytes += mail.body.size();
  const bool is_delta = IsDelta(mail.body);
  const absl::StatusOr<FetchedView> fetched = DecodeFetched(mail.body);
  const ViewHead head = fetched.ok() ? HeadOf(*fetched) : ViewHead();
  if (fetched.ok() && head.epoch <= view_.epoch()) {  // it did not need to answer
    ++fetch_failures_;
    return;
  }
  const bool ours = fetched.ok() && VerifyHead(config_.key, label_, head);
  absl::StatusOr<View> view = absl::DataLossError("not what the authority signed");
  if (ours) view = is_delta ? Apply(view_, std::get<ViewDelta>(*fetched)) : std::get<View>(*fetched);
  if (view.ok()) {
    next_fetch_ = now.boot;
    counters_.deltas += is_delta ? 1 : 0;
    return Install(now, *view, out);
  }
  ++fetch_failures_;
  fetch_whole_ = fetch_whole_ || is_delta;
  next_fetch_ = Later(now.boot, kFetchAgain);
  counters_.bad_deltas += is_delta ? 1 : 0;
  const bool forged = fetched.ok() && !ours;
  Refuse(now, forged ? RefusedViewEvidence::Reason::kBadSignature : RefusedViewEvidence::Reason::kBadBody, head, out);
}

void LeaseRoom::HearHead(const Tick& now, std::string_view bytes, LeasePeers, LeaseOutput& out) {
  if (over_) return;
  const absl::StatusOr<ViewHead> head = DecodeViewHead(std::as_bytes(std::span(bytes)));
  if (!head.ok() || bytes.size() != kViewHeadSize) {
    ++counters_.bad_message;
    return;
  }
  TakeHead(now, *head, out);
  // It is in the place of ours, and must not stay there.
  if (root_ != nullptr && *head != view_.head) next_say_ = std::min(next_say_, Later(now.boot, kSayAgain));
  wake_ = std::min(wake_, next_say_);
}

// Of a view that we do not hold. That it is signed is worth looking at only if it would change something.
void LeaseRoom::TakeHead(const Tick& now, const ViewHead& head, LeaseOutput& out) {
  if (head == view_.head || head.epoch == 0) return;
  if (root_ != nullptr) NoticeStore(now, head, out);
  const bool ours = VerifyHead(config_.key, label_, head);
  if (!ours) return Refuse(now, RefusedViewEvidence::Reason::kBadSignature, head, out);
  if (head.epoch < view_.epoch()) return Refuse(now, RefusedViewEvidence::Reason::kLowerEpoch, head, out);
  if (head.epoch == view_.epoch()) return Refuse(now, RefusedViewEvidence::Reason::kOtherDigest, head, out);
  Want(now, head.epoch);
}

void LeaseRoom::Refuse(const Tick& now, RefusedViewEvidence::Reason reason, const ViewHead& head, LeaseOutput& out) {
  using Why = RefusedViewEvidence::Reason;
  switch (reason) {
    case Why::kBadSignature:
      ++counters_.bad_signature;
      break;
    case Why::kLowerEpoch:
      ++counters_.lower_epoch;
      break;
    case Why::kOtherDigest:
      ++counters_.other_digest;
      break;
    case Why::kBadBody:
      ++counters_.bad_body;
      break;
  }
  if (refused_head_ == head) return;  // each is told once, and counted each time
  refused_head_ = head;
  Note(now, RefusedViewEvidence{reason, head, view_.epoch()}, out);
}

void LeaseRoom::Install(const Tick& now, const View& view, LeaseOutput& out) {
  const View before = std::exchange(view_, view);
  history_.Add(before, view_);
  fetch_whole_ = false;
  ++counters_.views;
  const bool was_in = before.Find(self_.name) != nullptr;
  for (const ViewMember& member : before.members) {
    const ViewMember* still = view_.Find(member.name);
    if (still != nullptr && still->generation == member.generation) continue;
    Note(now, EvidenceOf(ViewEvidence::Kind::kRemoved, member.name, view_), out);
  }
  for (const ViewMember& member : view_.members) {
    const ViewMember* known = before.Find(member.name);
    if (known != nullptr && known->generation == member.generation) continue;
    Note(now, EvidenceOf(ViewEvidence::Kind::kJoined, member.name, view_), out);
  }
  for (Fence& fence : routes_.Install(view_)) {
    ++counters_.fences;
    Note(now, std::move(fence), out);
  }
  for (Fence& fence : leases_.Install(view_)) {
    ++counters_.fences;
    Note(now, std::move(fence), out);
  }
  if (InView() && std::exchange(asked_, false)) {
    Note(now, JoinEvidence{JoinEvidence::State::kAccepted, self_.name, view_.epoch(), {}}, out);
  }
  if (was_in && !InView()) asked_ = false;
  if (InView()) refused_.clear();
  next_ask_ = now.boot;  // so that the authority knows that we hold it
  if (root_ != nullptr) next_say_ = now.boot;
  wake_ = std::min(wake_, now.boot);
}

}  // namespace nekton
