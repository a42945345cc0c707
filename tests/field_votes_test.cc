// Field: observers disagree because suspicion votes are dated by the clocks of different machines. Here wall clocks that
// are minutes and days apart change nothing: a run with them is the same, byte for byte, as the run without.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

using Walls = std::vector<Duration>;
const Walls kRight = {0s, 0s, 0s, 0s, 0s};
const Walls kWrong = {0s, 3min, -3min, 10min, -24h};
constexpr std::uint64_t kGeneration = 1'700'000'000'000;

// The members probe everyone within 2N - 1 periods, hold a SUSPECT for 2.5 s once the others have confirmed it, and
// hearers a second longer.
constexpr Duration kUsual = 9s + 2500ms + 1s;

struct VotesRun {
  Walls walls = kRight;
  std::uint64_t generation = kGeneration;  // of everyone; 0: each takes its wall clock's, as shells do
  SimId victim = 1;
  Port port = Port::kSilent;
  std::uint64_t seed = 1;
  bool jumps = false;  // every clock goes on jumping, here and there, while the votes are cast
};

struct Votes {
  std::vector<Duration> inactive;  // when each survivor saw the victim INACTIVE, since the kill
  std::size_t other_verdicts = 0;
  std::vector<std::string> story;  // every event with its time and cause
  std::uint64_t fingerprint = 0;   // of every byte sent
};

// Forth by hours at even members, back at odd ones, and the next time the other way.
void Jump(Simulator& sim, std::size_t time) {
  for (SimId id = 0; id < sim.size(); ++id) sim.StepWall(id, (id + time) % 2 == 0 ? 5h : -7h);
}

Votes Cast(const VotesRun& run) {
  Config config = Config::Lan();
  config.generation = run.generation;
  Cluster c({.nodes = run.walls.size(), .seed = run.seed, .config = config, .start = false});
  for (SimId id = 0; id < c.size(); ++id) {
    c.sim().StepWall(id, run.walls[id]);
    EXPECT_TRUE(c.sim().Start(id).ok());
  }
  Votes votes;
  EXPECT_TRUE(c.Converge(30s));
  c.RunFor(1s);
  const Duration killed = c.now();
  c.Crash(run.victim, run.port);
  for (std::size_t i = 0; i < 200; ++i) {
    if (run.jumps) Jump(c.sim(), i);
    c.RunFor(100ms);
  }
  EXPECT_TRUE(c.AllSee(run.victim, MemberStatus::kInactive));
  for (const SimEvent& event : c.Events({.kind = EventKind::kFailed})) {
    if (event.event.member->name == c.sim().name(run.victim)) {
      votes.inactive.push_back(event.at - killed);
    } else {
      ++votes.other_verdicts;
    }
  }
  for (const SimEvent& event : c.sim().log()) {
    std::ostringstream line;
    line << event.at.count() << event;
    votes.story.push_back(line.str());
  }
  votes.fingerprint = c.sim().Fingerprint();
  return votes;
}

void ExpectAgreement(const Votes& votes) {
  ASSERT_EQ(votes.inactive.size(), 4u) << "each survivor, once";
  const auto [first, last] = std::minmax_element(votes.inactive.begin(), votes.inactive.end());
  EXPECT_LE(*last, kUsual);
  EXPECT_LE(*last - *first, 2s) << "two periods";
  EXPECT_EQ(votes.other_verdicts, 0u);
}

TEST(FieldVotes, SurvivorsWithWrongWallClocksAgree) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    for (SimId victim = 0; victim < 5; ++victim) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("victim " + std::to_string(victim) + " seed " + std::to_string(seed));
        ExpectAgreement(Cast({.walls = kWrong, .generation = 0, .victim = victim, .port = port, .seed = seed}));
      }
    }
  }
}

TEST(FieldVotes, NothingOfTheWallClockTakesPart) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Votes right = Cast({.port = port, .seed = seed});
      const Votes wrong = Cast({.walls = kWrong, .port = port, .seed = seed});
      const Votes jumping = Cast({.walls = kWrong, .port = port, .seed = seed, .jumps = true});
      ExpectAgreement(right);
      EXPECT_EQ(wrong.story, right.story);
      EXPECT_EQ(wrong.fingerprint, right.fingerprint);
      EXPECT_EQ(jumping.story, right.story);
      EXPECT_EQ(jumping.fingerprint, right.fingerprint);
    }
  }
}

// The comparison above can fail: the one thing that a shell takes from the wall clock, the generation, shows in it.
TEST(FieldVotes, TheComparisonSeesADifference) {
  const Votes right = Cast({.generation = 0});
  const Votes wrong = Cast({.walls = kWrong, .generation = 0});
  EXPECT_NE(wrong.story, right.story);
  EXPECT_NE(wrong.fingerprint, right.fingerprint);
}

}  // namespace
}  // namespace nekton
