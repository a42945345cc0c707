// What is held of the group's broadcasts (swim/user_data.h): the latest of each key, which version it is, how long it
// lasts, and how often it was passed on.
//
// Versions order by a Lamport clock, then by the wire id of the life that said it: one order for everybody. A broadcast
// that ended, or was given up at the bound, leaves its key and version behind for as long again as it was to last, so that
// no late copy of it is news.
//
// The digest is an order-free sum over the latest *settled* broadcast of each key, one that was said at least `settle` ago:
// what is still on its way is no difference. Until a newer one has settled the one before it counts. So two members have
// the same digest, but for a moment, while one broadcast follows the other, and a digest that goes on differing is a loss.
//
// Bounded by kBroadcastKeysMax keys and kBroadcastsBytesMax bytes that are held, and as many keys that are remembered.
// Times are the engine's; nothing happens but in its calls. Not thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "phi/time.h"
#include "stm/deadlines.h"
#include "swim/dissemination.h"
#include "swim/wire_broadcast.h"

namespace nekton {

class Broadcasts {
 public:
  using Ids = absl::flat_hash_set<std::uint64_t>;
  enum class Verdict : std::uint8_t {
    kNews,     // the latest of its key; it is held now, unless it was the oldest at the bound
    kKnown,    // a copy; where it has no time left, ours ends, too
    kStale,    // a later one of its key is known, or it has ended
    kRefused,  // its clock is further ahead than can be
  };

  explicit Broadcasts(Duration settle) : settle_(settle) {}

  // Of our own, without a clock; it gets the next one. ResourceExhausted at a bound. Then as Take.
  absl::Status Say(Instant now, BroadcastPart& part);
  // One that was heard. `pass_on`: it is offered to Fill.
  Verdict Take(Instant now, const BroadcastPart& part, bool pass_on);
  // What has come to its time: settled, ended, forgotten.
  void Advance(Instant now);

  std::uint32_t digest() const { return static_cast<std::uint32_t>(sum_ ^ (sum_ >> 32)); }  // 0: of nothing
  std::size_t size() const { return held_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t reserved() const { return reserved_; }  // of those that are held: notices (swim/notice.h)
  // The latest of this key, if it is held. Its views are good until the next change.
  std::optional<BroadcastPart> Find(std::string_view key, Instant now) const;
  std::uint64_t displaced() const { return displaced_; }  // given up at the bound so far
  bool has_news() const { return news_ != nullptr && !news_->empty(); }

  // Offers what is to be passed on, as Dissemination does; `fits(part) -> bool`.
  template <typename Fits>
  void Fill(Instant now, std::uint32_t sends, Fits fits) {
    if (news_ != nullptr) news_->Fill(sends, [&](std::uint32_t slot) { return fits(PartOf(slot, now)); });
  }
  // Each that is held, in a fixed order: `what(id, part)`. The id is that of the key and version.
  template <typename What>
  void ForEach(Instant now, What what) const {
    for (std::uint32_t slot = 0; slot < items_.size(); ++slot) {
      if (items_[slot].held) what(items_[slot].id, PartOf(slot, now));
    }
  }
  // The same of those that are remembered; `part.left` is 0 where it has ended, and not where the bound displaced it.
  template <typename What>
  void ForEachRemembered(Instant now, What what) const {
    for (std::uint32_t slot = 0; slot < items_.size(); ++slot) {
      if (!items_[slot].held && !items_[slot].key.empty()) what(items_[slot].id, PartOf(slot, now));
    }
  }

  static std::uint64_t IdOf(const BroadcastPart& part);

 private:
  // From an empty table on a clock may be this far ahead. 2^15 forged ones in a row would drive it to its end.
  static constexpr std::uint64_t kClockJumpMax = std::uint64_t{1} << 48;

  struct Version {
    std::uint64_t counter = 0;
    std::uint64_t origin = 0;
    friend auto operator<=>(const Version&, const Version&) = default;
  };
  struct Item {
    std::string key;  // empty: the slot is free
    std::string bytes;
    std::string origin;
    std::uint64_t generation = 0;
    Version version;
    Instant said{};
    Instant ends{};
    std::uint64_t id = 0;
    std::uint64_t settled = 0;  // the id that counts in the sum; 0: none
    bool held = false;          // else it ended, and is remembered
  };

  BroadcastPart PartOf(std::uint32_t slot, Instant now) const;
  std::size_t SizeOf(const Item& item) const { return item.key.size() + item.bytes.size(); }
  std::uint32_t SlotFor(std::string_view key);
  void Bury(std::uint32_t slot, Instant now);
  void Forget(std::uint32_t slot);
  void KeepBounds(Instant now);

  Duration settle_;
  std::uint64_t clock_ = 0;  // the highest counter heard of
  std::uint64_t sum_ = 0;
  std::size_t held_ = 0;
  std::size_t bytes_ = 0;
  std::size_t reserved_ = 0;
  std::uint64_t displaced_ = 0;
  std::vector<Item> items_;
  std::vector<std::uint32_t> free_;
  absl::flat_hash_map<std::string, std::uint32_t> index_;  // by key, the remembered ones too
  Deadlines timers_;                                       // when an item settles, ends, is forgotten
  std::unique_ptr<Dissemination> news_;                    // there from the first broadcast on
};

// What a frame says of its sender's broadcasts.
struct HeardParts {
  std::uint32_t digest = 0;
  Broadcasts::Ids held;
  Broadcasts::Ids wanted;
  void Clear() {
    digest = 0;
    held.clear();
    wanted.clear();
  }
};

}  // namespace nekton
