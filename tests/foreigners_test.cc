#include "swim/foreigners.h"

#include <chrono>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{std::chrono::hours(1)};
Address Host(std::uint8_t last, std::uint16_t port = 1) { return Address::V4(10, 0, 0, last, port); }

TEST(Foreigners, EachHostIsReportedOnceAMinute) {
  Foreigners foreigners;
  EXPECT_TRUE(foreigners.Report(Host(1), kStart));
  EXPECT_FALSE(foreigners.Report(Host(1), kStart));
  EXPECT_FALSE(foreigners.Report(Host(1, 2), kStart + 1min - 1ns)) << "another port is no other host";
  EXPECT_TRUE(foreigners.Report(Host(2), kStart));
  EXPECT_TRUE(foreigners.Report(Host(1), kStart + 1min));
  EXPECT_FALSE(foreigners.Report(Host(1), kStart + 1min)) << "the minute counts from the last report";
}

TEST(Foreigners, AreBounded) {
  Foreigners foreigners;
  for (std::size_t i = 0; i < Foreigners::kHostsMax; ++i) {
    EXPECT_TRUE(foreigners.Report(Host(static_cast<std::uint8_t>(i)), kStart));
  }
  EXPECT_FALSE(foreigners.Report(Host(200), kStart + 59s)) << "no room";
  EXPECT_TRUE(foreigners.Report(Host(200), kStart + 1min)) << "an old one makes room";
}

}  // namespace
}  // namespace nekton
