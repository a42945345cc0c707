// Who was heard last.
#include "swim/companions.h"

#include <chrono>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{seconds(100)};

PeerId Any(const Companions& companions, Instant since = Instant::min()) {
  return companions.Find(since, [](PeerId) { return true; });
}

TEST(Companions, TheLastOneHeardComesFirst) {
  Companions companions;
  EXPECT_EQ(Any(companions), kNoPeer);
  companions.Heard(3, kStart);
  companions.Heard(5, kStart + seconds(1));
  EXPECT_EQ(Any(companions), 5u);
  companions.Heard(3, kStart + seconds(2));
  EXPECT_EQ(Any(companions), 3u);
  EXPECT_EQ(companions.Find(kStart, [](PeerId row) { return row != 3; }), 5u);
  EXPECT_EQ(companions.Find(kStart, [](PeerId row) { return row != 3 && row != 5; }), kNoPeer) << "each once";
}

TEST(Companions, OnlyThoseHeardLately) {
  Companions companions;
  companions.Heard(3, kStart);
  EXPECT_EQ(Any(companions, kStart), 3u);
  EXPECT_EQ(Any(companions, kStart + Duration(1)), kNoPeer);
}

TEST(Companions, TheOldestMakesRoom) {
  Companions companions;
  for (PeerId row = 1; row <= Companions::kMax + 1; ++row) companions.Heard(row, kStart + seconds(row));
  const auto knows = [&](PeerId wanted) {
    return companions.Find(kStart, [wanted](PeerId row) { return row == wanted; }) == wanted;
  };
  EXPECT_FALSE(knows(1));
  for (PeerId row = 2; row <= Companions::kMax + 1; ++row) EXPECT_TRUE(knows(row)) << row;
}

TEST(Companions, WhoIsForgottenIsNoneAnyMore) {
  Companions companions;
  companions.Heard(3, kStart);
  companions.Heard(5, kStart);
  companions.Forget(5);
  EXPECT_EQ(Any(companions), 3u);
}

}  // namespace
}  // namespace nekton
