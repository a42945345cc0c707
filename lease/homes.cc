#include "lease/homes.h"

#include <xxhash.h>

namespace nekton {

Homes::Homes(const View& view) : epoch_(view.epoch()) {
  names_.reserve(view.members.size());
  seeds_.reserve(view.members.size());
  for (const ViewMember& member : view.members) {
    names_.push_back(member.name);
    seeds_.push_back(XXH3_64bits(member.name.data(), member.name.size()));
  }
}

std::string_view Homes::HomeOf(const ObjectId& object) const {
  std::size_t best = 0;
  std::uint64_t best_score = 0;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const std::uint64_t score = XXH3_64bits_withSeed(object.bytes.data(), object.bytes.size(), seeds_[i]);
    if (i != 0 && score <= best_score) continue;
    best = i;
    best_score = score;
  }
  return names_.empty() ? std::string_view() : names_[best];
}

}  // namespace nekton
