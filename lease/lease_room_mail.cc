// What a member hears from others about views and leases; what its authority, if it is it, wants done; and what it tells.
#include <algorithm>
#include <utility>

#include "lease/lease_answer.h"
#include "lease/lease_room.h"

namespace nekton {

using Kind = LeaseMessage::Kind;

void LeaseRoom::Hear(const Tick& now, const Mail& mail, LeasePeers peers, LeaseOutput& out) {
  if (over_) return;
  if (mail.kind == MailKind::kDone) return OnFetched(now, mail, out);
  if (mail.kind == MailKind::kCancelled) return;
  const absl::StatusOr<LeaseMessage> message = DecodeLeaseMessage(mail.body);
  const bool asks = mail.kind == MailKind::kRequest;
  if (asks && message.ok() && message->kind == Kind::kFetch) {
    out.answers.push_back({mail.id, Fetched(*message)});
    return;
  }
  if (mail.id != 0) out.answers.push_back({mail.id, {}});
  const bool from_authority =
      root_ == nullptr && (config_.by_lease() ? config_.IsCandidate(mail.member) : mail.member == config_.authority);
  if (!message.ok() || mail.id != 0) {
    ++counters_.bad_message;
  } else if (root_ != nullptr && (message->kind == Kind::kJoin || message->kind == Kind::kPing)) {
    OnQuestion(now, mail, *message, peers, out);
  } else if (root_ != nullptr && message->kind == Kind::kMoved) {
    LeaseMove move = message->move;
    AuthorityOutput authority;
    root_->authority().Moved(now, move.object, move.epoch, mail.member, authority);
    Obey(now, authority, out);
  } else if (config_.by_lease() && root_ == nullptr && message->kind != Kind::kAnswer && message->kind != Kind::kMove) {
    // We are not it, and say nothing: the next candidate will be asked.
  } else if (from_authority && message->kind == Kind::kAnswer) {
    OnAnswer(now, mail.member, *message, out);
  } else if (from_authority && message->kind == Kind::kMove) {
    OnMove(now, message->move, out);
  } else {
    ++counters_.bad_message;
  }
}

void LeaseRoom::OnQuestion(const Tick& now, const Mail& mail, const LeaseMessage& question, LeasePeers peers,
                           LeaseOutput& out) {
  const std::optional<LeasePeer> peer = peers(mail.member);
  if (!peer.has_value() || peer->generation != mail.generation) return;  // an earlier life of it
  if (question.kind == Kind::kPing) TakeHead(now, question.head, out);
  AuthorityOutput authority;
  LeaseMessage answer = root_->Answer(now, mail.member, *peer, question, authority, counters_);
  const AnswerTo to{mail.member, mail.generation, question.write, question.drift_ppm};
  answer.signature = SignAnswer(*config_.signing, label_, to, answer);
  Obey(now, authority, out);
  Send(mail.member, answer, out);
  for (const LeaseMove& move : root_->authority().Pending(mail.member)) {
    LeaseMessage message;
    message.kind = Kind::kMove;
    message.move = move;
    Send(mail.member, message, out);
  }
}

void LeaseRoom::OnMove(const Tick& now, const LeaseMove& move, LeaseOutput& out) {
  if (move.epoch != view_.epoch()) return;  // it is sent again, or has ended
  if (!VerifyMove(config_.key, label_, move)) {
    ++counters_.bad_signature;
    return;
  }
  if (!leases_.Move(move)) return;
  (void)now;
  LeaseMessage message;
  message.kind = Kind::kMoved;
  message.move.object = move.object;
  message.epoch = move.epoch;
  Send(authority_, message, out);
}

void LeaseRoom::Stored(const Tick& now, std::uint64_t epoch, const absl::Status& status, LeasePeers, LeaseOutput& out) {
  if (root_ == nullptr || over_) return;
  AuthorityOutput authority;
  root_->authority().Stored(now, epoch, status, authority);
  Obey(now, authority, out);
  wake_ = std::min(wake_, now.boot);
}

void LeaseRoom::Obey(const Tick& now, AuthorityOutput& authority, LeaseOutput& out) {
  if (authority.store.has_value()) out.store = std::move(authority.store);
  if (authority.announce.has_value()) {
    // A successor begins with the view that it holds already.
    if (authority.announce->epoch() > view_.epoch()) Install(now, *authority.announce, out);
    if (!root_->authority().behind()) {
      leases_.RenewOwn(now, root_->authority().settled());
      SetContact(now, true, out);
    }
  }
  for (const LeaseMove& move : authority.moves) Deliver(now, move, out);
  wake_ = std::min(wake_, now.boot);
}

// The old home first; when it has it, the new one.
void LeaseRoom::Deliver(const Tick& now, const LeaseMove& move, LeaseOutput& out) {
  (void)now;
  const auto is_due = [&](const std::string& name) {
    const std::vector<LeaseMove> pending = root_->authority().Pending(name);
    return std::find(pending.begin(), pending.end(), move) != pending.end();
  };
  const bool drained = !is_due(move.from);
  const std::string& to = drained ? move.to : move.from;
  if (move.from == self_.name || (drained && move.to == self_.name)) leases_.Move(move);
  if (to == self_.name || !is_due(to)) return;
  LeaseMessage message;
  message.kind = Kind::kMove;
  message.move = move;
  Send(to, message, out);
}

void LeaseRoom::NoticeStore(const Tick& now, const ViewHead& seen, LeaseOutput& out) {
  const bool before = root_->authority().behind();
  root_->authority().Saw(seen);
  if (before || !root_->authority().behind()) return;
  leases_.Void();
  leases_.SetAuthority(false);
  Note(now, StoreBehindEvidence{view_.epoch(), seen.epoch}, out);
}

absl::Status LeaseRoom::Move(const Tick& now, const ObjectId& object, std::string_view to, LeaseOutput& out) {
  if (root_ == nullptr) return absl::FailedPreconditionError("only the authority moves objects");
  if (over_) return absl::FailedPreconditionError("the member is gone");
  AuthorityOutput authority;
  const absl::Status status = root_->authority().Move(now, object, to, authority);
  Obey(now, authority, out);
  return status;
}

void LeaseRoom::HearEvent(const Event& event, LeaseOutput& out) {
  if (event.member == nullptr || event.member->self || view_.Find(event.member->name) == nullptr) return;
  PeerEvidence peer;
  switch (event.kind) {
    case EventKind::kSuspected:
      peer.kind = PeerEvidence::Kind::kSuspect;
      break;
    case EventKind::kFailed:
    case EventKind::kLeft:
      peer.kind = PeerEvidence::Kind::kFailed;
      break;
    case EventKind::kRecovered:
      peer.kind = PeerEvidence::Kind::kRecovered;
      break;
    default:
      return;
  }
  peer.node = event.member->name;
  peer.epoch = view_.epoch();
  out.evidence.push_back({event.at, std::move(peer)});
}

AuthorityEvidence LeaseRoom::Standing(const Tick& now) const {
  return {leases_.authority(), view_.epoch(), leases_.MayCommit(now), leases_.WriteLeft(now)};
}

CountersEvidence LeaseRoom::Totals() const { return EvidenceOf(gate_.counters(), counters_.fences, last_replay_); }

Decision LeaseRoom::Decide(const Tick& now, const ObjectRequest& request) {
  leases_.Advance(now);
  Decision decision = gate_.Decide(now, request);
  if (decision.verdict == Verdict::kStaleEpoch || decision.verdict == Verdict::kReplay) last_replay_ = decision.verdict;
  return decision;
}

}  // namespace nekton
