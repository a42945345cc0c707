#include "swim/random.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace nekton {
namespace {

// The generators as their authors define them: https://prng.di.unimi.it/
struct SplitMix64 {
  std::uint64_t x = 0;
  std::uint64_t Next() {
    std::uint64_t z = (x += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
};

struct Xoshiro256StarStar {
  std::uint64_t s[4];
  static std::uint64_t Rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t Next() {
    const std::uint64_t result = Rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = Rotl(s[3], 45);
    return result;
  }
};

// The published first outputs hold for the reference itself.
TEST(RandomTest, TheReferenceIsTheOneOfItsAuthors) {
  SplitMix64 mix;
  EXPECT_EQ(mix.Next(), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix.Next(), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(mix.Next(), 0x06c45d188009454fU);
  Xoshiro256StarStar xoshiro{{1, 2, 3, 4}};
  for (const std::uint64_t value : {11520U, 0U, 1509978240U}) EXPECT_EQ(xoshiro.Next(), value);
  EXPECT_EQ(xoshiro.Next(), 1215971899390074240U);
}

TEST(RandomTest, IsXoshiroSeededBySplitMix) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    SplitMix64 mix{seed};
    Xoshiro256StarStar reference{{mix.Next(), mix.Next(), mix.Next(), mix.Next()}};
    Random random(seed);
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(random.Next(), reference.Next()) << seed << " " << i;
  }
}

TEST(RandomTest, BelowKeepsItsBound) {
  Random random(1);
  for (const std::uint32_t bound : {1U, 2U, 3U, 7U, 1000U, 0x80000001U, 0xffffffffU}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.Below(bound), bound);
  }
}

// Chi-square over ten classes, a million draws, fixed seed: 27.9 is its 99.9th percentile at 9 degrees of freedom.
TEST(RandomTest, BelowIsUniform) {
  Random random(2);
  std::vector<int> seen(10);
  constexpr int kDraws = 1000000;
  for (int i = 0; i < kDraws; ++i) ++seen[random.Below(10)];
  double chi = 0;
  for (const int n : seen) chi += (n - kDraws / 10.0) * (n - kDraws / 10.0) / (kDraws / 10.0);
  EXPECT_LT(chi, 27.9);
  EXPECT_GT(chi, 0.1);
}

TEST(RandomTest, UnitIsUniformAndBelowOne) {
  Random random(3);
  double sum = 0;
  double low = 1;
  double high = 0;
  constexpr int kDraws = 1000000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.Unit();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    low = std::min(low, u);
    high = std::max(high, u);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.2887 / 1000);  // five standard errors
  EXPECT_LT(low, 1e-4);
  EXPECT_GT(high, 1 - 1e-4);
}

TEST(RandomTest, SeedsGiveTheirOwnSequences) {
  EXPECT_NE(Random(1).Next(), Random(2).Next());
  Random a(7);
  Random b = a;
  EXPECT_EQ(a.Next(), b.Next());
}

}  // namespace
}  // namespace nekton
