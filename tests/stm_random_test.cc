// Random inputs, to the StateTransitionManager and to a slow and obvious model of it.
#include <array>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_model.h"

namespace nekton {
namespace {

struct Setting {
  const char* name;
  StmConfig config;
};

// Time is counted in single nanoseconds, so that every boundary is met exactly and one to either side.
const std::array<Setting, 6> kSettings{{
    {"swim", {5, 2, 1, Duration(0), 5, Revive::kRefutation}},
    {"mesh", {3, 2, 1, Duration(9), 1, Revive::kHealthy}},
    {"mesh, strict recovery", {3, 2, 2, Duration(5), 1, Revive::kHealthy}},
    {"pair", {1, 1, 1, Duration(0), 0, Revive::kJoinOnly}},
    {"ten must agree", {10, 3, 1, Duration(0), 1, Revive::kRefutation}},
    {"all ones", {1, 1, 1, Duration(1), 1, Revive::kHealthy}},
}};

// What all runs together have met: a comparison that never gets anywhere proves nothing.
struct Coverage {
  std::set<Outcome> outcomes;
  std::set<std::string> transitions;
};

class Comparison {
 public:
  Comparison(const StmConfig& config, std::uint64_t seed) : random_(seed), stm_(config), model_(config) {}

  void Step() {
    // Mostly slow, so that much is said in one hold; sometimes to the very next deadline.
    if (Draw(4) == 0) now_.boot += Duration(Draw(3));
    if (Draw(40) == 0 && stm_.NextDeadline() != kNever) now_.boot = std::max(now_.boot, stm_.NextDeadline());
    changes_.clear();
    model_.changes.clear();
    Feed();
    Check();
  }

  void Collect(Coverage& coverage) const {
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      if (stm_.count(static_cast<Outcome>(i)) > 0) coverage.outcomes.insert(static_cast<Outcome>(i));
    }
    coverage.transitions.insert(transitions_.begin(), transitions_.end());
  }

 private:
  static constexpr PeerId kPeers = 5;

  std::uint32_t Draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  PeerId APeer() { return Draw(200) == 0 ? kNoPeer : Draw(kPeers); }
  PeerId AnObserver() { return Draw(100) == 0 ? kNoPeer : 10 + Draw(12); }
  // Most keys lie close to each other; the range moves up slowly, so that new ones never end.
  LifeKey AKey() {
    const std::uint64_t step = random_() % 4 == 0 ? random_() % 5 : 2;
    const std::uint64_t at = base_ + step;
    if (Draw(300) == 0) ++base_;
    return {at / 8, at % 8};
  }
  HoldTerms Terms() {
    HoldTerms terms{.min = Duration(1 + Draw(6)), .max = {}, .confirmers = Draw(3), .margin = Duration(Draw(3))};
    terms.max = 2 * terms.min;
    return terms;
  }

  void Feed() {
    const std::uint32_t kind = Draw(100);
    const PeerId peer = APeer();
    if (kind < 50) {
      FeedSignal(peer);
    } else if (kind < 64) {
      FeedGossip(peer);
    } else if (kind < 70) {
      const LifeKey key = AKey();
      EXPECT_EQ(stm_.Refute(now_, peer, key, changes_), model_.Refute(now_.boot, peer, key));
    } else if (kind < 90) {
      stm_.Advance(now_, changes_);
      model_.Advance(now_.boot);
    } else if (kind < 93) {
      const Duration overshoot(static_cast<std::int64_t>(Draw(4)) - 1);
      stm_.Paused(now_, overshoot);
      model_.Paused(overshoot);
    } else if (peer != kNoPeer) {
      FeedLifecycle(kind, peer);
    }
  }

  void FeedSignal(PeerId peer) {
    const LifeKey key = AKey();
    const HoldTerms terms = Terms();
    Observation said{.peer = peer, .observer = AnObserver()};
    const std::uint32_t signal = Draw(100);
    said.signal = signal < 38 ? Signal::kHealthy : signal < 90 ? Signal::kSuspect : static_cast<Signal>(Draw(4));
    said.reason = Draw(5) == 0 ? Reason::kRefused : Reason::kProbeTimeout;
    said.weight = Draw(50) == 0 ? 4'000'000'000 : Draw(30) == 0 ? 0 : Draw(8) == 0 ? 1 + Draw(4) : 1;
    said.epoch = key.generation + (Draw(30) == 0 ? 1 : 0) - (key.generation > 0 && Draw(30) == 0 ? 1 : 0);
    EXPECT_EQ(stm_.Apply(now_, said, key, terms, changes_), model_.Apply(now_.boot, said, key, terms));
  }

  void FeedGossip(PeerId peer) {
    const LifeKey key = AKey();
    const HoldTerms terms = Terms();
    const PeerId observer = AnObserver();
    const std::uint32_t confidence = Draw(10) == 0 ? 0 : Draw(50) == 0 ? 2 : 1;
    if (Draw(5) == 0) {
      EXPECT_EQ(stm_.Verdict(now_, peer, key, observer, confidence, terms, changes_),
                model_.Verdict(now_.boot, peer, key, observer, confidence, terms));
    } else {
      EXPECT_EQ(stm_.Rumour(now_, peer, key, observer, confidence, terms, changes_),
                model_.Rumour(now_.boot, peer, key, observer, confidence, terms));
    }
  }

  void FeedLifecycle(std::uint32_t kind, PeerId peer) {
    const LifeKey key = AKey();
    if (kind == 93) {
      stm_.Left(now_, peer, key, changes_);
      model_.Depart(now_.boot, peer, key, Transition::kLeft);
    } else if (kind == 94) {
      stm_.Replaced(now_, peer, key, changes_);
      model_.Depart(now_.boot, peer, key, Transition::kReplaced);
    } else if (kind == 95) {
      stm_.Bury(now_, peer, key);
      model_.Bury(now_.boot, peer, key);
    } else if (kind == 96) {
      stm_.Forget(peer);
      model_.Forget(peer);
    } else {
      stm_.Restarted(now_, peer, key, changes_);
      model_.Restarted(now_.boot, peer, key);
    }
  }

  void Check() {
    ASSERT_EQ(changes_.size(), model_.changes.size());
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const StateChange& got = changes_[i];
      const StateChange& want = model_.changes[i];
      transitions_.insert(std::string(Name(got.from)) + ">" + std::string(Name(got.to)) + " " +
                          std::string(Name(got.transition)));
      EXPECT_EQ(got.peer, want.peer);
      EXPECT_EQ(Name(got.from), Name(want.from));
      EXPECT_EQ(Name(got.to), Name(want.to));
      EXPECT_EQ(Name(got.transition), Name(want.transition));
      EXPECT_EQ(got.observer, want.observer);
      EXPECT_EQ(got.key, want.key);
      EXPECT_EQ(got.at, want.at);
      EXPECT_EQ(got.lasted, want.lasted);
    }
    EXPECT_EQ(stm_.NextDeadline(), model_.NextDeadline());
    EXPECT_EQ(stm_.records(), model_.records());
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      EXPECT_EQ(stm_.count(static_cast<Outcome>(i)), model_.count(static_cast<Outcome>(i)))
          << Name(static_cast<Outcome>(i));
    }
    for (PeerId peer = 0; peer < kPeers; ++peer) CheckPeer(peer);
  }

  void CheckPeer(PeerId peer) {
    EXPECT_EQ(Name(stm_.StateOf(peer)), Name(model_.StateOf(peer)));
    const auto got = stm_.HoldOf(peer);
    const auto want = model_.HoldOf(peer);
    ASSERT_EQ(got.has_value(), want.has_value());
    if (!got) return;
    EXPECT_EQ(got->since, want->since);
    EXPECT_EQ(got->end, want->end);
    EXPECT_EQ(got->running, want->running);
    EXPECT_EQ(got->key, want->key);
  }

  std::mt19937_64 random_;
  std::uint64_t base_ = 0;
  Tick now_{.boot = Instant(Duration(1000))};
  Stm stm_;
  StmModel model_;
  std::vector<StateChange> changes_;
  std::set<std::string> transitions_;
};

TEST(StmRandomTest, AgreesWithTheSlowModel) {
  Coverage coverage;
  for (const Setting& setting : kSettings) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Comparison comparison(setting.config, seed);
      for (int step = 0; step < 10'000; ++step) {
        comparison.Step();
        ASSERT_FALSE(HasFailure()) << "setting \"" << setting.name << "\", seed " << seed << ", step " << step;
      }
      comparison.Collect(coverage);
    }
  }
  EXPECT_EQ(coverage.outcomes,
            (std::set<Outcome>{Outcome::kApplied, Outcome::kInvalid, Outcome::kOldEpoch, Outcome::kDuplicate,
                               Outcome::kZeroWeight, Outcome::kLeft, Outcome::kOutranked, Outcome::kNoEffect}));
  EXPECT_EQ(coverage.transitions,
            (std::set<std::string>{"ACTIVE>ACTIVE restarted", "ACTIVE>INACTIVE left", "ACTIVE>INACTIVE replaced",
                                   "ACTIVE>SUSPECT demotion_threshold", "ACTIVE>SUSPECT gossip",
                                   "ACTIVE>SUSPECT refused", "INACTIVE>ACTIVE recovery_window_elapsed",
                                   "INACTIVE>ACTIVE refuted", "INACTIVE>ACTIVE restarted",
                                   "SUSPECT>ACTIVE promotion_threshold", "SUSPECT>ACTIVE refuted",
                                   "SUSPECT>ACTIVE restarted", "SUSPECT>INACTIVE confirm_dead_hold_elapsed",
                                   "SUSPECT>INACTIVE gossip", "SUSPECT>INACTIVE left", "SUSPECT>INACTIVE replaced"}));
}

}  // namespace
}  // namespace nekton
