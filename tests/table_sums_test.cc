// Sums over parts of a table: two tables that differ in few rows differ in few leaves, those of these rows.
#include "swim/table_sums.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

struct Table {
  explicit Table(std::uint32_t rows, std::uint64_t order = 1) : random(order), table(100'000) {
    std::vector<std::uint32_t> numbers(rows);
    for (std::uint32_t i = 0; i < rows; ++i) numbers[i] = i;
    for (std::uint32_t i = rows - 1; i > 0; --i) std::swap(numbers[i], numbers[random.Below(i + 1)]);
    for (const std::uint32_t i : numbers) Add(i);
  }
  void Add(std::uint32_t i) {
    table.Add(NameOf(i), Address::V4(10, 0, 0, 1, static_cast<std::uint16_t>(i % 60'000 + 1)), {7, 0},
              MemberStatus::kActive, random);
  }
  static std::string NameOf(std::uint32_t i) { return "m" + std::to_string(i); }
  PeerId Row(std::uint32_t i) { return table.FindName(NameOf(i)); }

  Random random;
  MemberTable table;
};

std::set<std::uint16_t> Found(const MemberTable& ours, const MemberTable& theirs) {
  const TableSums a(ours);
  const TableSums b(theirs);
  const std::uint64_t groups = b.Differing(a.Groups());
  const std::vector<std::uint16_t> leaves = a.DifferingLeaves(groups, b.LeavesOf(groups));
  EXPECT_TRUE(std::is_sorted(leaves.begin(), leaves.end()));
  return {leaves.begin(), leaves.end()};
}

TEST(TableSums, TheOrderOfTheRowsDoesNotMatter) {
  Table a(3000, 1);
  Table b(3000, 2);
  EXPECT_EQ(TableSums(a.table).Groups(), TableSums(b.table).Groups());
  EXPECT_TRUE(Found(a.table, b.table).empty());
}

TEST(TableSums, FindsTheLeavesOfWhatDiffers) {
  for (std::uint32_t round = 0; round < 20; ++round) {
    Table a(2000);
    Table b(2000);
    std::set<std::uint16_t> expected;
    for (std::uint32_t k = 0; k < round; ++k) {
      const std::uint32_t i = (round * 97 + k * 131) % 2000;
      const PeerId row = b.Row(i);
      if (k % 4 == 0) b.table.SetKey(row, {7, 5});
      if (k % 4 == 1) b.table.SetKey(row, {8, 0});
      if (k % 4 == 2) b.table.SetStatus(row, MemberStatus::kInactive, b.random);
      if (k % 4 == 3) b.table.SetDetails(row, "x", 1, 1);
      expected.insert(TableSums::LeafOf(Table::NameOf(i)));
    }
    b.Add(5000 + round);
    expected.insert(TableSums::LeafOf(Table::NameOf(5000 + round)));
    EXPECT_EQ(Found(a.table, b.table), expected) << round;
    EXPECT_EQ(Found(b.table, a.table), expected) << round;
  }
}

TEST(TableSums, SuspectAndActiveAreAlikeAndTheGoneCountNothing) {
  Table a(500);
  Table b(500);
  b.table.SetStatus(b.Row(3), MemberStatus::kSuspect, b.random);
  a.table.SetStatus(a.Row(4), MemberStatus::kInactive, a.random);
  b.table.SetStatus(b.Row(4), MemberStatus::kLeft, b.random);
  EXPECT_TRUE(Found(a.table, b.table).empty());
}

TEST(TableSums, LeavesAreSpreadEvenly) {
  std::vector<int> of(TableSums::kLeaves);
  for (std::uint32_t i = 0; i < 8 * TableSums::kLeaves; ++i) ++of[TableSums::LeafOf(Table::NameOf(i))];
  EXPECT_LE(*std::max_element(of.begin(), of.end()), 30);
  EXPECT_LE(std::count(of.begin(), of.end(), 0), 20);
}

}  // namespace
}  // namespace nekton
