#include "lease/home_leases.h"

#include <algorithm>
#include <utility>

namespace nekton {

bool HomeLeases::InView(std::string_view name) const {
  return std::binary_search(members_.begin(), members_.end(), name);
}

std::vector<Fence> HomeLeases::Install(const View& view) {
  std::vector<Fence> fences;
  if (view.epoch() <= epoch()) return fences;
  const bool was_member = member_;
  // In one that we never held moves may have ended, and we may have been out.
  const bool missed = view.epoch() != epoch() + 1;
  const ViewMember* us = view.Find(self_);
  member_ = us != nullptr && us->generation == generation_;
  if (!member_) Void();
  if (!was_member || missed || view.ends_moves) settle_from_ = view.epoch();
  homes_ = Homes(view);
  members_.clear();
  for (const ViewMember& member : view.members) members_.push_back(member.name);
  for (const auto& [object, move] : moves_) served_.emplace(object, move.epoch);
  moves_.clear();
  for (auto it = served_.begin(); it != served_.end();) {
    const std::string_view home = homes_.HomeOf(it->first);
    if (home == self_ && member_) {
      it->second = view.epoch();
      ++it;
      continue;
    }
    fences.push_back({it->first, self_, it->second, std::string(home), view.epoch(), FenceReason::kLeaseLeftView});
    served_.erase(it++);
  }
  std::sort(fences.begin(), fences.end(), [](const Fence& a, const Fence& b) { return a.object < b.object; });
  return fences;
}

bool HomeLeases::Move(const LeaseMove& move) {
  if (move.epoch != epoch() || !InView(move.to) || !InView(move.from) || move.from == move.to) return false;
  if (move.from != self_ && move.to != self_) return false;
  if (moves_.size() >= kMovesMax && !moves_.contains(move.object)) return false;
  moves_[move.object] = move;
  return true;
}

bool HomeLeases::Renew(const Tick& now, Duration sent, std::uint64_t epoch, std::uint64_t settled) {
  clock_.Advance(now);
  if (!member_ || epoch != this->epoch()) return false;
  if (settled <= epoch) settled_ = std::max(settled_, settled);
  if (renewed_ && sent < renewed_at_) return false;
  renewed_ = true;
  renewed_at_ = sent;
  return true;
}

HomeLease HomeLeases::Find(const ObjectId& object) {
  if (!member_) return {};
  const auto move = moves_.find(object);
  if (move != moves_.end()) {
    if (move->second.from == self_) return {HomeState::kDraining, move->second.epoch, move->second.to};
    return {HomeState::kActive, move->second.epoch, {}};
  }
  if (homes_.HomeOf(object) != self_) return {};
  if (served_.size() < kServedMax) served_.emplace(object, epoch());
  const auto served = served_.find(object);
  return {HomeState::kActive, served == served_.end() ? epoch() : served->second, {}};
}

Duration HomeLeases::Left(const Tick& now, Duration usable) const {
  return renewed_ ? std::max(Duration(-1), usable - (clock_.Longer(now) - renewed_at_)) : Duration(-1);
}

bool HomeLeases::MayRead(const Tick& now) const {
  return member_ && Left(now, terms_.read_usable()) >= Duration::zero();
}

bool HomeLeases::MayCommit(const Tick& now) const {
  return member_ && authority_ && settled_ >= settle_from_ && Left(now, terms_.write_usable()) >= Duration::zero();
}

Duration HomeLeases::WriteLeft(const Tick& now) const {
  return authority_ ? std::max(Duration::zero(), Left(now, terms_.write_usable())) : Duration::zero();
}

Duration HomeLeases::ReadLeft(const Tick& now) const {
  return std::max(Duration::zero(), Left(now, terms_.read_usable()));
}

}  // namespace nekton
