// Which of two pieces of news holds: all pairs, in both orders and by every path; what a confirm may do (rule C); and
// that stale news is answered with newer (rule F).
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

// No round of our own falls into these tests: a period is an hour. A hearer's hold is then from 0.5 s to 2 s, + 1 s.
Config Patient() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = std::chrono::hours(1);
  config.hold_alpha = 0;
  return config;
}
constexpr Duration kHold = seconds(3);  // that one member alone accuses it

constexpr std::uint64_t kBase = 5;  // the incarnation of m1 that is known

// Members m1 to m6; m1 is ACTIVE at incarnation 5 and the subject of everything.
class Stage : public Rig {
 public:
  Stage() : Rig(Patient()) {
    NewPeer().key.incarnation = kBase;
    Know(6);
  }
  Peer& m1() { return (*this)[1]; }
  void Settle() {
    Run(seconds(4));
    Clear();
  }
  std::string State() { return StateOf(m1()); }
};

struct News {
  UpdateKind kind = UpdateKind::kAlive;
  std::uint64_t incarnation = 0;
  friend auto operator<=>(const News&, const News&) = default;
};
std::string Text(const News& news) {
  static constexpr const char* kNames[] = {"", "alive", "suspect", "dead", "left"};
  return kNames[static_cast<int>(news.kind)] + (" " + std::to_string(news.incarnation));
}
std::vector<News> AllNews() {
  std::vector<News> all;
  for (const UpdateKind kind : {UpdateKind::kAlive, UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    for (const std::uint64_t incarnation : {kBase - 1, kBase, kBase + 1}) all.push_back({kind, incarnation});
  }
  return all;
}

Update Make(Stage& stage, const News& news) {
  switch (news.kind) {
    case UpdateKind::kAlive:
      return Alive(stage.m1(), news.incarnation);
    case UpdateKind::kSuspect:
      return Suspect(stage.m1(), {&stage[2]}, news.incarnation);
    case UpdateKind::kDead:
      return Dead(stage.m1(), {&stage[3]}, news.incarnation);
    case UpdateKind::kLeft:
      return Left(stage.m1(), news.incarnation);
  }
  return {};
}
void Hear(Stage& stage, const News& news) { stage.Gossip(stage[4], {Make(stage, news)}); }

// What must hold once every hold has run out: the higher incarnation, then the worse of the two; a suspicion has become
// a death.
std::string Settled(const News& a, const News& b) {
  const News known{UpdateKind::kAlive, kBase};
  const News& of_two = std::pair(a.incarnation, a.kind) < std::pair(b.incarnation, b.kind) ? b : a;
  const News& wins =
      std::pair(of_two.incarnation, of_two.kind) < std::pair(known.incarnation, known.kind) ? known : of_two;
  const char* state = wins.kind == UpdateKind::kAlive  ? "ACTIVE "
                      : wins.kind == UpdateKind::kLeft ? "LEFT "
                                                       : "INACTIVE ";
  return state + std::to_string(wins.incarnation);
}

// A leave, and an accusation at a higher incarnation of the same life. Whoever heard the leave first keeps it, for an
// accusation revives nobody; whoever heard it last holds a stale leave and lets the accused die. Gone it is on both.
bool IsLeaveAndLaterAccusation(const News& a, const News& b) {
  const auto accuses = [](const News& n) { return n.kind == UpdateKind::kSuspect || n.kind == UpdateKind::kDead; };
  return a.kind == UpdateKind::kLeft && a.incarnation == kBase && accuses(b) && b.incarnation == kBase + 1;
}

TEST(EnginePrecedence, AllPairsSettleTheSameInBothOrders) {
  for (const News& a : AllNews()) {
    for (const News& b : AllNews()) {
      for (const bool settle_between : {false, true}) {
        Stage stage;
        Hear(stage, a);
        if (settle_between) stage.Settle();
        Hear(stage, b);
        stage.Settle();
        std::string expected = Settled(a, b);
        if (IsLeaveAndLaterAccusation(a, b)) expected = "LEFT 6";
        EXPECT_EQ(stage.State(), expected) << Text(a) << ", then " << Text(b) << (settle_between ? ", later" : "");
      }
    }
  }
}

// The honest list of pairs that differ by order before the hold has run out.
TEST(EnginePrecedence, TheOrderShowsBeforeTheHoldHasRunOutOnlyInTheseCases) {
  std::set<std::pair<News, News>> differ;
  for (const News& a : AllNews()) {
    for (const News& b : AllNews()) {
      Stage first;
      Hear(first, a);
      Hear(first, b);
      Stage second;
      Hear(second, b);
      Hear(second, a);
      if (a < b && first.State() != second.State()) differ.insert({a, b});
    }
  }
  const std::set<std::pair<News, News>> expected = {
      {{UpdateKind::kSuspect, kBase + 1}, {UpdateKind::kLeft, kBase}},
      {{UpdateKind::kDead, kBase + 1}, {UpdateKind::kLeft, kBase}},
  };
  for (const auto& [a, b] : differ) EXPECT_TRUE(expected.contains({a, b})) << Text(a) << " and " << Text(b);
  for (const auto& [a, b] : expected) EXPECT_TRUE(differ.contains({a, b})) << Text(a) << " and " << Text(b);
}

// Gossip brings every piece several times.
TEST(EnginePrecedence, CopiesOfTheSameNewsChangeNothing) {
  for (const News& before : AllNews()) {
    for (const News& news : AllNews()) {
      Stage stage;
      Hear(stage, before);
      Hear(stage, news);
      const std::string state = stage.State();
      const std::uint64_t version = stage.engine->version();
      stage.Clear();
      for (int copy = 0; copy < 3; ++copy) Hear(stage, news);
      EXPECT_EQ(stage.State(), state) << Text(before) << ", then " << Text(news);
      EXPECT_EQ(stage.engine->version(), version);
      EXPECT_EQ(stage.Events(), "");
    }
  }
}

TEST(EnginePrecedence, EveryPathGivesTheSameState) {
  for (const News& before : AllNews()) {
    for (const News& news : AllNews()) {
      std::vector<std::string> states;
      for (int path = 0; path < 5; ++path) {
        Stage stage;
        Hear(stage, before);
        const Update update = Make(stage, news);
        switch (path) {
          case 0:
            stage.Gossip(stage[4], {update});
            break;
          case 1:
            stage.Receive(stage[4], Rig::Of(FrameType::kPing, 77), {update});
            break;
          case 2:
            stage.Ack(stage[4], kQuestionSequence, {update});
            break;
          case 3:
            stage.Serve(stage[4], Rig::Of(FrameType::kSync), {Alive(stage[4]), update});
            break;
          default:
            stage.Serve(stage[4], Rig::Of(FrameType::kPing, 77), {update});
            break;
        }
        states.push_back(stage.State());
      }
      EXPECT_EQ(std::set<std::string>(states.begin(), states.end()).size(), 1u)
          << Text(before) << ", then " << Text(news) << ": " << testing::PrintToString(states);
    }
  }
}

// Seen in the field: a dead member came back by an old, late alive.
TEST(EnginePrecedence, FailureEvidenceThatChangesNoStateStillRaisesTheIncarnation) {
  for (const bool dead_already : {false, true}) {
    Rig rig(Patient());
    rig.Know(4);
    Peer& b = rig.NewPeer();
    rig.Gossip(rig[2], {Alive(b, 1)});
    rig.Gossip(rig[2], {Dead(b, {&rig[2]}, 1)});
    if (dead_already) rig.Run(kHold);
    rig.Clear();
    rig.Gossip(rig[3], {Dead(b, {&rig[3]}, 10)});
    rig.Gossip(rig[4], {Alive(b, 2)});
    EXPECT_EQ(rig.Events(), "") << "no event is raised by the third and the fourth";
    EXPECT_EQ(rig.StateOf(b), dead_already ? "INACTIVE 10" : "SUSPECT 10");
    rig.Run(kHold);
    EXPECT_EQ(rig.StateOf(b), "INACTIVE 10");
    rig.Gossip(rig[4], {Alive(b, 10)});
    EXPECT_EQ(rig.StateOf(b), "INACTIVE 10");
    rig.Gossip(rig[4], {Alive(b, 11)});
    EXPECT_EQ(rig.StateOf(b), "ACTIVE 11") << "the first that may bring it back";
  }
}

// ---- Rule C. ----

TEST(EnginePrecedence, AConfirmAboutAnActiveMemberIsASuspicionOfItsObserver) {
  Stage stage;
  stage.Gossip(stage[4], {Dead(stage.m1(), {&stage[3]})});
  EXPECT_EQ(stage.State(), "SUSPECT 5");
  ASSERT_THAT(stage.events, SizeIs(1));
  EXPECT_EQ(stage.events[0].kind, EventKind::kSuspected);
  EXPECT_THAT(stage.events[0].cause.observers, ElementsAre("m3")) << "not of who passed it on";
  EXPECT_FALSE(stage.events[0].cause.own);
  EXPECT_FALSE(stage.Spread("m1", UpdateKind::kDead));
  ASSERT_TRUE(stage.Spread("m1", UpdateKind::kSuspect));
  const Update* told = stage.sent.back().Of("m1");
  EXPECT_EQ(told->accuser_count, 1u);
  EXPECT_EQ(told->accusers[0].id, stage[3].id());
}

// Only once the suspect has had the shortest hold to refute here, too; and by time alone, never within the input.
TEST(EnginePrecedence, AConfirmAboutASuspectBringsTheEndOfTheHoldForward) {
  for (const Duration heard : {milliseconds(100), milliseconds(500), milliseconds(700), milliseconds(2999)}) {
    Stage stage;
    Hear(stage, {UpdateKind::kSuspect, kBase});
    const Instant since = stage.now.boot;
    stage.Run(heard);
    stage.Clear();
    stage.Gossip(stage[4], {Dead(stage.m1(), {&stage[3]})});
    EXPECT_EQ(stage.State(), "SUSPECT 5");
    EXPECT_LE(stage.engine->NextWake(), since + std::max<Duration>(heard, milliseconds(500)));
    if (heard < milliseconds(500)) {
      stage.RunUntil(since + milliseconds(500) - nanoseconds(1));
      EXPECT_EQ(stage.Events(), "");
    }
    stage.RunUntil(since + std::max<Duration>(heard, milliseconds(500)));
    ASSERT_THAT(stage.events, SizeIs(1));
    EXPECT_EQ(stage.events[0].kind, EventKind::kFailed);
    EXPECT_EQ(stage.events[0].cause.transition, Transition::kGossip);
    stage.Run(seconds(1));
    EXPECT_TRUE(stage.Spread("m1", UpdateKind::kDead));
  }
}

// One member's word alone, however strong, ends nothing early: a second witness must stand behind the hold.
TEST(EnginePrecedence, AConfirmByTheOnlyAccuserShortensNothing) {
  Stage stage;
  const Instant since = stage.now.boot;
  stage.Gossip(stage[3], {Suspect(stage.m1(), {&stage[3]})});
  for (std::size_t teller = 2; teller <= 6; ++teller) stage.Gossip(stage[teller], {Dead(stage.m1(), {&stage[3]})});
  stage.RunUntil(since + kHold - nanoseconds(1));
  EXPECT_EQ(stage.State(), "SUSPECT 5");
  stage.RunUntil(since + kHold);
  EXPECT_EQ(stage.State(), "INACTIVE 5");
  ASSERT_FALSE(stage.events.empty());
  EXPECT_EQ(stage.events.back().cause.transition, Transition::kConfirmDeadHoldElapsed);
}

// The second witness may come before or after the confirm.
TEST(EnginePrecedence, AConfirmAndALaterSuspicionOfAnotherEndTheHoldToo) {
  Stage stage;
  const Instant since = stage.now.boot;
  stage.Gossip(stage[3], {Dead(stage.m1(), {&stage[3]})});
  stage.Run(milliseconds(100));
  stage.Gossip(stage[4], {Suspect(stage.m1(), {&stage[2]})});
  stage.RunUntil(since + milliseconds(500) - nanoseconds(1));
  EXPECT_EQ(stage.State(), "SUSPECT 5");
  stage.RunUntil(since + milliseconds(500));
  EXPECT_EQ(stage.State(), "INACTIVE 5");
  ASSERT_FALSE(stage.events.empty());
  EXPECT_EQ(stage.events.back().cause.transition, Transition::kGossip);
  EXPECT_THAT(stage.events.back().cause.observers, testing::UnorderedElementsAre("m2", "m3"));
}

// However often a confirm comes, and from however many, the member has the shortest hold to refute.
TEST(EnginePrecedence, CopiesOfAConfirmBuryNobodyEarly) {
  Stage stage;
  const Instant since = stage.now.boot;
  while (stage.now.boot < since + milliseconds(490)) {
    for (std::size_t observer = 2; observer <= 6; ++observer) {
      stage.Gossip(stage[observer], {Dead(stage.m1(), {&stage[observer]}), Suspect(stage.m1(), {&stage[3]})});
    }
    stage.Run(milliseconds(10));
  }
  EXPECT_EQ(stage.State(), "SUSPECT 5");
  stage.Gossip(stage.m1(), {Alive(stage.m1(), kBase + 1)});
  EXPECT_EQ(stage.Events(), "suspected m1, recovered m1");
}

TEST(EnginePrecedence, AConfirmAtAHigherKeyThanTheSuspicionStartsTheHoldAnewWithoutAnEvent) {
  Stage stage;
  Hear(stage, {UpdateKind::kSuspect, kBase});
  stage.Clear();
  stage.Run(seconds(1));
  Hear(stage, {UpdateKind::kDead, kBase + 1});
  EXPECT_EQ(stage.State(), "SUSPECT 6");
  stage.Run(kHold - nanoseconds(1));
  EXPECT_EQ(stage.State(), "SUSPECT 6");
  EXPECT_EQ(stage.Events(), "");
  stage.Run(nanoseconds(1));
  EXPECT_EQ(stage.Events(), "failed m1");
}

TEST(EnginePrecedence, AConfirmAfterTheHoldWasCancelledIsASuspicion) {
  Rig rig;  // with rounds: it needs an ack
  rig.Know(9);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  const Said first = rig.NextRound(&rig[1]);
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig[1].answers = rig[1].answers_relays = false;
  rig.Clear();
  rig.Gossip(rig[4], {Dead(rig[1], {&rig[3]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.Events(), "");
  // Its hold began again with the confirm. Our next round at it fails at 2 s and is the second witness.
  rig.RunUntil(first.at + milliseconds(2500) - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 1u);
  rig.RunUntil(first.at + milliseconds(2500));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EnginePrecedence, TheWordOfAnObserverThatIsNotActiveHereCountsForNothing) {
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
    Stage stage;
    Peer stranger = {"nobody", Rig::At(200), {Rig::kGeneration, 0}};
    Peer former = stage[5];
    former.key.generation -= 1;
    stage.Gossip(stage[4], {Suspect(stage[2], {&stage[4]}), Left(stage[3])});
    stage.Clear();
    for (const Accusers& by : {Accusers{}, {&stranger}, {&former}, {&stage[2]}, {&stage[3]}, {&stage.m1()}}) {
      stage.Gossip(stage[4], {Accused(kind, stage.m1(), by, kBase), Accused(kind, stage.m1(), by, kBase + 1)});
      Peer restarted = stage.m1();
      restarted.key = {Rig::kGeneration + 1, 0};
      stage.Gossip(stage[4], {Accused(kind, restarted, by, 0)});
    }
    EXPECT_EQ(stage.State(), "ACTIVE 5");
    EXPECT_EQ(stage.Events(), "");
    EXPECT_FALSE(stage.Spread("m1", kind));
    // And one whose word counts among them is enough.
    stage.Gossip(stage[4], {Accused(kind, stage.m1(), {&stranger, &stage[3], &stage[6]}, kBase)});
    EXPECT_EQ(stage.State(), "SUSPECT 5");
  }
}

// One alone commits in the shipped profiles; with a lower weight so many distinct observers must agree.
TEST(EnginePrecedence, WithALowerWeightSeveralObserversMustAgree) {
  Config config = Patient();
  config.rumour_weight = 2;  // of 5: three observers
  Rig rig(config);
  rig.Know(8);
  for (int i = 0; i < 5; ++i) rig.Gossip(rig[4], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[4], {Dead(rig[1], {&rig[3]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Gossip(rig[4], {Suspect(rig[1], {&rig[2], &rig[5]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
}

// ---- Rule F. ----

TEST(EnginePrecedence, StaleNewsIsAnsweredWithNewerInTheAckOrByOneFrame) {
  for (const UpdateKind kind : {UpdateKind::kAlive, UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    Stage stage;
    const Update stale = Make(stage, {kind, kBase - 1});
    stage.Receive(stage[4], Rig::Of(FrameType::kPing, 77), {stale});
    ASSERT_THAT(stage.sent, SizeIs(1));
    EXPECT_EQ(stage.sent[0].frame.type, FrameType::kAck);
    EXPECT_EQ(stage.sent[0].to, stage[4].address);
    ASSERT_NE(stage.sent[0].Of("m1"), nullptr);
    EXPECT_EQ(stage.sent[0].Of("m1")->kind, UpdateKind::kAlive);
    EXPECT_EQ(stage.sent[0].Of("m1")->key.incarnation, kBase);
    stage.Clear();
    stage.Gossip(stage[4], {stale, stale});
    ASSERT_THAT(stage.sent, SizeIs(1));
    EXPECT_EQ(stage.sent[0].frame.type, FrameType::kGossip);
    EXPECT_EQ(stage.sent[0].to, stage[4].address);
    EXPECT_THAT(stage.sent[0].updates, SizeIs(1));
    EXPECT_EQ(stage.Events(), "");
  }
}

TEST(EnginePrecedence, WhoeverThinksASuspectOrADeadMemberAliveIsToldBetter) {
  Stage stage;
  Hear(stage, {UpdateKind::kSuspect, kBase});
  stage.Run(seconds(1));  // gossiped
  const auto told = [&] {
    stage.Clear();
    stage.Receive(stage[4], Rig::Of(FrameType::kPing, 77), {Alive(stage.m1())});
    const Update* update = stage.sent.at(0).Of("m1");
    return update == nullptr ? std::string("nothing") : Text({update->kind, update->key.incarnation});
  };
  EXPECT_EQ(told(), "suspect 5");
  stage.Settle();
  EXPECT_EQ(told(), "dead 5");
  Hear(stage, {UpdateKind::kLeft, kBase});
  EXPECT_EQ(told(), "left 5");
}

TEST(EnginePrecedence, AMemberThatIsAccusedOrHeldDeadHereHearsOfItWhateverItSends) {
  for (const bool dead : {false, true}) {
    Stage stage;
    Hear(stage, {UpdateKind::kSuspect, kBase});
    if (dead) stage.Settle();
    stage.Clear();
    stage.Receive(stage.m1(), Rig::Of(FrameType::kPing, 77));
    ASSERT_FALSE(stage.sent.empty());
    ASSERT_NE(stage.sent[0].Of("m1"), nullptr);
    EXPECT_EQ(stage.sent[0].frame.type, FrameType::kAck);
    EXPECT_EQ(stage.sent[0].Of("m1")->kind, dead ? UpdateKind::kDead : UpdateKind::kSuspect);
    stage.Clear();
    stage.Gossip(stage.m1(), {});
    ASSERT_FALSE(stage.sent.empty());
    EXPECT_EQ(stage.sent[0].to, stage.m1().address);
    EXPECT_NE(stage.sent[0].Of("m1"), nullptr);
  }
}

// A frame carries the low bits of its sender's incarnation: another one than ours is asked for.
TEST(EnginePrecedence, ASenderWithAnotherIncarnationIsToldWhatWeKnow) {
  Stage stage;
  stage.m1().key.incarnation = kBase + 1;
  stage.Receive(stage.m1(), Rig::Of(FrameType::kPing, 77));
  ASSERT_THAT(stage.sent, SizeIs(1));
  ASSERT_NE(stage.sent[0].Of("m1"), nullptr);
  EXPECT_EQ(stage.sent[0].Of("m1")->key.incarnation, kBase);
}

TEST(EnginePrecedence, NewsThatIsKnownIsAnsweredByNothing) {
  Stage stage;
  stage.Gossip(stage[4], {Alive(stage.m1())});
  EXPECT_TRUE(stage.sent.empty());
  EXPECT_EQ(stage.Count(Counter::kUpdatesKnown), 1u);
}

// However much of it is stale, one frame is answered by one frame.
TEST(EnginePrecedence, TheAnswerToManyStaleUpdatesIsBounded) {
  Rig rig(Patient());
  for (int i = 0; i < 40; ++i) rig.NewPeer().key.incarnation = kBase;
  rig.Know(40);
  std::vector<Update> stale;
  for (std::size_t i = 2; i <= 40; ++i) stale.push_back(Alive(rig[i], 1));
  rig.Gossip(rig[1], stale);
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_GE(rig.sent[0].updates.size(), 8u);
  EXPECT_EQ(rig.Count(Counter::kUpdatesStale), 39u);
}

}  // namespace
}  // namespace nekton
