// The checks of a request for an object, and their order.
#include "lease/object_gate.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr LeaseTerms kTerms{.read = 120s, .write = 6s, .drift_ppm = 0};

Tick At(Duration time) { return {Instant(time), RawInstant(time), WallTime(time)}; }

SigningKey Key(int n) {
  std::array<std::byte, 32> seed{};
  seed[0] = static_cast<std::byte>(n);
  return SigningKey(seed);
}

View ViewOf(std::uint64_t epoch) { return SignView(Key(1), "group", epoch, {{"alpha", 1, {}}, {"beta", 1, {}}}); }

ObjectId HomedAt(std::string_view home, int skip = 0) {
  const Homes homes(ViewOf(2));
  for (int i = 0;; ++i) {
    const ObjectId object = ObjectNamed(absl::StrCat("object ", i));
    if (homes.HomeOf(object) == home && skip-- == 0) return object;
  }
}

// alpha's gate, with a full lease from t = 0 on.
struct Scene {
  HomeLeases leases{"alpha", 1, kTerms};
  ObjectGate gate{"group", Key(1).public_key(), &leases};
  ObjectId object = HomedAt("alpha");
  Scene() {
    leases.SetAuthority(true);
    leases.Install(ViewOf(2));
    leases.Renew(At(0s), leases.Stamp(At(0s)), 2, 2);
  }
  Capability CapabilityFor(const ObjectId& of, int signer = 1) const {
    Capability capability;
    capability.id[0] = std::byte{7};
    capability.object = of;
    capability.operations = OperationBit(Operation::kStat) | OperationBit(Operation::kCommit);
    capability.expires = WallTime(1h);
    return SignCapability(Key(signer), "group", capability);
  }
  ObjectRequest Request(std::uint64_t id, Operation operation = Operation::kCommit) const {
    return {2, CapabilityFor(object), id, object, operation};
  }
  Verdict Judge(const ObjectRequest& request, Duration at = 1s) { return gate.Decide(At(at), request).verdict; }
};

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(ObjectGateTest, AGoodRequestIsServedOnce) {
  Scene s;
  const ObjectRequest request = s.Request(1);
  EXPECT_EQ(s.Judge(request), Verdict::kServe);
  EXPECT_EQ(s.Judge(request), Verdict::kBusy) << "it is being carried out";
  const std::string answer = "done";
  s.gate.Served(request, Bytes(answer));
  const Decision again = s.gate.Decide(At(2s), request);
  EXPECT_EQ(again.verdict, Verdict::kReplay);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(again.answer.data()), again.answer.size()), "done");
  EXPECT_EQ(s.Judge(s.Request(2)), Verdict::kServe);
  EXPECT_EQ(s.gate.counters().commits, 2u);
  EXPECT_EQ(s.gate.counters().of(Verdict::kReplay), 1u);
}

// Each request has two faults; the answer names the one that is looked for first.
TEST(ObjectGateTest, TheOrderOfTheChecks) {
  {  // epoch before signature
    Scene s;
    ObjectRequest request = s.Request(1);
    request.epoch = 1;
    request.capability.signature.bytes[0] ^= std::byte{1};
    EXPECT_EQ(s.Judge(request), Verdict::kStaleEpoch);
  }
  {  // epoch before replay: a copy from the past is a fence, not a cached yes
    Scene s;
    const ObjectRequest request = s.Request(1);
    EXPECT_EQ(s.Judge(request), Verdict::kServe);
    s.gate.Served(request, {});
    EXPECT_EQ(s.Judge(request), Verdict::kReplay);
    s.leases.Install(ViewOf(3));
    EXPECT_EQ(s.Judge(request), Verdict::kStaleEpoch);
  }
  {  // signature before replay: a forger learns no answer
    Scene s;
    ObjectRequest request = s.Request(1);
    EXPECT_EQ(s.Judge(request), Verdict::kServe);
    s.gate.Served(request, {});
    request.capability = s.CapabilityFor(s.object, 2);
    EXPECT_EQ(s.Judge(request), Verdict::kForbidden);
  }
  {  // replay before lease: what was done is told, also when nothing more may be done
    Scene s;
    const ObjectRequest request = s.Request(1);
    EXPECT_EQ(s.Judge(request), Verdict::kServe);
    s.gate.Served(request, {});
    EXPECT_EQ(s.Judge(request, 200s), Verdict::kReplay);
  }
  {  // home before lease
    Scene s;
    ObjectRequest request = s.Request(1);
    request.object = HomedAt("beta");
    request.capability = s.CapabilityFor(request.object);
    EXPECT_EQ(s.Judge(request, 200s), Verdict::kNotHome);
  }
  {  // lease before authority
    Scene s;
    s.leases.SetAuthority(false);
    EXPECT_EQ(s.Judge(s.Request(1), 200s), Verdict::kNotCurrent);
    EXPECT_EQ(s.Judge(s.Request(1), 1s), Verdict::kNoAuthority);
  }
}

TEST(ObjectGateTest, ANewerEpochThanOursIsNotServed) {
  Scene s;
  ObjectRequest request = s.Request(1);
  request.epoch = 3;
  EXPECT_EQ(s.Judge(request), Verdict::kNotCurrent);
}

TEST(ObjectGateTest, WhatACapabilityDoesNotAllowIsForbiddenAndSaysWhy) {
  Scene s;
  const auto why = [&](ObjectRequest request, Duration at = 1s) {
    const Decision decision = s.gate.Decide(At(at), request);
    EXPECT_EQ(decision.verdict, Verdict::kForbidden);
    return std::string(decision.detail.message());
  };
  ObjectRequest other_object = s.Request(1);
  other_object.object = HomedAt("alpha", 1);
  EXPECT_EQ(why(other_object), "capability: it is for another object");
  ObjectRequest commit = s.Request(1);
  commit.capability.operations = OperationBit(Operation::kStat);
  EXPECT_EQ(why(commit), "capability: the authority did not sign it") << "the operations are signed";
  commit.capability = SignCapability(Key(1), "group", commit.capability);
  EXPECT_EQ(why(commit), "capability: it does not allow this operation");
  EXPECT_EQ(why(s.Request(1), 1h + 1ns), "capability: it has expired");
  ObjectRequest other_group = s.Request(1);
  other_group.capability = SignCapability(Key(1), "another group", other_group.capability);
  EXPECT_EQ(why(other_group), "capability: the authority did not sign it");
}

TEST(ObjectGateTest, ReadsGoOnWithoutTheAuthorityUntilTheirLeaseEnds) {
  Scene s;
  s.leases.SetAuthority(false);
  EXPECT_EQ(s.Judge(s.Request(1, Operation::kStat), 119s), Verdict::kServe);
  EXPECT_EQ(s.Judge(s.Request(2, Operation::kStat), 120s + 1ns), Verdict::kNotCurrent);
}

TEST(ObjectGateTest, ACommitAtTheLastInstantPassesAndOneLaterDoesNot) {
  Scene s;
  EXPECT_EQ(s.Judge(s.Request(1), 6s), Verdict::kServe);
  EXPECT_EQ(s.Judge(s.Request(2), 6s + 1ns), Verdict::kNoAuthority);
}

TEST(ObjectGateTest, OnlyAHomeThatHoldsTheOldLeaseRedirects) {
  Scene s;
  s.leases.Move({s.object, 2, "alpha", "beta", {}});
  const Decision decision = s.gate.Decide(At(1s), s.Request(1));
  EXPECT_EQ(decision.verdict, Verdict::kMoved);
  EXPECT_EQ(decision.moved_to, "beta");
  EXPECT_EQ(decision.epoch, 2u);
}

TEST(ObjectGateTest, IdsThatFellOutOfTheWindowAreNeverCarriedOutAgain) {
  Scene s;
  for (std::uint64_t id = 1; id <= FirstAnswers::kWindow + 10; ++id) {
    ASSERT_EQ(s.Judge(s.Request(id)), Verdict::kServe);
    s.gate.Served(s.Request(id), {});
  }
  EXPECT_EQ(s.Judge(s.Request(3)), Verdict::kForbidden);
  EXPECT_EQ(s.Judge(s.Request(FirstAnswers::kWindow)), Verdict::kReplay);
}

TEST(FirstAnswersTest, TheRoomForCapabilitiesIsBoundedAndFreeAgainWhenTheyHaveExpired) {
  FirstAnswers answers;
  Capability capability;
  const auto numbered = [&](std::size_t i) {
    capability.id[0] = static_cast<std::byte>(i);
    capability.id[1] = static_cast<std::byte>(i >> 8);
    capability.expires = WallTime(10s);
    return capability;
  };
  for (std::size_t i = 0; i < FirstAnswers::kCapabilitiesMax; ++i) {
    ASSERT_EQ(answers.Look(numbered(i), 1, WallTime(1s)), FirstAnswers::Found::kNew);
    answers.Begin(numbered(i), 1);
  }
  EXPECT_EQ(answers.Look(numbered(FirstAnswers::kCapabilitiesMax), 1, WallTime(1s)), FirstAnswers::Found::kFull);
  EXPECT_EQ(answers.Look(numbered(0), 1, WallTime(1s)), FirstAnswers::Found::kUnderWay);
  EXPECT_EQ(answers.Look(numbered(FirstAnswers::kCapabilitiesMax), 1, WallTime(11s)), FirstAnswers::Found::kNew);
  EXPECT_EQ(answers.size(), 0u);
}

}  // namespace
}  // namespace nekton
