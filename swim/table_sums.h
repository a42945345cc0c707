// A member table in parts, and a sum of each, so that two members find out where their tables differ without sending
// them: 64 groups of 64 leaves. Which leaf a member is in depends on its name alone. What differs costs a few hundred
// bytes each, whatever the size of the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "swim/member_table.h"

namespace nekton {

class TableSums {
 public:
  static constexpr std::uint32_t kGroups = 64;
  static constexpr std::uint32_t kLeavesOfGroup = 64;
  static constexpr std::uint32_t kLeaves = kGroups * kLeavesOfGroup;

  // Goes through all rows, once. Of the rows that the digest is over.
  explicit TableSums(const MemberTable& table);

  static std::uint16_t LeafOf(std::string_view name);

  // As frames carry them (swim/message.h).
  std::vector<std::byte> Groups() const;
  // The groups that differ from another's, whose Groups() these are.
  std::uint64_t Differing(std::span<const std::byte> groups) const;
  // The leaves of these groups.
  std::vector<std::byte> LeavesOf(std::uint64_t groups) const;
  // The leaves of these groups that differ from another's, whose LeavesOf(groups) these are.
  std::vector<std::uint16_t> DifferingLeaves(std::uint64_t groups, std::span<const std::byte> leaves) const;

 private:
  std::array<std::uint64_t, kLeaves> leaves_{};
  std::array<std::uint64_t, kGroups> groups_{};
};

}  // namespace nekton
