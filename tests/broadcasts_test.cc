// What is held of broadcasts: which version, for how long, within which bounds, and the digest.
#include "swim/broadcasts.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/random.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Verdict = Broadcasts::Verdict;

constexpr Instant kStart{1000s};
constexpr Duration kSettle = 2s;
constexpr Duration kKeep = 60s;

BroadcastPart Part(std::string_view key, std::uint64_t counter, std::string_view bytes, std::string_view origin = "a") {
  BroadcastPart part;
  part.key = key;
  part.origin = origin;
  part.generation = 1;
  part.counter = counter;
  part.left = kKeep;
  part.bytes = bytes;
  return part;
}

std::map<std::string, std::string> Held(const Broadcasts& all, Instant now = kStart) {
  std::map<std::string, std::string> held;
  all.ForEach(now, [&](std::uint64_t, const BroadcastPart& part) { held.emplace(part.key, part.bytes); });
  return held;
}

// What is offered to one datagram that has room for `room` of them.
std::vector<std::string> Offered(Broadcasts& all, std::uint32_t sends, std::size_t room, Instant now = kStart) {
  std::vector<std::string> offered;
  all.Fill(now, sends, [&](const BroadcastPart& part) {
    if (offered.size() == room) return false;
    offered.push_back(absl::StrCat(std::string(part.key), "=", std::string(part.bytes)));
    return true;
  });
  return offered;
}

absl::Status Say(Broadcasts& all, const std::string& key, const std::string& bytes, Instant now = kStart) {
  BroadcastPart part = Part(key, 0, bytes, "self");
  return all.Say(now, part);
}

TEST(Broadcasts, TheNewestOfAKeyIsHeldWhateverTheOrder) {
  const std::vector<BroadcastPart> said = {Part("k", 1, "1"), Part("k", 2, "2b", "b"), Part("k", 2, "2c", "c"),
                                           Part("k", 3, "3")};
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    Broadcasts all(kSettle);
    std::uint64_t newest = 0;
    for (const std::size_t i : order) {
      const Verdict verdict = all.Take(kStart, said[i], true);
      EXPECT_TRUE(said[i].counter <= newest || verdict == Verdict::kNews);
      EXPECT_TRUE(said[i].counter >= newest || verdict == Verdict::kStale);
      newest = std::max(newest, said[i].counter);
      EXPECT_EQ(all.Take(kStart, said[i], true), verdict == Verdict::kNews ? Verdict::kKnown : Verdict::kStale);
    }
    EXPECT_THAT(Held(all), ElementsAre(Pair("k", "3")));
  } while (std::next_permutation(order.begin(), order.end()));
}

// Of two that did not know of each other the same one holds everywhere, and another life is another origin.
TEST(Broadcasts, EqualClocksAreDecidedByTheOrigin) {
  BroadcastPart later = Part("k", 7, "later life");
  later.generation = 2;
  for (const BroadcastPart& other : {Part("k", 7, "b", "b"), later}) {
    const BroadcastPart one = Part("k", 7, "a");
    Broadcasts forth(kSettle);
    Broadcasts back(kSettle);
    forth.Take(kStart, one, true);
    forth.Take(kStart, other, true);
    back.Take(kStart, other, true);
    back.Take(kStart, one, true);
    EXPECT_EQ(Held(forth), Held(back));
  }
}

TEST(Broadcasts, WhatWeSayIsNewerThanAllThatWeHeard) {
  Broadcasts all(kSettle);
  all.Take(kStart, Part("other", 41, ""), true);
  BroadcastPart part = Part("k", 0, "v", "self");
  ASSERT_TRUE(all.Say(kStart, part).ok());
  EXPECT_EQ(part.counter, 42u);
  EXPECT_EQ(all.Take(kStart, Part("k", 41, "old"), true), Verdict::kStale);
}

TEST(Broadcasts, AClockIsNotDrivenToItsEndByOneNumber) {
  Broadcasts all(kSettle);
  EXPECT_EQ(all.Take(kStart, Part("k", kBroadcastCounterMax - 1, ""), true), Verdict::kRefused);
  EXPECT_EQ(all.Take(kStart, Part("k", (std::uint64_t{1} << 48) + 1, ""), true), Verdict::kRefused);
  EXPECT_THAT(Held(all), IsEmpty());
  EXPECT_EQ(all.Take(kStart, Part("k", std::uint64_t{1} << 48, ""), true), Verdict::kNews);
  EXPECT_TRUE(Say(all, "k", "v").ok());
}

TEST(Broadcasts, ItEndsWithItsTimeAndNoCopyBringsItBack) {
  Broadcasts all(kSettle);
  BroadcastPart part = Part("k", 1, "v");
  part.age = 10s;
  part.left = 50s;
  all.Take(kStart, part, true);
  all.Advance(kStart + 50s - 1ns);
  EXPECT_EQ(all.size(), 1u);
  all.Advance(kStart + 50s);
  EXPECT_EQ(all.size(), 0u);
  EXPECT_EQ(all.bytes(), 0u);
  EXPECT_FALSE(all.has_news());
  // A copy that waited somewhere does not know how old it is.
  EXPECT_EQ(all.Take(kStart + 110s - 1ns, part, true), Verdict::kKnown);
  EXPECT_EQ(all.Take(kStart + 60s, Part("k", 2, "w"), true), Verdict::kNews) << "a newer one is free to come";
  all.Advance(kStart + 400s);
  EXPECT_EQ(all.size(), 0u);
  part.left = 0s;
  EXPECT_EQ(all.Take(kStart + 400s, part, true), Verdict::kStale) << "it had ended when it was sent";
}

// A machine whose clock stood still learns from the others that it has ended.
TEST(Broadcasts, ACopyWithNoTimeLeftEndsOurs) {
  Broadcasts all(kSettle);
  BroadcastPart part = Part("k", 2, "v");
  all.Take(kStart, part, true);
  all.Advance(kStart + 10s);
  part.left = 0s;
  part.bytes = "";
  BroadcastPart older = part;
  older.counter = 1;
  EXPECT_EQ(all.Take(kStart + 10s, older, true), Verdict::kStale);
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(all.Take(kStart + 10s, part, true), Verdict::kKnown);
  EXPECT_EQ(all.size(), 0u);
  EXPECT_EQ(all.digest(), 0u);
  EXPECT_EQ(all.Take(kStart + 10s, Part("k", 2, "v"), true), Verdict::kKnown) << "and is remembered";
}

TEST(Broadcasts, AgeAndRestGoOnFromHandToHand) {
  Broadcasts all(kSettle);
  BroadcastPart part = Part("k", 1, "v");
  part.age = 10s;
  part.left = 50s;
  all.Take(kStart, part, true);
  all.ForEach(kStart + 7s, [](std::uint64_t, const BroadcastPart& told) {
    EXPECT_EQ(told.age, 17s);
    EXPECT_EQ(told.left, 43s);
  });
}

// ---- Bounds. ----

TEST(Broadcasts, OurOwnAreRefusedAtEachBound) {
  Broadcasts all(kSettle);
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(Say(all, std::to_string(i), "v").ok());
  absl::Status refused = Say(all, "one more", "v");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 256"));
  EXPECT_TRUE(Say(all, "7", "w").ok()) << "a newer one of a key that is held";
  all.Advance(kStart + kKeep);
  EXPECT_TRUE(Say(all, "one more", "v", kStart + kKeep).ok()) << "all have ended";

  Broadcasts large(kSettle);
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(Say(large, std::to_string(10 + i), std::string(1022, 'x')).ok());
  EXPECT_EQ(large.bytes(), kBroadcastsBytesMax);
  refused = Say(large, "k", "");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("65537"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 65536"));
  EXPECT_TRUE(Say(large, "10", "").ok()) << "nothing under a key frees its bytes";
  EXPECT_TRUE(Say(large, "k", std::string(1000, 'x')).ok());
  EXPECT_EQ(large.displaced(), 0u);
}

// Members that heard the same hold the same, in whatever order it came.
TEST(Broadcasts, OfTooManyThatWereHeardTheNewestAreKeptEverywhere) {
  Random random(1);
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 1; i <= 600; ++i) order.push_back(i);
  std::map<std::string, std::string> first;
  for (int run = 0; run < 5; ++run) {
    for (std::size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[random.Below(static_cast<std::uint32_t>(i + 1))]);
    }
    Broadcasts all(kSettle);
    for (const std::uint64_t i : order) {
      EXPECT_EQ(all.Take(kStart, Part(std::to_string(i), i, "v"), true), Verdict::kNews);
      EXPECT_LE(all.size(), kBroadcastKeysMax);
    }
    EXPECT_EQ(all.displaced(), 600u - 256u);
    const auto held = Held(all);
    EXPECT_EQ(held.size(), 256u);
    EXPECT_EQ(held.count("345"), 1u);
    EXPECT_EQ(held.count("344"), 0u);
    if (run == 0) first = held;
    EXPECT_EQ(held, first);
  }
}

TEST(Broadcasts, WhatWasGivenUpIsNoNewsWhenItComesAgain) {
  Broadcasts all(kSettle);
  for (std::uint64_t i = 1; i <= 300; ++i) all.Take(kStart, Part(std::to_string(i), i, "v"), true);
  for (std::uint64_t i = 1; i <= 300; ++i) {
    EXPECT_EQ(all.Take(kStart, Part(std::to_string(i), i, "v"), true), Verdict::kKnown) << i;
  }
  EXPECT_EQ(all.displaced(), 44u);
}

TEST(Broadcasts, TheBytesAreBoundedToo) {
  Broadcasts all(kSettle);
  for (std::uint64_t i = 1000; i < 1200; ++i) {
    all.Take(kStart, Part(std::to_string(i), i, std::string(1020, 'x')), true);
    EXPECT_LE(all.bytes(), kBroadcastsBytesMax);
  }
  EXPECT_EQ(all.size(), 64u);
  EXPECT_EQ(Held(all).begin()->first, "1136");
}

// ---- Passing on. ----

TEST(Broadcasts, EachIsOfferedSoManyTimesAndANewerOneTakesItsPlace) {
  Broadcasts all(kSettle);
  all.Take(kStart, Part("a", 1, "1"), true);
  all.Take(kStart, Part("b", 2, "1"), true);
  EXPECT_THAT(Offered(all, 2, 1), ElementsAre("a=1"));
  EXPECT_THAT(Offered(all, 2, 1), ElementsAre("b=1")) << "least sent first";
  all.Take(kStart, Part("a", 3, "2"), true);
  EXPECT_THAT(Offered(all, 2, 9), ElementsAre("a=2", "b=1"));
  EXPECT_THAT(Offered(all, 2, 9), ElementsAre("a=2"));
  EXPECT_FALSE(all.has_news());
  all.Take(kStart, Part("c", 4, "1"), false);
  EXPECT_THAT(Offered(all, 2, 9), IsEmpty()) << "learned by a sync";
  all.Take(kStart, Part("a", 5, "3"), true);
  all.Take(kStart, Part("a", 6, "4"), false);
  EXPECT_THAT(Offered(all, 2, 9), IsEmpty()) << "what it replaced goes out no more";
}

// ---- The digest. ----

TEST(Broadcasts, NothingHasNoDigestAndWhatIsOnItsWayDoesNotCount) {
  Broadcasts all(kSettle);
  EXPECT_EQ(all.digest(), 0u);
  all.Take(kStart, Part("a", 1, "1"), true);
  all.Advance(kStart + kSettle - 1ns);
  EXPECT_EQ(all.digest(), 0u);
  all.Advance(kStart + kSettle);
  const std::uint32_t one = all.digest();
  EXPECT_NE(one, 0u);
  all.Take(kStart + 10s, Part("a", 2, "2"), true);
  EXPECT_EQ(all.digest(), one) << "until the newer one has settled, too";
  all.Advance(kStart + 10s + kSettle);
  EXPECT_NE(all.digest(), one);
  all.Advance(kStart + 70s);
  EXPECT_EQ(all.digest(), 0u);
}

TEST(Broadcasts, EqualHoldingsHaveEqualDigestsAndOthersOthers) {
  const std::vector<BroadcastPart> said = {Part("a", 1, "x"), Part("b", 2, "x"), Part("a", 3, "y"),
                                           Part("c", 3, "x", "b")};
  std::set<std::uint32_t> digests;
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    Broadcasts all(kSettle);
    Instant now = kStart;
    for (const std::size_t i : order) {
      all.Take(now, said[i], true);
      all.Advance(now += 3s);
    }
    digests.insert(all.digest());
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(digests.size(), 1u);
  for (const std::size_t without : {1u, 2u, 3u}) {
    Broadcasts all(kSettle);
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (i != without) all.Take(kStart, said[i], true);
    }
    all.Advance(kStart + 3s);
    EXPECT_TRUE(digests.insert(all.digest()).second) << without;
  }
}

// A million from somebody whom nobody hears, and then silence: nothing grows, and all of it ends.
TEST(Broadcasts, AFloodOfOneKeyOrOfManyGrowsNothing) {
  Broadcasts all(kSettle);
  for (int i = 0; i < 1000000; ++i) ASSERT_TRUE(Say(all, "k", std::to_string(i)).ok());
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(Held(all)["k"], "999999");
  for (std::uint64_t i = 1; i <= 20000; ++i) all.Take(kStart, Part(std::to_string(i), 2000000 + i, "v"), true);
  EXPECT_EQ(all.size(), kBroadcastKeysMax);
  all.Advance(kStart + 1000s);
  EXPECT_EQ(all.size(), 0u);
  EXPECT_EQ(all.bytes(), 0u);
  EXPECT_EQ(all.digest(), 0u);
}

}  // namespace
}  // namespace nekton
