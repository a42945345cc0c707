#include "swim/broadcasts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "swim/message.h"
#include "swim/notice.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

// The finaliser of SplitMix64, as of the table's digest.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::uint64_t Broadcasts::IdOf(const BroadcastPart& part) {
  const std::uint64_t key = XXH3_64bits(part.key.data(), part.key.size());
  return Mix(MemberId(part.origin, part.generation) ^ Mix(part.counter ^ Mix(key)));
}

BroadcastPart Broadcasts::PartOf(std::uint32_t slot, Instant now) const {
  const Item& item = items_[slot];
  BroadcastPart part;
  part.key = item.key;
  part.origin = item.origin;
  part.generation = item.generation;
  part.counter = item.version.counter;
  part.age = std::max(Duration{}, now - item.said);
  part.left = std::max(Duration{}, item.ends - now);
  part.bytes = item.bytes;
  return part;
}

std::optional<BroadcastPart> Broadcasts::Find(std::string_view key, Instant now) const {
  const auto it = index_.find(Absl(key));
  if (it == index_.end() || !items_[it->second].held) return std::nullopt;
  return PartOf(it->second, now);
}

absl::Status Broadcasts::Say(Instant now, BroadcastPart& part) {
  const auto it = index_.find(Absl(part.key));
  const Item* former = it != index_.end() && items_[it->second].held ? &items_[it->second] : nullptr;
  if (former == nullptr && held_ >= kBroadcastKeysMax) {
    return absl::ResourceExhaustedError(absl::StrCat("key: ", held_, " keys are held, at most ", kBroadcastKeysMax,
                                                     " are; each is free again broadcast_keep after it was last said"));
  }
  const std::size_t rest = bytes_ - (former == nullptr ? 0 : SizeOf(*former));
  const std::size_t size = part.key.size() + part.bytes.size();
  if (rest + size > kBroadcastsBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("bytes: with these ", size, " bytes ", rest + size,
                                                     " would be held, at most ", kBroadcastsBytesMax, " are"));
  }
  if (clock_ + 1 >= kBroadcastCounterMax) return absl::ResourceExhaustedError("the clock of broadcasts has run out");
  part.counter = clock_ + 1;
  Take(now, part, /*pass_on=*/true);
  return absl::OkStatus();
}

Broadcasts::Verdict Broadcasts::Take(Instant now, const BroadcastPart& part, bool pass_on) {
  if (part.counter > clock_ && part.counter - clock_ > kClockJumpMax) return Verdict::kRefused;
  const Version version{part.counter, MemberId(part.origin, part.generation)};
  if (const auto it = index_.find(Absl(part.key)); it != index_.end()) {
    const Version& known = items_[it->second].version;
    if (version == known) {
      if (items_[it->second].held && part.left <= Duration{}) {
        items_[it->second].ends = now;
        Bury(it->second, now);
      }
      return Verdict::kKnown;
    }
    if (version < known) return Verdict::kStale;
  }
  if (part.left <= Duration{}) return Verdict::kStale;
  clock_ = std::max(clock_, part.counter);
  const std::uint32_t slot = SlotFor(part.key);
  Item& item = items_[slot];
  if (item.held) bytes_ -= SizeOf(item);
  if (!item.held) ++held_;
  if (!item.held && IsReserved(item.key)) ++reserved_;
  item.held = true;
  item.bytes = part.bytes;
  item.origin = part.origin;
  item.generation = part.generation;
  item.version = version;
  item.said = now - part.age;
  item.ends = now + part.left;
  item.id = IdOf(part);
  bytes_ += SizeOf(item);
  timers_.Set(slot, std::min(std::max(now, item.said + settle_), item.ends));
  if (news_ == nullptr) news_ = std::make_unique<Dissemination>();
  if (pass_on) {
    news_->Put(slot);
  } else {
    news_->Drop(slot);
  }
  KeepBounds(now);
  return Verdict::kNews;
}

void Broadcasts::Advance(Instant now) {
  while (!timers_.empty() && timers_.top().when <= now) {
    const std::uint32_t slot = timers_.top().id;
    Item& item = items_[slot];
    if (!item.held) {
      Forget(slot);
    } else if (item.ends <= now) {
      Bury(slot, now);
    } else {
      sum_ += item.id - item.settled;
      item.settled = item.id;
      timers_.Set(slot, item.ends);
    }
  }
}

std::uint32_t Broadcasts::SlotFor(std::string_view key) {
  const auto it = index_.find(Absl(key));
  if (it != index_.end()) return it->second;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(items_.size()));
    items_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  items_[slot].key = key;
  index_.emplace(std::string(key), slot);
  return slot;
}

// It is held no more, and remembered for as long again.
void Broadcasts::Bury(std::uint32_t slot, Instant now) {
  Item& item = items_[slot];
  bytes_ -= SizeOf(item);
  --held_;
  if (IsReserved(item.key)) --reserved_;
  item.held = false;
  sum_ -= item.settled;
  item.settled = 0;
  item.bytes = {};
  news_->Drop(slot);
  timers_.Set(slot, now + std::max(Duration{}, item.ends - item.said));
}

void Broadcasts::Forget(std::uint32_t slot) {
  timers_.Cancel(slot);
  index_.erase(items_[slot].key);
  items_[slot] = {};
  free_.push_back(slot);
}

// The newest are kept, which are the same ones everywhere.
void Broadcasts::KeepBounds(Instant now) {
  while (held_ > kBroadcastKeysMax || bytes_ > kBroadcastsBytesMax) {
    std::uint32_t oldest = 0;
    for (std::uint32_t slot = 0; slot < items_.size(); ++slot) {
      if (items_[slot].held && (!items_[oldest].held || items_[slot].version < items_[oldest].version)) oldest = slot;
    }
    Bury(oldest, now);
    ++displaced_;
  }
  while (index_.size() - held_ > kBroadcastKeysMax) {
    std::uint32_t first = 0;
    Instant when = kNever;
    for (const Deadlines::Entry& entry : timers_.entries()) {
      if (!items_[entry.id].held && entry.when < when) {
        first = entry.id;
        when = entry.when;
      }
    }
    Forget(first);
  }
}

}  // namespace nekton
