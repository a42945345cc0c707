// The lease algorithm under storms of faults; NEKTON_ACQUISITIONS sets how many acquisitions the long run makes.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/lease_world.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

std::uint64_t Wanted() {
  const char* text = std::getenv("NEKTON_ACQUISITIONS");
  return text == nullptr ? 20'000 : std::strtoull(text, nullptr, 10);
}

// Worlds of 200 acquisitions each, every one of another make.
LeaseWorldResult RunWorlds(LeaseWorldOptions options, std::uint64_t acquisitions, std::uint64_t first_seed) {
  LeaseWorldResult all;
  for (std::uint64_t seed = first_seed; all.acquisitions < acquisitions; ++seed) {
    options.seed = seed;
    options.members = 2 + static_cast<std::uint32_t>(seed % 4);
    options.watched = seed % 3 != 0;
    options.extreme = seed % 2 == 0;
    options.duration = seed % 5 == 0 ? 60s : 10s;
    if (options.variant == LeaseVariant::kSound && options.drift_ppm <= options.rho_ppm) {
      options.rho_ppm = options.drift_ppm = seed % 7 == 0 ? 100'000 : kDriftPpm;
    }
    const LeaseWorldResult one = RunLeaseWorld(options);
    EXPECT_EQ(one.acquisitions, options.acquisitions) << "seed " << seed << ": nobody gets the lease any more";
    all.Add(one);
    if (one.acquisitions == 0) break;
    if (options.variant == LeaseVariant::kSound && (one.two_holders != 0 && options.drift_ppm <= options.rho_ppm)) {
      ADD_FAILURE() << "two holders in the world of seed " << seed;
      break;
    }
  }
  return all;
}

TEST(NamedLeaseWorld, NeverTwoHoldersAndNeverAStaleWriteWithinTheDrift) {
  const LeaseWorldResult all = RunWorlds({}, Wanted(), 1);
  EXPECT_EQ(all.two_holders, 0u);
  EXPECT_EQ(all.stale_writes, 0u);
  EXPECT_EQ(all.repeated_tokens, 0u);
  EXPECT_EQ(all.lower_tokens, 0u);
  EXPECT_EQ(all.bad_order, 0u);
  EXPECT_LT(all.idle_wakes, all.wakes / 10) << "of " << all.wakes << ": it wakes for nothing";
  // The worlds were as bad as they were meant to be.
  EXPECT_GT(all.losses, all.acquisitions / 50);
  EXPECT_GT(all.refused_writes, 0u);
  EXPECT_GT(all.pauses, all.acquisitions / 20);
  EXPECT_GT(all.crashes, all.acquisitions / 100);
  EXPECT_GT(all.restores, 0u);
  EXPECT_GT(all.lost_messages, all.acquisitions / 20);
  std::cout << all.acquisitions << " acquisitions in " << all.simulated.count() / 3'600'000'000'000
            << " h: " << all.losses << " lost, " << all.releases << " released, " << all.pauses << " pauses, "
            << all.crashes << " crashes, " << all.restores << " restores, " << all.lost_messages << " messages lost, "
            << all.accepted_writes << " writes, " << all.refused_writes << " refused\n";
}

TEST(NamedLeaseWorld, BeyondTheDriftTwoMayHoldAndTheResourceStillRefuses) {
  LeaseWorldOptions options;
  options.drift_ppm = 150'000;
  const LeaseWorldResult all = RunWorlds(options, 4000, 1000);
  EXPECT_GT(all.two_holders, 0u) << "the clocks were not bad enough to show anything";
  EXPECT_EQ(all.stale_writes, 0u);
  EXPECT_EQ(all.repeated_tokens, 0u);
}

TEST(NamedLeaseWorld, AfterARawRestoreTwoMayHoldAndTheResourceStillRefuses) {
  LeaseWorldOptions options;
  options.variant = LeaseVariant::kRawRestore;
  const LeaseWorldResult all = RunWorlds(options, 4000, 2000);
  EXPECT_GT(all.two_holders + all.repeated_tokens + all.lower_tokens, 0u) << "no restore mattered";
  EXPECT_EQ(all.stale_writes, 0u);
}

// What the checkers are worth: each of these is wrong, and is found.
TEST(NamedLeaseWorld, BrokenVariantsAreCaught) {
  LeaseWorldOptions options;
  for (const LeaseVariant variant : {LeaseVariant::kNoObserverWait, LeaseVariant::kCountsFromAnswer,
                                     LeaseVariant::kNoDriftMargin, LeaseVariant::kBootClockOnly}) {
    options.variant = variant;
    // Where the margin is small the random wait before a takeover covers for it.
    const bool margin = variant == LeaseVariant::kNoDriftMargin;
    options.drift_ppm = options.rho_ppm = margin ? 100'000 : kDriftPpm;
    // An answer that is late enough is seldom; the clocks' own caution covers for most.
    const std::uint64_t acquisitions = variant == LeaseVariant::kCountsFromAnswer ? 40'000 : 4000;
    EXPECT_GT(RunWorlds(options, acquisitions, 3000).two_holders, 0u) << static_cast<int>(variant);
  }
  options.variant = LeaseVariant::kNoFence;
  EXPECT_GT(RunWorlds(options, 2000, 4000).stale_writes, 0u);
}

}  // namespace
}  // namespace nekton
