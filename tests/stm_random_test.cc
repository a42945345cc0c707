// Random inputs, to the StateTransitionManager and to a slow and obvious model of it; and laws of gossip.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_compare.h"
#include "tests/stm_shrink.h"

namespace nekton {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(StmRandomTest, AgreesWithTheSlowModel) {
  StmCoverage coverage;
  for (const StmSetting& setting : kStmSettings) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      const auto failure = RandomRun(setting.config, seed, 1000, StmMistake::kNone, coverage);
      ASSERT_FALSE(failure.has_value()) << "setting \"" << setting.name << "\", seed " << seed << ": "
                                        << Text(*failure);
    }
  }
  EXPECT_EQ(coverage.outcomes.size(), kOutcomes);
  EXPECT_EQ(coverage.transitions, AllTransitions());
  EXPECT_THAT(coverage.holds, UnorderedElementsAre("own", "heard of", "cancelled", "awaits a signal", "condemned",
                                                   "refused", "confirmed by some", "confirmed by all"));
  EXPECT_GT(coverage.met.records_displaced, 0U);
  EXPECT_GT(coverage.met.observers_displaced, 0U);
  EXPECT_GT(coverage.met.witnesses_displaced, 0U);
  EXPECT_GT(coverage.met.taken_back, 0U);
  EXPECT_GT(coverage.met.flaps, 0U);
  EXPECT_GT(coverage.met.pauses, 0U);
}

// What the comparison is worth: a model with one rule wrong is found out, and by few inputs.
struct Wrong {
  const char* name;
  StmMistake mistake;
  std::size_t most;  // inputs that are enough to show it, in the setting where it takes the most
};
class StmWrongRuleTest : public testing::TestWithParam<Wrong> {};

TEST_P(StmWrongRuleTest, IsFoundAndShrunk) {
  std::size_t found = 0;
  for (const StmSetting& setting : kStmSettings) {
    StmCoverage coverage;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto failure = RandomRun(setting.config, seed, 1000, GetParam().mistake, coverage);
      if (!failure.has_value()) continue;
      ++found;
      EXPECT_LE(failure->inputs.size(), GetParam().most) << setting.name << ", seed " << seed << ": " << Text(*failure);
      // No input can be left out.
      for (std::size_t i = 0; i < failure->inputs.size(); ++i) {
        std::vector<StmInput> fewer = failure->inputs;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_EQ(RunBoth(setting.config, fewer, GetParam().mistake).difference, "") << Text(*failure);
      }
      break;
    }
  }
  EXPECT_GE(found, 3U);
}

// The most: `n` to bring a peer where it shows, where `n` is ten in the setting in which ten must agree.
INSTANTIATE_TEST_SUITE_P(Rules, StmWrongRuleTest,
                         testing::Values(Wrong{"Margin", StmMistake::kNoMargin, 10},
                                         Wrong{"TakingBack", StmMistake::kNothingTakenBack, 12},
                                         Wrong{"Boundary", StmMistake::kLateBoundary, 11},
                                         Wrong{"Nonces", StmMistake::kLastNonceOnly, 4},
                                         Wrong{"Gaps", StmMistake::kGapsForgotten, 11}),
                         [](const auto& which) { return std::string(which.param.name); });

TEST(StmShrinkTest, LeavesOnlyWhatIsNeeded) {
  std::vector<int> all(1000);
  for (int i = 0; i < 1000; ++i) all[static_cast<std::size_t>(i)] = i;
  const auto has = [](const std::vector<int>& some, int what) {
    return std::find(some.begin(), some.end(), what) != some.end();
  };
  int asked = 0;
  const auto fails = [&](const std::vector<int>& some) {
    ++asked;
    return has(some, 3) && has(some, 500) && has(some, 998);
  };
  EXPECT_THAT(Shrink(all, fails), ElementsAre(3, 500, 998));
  EXPECT_LT(asked, 200);  // not one by one
  EXPECT_THAT(Shrink(std::vector<int>{7}, [](const auto&) { return true; }), ElementsAre(7));
}

TEST(StmShrinkTest, PrintsInputsForPeople) {
  StmInput in{.kind = StmInput::Kind::kVerdict, .now = {.boot = Instant(Duration(12))}, .peer = 3, .key = {4, 5}};
  in.word = {.observer = 9, .refused = true};
  in.terms = {Duration(1), Duration(2), 3, Duration(4), Duration(5)};
  EXPECT_EQ(Text(in),
            "at 12 Verdict peer 3 key (4, 5) by 9 (refused) {min 1, max 2, confirmers 3, margin 4, refused 5}");
}

// ---- Laws: neither the order of rumours and verdicts nor copies of them matter. ----

constexpr HoldTerms kTerms{Duration(10), Duration(90), 3, Duration(7), Duration(4)};
constexpr PeerId kPeer = 1;

struct News {
  LifeKey key;
  Word word;
  bool verdict = false;
};

// What the peer was before the news came.
enum class Before { kUnknown, kDoubted, kSuspectHere, kAwaited, kCancelled };

class Listener {
 public:
  Listener(const StmConfig& config, Before before) : stm_(config) {
    if (before == Before::kUnknown) return;
    if (before == Before::kDoubted) {
      Signal(Signal::kSuspect);
      return;
    }
    Signal(Signal::kDead);
    Pass(Duration(5));
    if (before == Before::kCancelled) {
      Hear({{{1, 1}, {.observer = 20}}, {{1, 1}, {.observer = 21}}});
      Signal(Signal::kHealthy);
    }
    if (before == Before::kAwaited) stm_.Deaf(now_, now_.boot - Duration(2), now_.boot);
  }

  void Hear(const std::vector<News>& all) {
    for (const News& news : all) {
      const auto tell = news.verdict ? &Stm::Verdict : &Stm::Rumour;
      (stm_.*tell)(now_, kPeer, news.key, news.word, kTerms, changes_);
    }
  }

  // The state, the hold and who stands behind it; then what comes of it when nothing more is heard.
  std::string Fate() {
    std::string text = Standing();
    for (int i = 0; i < 4 && stm_.NextDeadline() != kNever; ++i) {
      now_.boot = stm_.NextDeadline();
      changes_.clear();
      stm_.Advance(now_, changes_);
      for (const StateChange& c : changes_) text += " " + std::string(Name(c.transition));
      text += Standing();
    }
    return text;
  }

 private:
  void Signal(nekton::Signal signal) {
    ++sequence_;
    const Observation said{
        .peer = kPeer, .observer = 99, .signal = signal, .epoch = 1, .sequence = sequence_, .nonce = sequence_};
    stm_.Apply(now_, said, {1, 1}, kTerms, changes_);
  }
  void Pass(Duration time) { now_.boot += time; }

  std::string Standing() const {
    const auto hold = stm_.HoldOf(kPeer);
    const Explanation told = stm_.Explain(now_, kPeer);
    std::vector<std::string> witnesses;
    for (const Witness& w : told.witnesses) {
      witnesses.push_back(std::to_string(w.observer) + (w.counts ? "" : "-") + (w.refused ? "r" : "") +
                          (w.verdict ? "v" : ""));
    }
    std::sort(witnesses.begin(), witnesses.end());
    std::string text = " | " + stm_text::Time(now_.boot) + " " + std::string(Name(stm_.StateOf(kPeer))) + " key " +
                       stm_text::Key(told.key) + " count " + std::to_string(told.count);
    if (hold) text += " until " + stm_text::Time(hold->end) + (told.hold->awaits_signal ? " awaiting" : "");
    for (const std::string& w : witnesses) text += " " + w;
    return text;
  }

  Stm stm_;
  Tick now_{.boot = Instant(Duration(1000)), .wall = WallTime(Duration(1'000'000))};
  std::uint64_t sequence_ = 0;
  std::vector<StateChange> changes_;
};

// The random sets of news that a law is tried with.
struct Range {
  std::uint32_t observers = 8;
  std::uint64_t keys = 1;
  bool one_word_each = false;  // else an observer may say less first and more later: a mark, a verdict
};

class Laws {
 public:
  static void Hold(const StmConfig& config, Before before, const Range& range, int times) {
    Laws laws(range);
    for (int i = 0; i < times && !testing::Test::HasFailure(); ++i) laws.Try(config, before);
  }

 private:
  explicit Laws(const Range& range) : range_(range) {}

  std::uint32_t Draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  std::vector<News> SomeNews() {
    std::vector<News> all(1 + Draw(2 * range_.observers));
    for (News& news : all) {
      news.key = {1, 1 + random_() % range_.keys};
      news.word = {.observer = 20 + Draw(range_.observers), .refused = Draw(3) == 0};
      news.verdict = Draw(4) == 0;
      if (!range_.one_word_each) continue;
      news.word.refused = news.word.observer % 3 == 0;
      news.verdict = news.word.observer % 5 == 0;
    }
    return all;
  }

  void Try(const StmConfig& config, Before before) {
    const std::vector<News> all = SomeNews();
    const std::string want = Fate(config, before, all);
    for (int order = 0; order < 6; ++order) {
      std::vector<News> other = all;
      std::shuffle(other.begin(), other.end(), random_);
      if (order >= 2) {  // some twice
        for (std::uint32_t more = Draw(9); more > 0; --more)
          other.push_back(all[Draw(static_cast<std::uint32_t>(all.size()))]);
        std::shuffle(other.begin(), other.end(), random_);
      }
      if (order >= 4) other.insert(other.end(), all.begin(), all.end());  // and then all once more
      const auto differs = [&](const std::vector<News>& some) {           // than in the order in which it was drawn
        return Fate(config, before, some) != want;
      };
      ASSERT_FALSE(differs(other)) << "in one order " << Text(all) << want << "\nin another " << Text(other)
                                   << Fate(config, before, other);
    }
  }

  static std::string Fate(const StmConfig& config, Before before, const std::vector<News>& all) {
    Listener listener(config, before);
    listener.Hear(all);
    return listener.Fate();
  }

  static std::string Text(const std::vector<News>& all) {
    std::string text;
    for (const News& news : all) {
      text += std::to_string(news.word.observer) + (news.verdict ? " verdict" : " rumour") +
              (news.word.refused ? " refused" : "") + " at " + stm_text::Key(news.key) + ", ";
    }
    return text + "\n";
  }

  Range range_;
  std::mt19937_64 random_{7};
};

constexpr Before kBefores[] = {Before::kUnknown, Before::kDoubted, Before::kSuspectHere, Before::kAwaited,
                               Before::kCancelled};

TEST(StmLawTest, GossipInAnyOrderAndInCopiesComesToTheSame) {
  for (const StmSetting& setting : kStmSettings) {
    if (setting.config.rumour_weight == 0) continue;
    for (const Before before : kBefores) {
      SCOPED_TRACE(setting.name);
      Laws::Hold(setting.config, before, {}, 400);
    }
  }
}

// Where one rumour commits. Where several must agree, they must do so at one key: a doubt at an older one is void.
TEST(StmLawTest, AlsoAtMixedKeys) {
  for (const Before before : kBefores) Laws::Hold(kStmSettings[0].config, before, {.keys = 3}, 2000);
}

// Beyond what is kept, words are lost: of an observer that is kept only for what it says later, what it said first; and
// that one that counts no more had spoken before.
TEST(StmLawTest, AlsoOfMoreObserversThanAreKeptIfEachSaysOneThing) {
  for (const Before before : kBefores) {
    if (before == Before::kCancelled) continue;
    Laws::Hold(kStmSettings[0].config, before, {.observers = 14, .one_word_each = true}, 2000);
  }
}

}  // namespace
}  // namespace nekton
