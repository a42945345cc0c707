#include "swim/member_table.h"

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "swim/message.h"
#include "swim/tags.h"

namespace nekton {
namespace {

std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Room for one more. Tables are large and grow slowly, so they get an eighth more, where a vector would double.
template <typename T>
void Room(std::vector<T>& all) {
  if (all.size() == all.capacity()) all.reserve(all.size() + all.size() / 8 + 16);
}

}  // namespace

std::size_t MemberTable::NameHash::operator()(std::string_view name) const {
  return XXH3_64bits(name.data(), name.size());
}

MemberTable::MemberTable(std::size_t rows_max, bool dead_too, std::shared_ptr<Identities> identities)
    : identities_(identities != nullptr ? std::move(identities) : std::make_shared<Identities>()),
      rows_max_(rows_max),
      dead_too_(dead_too),
      by_id_(0, IdHash{&rows_}, IdEqual{&rows_}),
      by_name_(0, NameHash{&rows_}, NameEqual{&rows_}),
      by_address_(0, AddressHash{&rows_}, AddressEqual{&rows_}) {}

MemberTable::~MemberTable() {
  for (const Row& row : rows_) {
    if (row.who != nullptr) identities_->Return(row.who);
  }
}

PeerId MemberTable::FindId(std::uint64_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? kNoPeer : *it;
}

PeerId MemberTable::FindName(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? kNoPeer : *it;
}

PeerId MemberTable::FindAddress(const Address& address) const {
  const auto it = by_address_.find(address);
  return it == by_address_.end() ? kNoPeer : *it;
}

std::uint64_t MemberTable::Term(const Row& row) const {
  if (!Counts(row.status) && !(dead_too_ && row.status == MemberStatus::kInactive)) return 0;
  const std::uint64_t tags = XXH3_64bits(row.who->tags.data(), row.who->tags.size());
  return Mix(row.id ^ Mix(row.key.incarnation ^ Mix(tags)));
}

void MemberTable::Changed(PeerId row) {
  if (row < shown_.size()) shown_[row].reset();
  ++version_;
}

PeerId MemberTable::Add(std::string_view name, const Address& address, LifeKey key, MemberStatus status,
                        Random& random) {
  if (full()) return kNoPeer;
  PeerId row;
  if (free_.empty()) {
    row = static_cast<PeerId>(rows_.size());
    Room(rows_);
    rows_.emplace_back();
  } else {
    row = free_.back();
    free_.pop_back();
  }
  Row& r = rows_[row];
  r.who = identities_->Take(name, {}, 0, 0);
  r.id = MemberId(name, key.generation);
  r.key = key;
  r.address = address;
  r.status = status;
  r.detailed = false;
  r.ring = kNoPeer;
  by_id_.insert(row);
  by_name_.insert(row);
  Own(row);
  if (Counts(status)) {
    ++alive_;
    if (row != kSelf) EnterRing(row, random);
  }
  if (status == MemberStatus::kLeft) ++left_;
  digest_ += Term(r);
  ++version_;
  return row;
}

void MemberTable::Remove(PeerId row) {
  Row& r = rows_[row];
  digest_ -= Term(r);
  if (Counts(r.status)) --alive_;
  if (r.status == MemberStatus::kLeft) --left_;
  LeaveRing(row);
  Disown(row);
  by_id_.erase(row);
  by_name_.erase(row);
  identities_->Return(std::exchange(r.who, nullptr));
  free_.push_back(row);
  Changed(row);
}

void MemberTable::SetStatus(PeerId row, MemberStatus status, Random& random) {
  Row& r = rows_[row];
  if (r.status == status) return;
  const bool before = Counts(r.status);
  digest_ -= Term(r);
  if (r.status == MemberStatus::kLeft) --left_;
  if (status == MemberStatus::kLeft) ++left_;
  r.status = status;
  digest_ += Term(r);
  const bool after = Counts(status);
  if (before && !after) {
    --alive_;
    LeaveRing(row);
  } else if (!before && after) {
    ++alive_;
    if (row != kSelf) EnterRing(row, random);
    Own(row);
  }
  Changed(row);
}

void MemberTable::SetKey(PeerId row, LifeKey key) {
  Row& r = rows_[row];
  digest_ -= Term(r);
  if (r.key.generation != key.generation) {
    by_id_.erase(row);
    r.id = MemberId(r.who->name, key.generation);
    by_id_.insert(row);
  }
  if (r.key != key && row != kSelf) r.detailed = false;
  r.key = key;
  digest_ += Term(r);
  Changed(row);
}

void MemberTable::SetAddress(PeerId row, const Address& address) {
  Disown(row);
  rows_[row].address = address;
  Own(row);
  Changed(row);
}

void MemberTable::SetDetails(PeerId row, std::string_view tags, std::uint8_t version_min, std::uint8_t version_max) {
  Row& r = rows_[row];
  digest_ -= Term(r);
  const Identity* former = std::exchange(r.who, identities_->Take(r.who->name, tags, version_min, version_max));
  identities_->Return(former);
  r.detailed = true;
  digest_ += Term(r);
  Changed(row);
}

void MemberTable::Own(PeerId row) {
  by_address_.erase(rows_[row].address);
  by_address_.insert(row);
}

void MemberTable::Disown(PeerId row) {
  const auto it = by_address_.find(rows_[row].address);
  if (it != by_address_.end() && *it == row) by_address_.erase(it);
}

// A newcomer takes a random place among those still to come in this round (SWIM paper, section 4.3).
void MemberTable::EnterRing(PeerId row, Random& random) {
  const std::uint32_t last = ring_size();
  Room(ring_);
  ring_.push_back(row);
  rows_[row].ring = last;
  const std::uint32_t place = cursor_ + random.Below(last - cursor_ + 1);
  std::swap(ring_[place], ring_[last]);
  rows_[ring_[last]].ring = last;
  rows_[ring_[place]].ring = place;
}

void MemberTable::LeaveRing(PeerId row) {
  std::uint32_t hole = rows_[row].ring;
  if (hole == kNoPeer) return;
  if (hole < cursor_) {  // the last one already probed fills the hole, so that nobody is probed twice in a round
    --cursor_;
    ring_[hole] = ring_[cursor_];
    rows_[ring_[hole]].ring = hole;
    hole = cursor_;
  }
  const PeerId last = ring_.back();
  ring_.pop_back();
  if (hole < ring_.size()) {  // else nothing is behind it: at the end of a round the last one may have just moved
    ring_[hole] = last;
    rows_[last].ring = hole;
  }
  rows_[row].ring = kNoPeer;
}

PeerId MemberTable::NextInRound(Random& random) {
  if (ring_.empty()) return kNoPeer;
  if (cursor_ >= ring_.size()) {
    for (std::uint32_t i = ring_size() - 1; i > 0; --i) {
      const std::uint32_t j = random.Below(i + 1);
      std::swap(ring_[i], ring_[j]);
      rows_[ring_[i]].ring = i;
      rows_[ring_[j]].ring = j;
    }
    cursor_ = 0;
  }
  return ring_[cursor_++];
}

PeerId MemberTable::PickRandom(Random& random) const {
  return ring_.empty() ? kNoPeer : ring_[random.Below(ring_size())];
}

MemberPtr MemberTable::MakeInfo(PeerId row) const {
  const Row& r = rows_[row];
  if (row < shown_.size() && shown_[row] != nullptr) return shown_[row];
  auto info = std::make_shared<MemberInfo>();
  info->name = r.who->name;
  info->address = r.address;
  info->key = r.key;
  info->status = r.status;
  info->self = row == kSelf;
  auto tags = DecodeTags(r.who->tags);
  if (tags.ok()) info->tags = *std::move(tags);
  return info;
}

MemberPtr MemberTable::Info(PeerId row) {
  if (row >= shown_.size()) shown_.resize(rows_.size());
  if (shown_[row] == nullptr) shown_[row] = MakeInfo(row);
  return shown_[row];
}

}  // namespace nekton
