// A table that forgets what was not used lately, at constant cost and without a list: two hash tables, of which the older
// is dropped when the younger is half full. Never more than `max` entries; the last max/2 used ones are always there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace nekton {

template <typename Key, typename Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t max) : half_(std::max<std::size_t>(max / 2, 1)) {}

  // Pointers and references hold until the next call of a function that is not const.
  Value* Find(const Key& key) {
    if (const auto young = young_.find(key); young != young_.end()) return &young->second;
    const auto old = old_.find(key);
    if (old == old_.end()) return nullptr;
    Value value = std::move(old->second);
    old_.erase(old);
    return &Insert(key, std::move(value));
  }
  Value& operator[](const Key& key) {
    Value* found = Find(key);
    return found != nullptr ? *found : Insert(key, Value());
  }
  void Erase(const Key& key) {
    young_.erase(key);
    old_.erase(key);
  }
  template <typename Predicate>
  void EraseIf(Predicate predicate) {
    const auto judge = [&](const auto& entry) { return predicate(entry.second); };
    absl::erase_if(young_, judge);
    absl::erase_if(old_, judge);
  }
  std::size_t size() const { return young_.size() + old_.size(); }
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  Value& Insert(const Key& key, Value value) {
    if (young_.size() >= half_) {
      forgotten_ += old_.size();
      old_ = std::move(young_);
      young_ = {};
    }
    return young_.insert_or_assign(key, std::move(value)).first->second;
  }

  std::size_t half_;
  std::uint64_t forgotten_ = 0;
  absl::flat_hash_map<Key, Value> young_;
  absl::flat_hash_map<Key, Value> old_;
};

}  // namespace nekton
