#include "bench/common/group.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

SimOptions OptionsOf(std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  options.lossy_streams = true;
  return options;
}

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Load& Load::operator+=(const Load& other) {
  datagrams += other.datagrams;
  bytes += other.bytes;
  member_seconds += other.member_seconds;
  return *this;
}

double Load::DatagramsPerSecond() const { return member_seconds > 0 ? datagrams / member_seconds : 0; }

double Load::BytesPerSecond() const { return member_seconds > 0 ? bytes / member_seconds : 0; }

Group::Group(const Config& config, std::uint32_t members, std::uint64_t seed)
    : sim_(OptionsOf(seed)), random_(MixSeeds(seed, 0x67726f7570)) {
  Config its = config;
  for (std::uint32_t i = 0; i < members; ++i) {
    const SimId id = sim_.Add(its, {.address = {}, .record = false});
    if (i == 0) its.seeds = {sim_.address(id).ToString()};
  }
}

bool Group::Gather() {
  for (SimId id = 0; id < size(); ++id) {
    if (!sim_.Start(id).ok()) return false;
    sim_.RunFor(UpTo(40ms));
  }
  return sim_.RunUntil([this] { return sim_.Converged(); }, 2min, 100ms);
}

std::vector<SimId> Group::Choose(std::uint32_t count) {
  std::vector<SimId> all(size());
  for (SimId id = 0; id < size(); ++id) all[id] = id;
  for (std::uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + random_.Below(size() - i)]);
  all.resize(count);
  return all;
}

Duration Group::UpTo(Duration limit) {
  return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(limit.count())));
}

void Group::Lose(double rate) {
  LinkLaw law = sim_.network().law();
  law.loss.rate = rate;
  sim_.network().SetLaw(law);
}

void Group::BeginLoad() {
  load_base_ = sim_.counters();
  load_began_ = sim_.now();
}

Load Group::EndLoad() const {
  std::uint32_t running = 0;
  for (SimId id = 0; id < size(); ++id) running += sim_.state(id) == SimState::kRunning ? 1 : 0;
  const SimCounters& counters = sim_.counters();
  return {static_cast<double>(counters.datagrams_sent - load_base_.datagrams_sent),
          static_cast<double>(counters.bytes_sent - load_base_.bytes_sent),
          running * Seconds(sim_.now() - load_began_)};
}

SimId SubjectOf(const Event& event) {
  SimId id = kNobody;
  if (event.member == nullptr || !event.member->name.starts_with('n')) return kNobody;
  return absl::SimpleAtoi(event.member->name.substr(1), &id) ? id : kNobody;
}

std::uint64_t MixSeeds(std::uint64_t seed, std::uint64_t salt) {
  std::uint64_t hash = (seed ^ (salt * 0x9e3779b97f4a7c15)) + 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

}  // namespace nekton::bench
