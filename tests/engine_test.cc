// The engine's contract: when it wakes, that the same inputs give the same outputs, what a pause of our own means, and
// how news is gossiped (rule G).
#include "swim/engine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

// ---- Beginning. ----

TEST(Engine, WhatItCannotLiveWithIsRefusedInWords) {
  Config config = Rig::Lan();
  config.attempts = 0;
  config.name = "";
  const auto mistakes = Engine::Create(config, Rig::At(1)).status();
  EXPECT_EQ(mistakes.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(mistakes.message()), AllOf(HasSubstr("attempts = 0"), HasSubstr("name = \"\"")));

  config = Rig::Lan();
  config.generation = 0;
  EXPECT_THAT(std::string(Engine::Create(config, Rig::At(1)).status().message()), HasSubstr("generation"));

  config = Rig::Lan();
  Address nowhere = Rig::At(1);
  nowhere.port = 0;
  EXPECT_EQ(Engine::Create(config, nowhere).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Engine::Create(config, Address::V4(0, 0, 0, 0, 7946)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Engine, ItBeginsWithItsFirstInput) {
  Engine engine = Engine::Create(Rig::Lan(), Rig::At(1)).value();
  EXPECT_EQ(engine.NextWake(), Instant::min());
  EXPECT_EQ(engine.size(), 1u);
  EXPECT_EQ(engine.alive(), 1u);
  ASSERT_THAT(engine.Members(), SizeIs(1));
  EXPECT_TRUE(engine.Members()[0]->self);
  EXPECT_EQ(engine.Self()->name, "self");
  EXPECT_EQ(engine.Self()->address, Rig::At(1));
  Outbox out;
  engine.Wake(Tick{.boot = Rig::kStart}, out);
  EXPECT_TRUE(out.empty());
  EXPECT_GE(engine.NextWake(), Rig::kStart);
  EXPECT_LT(engine.NextWake(), Rig::kStart + seconds(1)) << "a phase of its own within the period";
}

TEST(Engine, PhasesOfDifferentSeedsAreSpreadOverThePeriod) {
  std::set<Duration> tenths;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rig rig(Rig::Lan(seed));
    tenths.insert((rig.engine->NextWake() - Rig::kStart) / milliseconds(100) * seconds(1));
  }
  EXPECT_THAT(tenths, SizeIs(10));
}

TEST(Engine, ItCanBeMoved) {
  Rig rig;
  rig.Know(3);
  Engine moved = std::move(*rig.engine);
  Outbox out;
  rig.SetTime(moved.NextWake());
  moved.Wake(rig.now, out);
  EXPECT_THAT(out.datagrams(), SizeIs(1));
  EXPECT_EQ(moved.size(), 4u);
}

TEST(Engine, SelfComesFirstThenTheOthersAsTheyWereHeardOf) {
  Rig rig;
  rig.Know(5);
  rig.Gossip(rig[1], {Alive(rig.NewPeer())});
  std::vector<std::string> names;
  for (const MemberPtr& member : rig.engine->Members()) names.push_back(member->name);
  EXPECT_THAT(names, testing::ElementsAre("self", "m1", "m2", "m3", "m4", "m5", "m6"));
}

// ---- Wakes. ----

// A minute with a crash, a lossy member and news in it.
template <typename Wakes>
void PlayAMinute(Rig& rig, Wakes wakes) {
  rig.Know(8);
  Kill(rig[3]);
  rig[5].answers = false;
  rig.Gossip(rig[1], {Alive(rig.NewPeer()), Suspect(rig[7], {&rig[2]})});
  rig[7].refutes = true;
  while (rig.engine->NextWake() <= Rig::kStart + seconds(60)) {
    wakes(rig);
    rig.Step();
  }
}

TEST(Engine, EarlyAndRepeatedWakesChangeNothing) {
  Rig exact;
  PlayAMinute(exact, [](Rig&) {});
  Random dice(4);
  Rig noisy;
  PlayAMinute(noisy, [&](Rig& rig) {
    for (std::uint32_t i = dice.Below(4); i > 0; --i) {
      const Duration left = rig.engine->NextWake() - rig.now.boot;
      if (left > nanoseconds(1)) rig.Pass(Duration(dice.Below(static_cast<std::uint32_t>(left.count() - 1))));
      rig.Wake();
    }
  });
  EXPECT_GT(exact.sent.size(), 100u);
  EXPECT_EQ(noisy.sent.size(), exact.sent.size());
  EXPECT_EQ(noisy.engine->Fingerprint(), exact.engine->Fingerprint());
  EXPECT_EQ(noisy.Events(), exact.Events());
  // At the very instant, too: what was due has been done.
  const std::uint64_t fingerprint = exact.engine->Fingerprint();
  exact.Clear();
  for (int i = 0; i < 10; ++i) exact.Wake();
  EXPECT_THAT(exact.sent, IsEmpty());
  EXPECT_EQ(exact.engine->Fingerprint(), fingerprint);
}

TEST(Engine, TheSameSeedAndInputsGiveTheSameOutputs) {
  Rig a;
  Rig b;
  Rig without_events(Rig::Lan(), /*wants_events=*/false);
  Rig other_seed(Rig::Lan(2));
  for (Rig* rig : {&a, &b, &without_events, &other_seed}) PlayAMinute(*rig, [](Rig&) {});
  EXPECT_EQ(a.engine->Fingerprint(), b.engine->Fingerprint());
  ASSERT_EQ(a.sent.size(), b.sent.size());
  for (std::size_t i = 0; i < a.sent.size(); ++i) ASSERT_EQ(*a.sent[i].bytes, *b.sent[i].bytes);
  EXPECT_EQ(a.engine->Fingerprint(), without_events.engine->Fingerprint());
  EXPECT_THAT(without_events.events, IsEmpty());
  EXPECT_NE(a.engine->Fingerprint(), other_seed.engine->Fingerprint());
}

// Up to the bound a late wake is no pause: nobody is accused for it, and the rhythm does not drift.
TEST(Engine, LateWakesAccuseNobodyAndKeepTheRhythm) {
  Rig rig;
  rig.Know(6);
  const Instant from = rig.NextRound().at;
  rig.Clear();
  Random dice(8);
  while (rig.now.boot < from + seconds(100)) {
    const Duration late = milliseconds(dice.Below(501));
    rig.SetTime(std::max(rig.now.boot, rig.engine->NextWake()) + late);
    rig.Wake();
  }
  EXPECT_EQ(rig.Events(), "");
  const std::size_t rounds = rig.Rounds().size();
  EXPECT_GE(rounds, 99u);
  EXPECT_LE(rounds, 101u);
}

TEST(Engine, ItAsksForNoWakeWithoutAReason) {
  Rig rig;
  rig.Know(6);
  rig.Run(seconds(10));
  std::size_t wakes = 0;
  for (const Instant until = rig.now.boot + seconds(100); rig.engine->NextWake() <= until; ++wakes) rig.Step();
  EXPECT_EQ(wakes, 100u) << "one a period where all is well";
}

// ---- A pause of our own. ----

TEST(EnginePause, ItBeginsOneNanosecondAboveTheBound) {
  for (const bool above : {false, true}) {
    Rig rig;
    rig.Know(3);
    rig.NextRound();
    const Instant due = rig.engine->NextWake();
    rig.SetTime(due + rig.config.max_local_pause + nanoseconds(above ? 1 : 0));
    rig.Wake();
    EXPECT_EQ(rig.Count(Counter::kPauses), above ? 1u : 0u);
    if (!above) {
      EXPECT_EQ(rig.Events(), "");
      continue;
    }
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kPaused);
    EXPECT_EQ(rig.events[0].duration, rig.config.max_local_pause + nanoseconds(1));
    EXPECT_EQ(rig.events[0].at, rig.now.boot);
  }
}

TEST(EnginePause, AnyLateInputNoticesItAndWhatWaitedIsHandledFirst) {
  Rig rig;
  rig.Know(4);
  Kill(rig[1]);
  const Said first = rig.NextRound(&rig[1]);
  rig.Pass(seconds(20));
  rig.Ack(rig[1], first.frame.sequence);  // it had been waiting in the socket
  EXPECT_EQ(rig.Events(), "paused");
  rig.Wake();
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
}

TEST(EnginePause, TheRoundThatWasOpenAccusesNobody) {
  Rig rig;
  rig.Know(4);
  Kill(rig[1]);
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + milliseconds(700));
  rig[1].answers = rig[1].answers_relays = true;
  rig.Pass(seconds(5));
  rig.Wake();
  rig.Run(seconds(10));
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1u);
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
  EXPECT_EQ(rig.Events(), "paused");
}

// By exactly the time in which this process did not run, and one fresh round must fail first.
TEST(EnginePause, ARunningHoldIsExtended) {
  for (const bool alive : {false, true}) {
    Rig rig;
    rig.Know(4);
    Kill(rig[1]);
    while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
    const Instant since = rig.now.boot;
    rig.RunUntil(since + milliseconds(9350));
    rig.Clear();
    const Duration overshoot = seconds(7);
    rig.SetTime(rig.engine->NextWake() + overshoot);
    const Instant resumed = rig.now.boot;
    rig[1].answers = rig[1].refutes = alive;
    rig.Wake();
    EXPECT_EQ(rig.Count(Counter::kPauses), 1u);
    const Instant end = since + seconds(10) + overshoot;
    ASSERT_LT(end, resumed + seconds(1)) << "so that the fresh round is the later of the two";
    rig.RunUntil(resumed + seconds(1) - nanoseconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), alive ? "ACTIVE 1" : "SUSPECT 0");
    rig.RunUntil(resumed + seconds(1));
    EXPECT_EQ(rig.Events(), alive ? "paused, recovered m1" : "paused, failed m1");
  }
}

// Where its end is later than the fresh round, the end decides.
TEST(EnginePause, AFreshRoundShortensNoHold) {
  Rig rig;
  rig.Know(4);
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
  const Instant since = rig.now.boot;
  rig.RunUntil(since + milliseconds(1850));
  rig.Clear();
  const Duration overshoot = seconds(7);
  rig.SetTime(rig.engine->NextWake() + overshoot);
  rig.Wake();
  rig.RunUntil(since + seconds(10) + overshoot - nanoseconds(1));
  EXPECT_EQ(rig.Events(), "paused");
  rig.RunUntil(since + seconds(10) + overshoot);
  EXPECT_EQ(rig.Events(), "failed m1");
}

TEST(EnginePause, AHearersHoldAndItsQuestionAreExtendedToo) {
  Rig rig;
  rig.Know(60);
  Kill(rig[1]);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  const Instant since = rig.now.boot;
  rig.RunUntil(since + milliseconds(1100));
  const Duration overshoot = seconds(40);
  rig.SetTime(rig.engine->NextWake() + overshoot);
  rig.Wake();
  rig.Clear();
  const Instant end = since + seconds(11) + overshoot;
  rig.RunUntil(end - milliseconds(500) - nanoseconds(1));
  const auto questions = [&] {
    const std::vector<Said> pings = rig.Sent(FrameType::kPing);
    return std::count_if(pings.begin(), pings.end(), [](const Said& p) { return p.frame.sequence == 0; });
  };
  EXPECT_EQ(questions(), 0);
  rig.RunUntil(end - nanoseconds(1));
  EXPECT_EQ(questions(), 2);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  ASSERT_EQ(rig.Count(Counter::kRoundsFailed), 0u) << "it must not have become an accuser";
  rig.RunUntil(end);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EnginePause, AShortHiccupEveryNowAndThenBuriesNobody) {
  Rig rig;
  rig.Know(5);
  for (int i = 0; i < 50; ++i) {
    rig.Run(milliseconds(1300));
    rig.Pass(milliseconds(2600));
    rig.Wake();
  }
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_EQ(rig.StateOf(rig[i]), "ACTIVE 0");
  EXPECT_EQ(rig.Count(Counter::kPauses), 50u);
}

// The group has buried and forgotten us meanwhile: we come back as a newer life of ourselves.
TEST(EnginePause, AfterALongSleepAStrangerComesBackWithAHigherIncarnation) {
  for (const bool slept : {true, false}) {
    Rig rig;
    rig.Know(3);
    rig.NextRound();
    if (slept) rig.Pass(seconds(200));
    for (Peer& peer : rig.peers) peer.stranger = true;
    rig.Step();
    EXPECT_EQ(rig.engine->Self()->key.incarnation, slept ? 1u : 0u);
    rig.Run(seconds(5));
    EXPECT_EQ(rig.engine->Self()->key.incarnation, slept ? 1u : 0u) << "once for a sleep";
  }
}

// ---- Gossip (rule G). ----

std::map<Duration, int> GossipAbout(const Rig& rig, const std::string& name) {
  std::map<Duration, int> at;
  for (const Said& gossip : rig.Sent(FrameType::kGossip)) {
    if (gossip.Of(name) != nullptr) ++at[gossip.at - Rig::kStart];
  }
  return at;
}

// lambda * log10(N + 1) copies, the first three at once, three more every 200 ms, then none.
TEST(EngineGossip, TheFirstNewsGoesOutAtOnceThenInRoundsThenThereIsNone) {
  struct Case {
    std::size_t others;
    std::vector<int> rounds;
  };
  // N = 9: 4 copies; N = 99: 8 copies. (Where N + 1 is no power of ten the logarithm is rounded up.)
  for (const Case& c : {Case{7, {3, 1}}, Case{97, {3, 3, 2}}}) {
    Config config = Rig::Lan();
    config.period = config.tolerated_pause = std::chrono::hours(1);  // no round for it to ride on
    config.hold_alpha = 0;
    Rig rig(config);
    rig.Know(c.others);
    const std::string fresh = rig.NewPeer().name;
    rig.Gossip(rig[1], {Alive(rig.peers.back())});
    rig.Run(seconds(5));
    std::map<Duration, int> expected;
    int copies = 0;
    for (std::size_t i = 0; i < c.rounds.size(); ++i) {
      expected[i * milliseconds(200)] = c.rounds[i];
      copies += c.rounds[i];
    }
    EXPECT_EQ(GossipAbout(rig, fresh), expected);
    EXPECT_THAT(rig.sent, SizeIs(copies));
  }
}

TEST(EngineGossip, ARoundGoesToDistinctMembers) {
  for (const std::size_t others : {1u, 2u, 3u, 10u}) {
    Rig rig;
    rig.Know(others);
    rig.Gossip(rig[1], {Left(rig.NewPeer())});  // a tombstone: it is nobody to gossip with
    std::set<Address> to;
    for (const Said& gossip : rig.Sent(FrameType::kGossip)) to.insert(gossip.to);
    EXPECT_THAT(to, SizeIs(std::min<std::size_t>(others, 3)));
    EXPECT_THAT(rig.Sent(FrameType::kGossip), SizeIs(to.size()));
    EXPECT_FALSE(to.contains(rig.self.address));
  }
}

TEST(EngineGossip, MoreNewsWithinTheIntervalWaitsForTheNextRound) {
  Rig rig;
  rig.Know(20);
  const Duration from = rig.SinceStart();
  rig.Gossip(rig[1], {Alive(rig[2], 1)});
  rig.Pass(milliseconds(50));
  rig.Gossip(rig[1], {Alive(rig[3], 1)});
  EXPECT_THAT(GossipAbout(rig, "m3"), IsEmpty());
  rig.Run(milliseconds(200));
  const std::map<Duration, int> later = GossipAbout(rig, "m3");
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later.begin()->first, from + milliseconds(200));
  // After a quiet time it is at once again.
  rig.Run(seconds(20));
  rig.Clear();
  const Duration quiet = rig.SinceStart();
  rig.Gossip(rig[1], {Alive(rig[4], 1)});
  EXPECT_EQ(GossipAbout(rig, "m4").begin()->first, quiet);
}

TEST(EngineGossip, WithoutNewsThereIsNone) {
  Rig rig;
  rig.Know(20);
  rig.Run(seconds(60));
  EXPECT_THAT(rig.Sent(FrameType::kGossip), IsEmpty());
}

// ---- What it shows. ----

std::vector<MemberInfo> Snapshot(const Rig& rig) {
  std::vector<MemberInfo> members;
  for (const MemberPtr& member : rig.engine->Members()) members.push_back(*member);
  return members;
}
bool Same(const std::vector<MemberInfo>& a, const std::vector<MemberInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const MemberInfo& x, const MemberInfo& y) {
    return x.name == y.name && x.address == y.address && x.key == y.key && x.status == y.status && x.tags == y.tags;
  });
}

// Random news and time: two engines that hear it in the same order agree in all; counts, digest and version fit what
// Members() shows.
TEST(Engine, ItsNumbersFitWhatItShows) {
  Random dice(77);
  Rig rig;
  rig.Know(6);
  for (int i = 0; i < 6; ++i) rig.NewPeer();
  const std::vector<std::string> zones = {EncodeTags({{"z", "1"}}).value(), EncodeTags({{"z", "2"}}).value()};
  std::vector<MemberInfo> before = Snapshot(rig);
  std::uint64_t version = rig.engine->version();
  for (int step = 0; step < 5000; ++step) {
    Peer& subject = rig[1 + dice.Below(12)];
    if (dice.Below(10) == 0) subject.key.generation += 1;
    const std::uint64_t incarnation = dice.Below(6) + static_cast<std::uint64_t>(step) / 200;
    subject.tags = zones[dice.Below(2)];
    const auto kind = static_cast<UpdateKind>(1 + dice.Below(4));
    Update update = kind == UpdateKind::kAlive  ? Alive(subject, incarnation)
                    : kind == UpdateKind::kLeft ? Left(subject, incarnation)
                                                : Accused(kind, subject, {&rig[1 + dice.Below(12)]}, incarnation);
    rig.Gossip(rig[1], {update});
    if (dice.Below(4) == 0) rig.Run(milliseconds(dice.Below(3000)));
    rig.Clear();
    const std::vector<MemberInfo> after = Snapshot(rig);
    if (!Same(before, after)) {
      ASSERT_GT(rig.engine->version(), version) << "at step " << step;
    }
    ASSERT_EQ(rig.engine->size(), after.size());
    ASSERT_EQ(rig.engine->alive(), static_cast<std::size_t>(std::count_if(after.begin(), after.end(), [](auto& m) {
                return m.status == MemberStatus::kActive || m.status == MemberStatus::kSuspect;
              })));
    before = after;
    version = rig.engine->version();
  }
}

TEST(Engine, EqualLivingRowsGiveEqualDigestsWhateverElseDiffers) {
  Rig a;
  a.Know(6);
  Rig b;
  for (int i = 0; i < 6; ++i) b.NewPeer();
  for (const std::size_t i : {4u, 2u, 6u, 1u, 5u, 3u}) b.Gossip(b[i], {Alive(b[i])});
  EXPECT_EQ(a.engine->digest(), b.engine->digest());
  a.Gossip(a[1], {Suspect(a[2], {&a[1]})});
  EXPECT_EQ(a.engine->digest(), b.engine->digest());
  a.Gossip(a[3], {Left(a[3])});
  EXPECT_NE(a.engine->digest(), b.engine->digest());
  Kill(b[3]);
  b.Gossip(b[1], {Suspect(b[3], {&b[1]})});
  b.Run(seconds(12));
  EXPECT_EQ(b.StateOf(b[3]), "INACTIVE 0");
  EXPECT_EQ(a.engine->digest(), b.engine->digest()) << "LEFT there and INACTIVE here";
}

}  // namespace
}  // namespace nekton
