#include "swim/table_sums.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "swim/bytes.h"

namespace nekton {
namespace {

constexpr std::size_t kSumSize = 4;

std::uint32_t Folded(std::uint64_t sum) { return static_cast<std::uint32_t>(sum ^ (sum >> 32)); }

void Append(std::uint64_t sum, std::vector<std::byte>& bytes) {
  bytes.resize(bytes.size() + kSumSize);
  ByteWriter(bytes.data() + bytes.size() - kSumSize).Fixed(Folded(sum));
}

std::uint32_t Lowest(std::uint64_t groups) { return static_cast<std::uint32_t>(std::countr_zero(groups)); }

}  // namespace

TableSums::TableSums(const MemberTable& table) {
  for (PeerId row = 0; row < table.capacity(); ++row) {
    if (!table.used(row)) continue;
    const std::uint16_t leaf = LeafOf(table[row].who->name);
    const std::uint64_t term = table.Term(row);
    leaves_[leaf] += term;
    groups_[leaf / kLeavesOfGroup] += term;
  }
}

std::uint16_t TableSums::LeafOf(std::string_view name) {
  return static_cast<std::uint16_t>(XXH3_64bits(name.data(), name.size()) % kLeaves);
}

std::vector<std::byte> TableSums::Groups() const {
  std::vector<std::byte> bytes;
  bytes.reserve(kGroups * kSumSize);
  for (const std::uint64_t sum : groups_) Append(sum, bytes);
  return bytes;
}

std::uint64_t TableSums::Differing(std::span<const std::byte> groups) const {
  ByteReader reader(groups);
  std::uint64_t differing = 0;
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    if (reader.Fixed<std::uint32_t>() != Folded(groups_[i])) differing |= std::uint64_t{1} << i;
  }
  return differing;
}

std::vector<std::byte> TableSums::LeavesOf(std::uint64_t groups) const {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(std::popcount(groups)) * kLeavesOfGroup * kSumSize);
  for (; groups != 0; groups &= groups - 1) {
    const std::uint32_t from = Lowest(groups) * kLeavesOfGroup;
    for (std::uint32_t i = 0; i < kLeavesOfGroup; ++i) Append(leaves_[from + i], bytes);
  }
  return bytes;
}

std::vector<std::uint16_t> TableSums::DifferingLeaves(std::uint64_t groups, std::span<const std::byte> leaves) const {
  ByteReader reader(leaves);
  std::vector<std::uint16_t> differing;
  for (; groups != 0; groups &= groups - 1) {
    const std::uint32_t from = Lowest(groups) * kLeavesOfGroup;
    for (std::uint32_t i = 0; i < kLeavesOfGroup; ++i) {
      if (reader.Fixed<std::uint32_t>() != Folded(leaves_[from + i])) {
        differing.push_back(static_cast<std::uint16_t>(from + i));
      }
    }
  }
  return differing;
}

}  // namespace nekton
