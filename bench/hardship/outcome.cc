#include "bench/hardship/outcome.h"

#include <algorithm>

namespace nekton::bench {

Outcome& Outcome::operator+=(const Outcome& other) {
  runs += other.runs;
  ungathered += other.ungathered;
  sick += other.sick;
  dead_healthy += other.dead_healthy;
  dead_healthy_at_healthy += other.dead_healthy_at_healthy;
  dead_sick += other.dead_sick;
  sick_condemned += other.sick_condemned;
  rejoins += other.rejoins;
  comebacks += other.comebacks;
  gone += other.gone;
  changes = std::max(changes, other.changes);
  suspicions_healthy += other.suspicions_healthy;
  suspicions_sick += other.suspicions_sick;
  accusations_by_sick += other.accusations_by_sick;
  accusations_healthy += other.accusations_healthy;
  healthy_accused += other.healthy_accused;
  times.insert(times.end(), other.times.begin(), other.times.end());
  never += other.never;
  member_hours += other.member_hours;
  load += other.load;
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
  return *this;
}

double Outcome::PerRun(std::uint64_t count) const {
  return runs > ungathered ? static_cast<double>(count) / static_cast<double>(runs - ungathered) : 0;
}

}  // namespace nekton::bench
