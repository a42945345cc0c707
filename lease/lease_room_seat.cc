// What makes a candidate the authority, and what ends that; and whom the others take for it.
#include <algorithm>
#include <utility>

#include "lease/lease_room.h"

namespace nekton {

bool LeaseRoom::IsThere(std::string_view name, LeasePeers peers) const {
  if (config_.by_lease() && name == self_.name) return false;  // it asks others
  const std::optional<LeasePeer> peer = peers(name);
  return peer.has_value() && peer->alive;
}

// The one after the one that was believed in; that one, if no other is alive.
std::string LeaseRoom::NextCandidate(LeasePeers peers) const {
  const std::vector<std::string>& all = config_.candidates;
  const auto at = static_cast<std::size_t>(std::find(all.begin(), all.end(), authority_) - all.begin());
  for (std::size_t i = 1; i <= all.size(); ++i) {
    const std::string& name = all[(at + i) % all.size()];
    if (IsThere(name, peers)) return name;
  }
  return authority_;
}

absl::Status LeaseRoom::Seat(const Tick& now, Mandate mandate, const View& view, LeaseOutput& out) {
  if (over_ || !config_.signing.has_value())
    return absl::FailedPreconditionError("this member is no candidate any more");
  if (view.epoch() != 0 && !VerifyHead(config_.key, label_, view.head)) {
    Refuse(now, RefusedViewEvidence::Reason::kBadSignature, view.head, out);
    return absl::DataLossError("the view in the register was not signed by this authority for this group");
  }
  Note(now, SeatEvidence{true, view.epoch(), mandate.token}, out);
  mandate_ = std::move(mandate);
  authority_ = answered_by_ = self_.name;
  pings_.clear();
  root_ = std::make_unique<ViewRoot>(config_, label_, self_);
  root_->authority().Succeed();
  // The register lost what we hold: a backup that was restored.
  if (view_.epoch() > view.epoch()) NoticeStore(now, view_.head, out);
  AuthorityOutput first;
  const absl::Status begun = root_->Begin(now, view, first);
  if (!begun.ok()) return begun;
  Obey(now, first, out);
  version_ = ~std::uint64_t{0};
  next_say_ = wake_ = now.boot;
  return absl::OkStatus();
}

void LeaseRoom::Unseat(const Tick& now, LeaseOutput& out) {
  if (!mandate_.has_value()) return;
  Note(now, SeatEvidence{false, view_.epoch(), mandate_->token}, out);
  SetContact(now, false, out);
  mandate_.reset();
  root_.reset();
  alive_ = false;
  silent_ = 0;
  version_ = ~std::uint64_t{0};
  next_say_ = kNever;
  if (!over_) next_ask_ = wake_ = now.boot;
}

void LeaseRoom::CheckMandate(const Tick& now, LeaseOutput& out) {
  if (mandate_.has_value() && !mandate_->Stands(now)) Unseat(now, out);
}

void LeaseRoom::Believe(const Tick& now, std::string_view name) {
  if (root_ != nullptr || name == authority_ || name == self_.name || !config_.IsCandidate(name)) return;
  authority_ = std::string(name);
  silent_ = 0;
  version_ = ~std::uint64_t{0};
  next_ask_ = wake_ = now.boot;
}

}  // namespace nekton
