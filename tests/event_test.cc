#include "swim/event.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "swim/event_json.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr EventKind kLast = EventKind::kResync;

MemberPtr Gamma(MemberStatus status = MemberStatus::kActive, std::uint64_t incarnation = 0) {
  auto member = std::make_shared<MemberInfo>();
  member->name = "gamma";
  member->address = Address::V4(10, 0, 0, 3, 7946);
  member->key = {1700000000000, incarnation};
  member->status = status;
  member->tags = {{"role", "db"}};
  return member;
}

Event Make(EventKind kind, MemberPtr member = Gamma()) {
  Event event;
  event.kind = kind;
  event.at = Instant(1500ms);
  event.member = std::move(member);
  return event;
}

Event FailedRound() {
  Event event = Make(EventKind::kSuspected, Gamma(MemberStatus::kSuspect));
  event.cause.own = true;
  event.cause.reason = Reason::kProbeTimeout;
  event.cause.observers = {"alpha"};
  event.cause.attempts = {{0ms, 0, 0, false, false}, {200ms, 2, 0, false, false}, {400ms, 1, 1, true, true}};
  return event;
}

Event HoldRanOut() {
  Event event = Make(EventKind::kFailed, Gamma(MemberStatus::kInactive));
  event.before = MemberStatus::kSuspect;
  event.cause.transition = Transition::kConfirmDeadHoldElapsed;
  event.cause.observers = {"alpha", "delta"};
  event.cause.lasted = 2500ms;
  return event;
}

TEST(EventTest, ASuspicionOfOurOwnShowsItsRound) {
  EXPECT_EQ(Describe(FailedRound()),
            "gamma SUSPECT (generation 1700000000000, incarnation 0): all 3 attempts of our own round failed: "
            "+0.000s direct, +0.200s direct and 2 relays (0 nacks), "
            "+0.400s direct and 1 relay (1 nack) and stream, refused");
  Event event = FailedRound();
  event.cause.attempts.resize(1);
  EXPECT_THAT(Describe(event), HasSubstr(": the only attempt of our own round failed: +0.000s direct"));
  event.cause.attempts.clear();
  EXPECT_THAT(Describe(event), HasSubstr(": our own evidence, " + std::string(Name(Reason::kProbeTimeout))));
}

TEST(EventTest, AHeardSuspicionNamesItsAccusers) {
  Event event = Make(EventKind::kSuspected, Gamma(MemberStatus::kSuspect, 4));
  event.cause.transition = Transition::kGossip;
  event.cause.observers = {"alpha", "delta"};
  EXPECT_EQ(Describe(event), "gamma SUSPECT (generation 1700000000000, incarnation 4): accused by alpha, delta");
}

TEST(EventTest, AFailureSaysWhatEndedIt) {
  EXPECT_EQ(Describe(HoldRanOut()),
            "gamma INACTIVE (generation 1700000000000, incarnation 0) after 2.500 s as SUSPECT: its hold ran out; "
            "accused by alpha, delta");
  Event event = HoldRanOut();
  event.cause.transition = Transition::kGossip;
  EXPECT_THAT(Describe(event), HasSubstr(": a verdict of the group; accused by alpha, delta"));
  event.cause.transition = Transition::kRefused;
  EXPECT_THAT(Describe(event), HasSubstr(": its port refused the connection; "));
}

TEST(EventTest, ARecoverySaysHow) {
  Event event = Make(EventKind::kRecovered, Gamma(MemberStatus::kActive, 1));
  event.before = MemberStatus::kSuspect;
  event.cause.transition = Transition::kRefuted;
  event.cause.lasted = 300ms;
  EXPECT_EQ(
      Describe(event),
      "gamma ACTIVE (generation 1700000000000, incarnation 1) after 0.300 s as SUSPECT: refuted with incarnation 1");
  event.cause.transition = Transition::kPromotionThreshold;
  EXPECT_THAT(Describe(event), HasSubstr(": it answers again"));
}

TEST(EventTest, ARestartShowsBothGenerations) {
  Event event = Make(EventKind::kRestarted);
  event.before = MemberStatus::kInactive;
  event.generation_before = 1600000000000;
  EXPECT_EQ(Describe(event), "gamma restarted: generation 1600000000000 -> 1700000000000; it was INACTIVE");
  event.generation_before = 0;
  EXPECT_EQ(Describe(event), "gamma restarted: generation 1700000000000; it was INACTIVE");
}

TEST(EventTest, TheOtherKinds) {
  const std::string key = "gamma (generation 1700000000000, incarnation 0)";
  EXPECT_EQ(Describe(Make(EventKind::kJoined)), key + " joined at 10.0.0.3:7946");
  EXPECT_EQ(Describe(Make(EventKind::kLeft)), key + " left");
  EXPECT_EQ(Describe(Make(EventKind::kUpdated)), key + " updated: at 10.0.0.3:7946 with tags {role=db}");
  EXPECT_EQ(Describe(Make(EventKind::kForgotten)), key + " forgotten: its tombstone ended");
  EXPECT_THAT(Describe(Make(EventKind::kReplaced)), HasSubstr("replaced, another name has its address 10.0.0.3:7946"));
  EXPECT_THAT(Describe(Make(EventKind::kDisplaced)), HasSubstr("another process has our name"));
  EXPECT_THAT(Describe(Make(EventKind::kForeign, nullptr)), HasSubstr("frames of another cluster"));
  EXPECT_THAT(Describe(Make(EventKind::kStreamOnly)), HasSubstr("over the stream but not by datagram"));

  Event event = Make(EventKind::kAccused, Gamma(MemberStatus::kActive, 7));
  event.cause.observers = {"beta"};
  EXPECT_EQ(Describe(event), "we, gamma, were accused by beta: refuted with incarnation 7");

  event = Make(EventKind::kNameConflict);
  event.address = Address::V4(10, 0, 0, 9, 1);
  EXPECT_EQ(Describe(event), "name conflict: two live processes claim gamma, at 10.0.0.3:7946 and at 10.0.0.9:1");

  event = Make(EventKind::kJoinResult, nullptr);
  event.address = Address::V4(10, 0, 0, 9, 1);
  EXPECT_EQ(Describe(event), "join through 10.0.0.9:1: OK");
  event.status = absl::UnavailableError("no answer\nin 5 s");
  EXPECT_EQ(Describe(event), "join through 10.0.0.9:1: UNAVAILABLE: no answer\\x0ain 5 s");

  event = Make(EventKind::kLeaveDone, nullptr);
  event.heard_by = 3;
  EXPECT_EQ(Describe(event), "leave done, heard by 3 members: OK");

  event = Make(EventKind::kPaused, nullptr);
  event.duration = 3200ms;
  EXPECT_EQ(Describe(event), "this process did not run for 3.200 s; nobody is accused for it");
  EXPECT_THAT(Describe(Make(EventKind::kResync, nullptr)), HasSubstr("lost"));
}

TEST(EventTest, WhatAnOperatorOrderedIsToldWithWhoDid) {
  Event event = Make(EventKind::kMaintenance);
  event.duration = 90s;
  event.cause.observers = {"beta"};
  EXPECT_EQ(Describe(event),
            "gamma (generation 1700000000000, incarnation 0) is in maintenance for 90.000 s, says beta");
  Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "maintenance");
  EXPECT_EQ(json.at("duration_s"), 90);
  EXPECT_EQ(json.at("observers"), Json::parse(R"(["beta"])"));
  event.duration = 0s;
  EXPECT_EQ(Describe(event), "the maintenance of gamma (generation 1700000000000, incarnation 0) is over, says beta");

  event = Make(EventKind::kExpelled);
  event.cause.observers = {"beta"};
  EXPECT_EQ(Describe(event),
            "we, gamma (generation 1700000000000, incarnation 0), were expelled by beta; we are no member any more");
  EXPECT_EQ(Json::parse(ToJson(event)).at("observers"), Json::parse(R"(["beta"])"));
  event = Make(EventKind::kFailed, Gamma(MemberStatus::kInactive));
  event.cause.transition = Transition::kExpelled;
  event.cause.observers = {"beta"};
  EXPECT_EQ(Describe(event), "gamma INACTIVE (generation 1700000000000, incarnation 0): expelled; by beta");
  EXPECT_EQ(Json::parse(ToJson(event)).at("transition"), "expelled");
}

TEST(EventTest, IsolationSaysHowManyAreReached) {
  Event event = Make(EventKind::kIsolated);
  event.contact = {1, 5, true};
  EXPECT_EQ(Describe(event), "isolated: we reach 1 of 5 members");
  Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "isolated");
  EXPECT_EQ(json.at("name"), "gamma");
  EXPECT_EQ(json.at("reachable"), 1);
  EXPECT_EQ(json.at("known"), 5);
  event.kind = EventKind::kRejoined;
  event.contact = {3, 5, false};
  EXPECT_EQ(Describe(event), "rejoined: we reach 3 of 5 members");
  json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "rejoined");
  EXPECT_EQ(json.at("reachable"), 3);
}

TEST(EventTest, ACallOfJoinTellsWhatBecameOfEachAddress) {
  Event event = Make(EventKind::kJoinDone, nullptr);
  event.call = 7;
  event.outcomes = {{Address::V4(10, 0, 0, 8, 1), absl::UnavailableError("refused")},
                    {Address::V4(10, 0, 0, 9, 1), {}}};
  EXPECT_EQ(Describe(event), "join 7 done through 10.0.0.9:1: OK");
  Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json, Json::parse(R"({"event": "join_done", "at_ns": 1500000000, "call": 7, "result": "OK", "outcomes": [
      {"other_address": "10.0.0.8:1", "result": "UNAVAILABLE", "message": "refused"},
      {"other_address": "10.0.0.9:1", "result": "OK"}]})"));
  event.status = absl::DeadlineExceededError("no address let us in: 10.0.0.8:1: refused\n");
  EXPECT_EQ(Describe(event), "join 7 done: DEADLINE_EXCEEDED: no address let us in: 10.0.0.8:1: refused\\x0a");
}

TEST(EventTest, ABroadcastShowsWhatCanBeShown) {
  Event event = Make(EventKind::kBroadcast);
  auto said = std::make_shared<BroadcastInfo>();
  said->origin = "gamma";
  said->generation = 17;
  said->key = "con\nfig";
  said->bytes = std::string("v\0\xff", 3);
  event.broadcast = said;
  EXPECT_EQ(Describe(event), "gamma broadcast con\\x0afig (3 bytes): v\\x00\xff");
  const Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "broadcast");
  EXPECT_EQ(json.at("name"), "gamma");
  EXPECT_EQ(json.at("origin"), "gamma");
  EXPECT_EQ(json.at("origin_generation"), 17);
  EXPECT_EQ(json.at("key"), "con\nfig");
  EXPECT_EQ(json.at("hex"), "7600ff");
  EXPECT_EQ(json.at("replayed"), false);
  auto replayed = std::make_shared<BroadcastInfo>(*said);
  replayed->bytes = std::string(61, 'x');
  replayed->replayed = true;
  event.broadcast = replayed;
  EXPECT_EQ(Describe(event),
            "gamma broadcast con\\x0afig (61 bytes, before we joined): " + std::string(60, 'x') + "...");
  EXPECT_EQ(Json::parse(ToJson(event)).at("replayed"), true);
}

TEST(EventTest, AWatchTellsWhichThresholdWasPassed) {
  Event event = Make(EventKind::kLevel);
  event.threshold = 3;
  event.level = 3.00049;
  event.rose = true;
  EXPECT_EQ(Describe(event), "the level of gamma (generation 1700000000000, incarnation 0) reached 3: it is 3.000");
  event.threshold = 0.5;
  event.level = 0;
  event.rose = false;
  EXPECT_THAT(Describe(event), HasSubstr(" fell below 0.5: it is 0.000"));
  event = Make(EventKind::kWatchEnded);
  EXPECT_EQ(Describe(event), "the watch of gamma ended: OK");
  event.status = absl::NotFoundError("it left");
  EXPECT_EQ(Describe(event), "the watch of gamma ended: NOT_FOUND: it left");
}

TEST(EventTest, EveryKindHasItsOwnNameAndOneLine) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(kLast); ++i) {
    const auto kind = static_cast<EventKind>(i);
    EXPECT_TRUE(names.insert(Name(kind)).second);
    for (const MemberPtr& member : {Gamma(), MemberPtr()}) {
      const Event event = Make(kind, member);
      std::ostringstream out;
      out << event;
      EXPECT_EQ(out.str(), Describe(event));
      EXPECT_GT(out.str().size(), 3U) << Name(kind);
      EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
      const Json json = Json::parse(ToJson(event));
      EXPECT_EQ(json.at("event"), std::string(Name(kind)));
      EXPECT_EQ(json.contains("name"), member != nullptr);
    }
  }
  EXPECT_EQ(names.count("?"), 0U);
  EXPECT_EQ(Name(static_cast<EventKind>(200)), "?");
  EXPECT_EQ(Name(MemberStatus::kInactive), "INACTIVE");
  EXPECT_EQ(Name(MemberStatus::kLeft), "LEFT");
}

TEST(EventTest, AMemberPrintsItself) {
  std::ostringstream out;
  out << *Gamma(MemberStatus::kSuspect, 2);
  EXPECT_EQ(out.str(), "gamma SUSPECT at 10.0.0.3:7946 (generation 1700000000000, incarnation 2) {role=db}");
}

TEST(EventTest, ATerminalIsNotAtThePeersMercy) {
  MemberInfo member = *Gamma();
  member.name = "a\x1b[2Jb\x7f";
  member.tags = {{"k\n", "v\r"}};
  std::ostringstream out;
  out << member;
  EXPECT_THAT(out.str(), HasSubstr("a\\x1b[2Jb\\x7f"));
  EXPECT_THAT(out.str(), HasSubstr("{k\\x0a=v\\x0d}"));
}

TEST(EventJsonTest, ASuspicion) {
  const Json json = Json::parse(ToJson(FailedRound()));
  const Json expected = Json::parse(R"({
    "event": "suspected", "at_ns": 1500000000,
    "name": "gamma", "address": "10.0.0.3:7946", "generation": 1700000000000, "incarnation": 0, "status": "SUSPECT",
    "self": false, "tags": {"role": "db"},
    "before": "ACTIVE", "transition": "demotion_threshold", "own": true, "reason": "probe_timeout",
    "observers": ["alpha"],
    "attempts": [
      {"after_s": 0.0, "relays": 0, "nacks": 0, "stream": false, "refused": false},
      {"after_s": 0.2, "relays": 2, "nacks": 0, "stream": false, "refused": false},
      {"after_s": 0.4, "relays": 1, "nacks": 1, "stream": true, "refused": true}]})");
  EXPECT_EQ(json, expected) << json.dump(1);
}

TEST(EventJsonTest, AFailureAndARestart) {
  Json json = Json::parse(ToJson(HoldRanOut()));
  EXPECT_EQ(json.at("before"), "SUSPECT");
  EXPECT_EQ(json.at("lasted_s"), 2.5);
  EXPECT_EQ(json.at("own"), false);
  EXPECT_EQ(json.at("observers"), Json::parse(R"(["alpha", "delta"])"));
  EXPECT_FALSE(json.contains("reason"));
  EXPECT_FALSE(json.contains("attempts"));
  Event event = Make(EventKind::kRestarted);
  event.generation_before = ~std::uint64_t{0};
  json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("generation_before").get<std::uint64_t>(), ~std::uint64_t{0});
}

TEST(EventJsonTest, ResultsAndPauses) {
  Event event = Make(EventKind::kJoinResult, nullptr);
  event.address = Address::V4(10, 0, 0, 9, 1);
  Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json, Json::parse(R"({"event": "join_result", "at_ns": 1500000000, "other_address": "10.0.0.9:1",
                                  "result": "OK"})"));
  event.kind = EventKind::kLeaveDone;
  event.heard_by = 2;
  event.status = absl::DeadlineExceededError("say \"bye\"");
  json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("result"), "DEADLINE_EXCEEDED");
  EXPECT_EQ(json.at("message"), "say \"bye\"");
  EXPECT_EQ(json.at("heard_by"), 2);
  event.kind = EventKind::kPaused;
  event.duration = 1ns;
  EXPECT_THAT(ToJson(event), HasSubstr("\"duration_s\":0.000000001"));
  event.duration = -(1s + 5ns);
  EXPECT_THAT(ToJson(event), HasSubstr("\"duration_s\":-1.000000005"));
}

TEST(EventJsonTest, Watches) {
  Event event = Make(EventKind::kLevel);
  event.threshold = 8;
  event.level = 8.1;
  event.rose = true;
  Json json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "level");
  EXPECT_EQ(json.at("name"), "gamma");
  EXPECT_EQ(json.at("threshold"), 8);
  EXPECT_EQ(json.at("level"), 8.1);
  EXPECT_EQ(json.at("rose"), true);
  event.kind = EventKind::kWatchEnded;
  event.status = absl::ResourceExhaustedError("full");
  json = Json::parse(ToJson(event));
  EXPECT_EQ(json.at("event"), "watch_ended");
  EXPECT_EQ(json.at("result"), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(json.at("message"), "full");
  EXPECT_FALSE(json.contains("level"));
}

TEST(EventJsonTest, AnyBytesMakeGoodJson) {
  MemberInfo member = *Gamma();
  const auto name_of = [&member](std::string name) {
    member.name = std::move(name);
    return Json::parse(ToJson(member)).at("name").get<std::string>();
  };
  std::string controls;
  for (char c = 1; c < 0x20; ++c) controls += c;
  controls += "\"\\\x7f/";
  controls.push_back('\0');
  EXPECT_EQ(name_of(controls), controls);
  for (const char* good : {"d\u00e9lta", "\u0080\u07ff\u0800\ud7ff\ue000\uffff", "\U00010000\U0010ffff"}) {
    EXPECT_EQ(name_of(good), good);
  }
  const std::string bad = "\ufffd";
  EXPECT_EQ(name_of("a\x80z"), "a" + bad + "z");                  // a lone tail
  EXPECT_EQ(name_of("a\xc3"), "a" + bad);                         // cut off
  EXPECT_EQ(name_of("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(name_of("\xe0\x9f\xbf"), bad + bad + bad);            // overlong
  EXPECT_EQ(name_of("\xed\xa0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(name_of("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(name_of("\xf8\xff"), bad + bad);
  EXPECT_EQ(name_of("\xe2\x82x"), bad + bad + "x");
}

}  // namespace
}  // namespace nekton
