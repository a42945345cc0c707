// A group of members in the simulator, and words to speak about it in tests.
//
//   Cluster c({.nodes = 5, .seed = 1});
//   ASSERT_TRUE(c.Converge(10s));
//   c.Crash(2);
//   c.RunFor(12s);
//   EXPECT_TRUE(c.AllSee(2, MemberStatus::kInactive));
//   EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 2}), 4u);
//
// Members are named n0, n1, ...; n0 is everyone's seed. When a test fails, its cluster prints its last events.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "transport/simulator.h"

namespace nekton {

struct ClusterOptions {
  std::size_t nodes = 3;
  std::uint64_t seed = 1;         // of the simulator, in place of sim.seed
  Config config = Config::Lan();  // of every member; without seeds: n0 is the seed
  SimOptions sim = {};
  bool start = true;               // in the constructor, all at time 0
  bool record = true;              // events are kept, and printed when the test fails
  bool authority = false;          // n0 is the authority of the group, and the others are told so
  LeaseTerms terms = {};           // then
  std::vector<SealKey> keys = {};  // of every member, with config.sealing
};

// The key of clusters with an authority.
SigningKey ClusterKey();

// Which events. Empty fields do not matter.
struct EventQuery {
  std::optional<EventKind> kind = std::nullopt;
  SimId observer = kNobody;  // whose event it is
  SimId subject = kNobody;   // whom it is about
  Duration since = {};
  Duration until = Duration::max();
};

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Simulator& sim() { return sim_; }
  SimNetwork& network() { return sim_.network(); }
  Duration now() const { return sim_.now(); }
  std::size_t size() const { return sim_.size(); }
  const Member& member(SimId id) const;  // it must run
  SimId AddNode();                       // one more like the others, started at once
  SimId AddNode(const Config& config, const SimMemberOptions& options = {});

  // Faults. What the simulator refuses fails the test.
  void Crash(SimId id, Port port = Port::kSilent) { sim_.Crash(id, port); }
  void Restart(SimId id, const RestartOptions& options = {});
  void Leave(SimId id, Duration timeout = {});
  void Pause(SimId id, const PauseOptions& options = {}) { sim_.Pause(id, options); }
  void Resume(SimId id) { sim_.Resume(id); }
  void Cut(SimId a, SimId b, Traffic what = Traffic::kAll) { network().Cut(a, b, what); }
  void CutOneWay(SimId from, SimId to, Traffic what = Traffic::kAll) { network().CutOneWay(from, to, what); }
  void Partition(const std::vector<std::vector<SimId>>& groups) { network().Partition(groups); }
  void Heal() { network().HealAll(); }
  void Lose(double rate);  // independent loss on every link

  // Time.
  void RunFor(Duration time) { sim_.RunFor(time); }
  testing::AssertionResult RunUntil(const std::function<bool()>& done, Duration limit);
  // All live members hold equal tables with exactly the live members in them.
  testing::AssertionResult Converge(Duration limit = std::chrono::seconds(60));

  // With an authority: the leases of a member that runs; that all live members hold this epoch; an object that `home` is
  // home to by the view of `observer`.
  LeaseRoom& leases(SimId id);
  MemoryViewStore& store() { return *store_; }  // n0's
  testing::AssertionResult AllHold(std::uint64_t epoch, Duration limit);
  ObjectId ObjectOf(SimId home, SimId observer = 0, int nth = 0);
  bool MayCommit(SimId id);
  bool MayRead(SimId id);

  // What members hold. Null, nullopt: it has no such row.
  MemberPtr RowOf(SimId observer, SimId subject) const;
  std::optional<MemberStatus> Sees(SimId observer, SimId subject) const;
  // Every live member but the subject.
  testing::AssertionResult AllSee(SimId subject, MemberStatus status) const;
  testing::AssertionResult NoneKnows(SimId subject) const;

  // What happened.
  std::vector<SimEvent> Events(const EventQuery& query) const;
  std::vector<SimEvent> EventsAbout(SimId subject) const { return Events({.subject = subject}); }
  std::size_t Count(const EventQuery& query) const;
  std::size_t Count(EventKind kind) const { return Count({.kind = kind}); }
  std::optional<Duration> First(const EventQuery& query) const;  // when
  std::uint64_t Sum(Counter counter) const;                      // over all members that run
  std::string Story(std::size_t last = 40) const;                // the last events, one a line

 private:
  bool Matches(const SimEvent& event, const EventQuery& query) const;
  testing::AssertionResult AllHold(SimId subject, std::optional<MemberStatus> wanted) const;

  SimMemberOptions OptionsOf(SimId id) const;

  Simulator sim_;
  Config config_;
  bool record_;
  bool authority_;
  LeaseTerms terms_;
  const std::shared_ptr<MemoryViewStore> store_ = std::make_shared<MemoryViewStore>();
  std::vector<SealKey> keys_;
};

}  // namespace nekton
