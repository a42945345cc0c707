#include "lease/authority.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lease/homes.h"
#include "swim/message.h"
#include "swim/quoted.h"

namespace nekton {

Authority::Authority(const SigningKey& key, std::string label, LeaseTerms terms, ViewMember self)
    : key_(key), label_(std::move(label)), terms_(terms), self_(std::move(self)) {}

absl::Status Authority::Begin(const Tick& now, const View& stored, AuthorityOutput& out) {
  Advance(now);
  if (stored.epoch() != 0) {
    if (!VerifyHead(key_.public_key(), label_, stored.head)) {
      return absl::DataLossError("the stored view was not signed by this authority for this group");
    }
    view_ = stored;
    restored_ = inherited_ = true;
    settled_ = 0;
    for (const ViewMember& member : view_.members) {
      if (member.name != self_.name) holders_[member.name].member = member;
    }
    out.announce = view_;
    Settle(now);
  }
  if (HasWork(now)) Write(now, out);
  return absl::OkStatus();
}

void Authority::Advance(const Tick& now) {
  now_ = now;
  clock_.Advance(now);
}

// How much longer the holder may have a write lease. One that was granted nothing in this life of ours may have got it in
// the one before.
Duration Authority::WaitLeft(const Tick& now, const Holder& holder) const {
  return std::max(Duration::zero(), terms_.write_wait() - (clock_.Shorter(now) -
                                                           (holder.granted ? holder.granted_at : Duration::zero())));
}

// A store may be a backup that was restored; who holds a later view says so with its first ping.
Duration Authority::ListenLeft(const Tick& now) const {
  return restored_ ? std::max(Duration::zero(), terms_.write_wait() - clock_.Shorter(now)) : Duration::zero();
}

bool Authority::HasWork(const Tick& now) const {
  const ViewMember* us = view_.Find(self_.name);
  if (succeeds_ || !joining_.empty() || us == nullptr || *us != self_) return true;
  return std::any_of(holders_.begin(), holders_.end(), [&](const auto& entry) {
    return entry.second.leaving && WaitLeft(now, entry.second) == Duration::zero();
  });
}

// The next view, to be stored first.
void Authority::Write(const Tick& now, AuthorityOutput& out) {
  if (storing_.has_value() || behind_ || ListenLeft(now) > Duration::zero()) return;
  std::vector<ViewMember> members = {self_};
  for (const auto& [name, holder] : holders_) {
    const bool ends = holder.leaving && WaitLeft(now, holder) == Duration::zero();
    if (!ends) members.push_back(holder.member);
    if (ends && holder.successor.has_value()) members.push_back(*holder.successor);
  }
  for (const auto& [name, member] : joining_) members.push_back(member);
  storing_ = SignView(key_, label_, view_.epoch() + 1, std::move(members), inherited_ || !moves_.empty());
  written_at_ = now.boot;
  out.store = storing_;
}

void Authority::Stored(const Tick& now, std::uint64_t epoch, const absl::Status& status, AuthorityOutput& out) {
  Advance(now);
  if (!storing_.has_value() || storing_->epoch() != epoch) return;
  if (!status.ok()) {
    store_again_ = Later(now.boot, kStoreAgain);
    return;
  }
  const View before = std::exchange(view_, std::move(*storing_));
  storing_.reset();
  store_again_ = kNever;
  inherited_ = succeeds_ = false;
  moves_.clear();
  for (const ViewMember& member : before.members) {
    const ViewMember* still = view_.Find(member.name);
    if (still == nullptr || still->generation != member.generation) out.removed.push_back(member.name);
    if (still == nullptr) holders_.erase(member.name);
  }
  for (const ViewMember& member : view_.members) {
    if (member.name == self_.name) continue;
    const auto joining = joining_.find(member.name);
    if (joining != joining_.end() && joining->second == member) joining_.erase(joining);
    Holder& holder = holders_[member.name];
    if (holder.member == member) continue;
    holder = {};
    holder.member = member;
    holder.granted = false;
    out.admitted.push_back(member.name);
    // It asked again, as its next life, while this view was being stored.
    const auto next = joining_.find(member.name);
    if (next == joining_.end()) continue;
    holder.leaving = true;
    holder.successor = std::move(next->second);
    joining_.erase(next);
  }
  out.announce = view_;
  Settle(now);
}

void Authority::Settle(const Tick& now) {
  const bool all = std::all_of(holders_.begin(), holders_.end(), [&](const auto& entry) {
    return entry.second.has >= view_.epoch() || WaitLeft(now, entry.second) == Duration::zero();
  });
  if (all) settled_ = view_.epoch();
}

void Authority::Wake(const Tick& now, AuthorityOutput& out) {
  Advance(now);
  if (storing_.has_value()) {
    if (now.boot < store_again_) return;
    store_again_ = kNever;
    out.store = storing_;
    return;
  }
  if (HasWork(now) && now.boot >= Later(written_at_, kTogether)) Write(now, out);
  Settle(now);
}

Instant Authority::NextWake() const {
  if (behind_) return kNever;
  if (storing_.has_value()) return store_again_;
  Instant wake = kNever;
  const Instant listened = Later(now_.boot, ListenLeft(now_));
  const ViewMember* us = view_.Find(self_.name);
  if (succeeds_ || !joining_.empty() || us == nullptr || *us != self_) wake = listened;
  for (const auto& [name, holder] : holders_) {
    const bool holds_back = settled_ < view_.epoch() && holder.has < view_.epoch();
    if (holder.leaving) wake = std::min(wake, std::max(listened, Later(now_.boot, WaitLeft(now_, holder))));
    const Duration left = WaitLeft(now_, holder);
    if (holds_back && left > Duration::zero()) wake = std::min(wake, Later(now_.boot, left));
  }
  return wake == kNever ? kNever : std::max(wake, written_at_ == Instant::min() ? wake : Later(written_at_, kTogether));
}

absl::Status Authority::Join(const Tick& now, const ViewMember& member, AuthorityOutput& out) {
  Advance(now);
  if (behind_) return absl::UnavailableError("the authority's store is older than what members hold");
  if (member.name.empty() || member.name.size() > kNameMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("name ", Quoted(member.name), ": must have 1 to ", kNameMax, " bytes"));
  }
  if (member.generation == 0) return absl::InvalidArgumentError("generation = 0: must be at least 1");
  if (member.name == self_.name) return absl::FailedPreconditionError("name in use: it is the authority's");
  const auto known = holders_.find(member.name);
  if (known == holders_.end()) {
    const auto joining = joining_.find(member.name);
    if (joining == joining_.end() && holders_.size() + joining_.size() + 1 >= kViewMembersMax) {
      return absl::ResourceExhaustedError(absl::StrCat("the view has room for ", kViewMembersMax, " members"));
    }
    if (joining != joining_.end() && joining->second.generation > member.generation) {
      return absl::FailedPreconditionError("a newer life of this member is known");
    }
    joining_[member.name] = member;
  } else {
    Holder& holder = known->second;
    if (member.generation < holder.member.generation ||
        (holder.successor.has_value() && member.generation < holder.successor->generation)) {
      return absl::FailedPreconditionError("a newer life of this member is known");
    }
    if (member == holder.member) {
      const bool goes = storing_.has_value() && storing_->Find(member.name) == nullptr;
      if (goes) joining_[member.name] = member;  // it comes back in the view after that
      if (!goes && !holder.successor.has_value()) holder.leaving = false;
      return absl::OkStatus();
    } else {
      holder.leaving = true;
      holder.successor = member;
    }
  }
  if (HasWork(now) && now.boot >= Later(written_at_, kTogether)) Write(now, out);
  return absl::OkStatus();
}

void Authority::Gone(const Tick& now, std::string_view name, std::uint64_t generation, AuthorityOutput& out) {
  Advance(now);
  const auto joining = joining_.find(name);
  if (joining != joining_.end() && joining->second.generation <= generation) joining_.erase(joining);
  const auto known = holders_.find(name);
  if (known == holders_.end()) return;
  Holder& holder = known->second;
  if (holder.successor.has_value() && holder.successor->generation <= generation) holder.successor.reset();
  if (holder.member.generation > generation || holder.leaving) return;
  holder.leaving = true;
  if (HasWork(now) && now.boot >= Later(written_at_, kTogether)) Write(now, out);
}

void Authority::Back(const Tick& now, std::string_view name, std::uint64_t generation) {
  Advance(now);
  const auto known = holders_.find(name);
  if (known == holders_.end() || known->second.member.generation != generation) return;
  // What is being stored cannot be taken back.
  if (storing_.has_value() && storing_->Find(name) == nullptr) return;
  if (!known->second.successor.has_value()) known->second.leaving = false;
}

LeaseGrant Authority::Renew(const Tick& now, std::string_view name, std::uint64_t generation, std::uint64_t epoch) {
  Advance(now);
  LeaseGrant grant;
  grant.epoch = view_.epoch();
  const auto known = holders_.find(name);
  if (known != holders_.end() && known->second.member.generation == generation && !behind_) {
    Holder& holder = known->second;
    if (epoch <= view_.epoch()) holder.has = std::max(holder.has, epoch);
    if (epoch == view_.epoch() && !holder.leaving) {
      holder.granted = true;
      holder.granted_at = clock_.Shorter(now);
      grant.renewed = true;
    }
  }
  Settle(now);
  grant.settled = settled_;
  return grant;
}

std::string_view Authority::HomeOf(const ObjectId& object) const {
  const auto moving = moves_.find(object);
  if (moving != moves_.end()) return moving->second.move.to;
  const std::string home(Homes(view_).HomeOf(object));
  const ViewMember* member = view_.Find(home);
  return member == nullptr ? std::string_view() : std::string_view(member->name);
}

absl::Status Authority::Move(const Tick& now, const ObjectId& object, std::string_view to, AuthorityOutput& out) {
  Advance(now);
  if (behind_) return absl::UnavailableError("the authority's store is older than what members hold");
  const ViewMember* target = view_.Find(to);
  if (target == nullptr) return absl::NotFoundError(absl::StrCat("to ", Quoted(to), ": no member of the view"));
  if (settled_ != view_.epoch() || storing_.has_value() || inherited_) {
    return absl::FailedPreconditionError("the view is not settled; try again");
  }
  if (moves_.contains(object)) return absl::FailedPreconditionError("object: it was moved in this view already");
  if (HomeOf(object) == to) return absl::FailedPreconditionError(absl::StrCat("to ", Quoted(to), ": it is there"));
  if (moves_.size() >= kMovesMax)
    return absl::ResourceExhaustedError(absl::StrCat("at most ", kMovesMax, " moves a view"));
  LeaseMove move;
  move.object = object;
  move.epoch = view_.epoch();
  move.from = std::string(HomeOf(object));
  move.to = std::string(to);
  move = SignMove(key_, label_, std::move(move));
  moves_[object].move = move;
  out.moves.push_back(move);
  if (move.from == self_.name) Moved(now, move.object, move.epoch, self_.name, out);
  return absl::OkStatus();
}

void Authority::Moved(const Tick& now, const ObjectId& object, std::uint64_t epoch, std::string_view name,
                      AuthorityOutput& out) {
  Advance(now);
  const auto known = moves_.find(object);
  if (known == moves_.end() || known->second.move.epoch != epoch) return;
  Moving& moving = known->second;
  const LeaseMove& move = moving.move;
  if (name == move.from && !moving.drained) {
    moving.drained = true;
    if (move.to == self_.name) moving.taken = true;
    out.moves.push_back(move);
  } else if (name == move.to && moving.drained) {
    moving.taken = true;
  }
}

std::vector<LeaseMove> Authority::Pending(std::string_view name) const {
  std::vector<LeaseMove> pending;
  for (const auto& [object, moving] : moves_) {
    if ((name == moving.move.from && !moving.drained) || (name == moving.move.to && moving.drained && !moving.taken)) {
      pending.push_back(moving.move);
    }
  }
  return pending;
}

void Authority::Saw(const ViewHead& head) {
  if (head.epoch < view_.epoch() || head == view_.head) return;
  if (storing_.has_value() && head == storing_->head) return;
  if (VerifyHead(key_.public_key(), label_, head)) behind_ = true;
}

}  // namespace nekton
