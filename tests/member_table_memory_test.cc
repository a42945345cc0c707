// What a table of 10,000 members takes, names and tags apart.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "phi/phi_probe.h"
#include "swim/member_table.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

constexpr std::uint32_t kMembers = 10'000;

std::string NameOf(std::uint32_t i) { return "member-" + std::to_string(i); }

std::unique_ptr<MemberTable> Fill(const std::shared_ptr<Identities>& identities) {
  Random random(1);
  auto table = std::make_unique<MemberTable>(100'000, false, identities);
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    const Address address = Address::V4(10, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                                        static_cast<std::uint8_t>(i), 7946);
    table->Add(NameOf(i), address, {1, 0}, MemberStatus::kActive, random);
  }
  return table;
}

TEST(MemberTableMemory, TenThousandMembersTakeAMegabyte) {
  // The names are there already, shared with another table.
  const auto identities = std::make_shared<Identities>();
  const std::unique_ptr<MemberTable> other = Fill(identities);
  const std::uint64_t before = bytes_live;
  const std::unique_ptr<MemberTable> table = Fill(identities);
  const std::uint64_t bytes = bytes_live - before;
  EXPECT_LE(bytes, 1'000'000u);
  EXPECT_GE(bytes, 64u * kMembers) << "it counts";
  RecordProperty("bytes", static_cast<int>(bytes));
  std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
}

TEST(MemberTableMemory, WhatPhiLearnsOfAMemberTakesEightBytes) {
  PhiProbe phi({.mean = std::chrono::milliseconds(30), .deviation = std::chrono::milliseconds(30)});
  phi.Reserve(1);
  const std::uint64_t before = bytes_live;
  phi.Reserve(kMembers);
  EXPECT_LE(bytes_live - before, 8u * kMembers + 64);
}

}  // namespace
}  // namespace nekton
