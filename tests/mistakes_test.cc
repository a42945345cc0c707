// Each rule at its edges, and the words in which its breach is told.
#include "stm/mistakes.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::string Text(const Mistakes& mistakes) { return std::string(mistakes.status().message()); }

TEST(Mistakes, NoneAreOk) {
  const Mistakes none;
  EXPECT_TRUE(none.status().ok());
  EXPECT_EQ(none.size(), 0u);
}

TEST(Mistakes, AreAllTold) {
  Mistakes mistakes;
  mistakes.Add("port", "70000", "no such port");
  mistakes.Add("name", "", "must not be empty");
  EXPECT_EQ(mistakes.size(), 2u);
  EXPECT_EQ(mistakes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Text(mistakes), "port = 70000: no such port\nname = : must not be empty");
}

TEST(Mistakes, AreKeptWhenToldOnce) {
  Mistakes mistakes;
  mistakes.Add("a", "1", "wrong");
  EXPECT_EQ(Text(mistakes), Text(mistakes));
}

TEST(Mistakes, RangeOfNumbersIncludesItsEnds) {
  Mistakes mistakes;
  mistakes.Range("share", 0.5, 0.5, 1.0);
  mistakes.Range("share", 1.0, 0.5, 1.0);
  EXPECT_EQ(mistakes.size(), 0u);
  mistakes.Range("share", std::nextafter(0.5, 0.0), 0.5, 1.0);
  mistakes.Range("share", std::nextafter(1.0, 2.0), 0.5, 1.0);
  EXPECT_EQ(mistakes.size(), 2u);
}

TEST(Mistakes, RangeOfNumbersIsToldWithItsEnds) {
  Mistakes mistakes;
  mistakes.Range("share", 2.5, 0.5, 1.0);
  EXPECT_EQ(Text(mistakes), "share = 2.5: must be from 0.5 to 1");
}

TEST(Mistakes, NotANumberIsInNoRange) {
  Mistakes mistakes;
  mistakes.Range("share", std::numeric_limits<double>::quiet_NaN(), 0, 1);
  mistakes.Range("share", std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(),
                 std::numeric_limits<double>::infinity());
  EXPECT_EQ(mistakes.size(), 2u);
  EXPECT_NE(Text(mistakes).find("share = nan: must be from 0 to 1"), std::string::npos);
}

TEST(Mistakes, RangeOfTimesIncludesItsEnds) {
  Mistakes mistakes;
  mistakes.Range("period", Duration(seconds(1)), seconds(1), seconds(2));
  mistakes.Range("period", Duration(seconds(2)), seconds(1), seconds(2));
  EXPECT_EQ(mistakes.size(), 0u);
  mistakes.Range("period", seconds(1) - nanoseconds(1), seconds(1), seconds(2));
  mistakes.Range("period", seconds(2) + nanoseconds(1), seconds(1), seconds(2));
  EXPECT_EQ(Text(mistakes),
            "period = 0.999999999 s: must be from 1 s to 2 s\nperiod = 2.000000001 s: must be from 1 s to 2 s");
}

TEST(Mistakes, CountIncludesItsEnds) {
  Mistakes mistakes;
  mistakes.Count("members", 2, 2, 9);
  mistakes.Count("members", 9, 2, 9);
  EXPECT_EQ(mistakes.size(), 0u);
  mistakes.Count("members", 1, 2, 9);
  mistakes.Count("members", std::numeric_limits<std::uint64_t>::max(), 2, 9);
  EXPECT_EQ(Text(mistakes), "members = 1: must be from 2 to 9\nmembers = 18446744073709551615: must be from 2 to 9");
}

TEST(Mistakes, AtLeastNamesTheOther) {
  Mistakes mistakes;
  mistakes.AtLeast("max", seconds(3), "min", seconds(3));
  EXPECT_EQ(mistakes.size(), 0u);
  mistakes.AtLeast("max", seconds(3) - nanoseconds(1), "min", seconds(3));
  EXPECT_EQ(Text(mistakes), "max = 2.999999999 s: must not be below min = 3 s");
}

TEST(Mistakes, AtMostNamesTheOther) {
  Mistakes mistakes;
  mistakes.AtMost("jitter", seconds(3), "interval", seconds(3));
  EXPECT_EQ(mistakes.size(), 0u);
  mistakes.AtMost("jitter", seconds(3) + nanoseconds(1), "interval", seconds(3));
  EXPECT_EQ(Text(mistakes), "jitter = 3.000000001 s: must not be above interval = 3 s");
}

TEST(DurationText, IsInSeconds) {
  EXPECT_EQ(DurationText(milliseconds(2500)), "2.5 s");
  EXPECT_EQ(DurationText(seconds(90)), "90 s");
  EXPECT_EQ(DurationText(nanoseconds(1)), "1e-09 s");
  EXPECT_EQ(DurationText({}), "0 s");
  EXPECT_EQ(DurationText(-seconds(1)), "-1 s");
}

}  // namespace
}  // namespace nekton
