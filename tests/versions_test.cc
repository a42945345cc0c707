// The numbers by which a caller tells that nothing has changed: while they stand still, nothing has that could matter.
#include "stm/versions.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "swim/random.h"
#include "swim/suspicions.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(VersionsTest, OneOfSixtyFourNeighboursRisesWithAPeerAndAllRiseWithAll) {
  Versions versions;
  for (const PeerId changed : {0u, 1u, 63u, 64u, 1000u, 0xfffffff0u}) {
    std::map<PeerId, std::uint64_t> before;
    for (PeerId peer = 640; peer < 704; ++peer) before[peer] = versions.of(peer);
    const std::uint64_t own = versions.of(changed);
    versions.Changed(changed);
    EXPECT_EQ(versions.of(changed), own + 1) << changed;
    std::uint32_t rose = 0;
    for (const auto& [peer, was] : before) rose += versions.of(peer) != was ? 1 : 0;
    EXPECT_EQ(rose, 1u) << changed;
  }
  std::map<PeerId, std::uint64_t> before;
  for (PeerId peer = 0; peer < 200; ++peer) before[peer] = versions.of(peer);
  versions.AllChanged();
  for (const auto& [peer, was] : before) EXPECT_GT(versions.of(peer), was);
}

TEST(VersionsTest, CopiesAreApart) {
  Versions versions;
  versions.Changed(3);
  Versions copy = versions;
  EXPECT_EQ(copy.of(3), versions.of(3));
  copy.Changed(3);
  EXPECT_GT(copy.of(3), versions.of(3));
}

// ---- The laws of those who keep such numbers, on inputs made by dice. ----

constexpr PeerId kPeers = 4;     // who is spoken of,
constexpr PeerId kMembers = 14;  // by any of these
constexpr PeerId kUs = 100;
constexpr Instant kStart{1000s};
constexpr WallTime kWall{std::chrono::hours(24 * 365 * 50)};

struct Told {
  PeerId peer = 0;
  LifeKey key;
  Word word;
  bool verdict = false;
};

// What a word about a peer depends on and what it may change, but for what is known of its observer.
struct View {
  State state{};
  LifeKey key;
  std::optional<Instant> end;
  bool running = false, own = false;
  std::uint32_t accusers = 0;  // bit i: the word of i counts
  friend bool operator==(const View&, const View&) = default;
};
View ViewOf(const Stm& stm, PeerId peer) {
  View view{stm.StateOf(peer), stm.KeyOf(peer), {}, false, false, 0};
  if (const auto hold = stm.HoldOf(peer); hold.has_value()) {
    view.end = hold->end;
    view.running = hold->running;
    view.own = hold->own;
  }
  for (PeerId i = 0; i < kMembers; ++i) view.accusers |= stm.Accuses(i, peer) ? 1u << i : 0;
  return view;
}

class StmStory {
 public:
  StmStory(const StmConfig& config, std::uint64_t seed) : dice(seed), stm(config) {
    now = {.boot = kStart, .wall = kWall};
  }

  Told Any() {
    Told told;
    told.peer = dice.Below(kPeers);
    told.key = keys[told.peer];
    if (dice.Below(30) == 0) ++told.key.incarnation;
    if (dice.Below(30) == 0) told.key.incarnation -= told.key.incarnation > 0 ? 1 : 0;
    told.word = {dice.Below(kMembers), dice.Below(4) == 0};
    told.verdict = dice.Below(3) == 0;
    return told;
  }
  Outcome Hear(Stm& by, const Told& told, std::vector<StateChange>& changes) const {
    return told.verdict ? by.Verdict(now, told.peer, told.key, told.word, terms, changes)
                        : by.Rumour(now, told.peer, told.key, told.word, terms, changes);
  }
  void Observe(PeerId peer, PeerId observer, Signal signal, bool outside) {
    Observation said{.peer = peer, .observer = observer, .signal = signal, .epoch = keys[peer].generation};
    said.sequence = said.nonce = ++said_;
    if (outside) said.timestamp = now.wall;
    if (dice.Below(4) == 0) said.weight = 5;
    if (signal != Signal::kHealthy && dice.Below(4) == 0) said.reason = Reason::kRefused;
    stm.Apply(now, said, keys[peer], terms, changes_);
  }
  void Pass(Duration d) {
    now.boot += d;
    now.wall += d;
  }

  // Anything but a word of another member about a peer.
  void Step() {
    const PeerId peer = dice.Below(kPeers);
    const PeerId other = dice.Below(kMembers);
    switch (dice.Below(17)) {
      case 0:
        return Observe(peer, kUs, Signal::kHealthy, false);
      case 1:
        return Observe(peer, kUs, dice.Below(3) == 0 ? Signal::kDead : Signal::kSuspect, false);
      case 2:
        return Observe(peer, other, dice.Below(3) == 0 ? Signal::kHealthy : Signal::kSuspect, true);
      case 3:
        ++keys[peer].incarnation;
        stm.Refute(now, peer, keys[peer], changes_);
        return;
      case 4:
        if (dice.Below(4) == 0) stm.Left(now, peer, keys[peer], changes_);
        return;
      case 5:
        if (dice.Below(4) == 0) stm.Replaced(now, peer, keys[peer], changes_);
        return;
      case 6:
        if (dice.Below(2) == 0) ++keys[peer].generation, keys[peer].incarnation = 0;
        return stm.Restarted(now, peer, keys[peer], changes_);
      case 7:
        return stm.Bury(now, peer, keys[peer]);
      case 8:
        return stm.Forget(dice.Below(2) == 0 ? peer : other);
      case 9:
        return stm.Paused(now, 100ms);
      case 10:
        return stm.Deaf(now, now.boot - 300ms, now.boot);
      case 11:  // an observer becomes doubtful, or is itself again
        return Observe(other, kUs, dice.Below(2) == 0 ? Signal::kDead : Signal::kHealthy, false);
      case 12:
        return stm.Restarted(now, other, {1, ++said_}, changes_);
      case 13:
        if (dice.Below(10) == 0) Pass(95s);  // idle records go
        return stm.Advance(now, changes_);
      default:
        Pass(std::chrono::milliseconds(dice.Below(400)));
        return stm.Advance(now, changes_);
    }
  }

  Random dice;
  Stm stm;
  Tick now;
  HoldTerms terms{.min = 1s, .max = 4s, .confirmers = 3, .margin = 500ms, .refused = 500ms};
  std::map<PeerId, LifeKey> keys;

 private:
  std::uint64_t said_ = 0;
  std::vector<StateChange> changes_;
};

bool TellsNothing(Outcome outcome) {
  return outcome == Outcome::kDuplicate || outcome == Outcome::kFull || outcome == Outcome::kLeft ||
         outcome == Outcome::kOutranked;
}

// Words that told nothing go on to tell nothing, and nothing that a reader sees of the peer changes either.
TEST(VersionsLaw, WhileAPeersVersionStandsAWordAboutItThatToldNothingTellsNothing) {
  struct Memory {
    Told told;
    Outcome outcome;
    std::uint64_t version;
  };
  std::size_t tried = 0;
  std::size_t full = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    StmConfig config;
    if (seed % 3 == 1) config.rumour_weight = 2;
    if (seed % 5 == 1) config.doubt_the_doubted = false;
    if (seed % 7 == 1) config.revive = Revive::kHealthy;
    if (seed % 11 == 1) config.max_local_pause = 200ms;
    StmStory story(config, seed);
    std::vector<Memory> memories;
    std::map<PeerId, std::pair<std::uint64_t, View>> views;
    const std::uint32_t words = seed % 4 == 0 ? 20 : 2;  // in some stories members do little but talk
    for (int step = 0; step < 150; ++step) {
      if (story.dice.Below(words) == 0) {
        story.Step();
      } else {
        const Told told = story.Any();
        std::vector<StateChange> changes;
        story.Hear(story.stm, told, changes);
        const Outcome again = story.Hear(story.stm, told, changes);
        if (TellsNothing(again)) memories.push_back({told, again, story.stm.VersionOf(told.peer)});
      }
      for (PeerId peer = 0; peer < kPeers; ++peer) {
        const std::pair now(story.stm.VersionOf(peer), ViewOf(story.stm, peer));
        const auto [it, first] = views.try_emplace(peer, now);
        ASSERT_TRUE(now.first != it->second.first || now.second == it->second.second)
            << "seed " << seed << ", step " << step << ", peer " << peer;
        ASSERT_GE(now.first, it->second.first);
        it->second = now;
      }
      std::erase_if(memories, [&](const Memory& m) { return m.version != story.stm.VersionOf(m.told.peer); });
      for (const Memory& memory : memories) {
        Stm copy = story.stm;
        std::vector<StateChange> changes;
        const Outcome outcome = story.Hear(copy, memory.told, changes);
        if (outcome == Outcome::kZeroWeight) continue;  // what is known of the observer
        ASSERT_EQ(outcome, memory.outcome) << "seed " << seed << ", step " << step;
        ASSERT_TRUE(changes.empty());
        // A pause that this input is the first to notice is not its own doing.
        if (config.max_local_pause == StmConfig::kForEver) {
          ASSERT_EQ(ViewOf(copy, memory.told.peer), ViewOf(story.stm, memory.told.peer));
        }
        ++tried;
        full += outcome == Outcome::kFull ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tried, 20'000u) << "the dice are of use";
  EXPECT_GT(full, 300u);
}

TEST(VersionsLaw, APeersVersionStandsWhileNothingHappensToIt) {
  StmStory story({}, 1);
  std::vector<StateChange> changes;
  const Told told{1, {}, {2, false}, false};
  story.Hear(story.stm, told, changes);
  const std::uint64_t version = story.stm.VersionOf(1);
  for (int i = 0; i < 10; ++i) {
    story.Hear(story.stm, told, changes);
    story.Observe(3, kUs, Signal::kSuspect, false);
    story.Pass(100ms);
    story.stm.Advance(story.now, changes);
  }
  EXPECT_EQ(story.stm.VersionOf(1), version) << "else it would be of no use";
}

TEST(VersionsLaw, WhileARowsVersionStandsAnAccuserThatWasNotNewIsNotNew) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random dice(seed);
    Suspicions suspicions(1 + seed % 4);
    struct Memory {
      PeerId row;
      Accuser accuser;
      std::uint64_t version;
    };
    std::vector<Memory> memories;
    const auto settled = [&](PeerId row) {
      const Suspicion* found = suspicions.Find(row);
      return found != nullptr && found->settled;
    };
    for (int step = 0; step < 200; ++step) {
      const PeerId row = dice.Below(kPeers);
      const Accuser accuser{dice.Below(8), dice.Below(3) == 0};
      switch (dice.Below(16)) {
        case 0:
          suspicions.Unsay(row, accuser.id);
          break;
        case 1:
          suspicions.Withdraw(accuser.id);
          break;
        case 2:
          suspicions.Forget(row);
          break;
        case 3:
          if (!settled(row)) suspicions.MarkOwn(row);
          break;
        case 4:
          if (dice.Below(4) == 0) suspicions.Settle(row);
          break;
        default:
          if (settled(row)) break;
          if (!suspicions.Merge(row, accuser)) memories.push_back({row, accuser, suspicions.VersionOf(row)});
          break;
      }
      std::erase_if(memories, [&](const Memory& m) { return m.version != suspicions.VersionOf(m.row); });
      for (const Memory& memory : memories) {
        if (settled(memory.row)) continue;
        Suspicions copy = suspicions;
        ASSERT_FALSE(copy.Merge(memory.row, memory.accuser)) << "seed " << seed << ", step " << step;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 10'000u);
}

TEST(VersionsLaw, ARowsVersionStandsWhileNothingIsTakenBack) {
  Suspicions suspicions(4);
  suspicions.Merge(1, {2, false});
  const std::uint64_t version = suspicions.VersionOf(1);
  suspicions.Merge(1, {2, false});
  suspicions.Merge(1, {3, true});
  suspicions.MarkOwn(1);
  suspicions.Unsay(1, 9);
  suspicions.Withdraw(9);
  suspicions.Unsay(2, 2);
  suspicions.Forget(2);
  EXPECT_EQ(suspicions.VersionOf(1), version);
}

}  // namespace
}  // namespace nekton
