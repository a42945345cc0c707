#include "lease/view_root.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {

using Result = LeaseMessage::Result;

ViewRoot::ViewRoot(const LeaseConfig& config, std::string label, ViewMember self)
    : key_(config.key),
      terms_(config.terms),
      admit_(config.admit),
      authority_(*config.signing, std::move(label), config.terms, std::move(self)) {}

absl::Status ViewRoot::Begin(const Tick& now, const View& stored, AuthorityOutput& out) {
  begun_ = now.boot;
  return authority_.Begin(now, stored, out);
}

void ViewRoot::Turn(const Tick& now, LeasePeers peers, std::uint64_t version, AuthorityOutput& out) {
  const bool news = version != reviewed_ || authority_.view().epoch() != reviewed_epoch_;
  const bool due = absent_ && now.boot >= Later(begun_, kAbsentAfter);
  if ((news || due) && now.boot >= Later(reviewed_at_, kReviewEvery)) {
    reviewed_ = version;
    reviewed_epoch_ = authority_.view().epoch();
    reviewed_at_ = now.boot;
    Review(now, peers, out);
  }
  if (now.boot >= Later(turned_, kTurnEvery) || now.boot >= authority_.NextWake()) {
    turned_ = now.boot;
    authority_.Wake(now, out);
  }
  wake_ = std::min(Later(turned_, kTurnEvery), std::max(authority_.NextWake(), now.boot));
  if (version != reviewed_ || authority_.view().epoch() != reviewed_epoch_) {
    wake_ = std::min(wake_, Later(reviewed_at_, kReviewEvery));
  }
  if (absent_) wake_ = std::min(wake_, std::max(Later(begun_, kAbsentAfter), Later(reviewed_at_, kReviewEvery)));
}

// What the table says of the members of the view. It says it again and again, so that nothing is missed, whatever was
// heard while we were down.
void ViewRoot::Review(const Tick& now, LeasePeers peers, AuthorityOutput& out) {
  absent_ = false;
  const std::string self = authority_.self().name;
  const std::vector<ViewMember> members = authority_.view().members;
  for (const ViewMember& member : members) {
    if (member.name == self) continue;
    const std::optional<LeasePeer> peer = peers(member.name);
    // A lower generation than the view's: of that one nobody here has ever heard, or it was forgotten.
    if (!peer.has_value() || peer->generation < member.generation) {
      if (now.boot < Later(begun_, kAbsentAfter)) {
        absent_ = true;
      } else {
        authority_.Gone(now, member.name, member.generation, out);
      }
    } else if (peer->generation > member.generation || (peer->generation == member.generation && !peer->alive)) {
      authority_.Gone(now, member.name, member.generation, out);
    } else {
      authority_.Back(now, member.name, member.generation);
    }
  }
}

Result ViewRoot::Admit(const Tick& now, std::string_view name, const LeasePeer& peer, AuthorityOutput& out,
                       std::string& why) {
  if (!admit_.empty() && std::find(admit_.begin(), admit_.end(), name) == admit_.end()) {
    why = "not on the list of who may join";
    return Result::kRefused;
  }
  if (!peer.alive) return Result::kWait;
  const absl::Status status = authority_.Join(now, {std::string(name), peer.generation, peer.address}, out);
  if (status.ok()) return Result::kAccepted;
  why = std::string(status.message());
  return Result::kRefused;
}

LeaseMessage ViewRoot::Answer(const Tick& now, std::string_view name, const LeasePeer& peer,
                              const LeaseMessage& question, AuthorityOutput& out, LeaseCounters& counters) {
  LeaseMessage answer;
  answer.kind = LeaseMessage::Kind::kAnswer;
  answer.nonce = question.nonce;
  if (question.write != terms_.write || question.drift_ppm != terms_.drift_ppm) {
    ++counters.other_terms;
    answer.result = Result::kOtherTerms;
    answer.text = absl::StrCat("the authority's write lease is ", terms_.write.count(), " ns, with a drift of ",
                               terms_.drift_ppm, " ppm");
  } else if (question.kind == LeaseMessage::Kind::kJoin && question.key != key_) {
    // It would be home to objects by views that it refuses.
    ++counters.other_terms;
    answer.result = Result::kOtherTerms;
    answer.text = "the authority has another key than this member believes";
  } else if (question.kind == LeaseMessage::Kind::kJoin) {
    answer.result = Admit(now, name, peer, out, answer.text);
  } else {
    const LeaseGrant grant = authority_.Renew(now, name, peer.generation, question.head.epoch);
    answer.result = grant.renewed ? Result::kRenewed : Result::kNotRenewed;
    counters.granted += grant.renewed ? 1 : 0;
  }
  answer.epoch = authority_.view().epoch();
  answer.settled = authority_.settled();
  return answer;
}

}  // namespace nekton
