// Why a member is in its state: as a value, in words and as JSON.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "swim/event_json.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

MemberExplanation Why(const Rig& rig, const std::string& name = "m1") {
  return rig.engine->Explain(rig.now, name).value();
}
Json AsJson(const MemberExplanation& why) { return Json::parse(ToJson(why)); }
Json AsJson(const Rig& rig) { return AsJson(Why(rig)); }
std::string InWords(const Rig& rig) { return Describe(Why(rig)); }

absl::Status Observe1(Rig& rig, Signal signal) {
  return rig.Order(Observe{{PeerObservation{.peer = "m1", .signal = signal}}});
}

TEST(EngineExplain, AnUnknownNameIsNotFound) {
  Rig rig;
  rig.Know(3);
  const absl::Status status = rig.engine->Explain(rig.now, "m\n9").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"m\\n9\""));
}

TEST(EngineExplain, AgainstAHealthyMemberThereIsNothing) {
  Rig rig;
  rig.Know(3);
  rig.Run(seconds(10));
  for (const char* name : {"m1", "self"}) {
    const MemberExplanation why = Why(rig, name);
    EXPECT_EQ(why.member->name, name);
    EXPECT_EQ(Describe(why), std::string(name) + " is ACTIVE: nothing is held against it");
    const Json json = AsJson(why);
    EXPECT_EQ(json.at("name"), name);
    EXPECT_EQ(json.at("status"), "ACTIVE");
    EXPECT_EQ(json.at("state"), "ACTIVE");
    EXPECT_EQ(json.at("recorded"), false);
    EXPECT_EQ(json.at("departed"), false);
    EXPECT_EQ(json.at("count"), 0);
    EXPECT_EQ(json.at("threshold"), 5);
    EXPECT_EQ(json.at("witnesses"), Json::array());
    EXPECT_EQ(json.at("recent"), Json::array());
    for (const char* absent : {"hold", "transition", "observer", "since_s", "revive"})
      EXPECT_FALSE(json.contains(absent));
  }
}

TEST(EngineExplain, AskingChangesNothing) {
  Rig rig;
  rig.Know(6);
  SuspectByARound(rig);
  const std::uint64_t fingerprint = rig.engine->Fingerprint();
  const Instant wake = rig.engine->NextWake();
  const std::string first = ToJson(Why(rig));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ToJson(Why(rig)), first);
  EXPECT_EQ(rig.engine->Fingerprint(), fingerprint);
  EXPECT_EQ(rig.engine->NextWake(), wake);
}

TEST(EngineExplain, WhatIsPendingAgainstAnActiveMember) {
  Rig rig(Quiet());
  rig.Know(4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Observe1(rig, Signal::kSuspect).ok());
  rig.Run(milliseconds(1500));
  const Json json = AsJson(rig);
  EXPECT_EQ(json.at("state"), "ACTIVE");
  EXPECT_EQ(json.at("recorded"), true);
  EXPECT_EQ(json.at("count"), 3);
  EXPECT_EQ(json.at("threshold"), 5);
  ASSERT_THAT(json.at("recent"), SizeIs(1)) << "alike, at one instant";
  for (const Json& said : json.at("recent")) {
    EXPECT_EQ(said, (Json{{"kind", "signal"},
                          {"signal", Name(Signal::kSuspect)},
                          {"reason", Name(Reason::kApplication)},
                          {"observer", "self"},
                          {"weight", 3},
                          {"ago_s", 1.5}}));
  }
  EXPECT_THAT(InWords(rig), HasSubstr("3 of 5"));
}

TEST(EngineExplain, ASuspectOfOurs) {
  Rig rig;
  rig.Know(12);
  SuspectByARound(rig);
  rig.Run(milliseconds(400));
  Json json = AsJson(rig);
  EXPECT_EQ(json.at("status"), "SUSPECT");
  EXPECT_EQ(json.at("state"), "SUSPECT");
  EXPECT_EQ(json.at("transition"), Name(Transition::kDemotionThreshold));
  EXPECT_EQ(json.at("observer"), "self");
  EXPECT_EQ(json.at("since_s"), 0.4);
  EXPECT_EQ(json.at("count"), 0);
  EXPECT_EQ(json.at("threshold"), 2);
  EXPECT_EQ(json.at("hold"), (Json{{"running", true},
                                   {"own", true},
                                   {"outside", false},
                                   {"awaits_signal", false},
                                   {"left_s", 9.6},
                                   {"confirmations", 0},
                                   {"confirmers", 3},
                                   {"refusals", 0},
                                   {"condemned", false}}));
  EXPECT_EQ(json.at("recent").at(0).at("reason"), Name(Reason::kProbeTimeout));
  EXPECT_EQ(json.at("recent").at(0).at("observer"), "self");

  rig.Gossip(rig[2], {Refused(Suspect(rig[1], {&rig[2]}))});
  rig.Run(milliseconds(100));
  json = AsJson(rig);
  EXPECT_EQ(json.at("hold").at("confirmations"), 1);
  EXPECT_EQ(json.at("hold").at("refusals"), 1);
  EXPECT_EQ(json.at("hold").at("left_s"), 5.75);
  EXPECT_EQ(json.at("witnesses"),
            (Json{{{"observer", "m2"}, {"verdict", false}, {"refused", true}, {"counts", true}}}));
  EXPECT_EQ(json.at("recent").at(0), (Json{{"kind", "rumour"}, {"observer", "m2"}, {"weight", 5}, {"ago_s", 0.1}}));

  rig.Gossip(rig[3], {Dead(rig[1], {&rig[3]})});
  json = AsJson(rig);
  EXPECT_EQ(json.at("hold").at("condemned"), true);
  EXPECT_EQ(json.at("hold").at("confirmations"), 2);
  EXPECT_EQ(json.at("hold").at("left_s"), 2.0);
  EXPECT_EQ(json.at("recent").at(0).at("kind"), "verdict");
  EXPECT_THAT(InWords(rig),
              AllOf(HasSubstr("m1 is SUSPECT for 0.500 s"), HasSubstr("self"), HasSubstr("INACTIVE in 2.000 s"),
                    HasSubstr("2 confirmations of 3"), HasSubstr("m2 (says suspect, refused)"),
                    HasSubstr("m3 (says dead)"), HasSubstr("refused 1 observer"), HasSubstr("our own evidence")));
  // What it says is what comes.
  rig.Clear();
  ExpectEnd(rig, rig.now.boot + seconds(2), Transition::kGossip);
}

TEST(EngineExplain, ASuspectThatWeOnlyHeardOf) {
  Rig rig(Quiet());
  rig.Know(3);
  SuspectByHearsay(rig, 1);
  rig.Run(milliseconds(2500));
  const Json json = AsJson(rig);
  EXPECT_EQ(json.at("state"), "SUSPECT");
  EXPECT_EQ(json.at("transition"), Name(Transition::kGossip));
  EXPECT_EQ(json.at("observer"), "m2");
  EXPECT_EQ(json.at("hold").at("own"), false);
  EXPECT_EQ(json.at("hold").at("left_s"), 8.5) << "the margin is in it";
  EXPECT_EQ(json.at("hold").at("confirmations"), 0);
  EXPECT_EQ(json.at("hold").at("confirmers"), 2);
  EXPECT_THAT(json.at("witnesses"), SizeIs(1));
  EXPECT_THAT(InWords(rig), AllOf(HasSubstr("completed by m2"), HasSubstr("only heard of"), HasSubstr("8.500 s")));
}

TEST(EngineExplain, AHoldThatWasCancelled) {
  Rig rig(Quiet());
  rig.Know(6);
  SuspectByHearsay(rig);
  ASSERT_TRUE(Observe1(rig, Signal::kHealthy).ok());
  Json json = AsJson(rig);
  EXPECT_EQ(json.at("state"), "SUSPECT");
  EXPECT_EQ(json.at("count"), 1);
  EXPECT_EQ(json.at("threshold"), 2);
  EXPECT_EQ(json.at("hold").at("running"), false);
  EXPECT_EQ(json.at("hold").at("left_s"), 0.0);
  EXPECT_EQ(json.at("witnesses").at(0).at("counts"), false);
  EXPECT_THAT(InWords(rig), AllOf(HasSubstr("hold cancelled"), HasSubstr("1 of 2"), HasSubstr("counts no more"),
                                  Not(HasSubstr("INACTIVE in"))));

  Rig other(Quiet());  // by a word that was taken back
  other.Know(6);
  SuspectByHearsay(other);
  other.Gossip(other[2], {Left(other[2])});
  json = AsJson(other);
  EXPECT_EQ(json.at("hold").at("running"), false);
  EXPECT_EQ(json.at("count"), 0);
  EXPECT_EQ(json.at("witnesses"), Json::array());
}

TEST(EngineExplain, ADeadMember) {
  Rig rig(Quiet());
  rig.Know(6);
  SuspectByHearsay(rig);
  rig.Run(seconds(12));
  const Json json = AsJson(rig);
  EXPECT_EQ(json.at("status"), "INACTIVE");
  EXPECT_EQ(json.at("state"), "INACTIVE");
  EXPECT_EQ(json.at("departed"), false);
  EXPECT_EQ(json.at("transition"), Name(Transition::kConfirmDeadHoldElapsed));
  EXPECT_FALSE(json.contains("observer")) << "time alone committed it";
  EXPECT_EQ(json.at("since_s"), 1.0);
  EXPECT_EQ(json.at("revive"), Name(Revive::kRefutation));
  EXPECT_FALSE(json.contains("hold"));
  EXPECT_EQ(json.at("witnesses").at(0).at("observer"), "m2");
  EXPECT_THAT(InWords(rig), AllOf(HasSubstr("m1 is INACTIVE for 1.000 s"), HasSubstr("its own refutation only")));
}

TEST(EngineExplain, OneThatWeFirstHeardOfAsDead) {
  Rig rig(Quiet());
  rig.Know(3);
  Peer& gone = rig.NewPeer();
  rig.Gossip(rig[1], {Dead(gone, {&rig[2]})});
  const MemberExplanation why = Why(rig, "m4");
  const Json json = AsJson(why);
  EXPECT_EQ(json.at("state"), "INACTIVE");
  EXPECT_FALSE(json.contains("transition"));
  EXPECT_THAT(Describe(why), HasSubstr("it was dead when we first heard of it"));
}

TEST(EngineExplain, OneThatLeft) {
  Rig rig(Quiet());
  rig.Know(3);
  rig.Gossip(rig[1], {Left(rig[1])});
  const Json json = AsJson(rig);
  EXPECT_EQ(json.at("status"), "LEFT");
  EXPECT_EQ(json.at("state"), "INACTIVE");
  EXPECT_EQ(json.at("departed"), true);
  EXPECT_EQ(json.at("transition"), Name(Transition::kLeft));
  EXPECT_THAT(InWords(rig), HasSubstr("departed"));
}

TEST(EngineExplain, ReturnsAreCounted) {
  Rig rig(Quiet());
  rig.Know(6);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, i - 1)});
    rig.Gossip(rig[1], {Alive(rig[1], i)});
    const Json json = AsJson(rig);
    EXPECT_EQ(json.at("state"), "ACTIVE");
    EXPECT_EQ(json.at("incarnation"), i);
    EXPECT_EQ(json.at("transition"), Name(Transition::kRefuted));
    EXPECT_EQ(json.at("flaps"), i);
    EXPECT_EQ(json.at("count"), 0);
    EXPECT_EQ(json.at("recent").at(0).at("kind"), "refutation");
    EXPECT_EQ(json.at("recent").at(0).at("observer"), "") << "itself";
    EXPECT_EQ(json.at("recent").at(1).at("observer"), "m2");
    EXPECT_FALSE(json.contains("hold"));
  }
  EXPECT_THAT(InWords(rig), AllOf(HasSubstr("returned from SUSPECT 3 times"), HasSubstr("by itself")));
  EXPECT_EQ(rig.engine->stm_counters().flaps, 3u);
}

// What is over is forgotten some time after.
TEST(EngineExplain, ARecordEndsWithItsAge) {
  Rig rig(Quiet());
  rig.Know(6);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[1], {Alive(rig[1], 1)});
  rig.Run(seconds(90));
  EXPECT_TRUE(Why(rig).why.recorded);
  rig.Run(std::chrono::nanoseconds(1));
  EXPECT_FALSE(Why(rig).why.recorded);
}

TEST(EngineExplain, AnObserverThatIsForgottenHasNoName) {
  Config config = Quiet();
  config.forget_after = seconds(30);
  Rig rig(config);
  rig.Know(6);
  rig.Gossip(rig[3], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[2], {Left(rig[2])});
  rig.Run(seconds(31));
  const Json json = AsJson(rig);
  EXPECT_EQ(json.at("state"), "SUSPECT");
  EXPECT_EQ(json.at("observer"), "");
  EXPECT_EQ(json.at("recent").at(0).at("observer"), "");
  EXPECT_THAT(InWords(rig), HasSubstr("a member that is forgotten"));
}

TEST(EngineExplain, WhatAnOperatorSaidIsThere) {
  Rig rig(Quiet());
  rig.Know(3);
  EXPECT_FALSE(Why(rig).maintenance.has_value());
  ASSERT_TRUE(rig.Order(Maintenance{"m1", std::chrono::seconds(60)}).ok());
  rig.Pass(std::chrono::seconds(20));
  Json json = AsJson(rig);
  EXPECT_EQ(json.at("maintenance").at("origin"), "self");
  EXPECT_EQ(json.at("maintenance").at("left_s"), 40.0);
  EXPECT_FALSE(json.contains("expelled"));
  EXPECT_THAT(InWords(rig), HasSubstr("in maintenance, nobody removes it: said on self, for another 40.000 s"));
  rig.Pass(std::chrono::seconds(41));
  EXPECT_FALSE(AsJson(rig).contains("maintenance")) << "it is over, whether anything has happened since or not";
  ASSERT_TRUE(rig.Order(Expel{"m1"}).ok());
  json = AsJson(rig);
  EXPECT_EQ(json.at("expelled").at("origin"), "self");
  EXPECT_THAT(InWords(rig), HasSubstr("expelled, this life does not come back: said on self, for another 3600.000 s"));
  // Its next life is welcome, and nothing is said of that.
  ++rig[1].key.generation;
  rig.Gossip(rig[2], {Alive(rig[1])});
  EXPECT_FALSE(AsJson(rig).contains("expelled"));
}

}  // namespace
}  // namespace nekton
