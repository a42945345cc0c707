// A group whose authority is one of three candidates, on the simulator: killed, stopped, cut off from the register, and back.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr SimId kMembers = 4;  // of which the last is no candidate

RegisterRequest ReadOf(const std::string& label) {
  RegisterRequest read;
  read.key = SeatViewKey(label);
  return read;
}

class SeatScenarioTest : public testing::Test {
 protected:
  SeatScenarioTest() {
    Config config = Config::Lan();
    config.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
    register_->set_faults({.delay_min = 1ms, .delay_max = 5ms});
    for (SimId id = 0; id < kMembers; ++id) {
      SimMemberOptions options;
      options.leases.candidates = {"n0", "n1", "n2"};
      options.leases.key = ClusterKey().public_key();
      if (id < 3) {
        options.leases.signing = ClusterKey();
        options.lease_register = register_;
      }
      sim_.Add(config, options);
      EXPECT_TRUE(sim_.Start(id).ok());
    }
  }
  std::vector<SimId> Roots() {
    std::vector<SimId> roots;
    for (SimId id = 0; id < kMembers; ++id) {
      if (sim_.leases(id) != nullptr && sim_.leases(id)->root() != nullptr) roots.push_back(id);
    }
    return roots;
  }
  std::uint64_t EpochOf(SimId id) { return sim_.leases(id)->view().epoch(); }
  // Those who run are in one view, exactly, all may commit, and all ask the one authority.
  bool One(std::size_t members) {
    const std::vector<SimId> roots = Roots();
    if (roots.size() != 1) return false;
    const View& view = sim_.leases(roots[0])->view();
    if (view.members.size() != members) return false;
    for (SimId id = 0; id < kMembers; ++id) {
      LeaseRoom* room = sim_.leases(id);
      if (room == nullptr) continue;
      if (room->view().head != view.head || !room->leases().MayCommit(sim_.Clock(id))) return false;
      if (room->authority() != sim_.name(roots[0])) return false;
    }
    return true;
  }
  bool Becomes(std::size_t members, Duration limit = 90s) {
    return sim_.RunUntil([&] { return One(members); }, limit, 20ms);
  }
  std::vector<std::string> Rows(SimId member, std::string_view part) {
    std::vector<std::string> rows;
    for (const SimEvidence& evidence : sim_.evidence()) {
      std::string row = Row(evidence.evidence);
      if (evidence.member == member && row.find(part) != std::string::npos) rows.push_back(std::move(row));
    }
    return rows;
  }

  const std::shared_ptr<SimRegister> register_ = std::make_shared<SimRegister>(1);
  Simulator sim_{SimOptions{.seed = 3}};
};

TEST_F(SeatScenarioTest, ARootThatIsKilledIsFollowedAtAHigherEpochAndAllFollow) {
  ASSERT_TRUE(Becomes(kMembers));
  const SimId root = Roots()[0];
  const std::uint64_t epoch = EpochOf(root);
  const Duration killed = sim_.now();
  sim_.Crash(root, Port::kRefuses);
  ASSERT_TRUE(Becomes(kMembers - 1));
  // The lease, what is added to it for the clocks and at random, and the wait of the new one.
  EXPECT_LT(sim_.now() - killed, 10s + 3s + 7s + 3s);
  const SimId next = Roots()[0];
  EXPECT_NE(next, root);
  EXPECT_GT(EpochOf(next), epoch);
  EXPECT_EQ(sim_.leases(next)->view().Find(sim_.name(root)), nullptr);
  EXPECT_THAT(Rows(next, "seat state=taken"),
              testing::ElementsAre(HasSubstr("epoch=" + std::to_string(epoch) + " token=2")));
  EXPECT_THAT(Rows(3, "authority state=restored"), testing::ElementsAre(HasSubstr("root=" + sim_.name(next) + " ")));
  // It comes back as a member like others.
  ASSERT_TRUE(sim_.Restart(root).ok());
  ASSERT_TRUE(Becomes(kMembers));
  EXPECT_EQ(Roots()[0], next);
  const std::uint64_t last = EpochOf(next);
  sim_.RunFor(60s);
  EXPECT_EQ(EpochOf(next), last) << "and then nothing changes";
}

TEST_F(SeatScenarioTest, ARootThatWasStoppedLearnsThatItIsNoneBeforeItDoesAnything) {
  ASSERT_TRUE(Becomes(kMembers));
  const SimId root = Roots()[0];
  const std::uint64_t epoch = EpochOf(root);
  sim_.Pause(root);
  // The others go on without it; it stands still with its seat.
  const auto followed = [&] {
    for (SimId id = 0; id < kMembers; ++id) {
      if (id != root && EpochOf(id) <= epoch) return false;
    }
    return true;
  };
  ASSERT_TRUE(sim_.RunUntil(followed, 90s, 20ms));
  ASSERT_EQ(Roots().size(), 2u);
  EXPECT_FALSE(sim_.leases(root)->HasMandate(sim_.Clock(root)));
  const std::uint64_t granted = sim_.leases(root)->counters().granted;
  sim_.ClearLog();
  sim_.Resume(root);
  sim_.RunFor(1ms);
  EXPECT_EQ(sim_.leases(root)->root(), nullptr);
  EXPECT_EQ(sim_.leases(root)->counters().granted, granted) << "pings that waited were not granted";
  EXPECT_THAT(Rows(root, "seat state="), testing::ElementsAre(HasSubstr("seat state=lost epoch=")));
  EXPECT_FALSE(sim_.leases(root)->leases().MayCommit(sim_.Clock(root)));
  ASSERT_TRUE(Becomes(kMembers));
  EXPECT_NE(Roots()[0], root);
}

TEST_F(SeatScenarioTest, ARootThatLeavesHandsOverWithoutTheWaitForItsLease) {
  ASSERT_TRUE(Becomes(kMembers));
  const SimId root = Roots()[0];
  const Duration left = sim_.now();
  ASSERT_TRUE(sim_.Leave(root).ok());
  ASSERT_TRUE(sim_.RunUntil([&] { return Roots().size() == 1 && Roots()[0] != root; }, 30s, 20ms));
  EXPECT_LT(sim_.now() - left, 4s) << "a look at the record, not a lease";
  ASSERT_TRUE(Becomes(kMembers - 1));
}

TEST_F(SeatScenarioTest, WithoutTheRegisterTheRootEndsAndNobodyFollowsUntilItIsBack) {
  ASSERT_TRUE(Becomes(kMembers));
  const std::uint64_t epoch = EpochOf(0);
  register_->Restart(Instant(sim_.now() + 60s));
  sim_.RunFor(50s);
  EXPECT_TRUE(Roots().empty());
  for (SimId id = 0; id < kMembers; ++id) {
    EXPECT_FALSE(sim_.leases(id)->leases().MayCommit(sim_.Clock(id)));
    EXPECT_TRUE(sim_.leases(id)->leases().MayRead(sim_.Clock(id)));
    EXPECT_EQ(EpochOf(id), epoch);
  }
  // It renews under the old view first, and writes its own when it has waited.
  ASSERT_TRUE(Becomes(kMembers));
  ASSERT_TRUE(sim_.RunUntil([&] { return EpochOf(0) > epoch; }, 30s));
  EXPECT_TRUE(Becomes(kMembers));
}

// Nobody can act for the authority with a register that was emptied: the views that members hold are above it.
TEST_F(SeatScenarioTest, ARegisterThatForgotIsNoticed) {
  ASSERT_TRUE(Becomes(kMembers));
  const std::uint64_t epoch = EpochOf(0);
  register_->table() = MemoryTable();
  sim_.RunFor(60s);
  for (SimId id = 0; id < kMembers; ++id) EXPECT_EQ(EpochOf(id), epoch);
  std::size_t noticed = 0;
  for (SimId id = 0; id < 3; ++id) noticed += Rows(id, "store-behind").size();
  EXPECT_GE(noticed, 1u);
  EXPECT_EQ(DecodeViewRecord(register_->table().Do(ReadOf("")).value)->view.epoch(), 0u);
}

TEST(SeatConfigTest, WhatIsWrongIsNamed) {
  Config config = Config::Lan();
  config.name = "a";
  LeaseConfig leases;
  leases.candidates = {"a", "b"};
  leases.key = ClusterKey().public_key();
  EXPECT_THAT(ProblemsOf(leases, config), testing::ElementsAre("signing key: this member is a candidate and has none"));
  leases.signing = ClusterKey();
  EXPECT_THAT(ProblemsOf(leases, config), testing::IsEmpty());
  leases.authority = "a";
  EXPECT_THAT(ProblemsOf(leases, config), testing::ElementsAre("candidates: there is an authority, too; one of both"));
  leases.authority.clear();
  leases.seat = 1ms;
  EXPECT_THAT(ProblemsOf(leases, config), testing::ElementsAre(HasSubstr("seat: duration")));
  leases.seat = 10s;
  leases.candidates = {"b", "b"};
  EXPECT_THAT(ProblemsOf(leases, config),
              testing::ElementsAre("candidate \"b\": it is there twice", "candidate \"b\": it is there twice",
                                   "signing key: this member is no candidate"));
  leases.candidates = std::vector<std::string>(LeaseConfig::kCandidatesMax + 1, "a");
  EXPECT_THAT(ProblemsOf(leases, config), testing::Contains(HasSubstr("at most 16")));
}

}  // namespace
}  // namespace nekton
