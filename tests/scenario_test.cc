// Whole groups on virtual time: joining, failing, coming back, parting. The long and large ones: scenario_slow_test.cc.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/wire.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

std::vector<Update> UpdatesIn(std::span<const std::byte> bytes, const std::string& label = "") {
  Frame frame;
  std::vector<Update> updates;
  if (DecodeDatagram(bytes, LabelTag(label), &frame) != Fault::kNone) return updates;
  UpdateReader reader(frame.updates);
  Update update;
  while (reader.Next(&update)) updates.push_back(update);
  return updates;
}

class GroupSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Scenario, GroupSize, testing::Values(2, 3, 8, 32, 100),
                         [](const auto& param) { return "N" + std::to_string(param.param); });

TEST_P(GroupSize, JoinsThroughOneSeed) {
  Cluster c({.nodes = GetParam()});
  ASSERT_TRUE(c.Converge(60s));
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
  const std::size_t n = GetParam();
  EXPECT_EQ(c.Count(EventKind::kJoined), n * (n - 1));
}

TEST_P(GroupSize, RestsAtTwoDatagramsAMemberAndPeriod) {
  Cluster c({.nodes = GetParam()});
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(10s);
  const SimCounters before = c.sim().counters();
  c.RunFor(60s);
  const SimCounters after = c.sim().counters();
  const double member_periods = 60.0 * static_cast<double>(GetParam());
  EXPECT_NEAR(static_cast<double>(after.datagrams_sent - before.datagrams_sent) / member_periods, 2.0, 0.05);
  EXPECT_LE(static_cast<double>(after.bytes_sent - before.bytes_sent) / member_periods, 54.0);
  EXPECT_EQ(after.streams, before.streams) << "equal tables need no exchange";
}

TEST_P(GroupSize, ACrashIsKnownToAllWithItsCause) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    Cluster c({.nodes = GetParam(), .seed = 7});
    ASSERT_TRUE(c.Converge(60s));
    const auto victim = static_cast<SimId>(GetParam() / 2);
    const Duration at = c.now();
    c.Crash(victim, port);
    // At two members nobody can confirm, so the longest hold is waited for.
    c.RunFor(GetParam() == 2 ? 14s : 20s);
    EXPECT_TRUE(c.AllSee(victim, MemberStatus::kInactive));
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = victim, .since = at}), GetParam() - 1);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), GetParam() - 1) << "and nobody else is accused";
    std::size_t own = 0;
    for (const SimEvent& e : c.Events({.kind = EventKind::kSuspected, .subject = victim})) {
      EXPECT_FALSE(e.event.cause.observers.empty());
      if (!e.event.cause.own) continue;
      ++own;
      // A refusal ends a round; who corroborates one hears of it at once.
      EXPECT_LE(e.event.cause.attempts.size(), 8u);
      if (port == Port::kSilent) {
        EXPECT_EQ(e.event.cause.attempts.size(), 8u);
      }
      EXPECT_EQ(e.event.cause.reason, port == Port::kRefuses ? Reason::kRefused : Reason::kProbeTimeout);
    }
    EXPECT_GE(own, 1u);
  }
}

TEST_P(GroupSize, ALeaveIsALeaveEverywhere) {
  Cluster c({.nodes = GetParam()});
  ASSERT_TRUE(c.Converge(60s));
  const auto leaver = static_cast<SimId>(GetParam() / 2);
  const Duration at = c.now();
  c.Leave(leaver);
  c.RunFor(10s);
  EXPECT_TRUE(c.AllSee(leaver, MemberStatus::kLeft));
  EXPECT_EQ(c.Count({.kind = EventKind::kLeft, .since = at}), GetParam() - 1);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = at}), 0u);
  const auto done = c.Events({.kind = EventKind::kLeaveDone});
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].event.status.ok()) << done[0].event.status;
  EXPECT_EQ(done[0].event.heard_by, std::min<std::size_t>(GetParam() - 1, 32));
  EXPECT_LT(done[0].at - at, 100ms);
}

TEST_P(GroupSize, ARestartIsKnownAtOnce) {
  for (const bool buried : {false, true}) {
    Cluster c({.nodes = GetParam()});
    ASSERT_TRUE(c.Converge(60s));
    const auto victim = static_cast<SimId>(GetParam() - 1);
    const std::uint64_t first = c.sim().generation(victim);
    c.Crash(victim);
    c.RunFor(buried ? 25s : 300ms);
    const Duration at = c.now();
    c.Restart(victim);
    c.RunFor(3s);
    EXPECT_GT(c.sim().generation(victim), first);
    EXPECT_TRUE(c.AllSee(victim, MemberStatus::kActive));
    const auto restarted = c.Events({.kind = EventKind::kRestarted, .subject = victim, .since = at});
    EXPECT_EQ(restarted.size(), GetParam() - 1);
    for (const SimEvent& e : restarted) EXPECT_EQ(e.event.member->key.generation, c.sim().generation(victim));
    EXPECT_TRUE(c.Converge(10s));
  }
}

TEST_P(GroupSize, AFreezeOfThreeSecondsKillsNobody) {
  Cluster c({.nodes = GetParam(), .seed = 3});
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(1s);
  const Duration at = c.now();
  const auto frozen = static_cast<SimId>(GetParam() / 2);
  c.Pause(frozen);
  c.RunFor(3s);
  c.Resume(frozen);
  c.RunFor(20s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .observer = frozen, .since = at}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kPaused, .observer = frozen, .since = at}), 1u);
  EXPECT_TRUE(c.Converge(1s));
  EXPECT_TRUE(c.AllSee(frozen, MemberStatus::kActive));
}

TEST(Scenario, WhoNeverPausedNeverThinksSo) {
  Config config = Config::Lan();
  config.hearer_margin = 3s;  // a confirm brings the hearers' question to a time that has passed
  Cluster c({.nodes = 30, .config = config});
  ASSERT_TRUE(c.Converge(60s));
  c.Crash(4);
  c.Crash(5, Port::kRefuses);
  c.RunFor(10s);
  c.Restart(4);
  c.Lose(0.2);
  c.RunFor(60s);
  EXPECT_GE(c.Count(EventKind::kFailed), 50u);
  EXPECT_EQ(c.Count(EventKind::kPaused), 0u);
  for (SimId id = 0; id < 30; ++id) {
    if (!c.sim().live(id)) continue;
    EXPECT_EQ(c.member(id).counters()[Counter::kPauses], 0u) << id;
  }
}

TEST(Scenario, SmallGroupsProbeAtTheFullRate) {
  for (const std::size_t n : {2u, 3u}) {
    Cluster c({.nodes = n});
    ASSERT_TRUE(c.Converge(10s));
    const std::uint64_t before = c.Sum(Counter::kRounds);
    c.RunFor(100s);
    EXPECT_NEAR(static_cast<double>(c.Sum(Counter::kRounds) - before), 100.0 * static_cast<double>(n), 4.0) << n;
  }
}

TEST(Scenario, TheSameSeedIsTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    Cluster c({.nodes = 20, .seed = seed});
    c.Lose(0.1);
    c.RunFor(20s);
    c.Crash(4);
    c.RunFor(20s);
    return c.sim().Fingerprint();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Scenario, LossKillsNobody) {
  for (const double loss : {0.05, 0.15}) {
    Cluster c({.nodes = 100, .seed = 11});
    ASSERT_TRUE(c.Converge(60s));
    const Duration at = c.now();
    c.Lose(loss);
    c.RunFor(60s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u) << loss;
    EXPECT_GT(c.Sum(Counter::kNacksReceived) + c.Sum(Counter::kAttemptsFailed), 0u) << "there was no loss";
  }
}

// Field: suspicion at the direct timeout, before the indirect probes have answered.
TEST(Scenario, ABrokenPairIsBridgedByRelays) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  std::size_t accusations = 0;
  std::size_t relayed = 0;
  c.sim().SetTap([&](const SimDatagram& d) {
    if (d.moment != SimDatagram::Moment::kSent) return;
    for (const Update& update : UpdatesIn(d.bytes)) accusations += update.kind == UpdateKind::kSuspect;
    Frame frame;
    if (DecodeDatagram(d.bytes, LabelTag(""), &frame) == Fault::kNone) relayed += frame.type == FrameType::kRelayedAck;
  });
  const Duration at = c.now();
  const std::uint64_t failed = c.Sum(Counter::kAttemptsFailed);
  c.Cut(0, 1);
  c.RunFor(60s);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = at}), 0u);
  EXPECT_EQ(accusations, 0u);
  // The pair met about 60 * 2 / 4 times; each time the first try failed and a relay's answer ended the round.
  EXPECT_GE(relayed, 20u);
  EXPECT_GE(c.Sum(Counter::kAttemptsFailed) - failed, 20u);
  EXPECT_EQ(c.Sum(Counter::kRoundsFailed), 0u);
}

// Field: a node that was itself frozen wakes up and marks everybody else dead.
TEST(Scenario, WhoWasFrozenAccusesNobody) {
  for (const auto pause : {10s, 30s, 120s}) {
    Cluster c({.nodes = 20, .seed = 5});
    ASSERT_TRUE(c.Converge(60s));
    const SimId frozen = 9;
    c.Pause(frozen, {.keep_input = false});
    c.RunFor(pause);
    EXPECT_GT(c.Count({.kind = EventKind::kFailed, .subject = frozen}), 0u) << "it was declared dead meanwhile";
    const Duration at = c.now();
    c.Resume(frozen);
    c.RunFor(15s);
    EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .observer = frozen, .since = at}), 0u) << pause.count();
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = frozen, .since = at}), 0u) << pause.count();
    EXPECT_EQ(c.Count({.kind = EventKind::kAccused, .observer = frozen, .since = at}), 1u) << "it learns of its death";
    EXPECT_GT(c.member(frozen).Self()->key.incarnation, 0u);
    EXPECT_TRUE(c.Converge(10s));
  }
}

TEST(Scenario, ASplitOfAMinuteHeals) {
  for (const std::size_t n : {4u, 10u, 60u}) {
    Cluster c({.nodes = n, .seed = n});
    ASSERT_TRUE(c.Converge(60s));
    std::vector<std::vector<SimId>> halves(2);
    for (SimId id = 0; id < n; ++id) halves[id % 2].push_back(id);
    c.Partition(halves);
    c.RunFor(60s);
    EXPECT_EQ(c.Sees(0, 1), MemberStatus::kInactive);
    EXPECT_EQ(c.Sees(1, 0), MemberStatus::kInactive);
    EXPECT_EQ(c.Sees(1, 3), MemberStatus::kActive);
    const Duration healed = c.now();
    c.Heal();
    EXPECT_TRUE(c.Converge(10s)) << n;
    c.RunFor(10s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = healed}), 0u) << "who is healthy is not condemned anew";
    EXPECT_TRUE(c.Converge(1s));
  }
}

// Field: two clusters fuse because an address of one was used again by the other.
TEST(Scenario, TwoClustersNeverFuse) {
  Config red = Config::Lan();
  red.label = "red";
  Cluster c({.nodes = 5, .config = red});
  Config blue = Config::Lan();
  blue.label = "blue";
  std::vector<SimId> blues;
  for (int i = 0; i < 5; ++i) {
    blue.name = "blue" + std::to_string(i);
    if (!blues.empty()) blue.seeds = {c.sim().address(blues[0]).ToString()};
    blues.push_back(c.AddNode(blue));
  }
  c.RunFor(20s);
  // A red one dies, and a blue one starts at its address while the reds still probe it.
  const Address address = c.sim().address(3);
  c.Crash(3);
  c.RunFor(5s);
  blue.name = "blue5";
  blues.push_back(c.AddNode(blue, {.address = address}));
  c.RunFor(60s);
  for (const SimId id : {0u, 1u, 2u, 4u}) {
    for (const MemberPtr& m : c.member(id).Members()) EXPECT_EQ(m->name[0], 'n') << m->name;
    EXPECT_EQ(c.member(id).alive(), 4u);
  }
  for (const SimId id : blues) {
    for (const MemberPtr& m : c.member(id).Members()) EXPECT_EQ(m->name[0], 'b') << m->name;
    EXPECT_EQ(c.member(id).alive(), 6u);
  }
  EXPECT_GT(c.member(blues[5]).counters()[Counter::kBadLabel], 0u) << "the frames of the reds were dropped and counted";
  const std::size_t told = c.Count({.kind = EventKind::kForeign, .observer = blues[5]});
  EXPECT_GE(told, 1u);
  EXPECT_LE(told, 8u) << "one line a minute and host, however many frames";

  // A red one with a blue seed: a typed error, and nothing of it in any table; a foreign sync changes nothing.
  Config lost = red;
  lost.name = "lost";
  lost.seeds = {c.sim().address(blues[0]).ToString()};
  const SimId stray = c.AddNode(lost);
  c.RunFor(10s);
  const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = stray});
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results[0].event.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(results[0].event.status.message()).find("other cluster"), std::string::npos);
  EXPECT_EQ(c.member(stray).size(), 1u);
  EXPECT_EQ(c.member(blues[0]).alive(), 6u);
  EXPECT_GT(c.member(blues[0]).counters()[Counter::kBadLabel], 0u);
}

// Field: a clean leave shows up as LEFT on some peers and as failed on others.
TEST(Scenario, ALeaveOutranksAFailureAlreadyBelieved) {
  Config config = Config::Lan();
  config.rules.await_answers = false;  // the answers to the misled are among what they do not hear
  Cluster c({.nodes = 30, .seed = 2, .config = config});
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(15s);  // nobody is a newcomer any more, whose sync would teach the misled
  const SimId leaver = 12;
  const std::vector<SimId> misled = {3, 8, 17, 21, 29};
  const auto is_misled = [&](SimId id) { return std::find(misled.begin(), misled.end(), id) != misled.end(); };
  // Five are told that so many suspect it that their holds are short, and hear nothing of it that could teach them
  // better.
  const std::uint64_t id = MemberId("n12", c.sim().generation(leaver));
  c.sim().SetFilter([&](const SimDatagram& d) {
    if (!is_misled(d.to)) return true;
    if (d.from == leaver) return false;
    Frame frame;
    if (DecodeDatagram(d.bytes, LabelTag(""), &frame) == Fault::kNone && frame.target == id) return false;
    const auto updates = UpdatesIn(d.bytes);
    return std::none_of(updates.begin(), updates.end(), [](const Update& u) { return u.name == "n12"; });
  });
  for (const SimId to : misled) c.Cut(leaver, to, Traffic::kStreams);
  const std::vector<SimId> accusers = {5, 6, 7, 9};
  for (const SimId to : misled) {
    Update suspicion;
    suspicion.kind = UpdateKind::kSuspect;
    suspicion.name = "n12";
    suspicion.address = c.sim().address(leaver);
    suspicion.key = {c.sim().generation(leaver), 0};
    for (const SimId by : accusers) {
      suspicion.accusers[suspicion.accuser_count++] = {MemberId("n" + std::to_string(by), c.sim().generation(by)),
                                                       false};
    }
    Frame frame;
    frame.type = FrameType::kGossip;
    frame.label = LabelTag("");
    frame.sender = suspicion.accusers[0].id;
    std::vector<std::byte> bytes;
    FrameWriter writer(frame, 1400, bytes);
    ASSERT_TRUE(writer.Add(suspicion));
    writer.Finish();
    c.sim().Inject(to, c.sim().address(5), bytes);
  }
  c.RunFor(4s);
  for (const SimId at : misled) EXPECT_EQ(c.Sees(at, leaver), MemberStatus::kInactive) << at;
  const Duration left = c.now();
  c.sim().SetFilter({});
  c.Heal();
  c.Lose(0.2);
  c.Leave(leaver);
  c.RunFor(30s);
  EXPECT_TRUE(c.AllSee(leaver, MemberStatus::kLeft));
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = leaver, .since = left}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .subject = leaver, .since = left}), 0u);
  const auto done = c.Events({.kind = EventKind::kLeaveDone});
  ASSERT_EQ(done.size(), 1u);
  EXPECT_GE(done[0].event.heard_by, 20u);
}

TEST(Scenario, BlockedDatagramsWithOpenStreamsAreReportedAndKillNobody) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge(10s));
  const Duration at = c.now();
  c.network().CutOut(2, Traffic::kDatagrams);
  c.network().CutIn(2, Traffic::kDatagrams);
  c.RunFor(60s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = at}), 0u);
  for (const SimId observer : {0u, 1u, 3u}) {
    const std::size_t warned = c.Count({.kind = EventKind::kStreamOnly, .observer = observer, .subject = 2});
    EXPECT_EQ(warned, 1u) << "one warning a minute";
  }
}

TEST(Scenario, ASeedThatComesUpLaterIsFound) {
  Cluster c({.nodes = 3, .start = false});
  ASSERT_TRUE(c.sim().Start(1).ok());
  ASSERT_TRUE(c.sim().Start(2).ok());
  c.RunFor(30s);
  EXPECT_EQ(c.member(1).alive(), 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kJoinResult, .observer = 1}), 1u) << "one line for one and the same result";
  ASSERT_TRUE(c.sim().Start(0).ok());
  EXPECT_TRUE(c.Converge(10s));
}

TEST(Scenario, ATombstoneEndsEverywhereAndTheRowIsFree) {
  Cluster c({.nodes = 8});
  ASSERT_TRUE(c.Converge(30s));
  c.Crash(3);
  c.RunFor(80s);
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kInactive));
  c.RunFor(30s);
  EXPECT_TRUE(c.NoneKnows(3));
  EXPECT_EQ(c.Count(EventKind::kForgotten), 7u);
}

// One that stood still while all others were restarted knows none of their lives, and none of them knows it.
TEST(Scenario, WhoStoodStillWhileAllOthersWereRestartedComesBack) {
  Cluster c({.nodes = 3, .seed = 73});
  ASSERT_TRUE(c.Converge());
  c.Pause(2);
  c.RunFor(1s);
  for (const SimId id : {SimId{0}, SimId{1}}) c.Crash(id);
  c.RunFor(1s);
  for (const SimId id : {SimId{0}, SimId{1}}) c.Restart(id);
  c.RunFor(5s);
  c.Resume(2);
  EXPECT_TRUE(c.Converge(15s));
}

}  // namespace
}  // namespace nekton
