// What comes again, late or in another order (T2, T3 and T7 of heartbeat-and-stm).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_inputs.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = StmInput::Kind;

constexpr PeerId kPeers = 4;
constexpr PeerId kUs = 99;
constexpr PeerId kMembers = 20;   // whose rumours we hear
constexpr PeerId kOutside = 100;  // who observes and has our application tell us
constexpr HoldTerms kTerms{seconds(2), seconds(8), 3, seconds(1), seconds(1)};

StmConfig Mesh() {
  StmConfig config = kMeshStm;
  config.recovery_hold = seconds(3);
  config.verdicts = true;
  return config;
}

// A minute in the life of four peers, as members with honest clocks and counters tell it.
class Life {
 public:
  // `outsiders`: how many observe from outside.
  Life(std::uint64_t seed, std::uint32_t outsiders) : random_(seed), outsiders_(outsiders) {}

  std::vector<StmInput> Run(int inputs) {
    std::vector<StmInput> run;
    for (int i = 0; i < inputs; ++i) {
      const Duration time = milliseconds(Draw(6) == 0 ? Draw(900) : Draw(20));
      now_.boot += time;
      now_.wall += time;
      run.push_back(One());
    }
    return run;
  }
  Tick now() const { return now_; }

 private:
  std::uint32_t Draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  StmInput One() {
    const PeerId peer = Draw(kPeers);
    LifeKey& key = keys_[peer];
    StmInput in{.now = now_, .peer = peer, .key = key, .terms = kTerms};
    in.word.observer = kMembers + Draw(6);
    in.word.refused = Draw(3) == 0;
    const std::uint32_t kind = Draw(100);
    if (kind < 60) {
      in.kind = Kind::kApply;
      in.said = Said(peer, key.generation);
    } else if (kind < 72) {
      in.kind = Kind::kRumour;
    } else if (kind < 77) {
      in.kind = Kind::kVerdict;
    } else if (kind < 82) {
      in.kind = Kind::kRefute;
      ++key.incarnation;
      in.key = key;
    } else if (kind < 97) {
      in.kind = Kind::kAdvance;
    } else {
      constexpr std::array kEnds{Kind::kLeft, Kind::kReplaced, Kind::kRestarted, Kind::kBury};
      in.kind = kEnds[Draw(kEnds.size())];
      if (in.kind == Kind::kRestarted) key = {key.generation + 1, 0};
      in.key = key;
    }
    return in;
  }

  Observation Said(PeerId peer, std::uint64_t epoch) {
    const bool own = Draw(2) == 0;
    Observation said{.peer = peer, .observer = own ? kUs : kOutside + Draw(outsiders_)};
    said.signal = Draw(3) == 0 ? Signal::kHealthy : Draw(20) == 0 ? Signal::kDead : Signal::kSuspect;
    said.reason = Draw(5) == 0 ? Reason::kRefused : Reason::kProbeTimeout;
    said.epoch = epoch;
    said.sequence = ++sequences_[said.observer];
    said.nonce = random_();
    if (!own) said.timestamp = now_.wall;
    return said;
  }

  std::mt19937_64 random_;
  std::uint32_t outsiders_;
  Tick now_{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
  std::array<LifeKey, kPeers> keys_{LifeKey{1, 0}, LifeKey{1, 0}, LifeKey{1, 0}, LifeKey{1, 0}};
  std::map<PeerId, std::uint64_t> sequences_;
};

// All that can be seen of the peers.
std::string Everything(const Stm& stm, const Tick& now) {
  std::ostringstream out;
  for (PeerId peer = 0; peer < kPeers; ++peer) {
    const Explanation told = stm.Explain(now, peer);
    out << Describe(told, [](PeerId id) { return std::to_string(id); }) << "\ncount " << told.count << " key "
        << stm_text::Key(told.key) << " flaps " << told.flaps;
    if (const auto hold = stm.HoldOf(peer)) out << " hold " << hold->running << " " << stm_text::Time(hold->end);
    out << "\n";
  }
  out << stm_text::Time(stm.NextDeadline()) << " " << stm.records();
  return out.str();
}

// Whether the manager let it in, so that it must know it again. (It keeps nothing of what it hears of a peer that left,
// nor of our own kHealthy about one that nobody had spoken against; and a restart at the key held is one more restart.)
bool Remembered(const Stm& stm, const StmInput& in, std::optional<Outcome> outcome) {
  if (outcome == Outcome::kLeft || in.kind == Kind::kRestarted) return false;
  const bool outside = in.kind == Kind::kApply && in.said.timestamp.has_value();
  return outcome != Outcome::kNoEffect || outside || stm.Explain(in.now, in.peer).recorded;
}

// ---- T3: replays. ----

void ExpectAReplayChangesNothing(const StmConfig& config, std::uint64_t seed, std::uint32_t outsiders) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Life life(seed, outsiders);
  Stm stm(config);
  std::vector<StateChange> changes;
  std::vector<StmInput> known;
  for (const StmInput& in : life.Run(400)) {
    const auto outcome = Feed(stm, in, changes);
    if (Remembered(stm, in, outcome)) known.push_back(in);
  }
  ASSERT_GT(changes.size(), 10U);
  const Tick now = life.now();
  stm.Advance(now, changes);
  changes.clear();

  const std::string before = Everything(stm, now);
  for (int round = 0; round < 2; ++round) {
    for (StmInput in : known) {
      in.now = now;
      Feed(stm, in, changes);
      ASSERT_TRUE(changes.empty()) << Text(in);
      ASSERT_EQ(Everything(stm, now), before) << Text(in);
    }
  }
}

TEST(StmReplayTest, AReplayOfAWholeRunChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ExpectAReplayChangesNothing(StmConfig(), seed, 12);
    ExpectAReplayChangesNothing(Mesh(), seed, 12);
  }
}

TEST(StmReplayTest, NorOfMoreObserversThanAreRemembered) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ExpectAReplayChangesNothing(StmConfig(), seed, 17);
    ExpectAReplayChangesNothing(Mesh(), seed, 60);
  }
}

TEST(StmReplayTest, SeventeenObserversInSequenceCountOnce) {
  for (const std::uint32_t observers : {16U, 17U, 18U, 40U}) {
    SCOPED_TRACE(observers);
    Stm stm({.demote_threshold = 1000});
    Tick now{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
    std::vector<StateChange> changes;
    std::vector<Observation> all;
    for (std::uint32_t i = 0; i < observers; ++i) {
      now.wall += milliseconds(1);
      all.push_back({.peer = 1,
                     .observer = kOutside + i,
                     .signal = Signal::kSuspect,
                     .epoch = 1,
                     .nonce = i + 7,
                     .timestamp = now.wall});
      EXPECT_EQ(stm.Apply(now, all.back(), {1, 0}, kTerms, changes), Outcome::kApplied);
    }
    for (int round = 0; round < 3; ++round) {
      for (const Observation& said : all) {
        const Outcome outcome = stm.Apply(now, said, {1, 0}, kTerms, changes);
        EXPECT_TRUE(outcome == Outcome::kDuplicate || outcome == Outcome::kStale) << Name(outcome);
      }
      EXPECT_EQ(stm.Explain(now, 1).count, observers);
    }
    EXPECT_EQ(stm.count(Outcome::kStale), 3 * (observers - 16));
    EXPECT_TRUE(changes.empty());
  }
}

// Each column of the table: the very observation that committed, once more.
TEST(StmReplayTest, WhatCommittedATransitionCommitsNoOther) {
  Stm stm({.demote_threshold = 1, .promote_threshold = 1, .recovery_hold = seconds(3), .revive = Revive::kHealthy});
  Tick now{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
  std::vector<StateChange> changes;
  std::uint64_t nonce = 0;
  const auto twice = [&](Signal signal) {
    const Observation said{.peer = 1,
                           .observer = kOutside,
                           .signal = signal,
                           .epoch = 1,
                           .sequence = nonce,
                           .nonce = nonce,
                           .timestamp = now.wall};
    ++nonce;
    changes.clear();
    EXPECT_EQ(stm.Apply(now, said, {1, 0}, kTerms, changes), Outcome::kApplied);
    EXPECT_EQ(changes.size(), 1U);
    const std::string before = Everything(stm, now);
    EXPECT_EQ(stm.Apply(now, said, {1, 0}, kTerms, changes), Outcome::kDuplicate);
    EXPECT_EQ(changes.size(), 1U);
    EXPECT_EQ(Everything(stm, now), before);
  };
  twice(Signal::kSuspect);
  twice(Signal::kHealthy);
  twice(Signal::kDead);
  now.boot = stm.NextDeadline();
  stm.Advance(now, changes);
  ASSERT_EQ(stm.StateOf(1), State::kInactive);
  now.boot += seconds(3);
  twice(Signal::kHealthy);
  EXPECT_EQ(stm.StateOf(1), State::kActive);
}

// ---- T2: late ones. ----

TEST(StmReplayTest, WhatIsOlderThanMaxAgeIsStaleToTheNanosecond) {
  for (const std::int64_t late : {-1, 0, 1}) {
    Stm stm(StmConfig{});
    const Tick now{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
    std::vector<StateChange> changes;
    const Observation said{.peer = 1,
                           .observer = kOutside,
                           .signal = Signal::kSuspect,
                           .timestamp = now.wall - seconds(90) - Duration(late)};
    EXPECT_EQ(stm.Apply(now, said, {}, kTerms, changes), late > 0 ? Outcome::kStale : Outcome::kApplied);
    EXPECT_EQ(stm.records(), late > 0 ? 0U : 1U);
  }
}

TEST(StmReplayTest, AWallClockThatJumpsSilencesOthersAtMostAndNeverUs) {
  for (const Duration jump : {Duration(hours(1)), Duration(-hours(1))}) {
    Stm stm(StmConfig{});
    Tick now{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
    std::vector<StateChange> changes;
    std::uint64_t sequence = 0;
    const auto own = [&] {
      ++sequence;
      return stm.Apply(
          now, {.peer = 1, .observer = kUs, .signal = Signal::kSuspect, .sequence = sequence, .nonce = sequence}, {},
          kTerms, changes);
    };
    const Observation other{.peer = 1, .observer = kOutside, .signal = Signal::kSuspect, .timestamp = now.wall};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(own(), Outcome::kApplied);
    now.wall += jump;
    EXPECT_EQ(stm.Apply(now, other, {}, kTerms, changes), jump > Duration::zero() ? Outcome::kStale : Outcome::kFuture);
    EXPECT_EQ(stm.Explain(now, 1).count, 4U);
    EXPECT_EQ(own(), Outcome::kApplied);
    ASSERT_EQ(stm.StateOf(1), State::kSuspect);
    const Instant end = stm.HoldOf(1)->end;
    EXPECT_EQ(end, now.boot + kTerms.max);
    now.wall -= 3 * jump;
    now.boot = end - Duration(1);
    stm.Advance(now, changes);
    EXPECT_EQ(stm.StateOf(1), State::kSuspect);
    now.boot = end;
    stm.Advance(now, changes);
    EXPECT_EQ(stm.StateOf(1), State::kInactive);
  }
}

// ---- T7: in another order. ----

class Shuffled {
 public:
  Shuffled(const StmConfig& config, std::uint64_t seed) : stm_(config), random_(seed) {}

  void Run() {
    Life life(random_(), 12);
    std::vector<StmInput> run = life.Run(400);
    now_ = life.now();
    std::shuffle(run.begin(), run.end(), random_);
    for (StmInput& in : run) {
      now_.boot += milliseconds(random_() % 30);
      in.now = now_;
      Give(in);
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  void Give(const StmInput& in) {
    std::array<Explanation, kPeers> before;
    for (PeerId peer = 0; peer < kPeers; ++peer) before[peer] = stm_.Explain(now_, peer);
    changes_.clear();
    const auto outcome = Feed(stm_, in, changes_);
    for (PeerId peer = 0; peer < kPeers; ++peer) {
      EXPECT_GE(stm_.Explain(now_, peer).key, before[peer].key) << Text(in);
    }
    for (const StateChange& change : changes_) CheckChange(in, change, before[change.peer]);
    if (in.peer >= kPeers || !stm_.Explain(now_, in.peer).recorded) return;
    // The newest epoch of what was let in is the one that is held.
    const bool let_in = outcome ? outcome == Outcome::kApplied || outcome == Outcome::kNoEffect
                                : in.kind == Kind::kLeft || in.kind == Kind::kReplaced;
    if (let_in) newest_[in.peer] = std::max(newest_[in.peer], in.key.generation);
    EXPECT_GE(stm_.Explain(now_, in.peer).key.generation, newest_[in.peer]) << Text(in);
  }

  static void CheckChange(const StmInput& in, const StateChange& change, const Explanation& before) {
    EXPECT_GE(change.key, before.key) << Text(in);
    if (change.from != State::kInactive || change.to != State::kActive) return;
    switch (change.transition) {
      case Transition::kRecoveryWindowElapsed:
        EXPECT_TRUE(in.kind == Kind::kApply && in.said.signal == Signal::kHealthy) << Text(in);
        EXPECT_FALSE(before.departed) << Text(in);
        break;
      case Transition::kRefuted:
        EXPECT_EQ(in.kind, Kind::kRefute) << Text(in);
        EXPECT_GT(change.key, before.key) << Text(in);
        break;
      case Transition::kRestarted:
        EXPECT_TRUE(in.kind == Kind::kRestarted || in.said.signal == Signal::kHealthy) << Text(in);
        // A restart of its own may be at the key held, unless the peer has left.
        EXPECT_TRUE(change.key > before.key || (in.kind == Kind::kRestarted && !before.departed)) << Text(in);
        break;
      default:
        ADD_FAILURE() << Name(change.transition) << ": " << Text(in);
    }
  }

  Stm stm_;
  std::mt19937_64 random_;
  Tick now_;
  std::vector<StateChange> changes_;
  std::array<std::uint64_t, kPeers> newest_{};
};

TEST(StmReplayTest, InAnyOrderNothingFallsBack) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const StmConfig& config : {StmConfig(), Mesh(), kPairStm}) {
      Shuffled(config, seed).Run();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
  }
}

// The same observations of several observers in any order: the same epoch, and none of them is silenced by another.
TEST(StmReplayTest, InAnyOrderTheHighestEpochIsHeld) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Observation> all;
    for (std::uint64_t i = 0; i < 12; ++i) {
      all.push_back({.peer = 1,
                     .observer = static_cast<PeerId>(kOutside + i),
                     .signal = Signal::kSuspect,
                     .epoch = 1 + random() % 5,
                     .nonce = i,
                     .timestamp = WallTime(hours(1'000'000))});
    }
    std::shuffle(all.begin(), all.end(), random);
    Stm stm({.demote_threshold = 1000});
    std::vector<StateChange> changes;
    std::uint64_t highest = 0;
    std::uint64_t count = 0;  // of those of the highest epoch so far
    for (const Observation& said : all) {
      const Tick now{.boot = Instant(seconds(1000)), .wall = WallTime(hours(1'000'000))};
      const bool old = said.epoch < highest;
      EXPECT_EQ(stm.Apply(now, said, {}, kTerms, changes), old ? Outcome::kOldEpoch : Outcome::kApplied);
      if (said.epoch > highest) count = 0;
      if (!old) ++count;
      highest = std::max(highest, said.epoch);
    }
    const Explanation told = stm.Explain({}, 1);
    EXPECT_EQ(told.key.generation, highest);
    EXPECT_EQ(told.count, count);
  }
}

}  // namespace
}  // namespace nekton
