// Ten members under random faults for ten minutes, each followed by an EventReplay (for one .cc file of a test program).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/cluster.h"
#include "tests/event_replay.h"

namespace nekton {

class EventFaults {
 public:
  static constexpr std::size_t kMembers = 10;

  EventFaults(const Config& config, std::uint64_t seed)
      : rng_(seed), cluster_({.nodes = kMembers, .seed = seed, .config = config}), replays_(kMembers) {
    for (auto& replay : replays_) replay = std::make_unique<EventReplay>();
    cluster_.sim().SetHandler([this](const SimEvent& event) { replays_[event.member]->Take(event.event); });
    // What the constructor's starts told already.
    for (const SimEvent& event : cluster_.sim().log()) replays_[event.member]->Take(event.event);
  }

  void Run(Duration time, Duration settle) {
    using namespace std::chrono_literals;
    while (cluster_.now() < time) {
      const Duration until = cluster_.now() + 45s;
      while (cluster_.now() < until) {
        Fault();
        cluster_.RunFor(std::chrono::milliseconds(Below(2500)));
        CompareAll();
        if (Done()) return;
      }
      Repair();
      ASSERT_TRUE(cluster_.Converge(settle)) << "at " << Seconds();
      ASSERT_TRUE(cluster_.RunUntil([this] { return IsQuiet(); }, settle)) << "not quiet at " << Seconds();
      cluster_.RunFor(2s);
      CompareAll();
      Quiet();
      if (Done()) return;
    }
  }
  const std::map<std::string, int>& faults() const { return faults_; }
  std::size_t steps() const {
    std::size_t steps = ended_steps_;
    for (const auto& replay : replays_) steps += replay->steps();
    return steps;
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return rng_() % n; }
  double Seconds() { return std::chrono::duration<double>(cluster_.now()).count(); }
  bool Runs(SimId id) { return cluster_.sim().state(id) == SimState::kRunning; }
  bool Done() const { return testing::Test::HasFailure(); }

  void Restart(SimId id) {
    Report(id);
    ended_steps_ += replays_[id]->steps();
    replays_[id] = std::make_unique<EventReplay>();
    tag_changes_[id] = 0;
    RestartOptions options;
    if (Below(4) == 0) options.address = Address::V4(10, 200, 0, 0, static_cast<std::uint16_t>(1000 + ++moves_));
    cluster_.Restart(id, options);
  }

  bool ChangeTag(SimId id) {
    const std::string value = absl::StrCat(++values_);
    if (!cluster_.sim().Order(id, SetTag{"v", value}).ok()) return false;
    ++tag_changes_[id];
    return true;
  }
  bool Say(SimId id, std::string* bytes = nullptr, const std::string& key = "") {
    const std::string said = absl::StrCat("n", id, "/", cluster_.sim().generation(id), "/", ++values_);
    if (bytes != nullptr) *bytes = said;
    return cluster_.sim().Order(id, Broadcast{key.empty() ? absl::StrCat("k", Below(4)) : key, said}).ok();
  }

  void Fault() {
    const SimId id = static_cast<SimId>(1 + Below(kMembers - 1));
    const SimId other = static_cast<SimId>(Below(kMembers));
    switch (Below(13)) {
      case 0:
        if (Runs(id)) Count("crash"), cluster_.Crash(id, Below(2) == 0 ? Port::kSilent : Port::kRefuses);
        break;
      case 1:
      case 2:
        if (!Runs(id)) Count("restart"), Restart(id);
        break;
      case 3:
        if (Runs(id) && cluster_.sim().Leave(id).ok()) Count("leave");
        break;
      case 4:
      case 5:
        if (Runs(other) && ChangeTag(other)) Count("tag");
        break;
      case 6:
      case 7:
        if (Runs(other) && Say(other)) Count("broadcast");
        break;
      case 8:
        if (id != other) Count("cut"), cluster_.Cut(id, other);
        break;
      case 9:
        if (id != other) Count("one way"), cluster_.CutOneWay(id, other);
        break;
      case 10:
        Count("loss"), cluster_.Lose(static_cast<double>(Below(40)) / 100);
        break;
      case 11:
        if (!Runs(id)) break;
        Count("pause");
        cluster_.Pause(id, {.kind = static_cast<PauseOptions::Kind>(Below(3)), .keep_input = Below(2) == 0});
        cluster_.sim().At(cluster_.now() + std::chrono::milliseconds(100 + Below(12'000)),
                          [this, id] { cluster_.Resume(id); });
        break;
      default:
        Count("heal"), cluster_.Heal();
    }
  }
  void Count(const char* what) { ++faults_[what]; }

  void Repair() {
    cluster_.Heal();
    cluster_.Lose(0);
    for (SimId id = 0; id < kMembers; ++id) cluster_.Resume(id);
    cluster_.RunFor(std::chrono::seconds(3));  // who is leaving will have left
    for (SimId id = 0; id < kMembers; ++id) {
      if (!Runs(id)) Restart(id);
    }
  }

  void CompareAll() {
    for (SimId id = 0; id < kMembers; ++id) {
      if (const Member* member = cluster_.sim().member(id); member != nullptr && !cluster_.sim().paused(id)) {
        replays_[id]->Compare(*member);
      }
      Report(id);
    }
  }
  void Report(SimId id) {
    if (replays_[id]->mistakes().empty() || Done()) return;
    ADD_FAILURE() << "n" << id << " at " << Seconds() << " s: " << replays_[id]->mistakes()[0];
  }

  // Nothing happens but one change of tags, and one broadcast: each is one event, at everybody.
  void Quiet() {
    using namespace std::chrono_literals;
    const SimId id = static_cast<SimId>(Below(kMembers));
    std::vector<std::size_t> updates, steps;
    for (const auto& replay : replays_) {
      updates.push_back(replay->UpdatesOf(cluster_.sim().name(id)));
      steps.push_back(replay->steps());
    }
    std::string said;
    ASSERT_TRUE(ChangeTag(id));
    ASSERT_TRUE(Say(id, &said, "quiet"));
    const auto heard_of = [&](SimId at) {
      return replays_[at]->UpdatesOf(cluster_.sim().name(id)) > updates[at] && replays_[at]->Told("quiet", said) != 0;
    };
    EXPECT_TRUE(cluster_.RunUntil(
        [&] {
          for (SimId at = 0; at < kMembers; ++at) {
            if (!heard_of(at)) return false;
          }
          return true;
        },
        60s))
        << "at " << Seconds();
    cluster_.RunFor(5s);
    CompareAll();
    for (SimId at = 0; at < kMembers; ++at) {
      if (!cluster_.sim().live(at)) continue;
      EXPECT_EQ(replays_[at]->UpdatesOf(cluster_.sim().name(id)), updates[at] + 1) << "n" << at << " at " << Seconds();
      EXPECT_EQ(replays_[at]->steps(), steps[at] + 1) << "n" << at << " at " << Seconds();
      EXPECT_EQ(replays_[at]->Told("quiet", said), 1u) << "n" << at << " at " << Seconds();
      EXPECT_EQ(Held(at), Held(id)) << "n" << at << " at " << Seconds();
    }
    EXPECT_EQ(replays_[id]->UpdatesOf(cluster_.sim().name(id)), tag_changes_[id]) << "its own";
  }
  // All hold all others for ACTIVE, and the same broadcasts.
  bool IsQuiet() {
    if (!cluster_.sim().Converged()) return false;
    for (SimId id = 0; id < kMembers; ++id) {
      for (const MemberPtr& row : cluster_.member(id).Members()) {
        if (row->status != MemberStatus::kActive) return false;
      }
      if (Held(id) != Held(0)) return false;
    }
    return true;
  }
  std::map<std::string, std::string> Held(SimId id) {
    std::map<std::string, std::string> held;
    for (const BroadcastInfo& info : cluster_.member(id).HeldBroadcasts(cluster_.sim().Clock(id))) {
      held[info.key] = info.bytes;
    }
    return held;
  }

  std::mt19937_64 rng_;
  Cluster cluster_;
  std::vector<std::unique_ptr<EventReplay>> replays_;
  std::map<SimId, std::size_t> tag_changes_;
  std::map<std::string, int> faults_;
  std::size_t ended_steps_ = 0;
  std::uint64_t values_ = 0;
  std::uint32_t moves_ = 0;
};

}  // namespace nekton
