// Groups with an authority, on the simulator: views, homes and leases after joins, failures, splits and restarts.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/lease_message.h"
#include "lease/view.h"
#include "swim/notice.h"
#include "tests/cluster.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::string> Rows(Cluster& c, SimId member, std::string_view part) {
  std::vector<std::string> rows;
  for (const SimEvidence& evidence : c.sim().evidence()) {
    std::string row = Row(evidence.evidence);
    if (evidence.member == member && row.find(part) != std::string::npos) rows.push_back(std::move(row));
  }
  return rows;
}

// All are in one view; and a moment later, when it has settled, all may commit.
void Form(Cluster& c) {
  const auto formed = [&] {
    for (SimId id = 0; id < c.size(); ++id) {
      if (c.leases(id).view().members.size() != c.size() || !c.MayCommit(id)) return false;
    }
    return true;
  };
  ASSERT_TRUE(c.RunUntil(formed, 60s));
}

std::uint64_t EpochOf(Cluster& c, SimId id = 0) { return c.leases(id).view().epoch(); }

// Two members: join, removal and rejoin are an epoch each.
TEST(LeaseScenarioTest, TwoThreeFour) {
  Cluster c({.nodes = 2, .seed = 1, .config = Config::Pair(), .authority = true});
  Form(c);
  EXPECT_EQ(EpochOf(c), 2u);
  EXPECT_EQ(EpochOf(c, 1), 2u);
  c.Crash(1);
  ASSERT_TRUE(c.AllHold(3, 30s));
  EXPECT_EQ(c.leases(0).view().members.size(), 1u);
  EXPECT_THAT(Rows(c, 0, "removed"), testing::ElementsAre(HasSubstr("removed node=n1 epoch=3 members=1 digest=")));
  c.Restart(1);
  ASSERT_TRUE(c.AllHold(4, 30s));
  EXPECT_EQ(c.leases(0).view().head, c.leases(1).view().head);
  EXPECT_EQ(c.leases(0).view().members.size(), 2u);
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(0) && c.MayCommit(1); }, 10s));
  c.RunFor(60s);
  EXPECT_EQ(EpochOf(c), 4u);
}

// Bytes of views that were fetched, and how many came as differences, over all that run.
std::pair<std::uint64_t, std::uint64_t> Fetched(Cluster& c) {
  std::pair<std::uint64_t, std::uint64_t> sum;
  for (SimId id = 0; id < c.size(); ++id) {
    if (c.sim().leases(id) == nullptr || !c.sim().live(id)) continue;
    sum.first += c.leases(id).counters().fetched_bytes;
    sum.second += c.leases(id).counters().deltas;
  }
  return sum;
}

void RemovalReachesAll(std::size_t nodes) {
  Cluster c({.nodes = nodes, .seed = nodes, .record = nodes < 10, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.RunFor(20s);
  EXPECT_EQ(EpochOf(c), epoch);
  const SimId dead = static_cast<SimId>(nodes - 1);
  c.Crash(dead);
  const auto [fetched, deltas] = Fetched(c);
  ASSERT_TRUE(c.RunUntil([&] { return EpochOf(c) > epoch; }, 60s));
  EXPECT_TRUE(c.AllHold(epoch + 1, 2s)) << "gossip time, and one exchange";
  for (SimId id = 0; id < dead; ++id) EXPECT_EQ(c.leases(id).view().Find(c.sim().name(dead)), nullptr);
  if (nodes == 100) {
    // All but the authority fetched who went, and not the whole.
    EXPECT_EQ(Fetched(c).second - deltas, nodes - 2);
    const std::uint64_t bytes = (Fetched(c).first - fetched) / (nodes - 2);
    const std::size_t whole = EncodeView(c.leases(0).view()).size();
    EXPECT_LT(bytes, 130u);
    EXPECT_GT(whole, 25 * bytes);
    testing::Test::RecordProperty("fetched_bytes", std::to_string(bytes));
    testing::Test::RecordProperty("whole_bytes", std::to_string(whole));
  }
  c.Restart(dead);
  ASSERT_TRUE(c.AllHold(epoch + 2, 30s));
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(dead); }, 10s));
}
TEST(LeaseScenarioTest, ARemovalReachesThree) { RemovalReachesAll(3); }
TEST(LeaseScenarioTest, ARemovalReachesFive) { RemovalReachesAll(5); }
TEST(LeaseScenarioTest, ARemovalReachesAHundred) { RemovalReachesAll(100); }

TEST(LeaseScenarioTest, ASuspectStaysAndItsRecoveryChangesNoEpoch) {
  Cluster c({.nodes = 5, .seed = 5, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.sim().ClearLog();
  c.Pause(2);
  ASSERT_TRUE(
      c.RunUntil([&] { return c.Count({.kind = EventKind::kSuspected, .observer = 0, .subject = 2}) > 0; }, 20s));
  EXPECT_EQ(c.leases(0).homes().HomeOf(c.ObjectOf(2)), "n2");
  c.RunFor(500ms);
  c.Resume(2);
  c.RunFor(30s);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
  for (SimId id = 0; id < 5; ++id) EXPECT_EQ(EpochOf(c, id), epoch);
  const std::string at = " node=n2 epoch=" + std::to_string(epoch);
  EXPECT_THAT(Rows(c, 0, "suspect"), testing::ElementsAre("mesh-fail: suspect" + at));
  EXPECT_THAT(Rows(c, 0, "recovered"), testing::ElementsAre("mesh-fail: recovered" + at));
}

// A frame with a broadcast of a head, as any member could send it.
std::vector<std::byte> Forged(Cluster& c, SimId from, const ViewHead& head, std::uint64_t counter) {
  Frame frame;
  frame.type = FrameType::kGossip;
  frame.label = LabelTag("");
  frame.sender = MemberId(c.sim().name(from), c.sim().generation(from));
  const auto bytes = EncodeViewHead(head);
  const std::string key = InnerKey("n0");
  BroadcastPart part;
  part.key = key;
  part.origin = "n0";
  part.generation = c.sim().generation(0);
  part.counter = counter;
  part.left = 1h;
  part.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return Encode(frame, {}, std::span(&part, 1));
}

TEST(LeaseScenarioTest, HeadsThatAreNotTheAuthoritysLastWordAreRefusedCountedAndTold) {
  Cluster c({.nodes = 3, .seed = 3, .authority = true});
  Form(c);
  c.RunFor(10s);
  const View view = c.leases(1).view();
  std::array<std::byte, 32> seed{};
  seed[5] = std::byte{9};
  const ViewHead forged = SignView(SigningKey(seed), "", 77, view.members).head;
  const ViewHead lower = SignView(ClusterKey(), "", view.epoch() - 1, view.members).head;
  const ViewHead other = SignView(ClusterKey(), "", view.epoch(), {view.members[0]}).head;
  std::uint64_t counter = 1000;
  for (const ViewHead& head : {forged, lower, other}) {
    c.sim().Inject(1, c.sim().address(2), Forged(c, 2, head, counter += 1000));
    c.RunFor(5s);
  }
  EXPECT_EQ(c.leases(1).counters().bad_signature, 1u);
  EXPECT_EQ(c.leases(1).counters().lower_epoch, 1u);
  EXPECT_GE(c.leases(1).counters().other_digest, 1u);
  EXPECT_EQ(Rows(c, 1, "reason=bad-signature").size(), 1u);
  EXPECT_EQ(Rows(c, 1, "reason=lower-epoch").size(), 1u);
  EXPECT_EQ(Rows(c, 1, "reason=other-digest").size(), 1u);
  EXPECT_EQ(c.leases(1).view().head, view.head);
  EXPECT_EQ(c.leases(2).view().head, view.head);
  // Another signed word for the same epoch can only be of an authority with another store.
  EXPECT_EQ(Rows(c, 0, "store-behind").size(), 1u);
}

// However fast the failure is found: the view that moves what it was home to waits for its write lease.
void ARemovalWaits(const std::string& how) {
  SCOPED_TRACE(how);
  Cluster c({.nodes = 5, .seed = 11, .authority = true});
  Form(c);
  c.RunFor(10s);
  const std::uint64_t epoch = EpochOf(c);
  const std::uint64_t life = c.sim().generation(2);
  // The last renewal, to a millisecond.
  std::uint64_t renewals = c.leases(2).counters().renewals;
  const auto renewed = [&] { return c.leases(2).counters().renewals > renewals; };
  ASSERT_TRUE(c.sim().RunUntil(renewed, 5s, 1ms));
  const Duration last = c.now();
  c.RunFor(500ms);
  const Duration fault = c.now();
  if (how == "expel") {
    ASSERT_TRUE(c.sim().Order(1, Expel{"n2"}).ok());
  } else {
    c.Crash(2, Port::kRefuses);
  }
  if (how == "restart") c.Restart(2);
  const auto gone = [&] {
    const ViewMember* its = c.leases(0).view().Find("n2");
    return its == nullptr || its->generation != life;
  };
  const auto known = [&] {
    const MemberPtr row = c.RowOf(0, 2);
    return row == nullptr || row->key.generation != life || row->status == MemberStatus::kInactive;
  };
  ASSERT_TRUE(c.sim().RunUntil(known, 4s, 1ms)) << "it is found out soon";
  EXPECT_LT(c.now(), last + 5s);
  EXPECT_FALSE(gone());
  ASSERT_TRUE(c.sim().RunUntil(gone, 20s, 1ms));
  EXPECT_GE(c.now(), last - 2ms + LeaseTerms().write_wait());
  EXPECT_LE(c.now(), last + LeaseTerms().write_wait() + 1100ms) << "and no longer";
  EXPECT_EQ(EpochOf(c), epoch + 1);
  EXPECT_GT(c.now(), fault);
}
TEST(LeaseScenarioTest, ARefusedPortWaitsForTheWriteLease) { ARemovalWaits("refused"); }
TEST(LeaseScenarioTest, AnExpulsionWaitsForTheWriteLease) { ARemovalWaits("expel"); }
TEST(LeaseScenarioTest, ARestartWaitsForTheWriteLease) { ARemovalWaits("restart"); }

TEST(LeaseScenarioTest, OnlyWhatTheRemovedMemberWasHomeToMoves) {
  Cluster c({.nodes = 5, .seed = 12, .authority = true});
  Form(c);
  std::map<ObjectId, std::string> before;
  for (int i = 0; i < 1000; ++i) {
    const ObjectId object = ObjectNamed(std::to_string(i));
    before[object] = c.leases(1).Find(object).home;
    c.leases(1).Decide(c.sim().Clock(1), {});
  }
  c.Crash(3);
  ASSERT_TRUE(c.AllHold(EpochOf(c) + 1, 60s));
  int moved = 0;
  for (const auto& [object, home] : before) {
    const std::string now = c.leases(1).Find(object).home;
    EXPECT_NE(now, "n3");
    EXPECT_TRUE(now == home || home == "n3");
    moved += now != home ? 1 : 0;
  }
  EXPECT_GT(moved, 100);
  EXPECT_EQ(Rows(c, 1, "stale_home=n3").size(), static_cast<std::size_t>(moved)) << "a fence for each";
  EXPECT_EQ(c.leases(1).counters().fences, static_cast<std::uint64_t>(moved));
}

TEST(LeaseScenarioTest, WithoutItsAuthorityAGroupReadsOnAndCommitsNothing) {
  Cluster c({.nodes = 5, .seed = 13, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.RunFor(10s);
  c.Crash(0);
  const Duration died = c.now();
  const auto any_commits = [&] {
    for (SimId id = 1; id < 5; ++id) {
      if (c.MayCommit(id)) return true;
    }
    return false;
  };
  EXPECT_TRUE(any_commits());
  ASSERT_TRUE(c.RunUntil([&] { return !any_commits(); }, 10s));
  EXPECT_LE(c.now() - died, LeaseTerms().write_usable() + 10ms);
  c.RunFor(60s);
  for (SimId id = 1; id < 5; ++id) {
    EXPECT_TRUE(c.MayRead(id));
    EXPECT_FALSE(c.MayCommit(id));
    EXPECT_EQ(EpochOf(c, id), epoch) << "nobody else raises it";
    EXPECT_THAT(Rows(c, id, "authority state=lost"),
                testing::ElementsAre("mesh-fail: authority state=lost epoch=" + std::to_string(epoch) +
                                     " root=n0 mutable=0 reads=lease"));
  }
  ASSERT_LT(c.now() - died, 100s);
  c.Restart(0);
  ASSERT_TRUE(c.AllHold(epoch + 1, 15s)) << "its own new life";
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(0) && c.MayCommit(1) && c.MayCommit(4); }, 10s));
  for (SimId id = 1; id < 5; ++id) EXPECT_EQ(Rows(c, id, "authority state=restored").size(), 1u);
}

TEST(LeaseScenarioTest, ReadsEndWithTheReadLease) {
  Cluster c({.nodes = 3, .seed = 14, .authority = true});
  Form(c);
  c.Crash(0);
  const Duration died = c.now();
  ASSERT_TRUE(c.RunUntil([&] { return !c.MayRead(1) && !c.MayRead(2); }, 130s));
  EXPECT_LE(c.now() - died, LeaseTerms().read_usable() + 10ms);
  EXPECT_GT(c.now() - died, 110s);
}

TEST(LeaseScenarioTest, AnOlderStoreIsNoticedAndNothingIsWrittenFromIt) {
  Cluster c({.nodes = 3, .seed = 15, .authority = true});
  Form(c);
  const View backup = *c.store().Read();
  const SimId last = c.AddNode();
  ASSERT_TRUE(c.RunUntil([&] { return c.leases(0).view().members.size() == 4 && c.MayCommit(last); }, 30s));
  const std::uint64_t epoch = EpochOf(c);
  ASSERT_GT(epoch, backup.epoch());
  c.Crash(0);
  c.RunFor(1s);
  ASSERT_TRUE(c.store().Write(backup).ok());
  c.Restart(0);
  c.RunFor(60s);
  EXPECT_EQ(Rows(c, 0, "store-behind").size(), 1u);
  EXPECT_TRUE(c.leases(0).root()->authority().behind());
  EXPECT_EQ(EpochOf(c, 0), backup.epoch());
  EXPECT_EQ((*c.store().Read()).epoch(), backup.epoch()) << "it has written nothing";
  for (SimId id = 1; id < 4; ++id) {
    EXPECT_EQ(EpochOf(c, id), epoch);
    EXPECT_FALSE(c.MayCommit(id));
  }
  EXPECT_FALSE(c.MayCommit(0));
}

TEST(LeaseScenarioTest, AnObjectMovesByTheAuthoritysWordAndBackWithTheNextView) {
  Cluster c({.nodes = 4, .seed = 16, .authority = true});
  Form(c);
  const ObjectId object = c.ObjectOf(1);
  EXPECT_EQ(c.sim().Move(2, object, "n3").code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(c.sim().Move(0, object, "n3").ok());
  // Cut off from its new home, the old one serves it no more.
  const auto state = [&](SimId id) { return const_cast<HomeLeases&>(c.leases(id).leases()).Find(object).state; };
  ASSERT_TRUE(c.RunUntil([&] { return state(3) == HomeState::kActive; }, 10s));
  EXPECT_EQ(state(1), HomeState::kDraining);
  c.Crash(2);
  ASSERT_TRUE(c.AllHold(EpochOf(c) + 1, 60s));
  EXPECT_EQ(state(1), HomeState::kActive);
  EXPECT_EQ(state(3), HomeState::kNotHome);
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(1); }, 10s));
}

TEST(LeaseScenarioTest, WhoHasOtherTermsIsRenewedNothing) {
  Cluster c({.nodes = 2, .seed = 17, .authority = true});
  Form(c);
  SimMemberOptions options;
  options.leases.authority = "n0";
  options.leases.key = ClusterKey().public_key();
  options.leases.terms.write = 7s;
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  const SimId other = c.AddNode(config, options);
  c.RunFor(30s);
  EXPECT_EQ(c.leases(0).view().members.size(), 2u);
  EXPECT_GE(c.leases(0).counters().other_terms, 1u);
  EXPECT_EQ(Rows(c, other, "state=refused").size(), 1u);
}

TEST(LeaseScenarioTest, OnlyWhoIsOnTheListIsAdmitted) {
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  Cluster c({.nodes = 0, .seed = 18, .config = config, .authority = true});
  SimMemberOptions root;
  root.leases = {.authority = "n0", .key = ClusterKey().public_key(), .signing = ClusterKey(), .admit = {"n2"}};
  SimMemberOptions member;
  member.leases = {.authority = "n0", .key = ClusterKey().public_key()};
  c.AddNode(config, root);
  c.AddNode(config, member);
  c.AddNode(config, member);
  c.RunFor(30s);
  EXPECT_EQ(c.leases(0).view().Find("n1"), nullptr);
  EXPECT_NE(c.leases(0).view().Find("n2"), nullptr);
  EXPECT_THAT(Rows(c, 1, "state=refused"), testing::ElementsAre(HasSubstr("reason=not%20on%20the%20list")));
}

// Cut in two: the side without the authority keeps its view, commits nothing, and comes back by itself.
TEST(LeaseScenarioTest, ASplitHealsIntoOneView) {
  Cluster c({.nodes = 6, .seed = 19, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.Partition({{0, 1, 2}, {3, 4, 5}});
  ASSERT_TRUE(c.RunUntil([&] { return c.leases(0).view().members.size() == 3; }, 60s));
  for (SimId id = 3; id < 6; ++id) {
    EXPECT_EQ(EpochOf(c, id), epoch);
    EXPECT_FALSE(c.MayCommit(id));
    EXPECT_TRUE(c.MayRead(id));
  }
  EXPECT_TRUE(c.MayCommit(1));
  c.Heal();
  ASSERT_TRUE(c.RunUntil([&] { return c.leases(0).view().members.size() == 6; }, 60s));
  ASSERT_TRUE(c.AllHold(EpochOf(c), 5s));
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(3) && c.MayCommit(4) && c.MayCommit(5); }, 20s));
}

TEST(LeaseScenarioTest, WithAHeartbeatMeshToo) {
  Cluster c({.nodes = 4, .seed = 20, .config = Config::Mesh(), .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.Crash(3);
  ASSERT_TRUE(c.AllHold(epoch + 1, 300s));
}

// The wall clock is nobody's measure of time: an hour forth and back, a second that comes twice, and a clock that runs
// wrong by a tenth for a minute change no state and end no lease.
TEST(LeaseScenarioTest, WallClocksThatJumpEndNoLease) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Config config = Config::Lan();
    config.detector = detector;
    Cluster c({.nodes = 4, .seed = 34, .config = config, .authority = true});
    Form(c);
    c.sim().ClearLog();
    const std::uint64_t epoch = EpochOf(c);
    const auto run = [&](Duration time) {
      for (const Duration end = c.now() + time; c.now() < end;) {
        c.RunFor(50ms);
        for (SimId id = 0; id < c.size(); ++id) ASSERT_TRUE(c.MayCommit(id)) << c.sim().name(id);
      }
    };
    SimId id = 0;
    for (const Duration by : {Duration(1h), Duration(-1h), Duration(-1s), Duration(24h)}) {
      c.sim().StepWall(id++, by);
      run(20s);
    }
    for (int second = 0; second < 60; ++second) {
      c.sim().StepWall(0, 100ms);
      c.sim().StepWall(2, -100ms);
      run(1s);
    }
    EXPECT_EQ(c.sim().log().size(), 0u);
    EXPECT_EQ(EpochOf(c), epoch);
  }
}

// A member that stood still for so long that it was removed: it knows with its first step that it may do nothing, and comes
// back through a join, by an epoch that all come to know.
TEST(LeaseScenarioTest, WhoWasRemovedWhileItStoodStillDoesNothingMore) {
  Cluster c({.nodes = 5, .seed = 41, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.Pause(2);
  c.RunFor(120s);
  EXPECT_EQ(EpochOf(c), epoch + 1);
  const Duration back = c.now();
  const auto cannot = [&] { return !c.MayCommit(2) && !c.MayRead(2); };
  EXPECT_TRUE(cannot()) << "before anything is handled";
  std::uint64_t incarnation = c.member(2).Self()->key.incarnation;
  c.Resume(2);
  EXPECT_TRUE(cannot()) << "what waited in its socket renews nothing";
  const auto knows = [&] { return c.Count({.kind = EventKind::kAccused, .observer = 2, .since = back}) > 0; };
  ASSERT_TRUE(c.RunUntil(knows, 2s));
  while (EpochOf(c, 2) == epoch) {
    ASSERT_TRUE(cannot());
    c.RunFor(1ms);
  }
  ASSERT_TRUE(c.AllHold(epoch + 2, 30s));
  EXPECT_GT(c.member(2).Self()->key.incarnation, incarnation);
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(2); }, 10s));
}

// Twelve in three groups for three minutes, each with changes of its own, and a fifth of everything is lost as they meet.
TEST(LeaseScenarioTest, ThreeGroupsMeetInOneViewAboveAllOthers) {
  Cluster c({.nodes = 12, .seed = 43, .authority = true});
  Form(c);
  std::map<std::uint64_t, ViewDigest> digests;
  std::vector<std::uint64_t> last(c.size());
  const auto look = [&] {
    for (SimId id = 0; id < c.size(); ++id) {
      if (!c.sim().live(id)) continue;
      const View& view = c.leases(id).view();
      if (view.epoch() == 0) continue;
      EXPECT_GE(view.epoch(), last[id]) << c.sim().name(id);
      last[id] = view.epoch();
      EXPECT_EQ(digests.try_emplace(view.epoch(), view.head.digest).first->second, view.head.digest);
    }
  };
  const auto run = [&](Duration time) {
    for (const Duration end = c.now() + time; c.now() < end; look()) c.RunFor(100ms);
  };
  c.Partition({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}});
  run(60s);
  for (const SimId id : std::vector<SimId>{3, 7, 11}) c.Crash(id);
  run(60s);
  for (const SimId id : std::vector<SimId>{3, 7, 11}) {
    last[id] = 0;
    c.Restart(id);
  }
  run(60s);
  const std::uint64_t highest = *std::max_element(last.begin(), last.end());
  c.Lose(0.2);
  c.Heal();
  const Duration healed = c.now();
  const auto one = [&] {
    look();
    for (SimId id = 0; id < c.size(); ++id) {
      if (c.leases(id).view().members.size() != 12 || EpochOf(c, id) != EpochOf(c)) return false;
    }
    return true;
  };
  ASSERT_TRUE(c.sim().RunUntil(one, 90s, 100ms));
  EXPECT_GT(EpochOf(c), highest);
  EXPECT_LE(c.now() - healed, 90s);
}

}  // namespace
}  // namespace nekton
