#include "tests/cluster.h"

#include <iostream>
#include <sstream>

namespace nekton {
namespace {

SimOptions WithSeed(SimOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

std::string Words(std::optional<MemberStatus> status) {
  return status ? std::string(Name(*status)) : std::string("unknown");
}

}  // namespace

Cluster::Cluster(const ClusterOptions& options)
    : sim_(WithSeed(options.sim, options.seed)),
      config_(options.config),
      record_(options.record),
      authority_(options.authority),
      terms_(options.terms),
      keys_(options.keys) {
  if (config_.seeds.empty()) config_.seeds = {"10.0.0.1:7946"};
  for (std::size_t i = 0; i < options.nodes; ++i) {
    const SimId id = sim_.Add(config_, OptionsOf(static_cast<SimId>(i)));
    if (!options.start) continue;
    const absl::Status started = sim_.Start(id);
    if (!started.ok()) ADD_FAILURE() << sim_.name(id) << " does not start: " << started.ToString();
  }
}

Cluster::~Cluster() {
  if (testing::Test::HasFailure() && record_) std::cerr << Story();
}

const Member& Cluster::member(SimId id) const {
  const Member* member = sim_.member(id);
  if (member == nullptr) {
    ADD_FAILURE() << sim_.name(id) << " does not run";
    std::abort();
  }
  return *member;
}

SigningKey ClusterKey() {
  std::array<std::byte, 32> seed{};
  seed[0] = std::byte{7};
  return SigningKey(seed);
}

SimMemberOptions Cluster::OptionsOf(SimId id) const {
  SimMemberOptions options;
  options.record = record_;
  options.keys = keys_;
  if (!authority_) return options;
  options.leases.authority = "n0";
  options.leases.key = ClusterKey().public_key();
  options.leases.terms = terms_;
  if (id == 0) {
    options.leases.signing = ClusterKey();
    options.store = store_;
  }
  return options;
}

LeaseRoom& Cluster::leases(SimId id) {
  LeaseRoom* its = sim_.leases(id);
  if (its == nullptr) {
    ADD_FAILURE() << sim_.name(id) << " does not run, or has no authority";
    std::abort();
  }
  return *its;
}

testing::AssertionResult Cluster::AllHold(std::uint64_t epoch, Duration limit) {
  const auto all = [&] {
    for (SimId id = 0; id < sim_.size(); ++id) {
      if (sim_.live(id) && leases(id).view().epoch() != epoch) return false;
    }
    return true;
  };
  if (sim_.RunUntil(all, limit)) return testing::AssertionSuccess();
  testing::AssertionResult failure = testing::AssertionFailure();
  failure << "not all hold epoch " << epoch << " within " << limit.count() / 1'000'000 << " ms:";
  for (SimId id = 0; id < sim_.size(); ++id) {
    if (sim_.live(id)) failure << " " << sim_.name(id) << ": " << leases(id).view().epoch();
  }
  return failure;
}

ObjectId Cluster::ObjectOf(SimId home, SimId observer, int nth) {
  for (int i = 0; i < 1'000'000; ++i) {
    const ObjectId object = ObjectNamed("object " + std::to_string(i));
    if (leases(observer).homes().HomeOf(object) == sim_.name(home) && nth-- == 0) return object;
  }
  ADD_FAILURE() << sim_.name(home) << " is home to nothing";
  return {};
}

bool Cluster::MayCommit(SimId id) { return leases(id).leases().MayCommit(sim_.Clock(id)); }
bool Cluster::MayRead(SimId id) { return leases(id).leases().MayRead(sim_.Clock(id)); }

SimId Cluster::AddNode() { return AddNode(config_, OptionsOf(static_cast<SimId>(sim_.size()))); }

SimId Cluster::AddNode(const Config& config, const SimMemberOptions& options) {
  const SimId id = sim_.Add(config, options);
  const absl::Status started = sim_.Start(id);
  if (!started.ok()) ADD_FAILURE() << sim_.name(id) << " does not start: " << started.ToString();
  return id;
}

void Cluster::Restart(SimId id, const RestartOptions& options) {
  const absl::Status started = sim_.Restart(id, options);
  if (!started.ok()) ADD_FAILURE() << sim_.name(id) << " does not restart: " << started.ToString();
}

void Cluster::Leave(SimId id, Duration timeout) {
  const absl::Status ordered = sim_.Leave(id, timeout);
  if (!ordered.ok()) ADD_FAILURE() << sim_.name(id) << " does not leave: " << ordered.ToString();
}

void Cluster::Lose(double rate) {
  LinkLaw law = network().law();
  law.loss = {};
  law.loss.rate = rate;
  network().SetLaw(law);
}

testing::AssertionResult Cluster::RunUntil(const std::function<bool()>& done, Duration limit) {
  if (sim_.RunUntil(done, limit)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not within " << limit.count() / 1'000'000 << " ms";
}

testing::AssertionResult Cluster::Converge(Duration limit) {
  if (sim_.RunUntil([this] { return sim_.Converged(); }, limit)) return testing::AssertionSuccess();
  testing::AssertionResult failure = testing::AssertionFailure();
  failure << "no agreement within " << limit.count() / 1'000'000 << " ms; " << sim_.live_count() << " are live:\n";
  for (SimId id = 0; id < sim_.size(); ++id) {
    if (!sim_.live(id)) continue;
    const Member& its = *sim_.member(id);
    failure << "  " << sim_.name(id) << ": " << its.alive() << " alive of " << its.size() << ", digest " << std::hex
            << its.digest() << std::dec << "\n";
  }
  return failure;
}

MemberPtr Cluster::RowOf(SimId observer, SimId subject) const {
  for (const MemberPtr& row : member(observer).Members()) {
    if (row->name == sim_.name(subject)) return row;
  }
  return nullptr;
}

std::optional<MemberStatus> Cluster::Sees(SimId observer, SimId subject) const {
  const MemberPtr row = RowOf(observer, subject);
  return row == nullptr ? std::nullopt : std::optional(row->status);
}

testing::AssertionResult Cluster::AllHold(SimId subject, std::optional<MemberStatus> wanted) const {
  testing::AssertionResult failure = testing::AssertionFailure();
  bool all = true;
  std::size_t asked = 0;
  for (SimId id = 0; id < sim_.size(); ++id) {
    if (id == subject || !sim_.live(id)) continue;
    ++asked;
    const std::optional<MemberStatus> seen = Sees(id, subject);
    if (seen == wanted) continue;
    all = false;
    failure << sim_.name(id) << " holds " << sim_.name(subject) << " " << Words(seen) << "; ";
  }
  if (asked == 0) return failure << "nobody is live";
  return all ? testing::AssertionSuccess() : failure << "wanted: " << Words(wanted);
}

testing::AssertionResult Cluster::AllSee(SimId subject, MemberStatus status) const { return AllHold(subject, status); }
testing::AssertionResult Cluster::NoneKnows(SimId subject) const { return AllHold(subject, std::nullopt); }

bool Cluster::Matches(const SimEvent& event, const EventQuery& query) const {
  if (query.kind && event.event.kind != *query.kind) return false;
  if (query.observer != kNobody && event.member != query.observer) return false;
  if (event.at < query.since || event.at > query.until) return false;
  return query.subject == kNobody ||
         (event.event.member != nullptr && event.event.member->name == sim_.name(query.subject));
}

std::vector<SimEvent> Cluster::Events(const EventQuery& query) const {
  std::vector<SimEvent> found;
  for (const SimEvent& event : sim_.log()) {
    if (Matches(event, query)) found.push_back(event);
  }
  return found;
}

std::size_t Cluster::Count(const EventQuery& query) const { return Events(query).size(); }

std::optional<Duration> Cluster::First(const EventQuery& query) const {
  for (const SimEvent& event : sim_.log()) {
    if (Matches(event, query)) return event.at;
  }
  return std::nullopt;
}

std::uint64_t Cluster::Sum(Counter counter) const {
  std::uint64_t sum = 0;
  for (SimId id = 0; id < sim_.size(); ++id) {
    if (const Member* its = sim_.member(id)) sum += its->counters()[counter];
  }
  return sum;
}

std::string Cluster::Story(std::size_t last) const {
  std::ostringstream out;
  const std::vector<SimEvent>& log = sim_.log();
  const std::size_t begin = log.size() > last ? log.size() - last : 0;
  out << "the last " << log.size() - begin << " of " << log.size() << " events (time, whose, what), now "
      << sim_.now().count() / 1'000'000 << " ms:\n";
  for (std::size_t i = begin; i < log.size(); ++i) out << log[i] << "\n";
  return out.str();
}

}  // namespace nekton
