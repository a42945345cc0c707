// Field: a member stays unreachable because the only one that says so has left. Here what a member said counts for
// nothing once it has left or is INACTIVE, and whoever is heard again is ACTIVE again.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kA = 0;
constexpr SimId kB = 1;
constexpr SimId kC = 2;

enum class Way { kLeaves, kDies, kIsKilled };  // kDies: its port is silent; kIsKilled: it refuses
std::string_view Name(Way way) { return way == Way::kLeaves ? "Leaves" : way == Way::kDies ? "Dies" : "IsKilled"; }

std::ostream& operator<<(std::ostream& out, Way way) { return out << Name(way); }

struct ObserverRun {
  Way way = Way::kLeaves;
  std::uint64_t seed = 1;
  Duration phase{};        // from the convergence to the freeze
  Duration rest{};         // from C's departure to B's return
  bool keep_input = true;  // B finds in its socket what was sent meanwhile, the accusations among it
  bool hearsay = false;    // wanted: A's suspicion is nothing but C's word
};
std::ostream& operator<<(std::ostream& out, const ObserverRun& run) {
  return out << run.way << " seed " << run.seed << " phase " << run.phase.count() / 1'000'000 << " ms, rest "
             << run.rest.count() / 1'000'000 << " ms, input " << run.keep_input;
}

void Depart(Cluster& c, SimId id, Way way) {
  if (way == Way::kLeaves) {
    c.Leave(id);
  } else {
    c.Crash(id, way == Way::kDies ? Port::kSilent : Port::kRefuses);
  }
}

// Returns whether the run was of the kind that is wanted: who accuses first is chance.
bool ReturnOfB(const ObserverRun& run) {
  SCOPED_TRACE(testing::Message() << run);
  Cluster c({.nodes = 3, .seed = run.seed});
  EXPECT_TRUE(c.Converge(30s));
  c.RunFor(run.phase);
  c.Pause(kB, {.keep_input = run.keep_input});
  EXPECT_TRUE(c.RunUntil(
      [&] { return c.Sees(kA, kB) == MemberStatus::kSuspect && c.Sees(kC, kB) == MemberStatus::kSuspect; }, 6s));
  const std::vector<SimEvent> accusations = c.Events({.kind = EventKind::kSuspected, .observer = kA, .subject = kB});
  if (accusations.size() != 1) {
    ADD_FAILURE() << "A suspects B " << accusations.size() << " times";
    return false;
  }
  const Cause& cause = accusations[0].event.cause;
  const bool hearsay = !cause.own && cause.observers == std::vector<std::string>{"n2"};
  if (run.hearsay != hearsay) return false;

  Depart(c, kC, run.way);
  c.RunFor(run.rest);
  EXPECT_NE(c.Sees(kA, kB), MemberStatus::kInactive) << "a hold is 2.5 s at least";
  if (!hearsay) {
    EXPECT_EQ(c.Sees(kA, kB), MemberStatus::kSuspect) << "A has evidence of its own";
  }
  const Duration resumed = c.now();
  c.Resume(kB);
  // Three of A's probes, one a period, and the way of the last one.
  EXPECT_TRUE(c.RunUntil([&] { return c.Sees(kA, kB) == MemberStatus::kActive; }, 3s + 10ms));
  c.RunFor(40s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = kB}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .subject = kB, .since = resumed + 3s}), 0u) << "for good";
  EXPECT_EQ(c.Sees(kA, kB), MemberStatus::kActive);
  EXPECT_EQ(c.Sees(kA, kC), run.way == Way::kLeaves ? MemberStatus::kLeft : MemberStatus::kInactive);
  return true;
}

std::size_t ReturnsOfB(Way way, bool hearsay) {
  std::size_t runs = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Duration phase : {0ms, 350ms, 700ms, 1250ms}) {
      for (const Duration rest : {0ms, 10ms, 600ms, 1300ms, 2200ms}) {
        for (const bool keep : {true, false}) {
          const ObserverRun run{
              .way = way, .seed = seed, .phase = phase, .rest = rest, .keep_input = keep, .hearsay = hearsay};
          runs += ReturnOfB(run) ? 1 : 0;
          if (testing::Test::HasFailure()) return runs;  // one story is enough
        }
      }
    }
  }
  return runs;
}

class FieldObserver : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Departed, FieldObserver, testing::Values(Way::kLeaves, Way::kDies, Way::kIsKilled),
                         [](const auto& param) { return std::string(Name(param.param)); });

TEST_P(FieldObserver, BothAccusedAndOneWent) { EXPECT_GE(ReturnsOfB(GetParam(), false), 50u); }
TEST_P(FieldObserver, OnlyTheOneThatWentAccused) { EXPECT_GE(ReturnsOfB(GetParam(), true), 50u); }

// D passes on what C says of B: a suspicion, or a verdict. Returns whether A then suspects B.
bool Believed(UpdateKind kind, std::optional<Way> way) {
  Cluster c({.nodes = 4});
  EXPECT_TRUE(c.Converge(30s));
  const SimId d = 3;
  if (way) {
    Depart(c, kC, *way);
    const MemberStatus gone = *way == Way::kLeaves ? MemberStatus::kLeft : MemberStatus::kInactive;
    EXPECT_TRUE(c.RunUntil([&] { return c.Sees(kA, kC) == gone && c.Sees(kB, kC) == gone; }, 20s));
  }
  const auto as_peer = [&](SimId id) {
    return Peer{c.sim().name(id), c.sim().address(id), {c.sim().generation(id), 0}};
  };
  const Peer b = as_peer(kB);
  const Peer by = as_peer(kC);
  Frame frame = Rig::Of(FrameType::kGossip);
  frame.label = LabelTag("");
  frame.sender = as_peer(d).id();
  const Duration at = c.now();
  c.sim().Inject(kA, c.sim().address(d), Encode(frame, {Accused(kind, b, {&by}, {})}));
  c.RunFor(20s);
  EXPECT_EQ(c.Sees(kA, kB), MemberStatus::kActive) << "it lives, and may say so";
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = kB}), 0u);
  return c.Count({.kind = EventKind::kSuspected, .subject = kB, .since = at}) > 0;
}

TEST(FieldObserverWord, OfTheDepartedCountsNothing) {
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
    EXPECT_TRUE(Believed(kind, std::nullopt)) << "the word of a member counts";
    for (const Way way : {Way::kLeaves, Way::kDies, Way::kIsKilled}) {
      EXPECT_FALSE(Believed(kind, way)) << way;
    }
  }
}

}  // namespace
}  // namespace nekton
