// The summary of a simulated run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "examples/agent/console.h"
#include "examples/agent/sim_options.h"
#include "examples/agent/sim_traffic.h"
#include "examples/agent/sim_watch.h"

namespace nekton {

struct SimReport {
  const SimRunOptions& options;
  const SimTraffic& traffic;
  const SimWatch& watch;
  std::optional<Duration> converged;
  bool converged_at_end = false;
  std::uint64_t inputs = 0;  // that members handled
  double wall_seconds = 0;
  std::uint64_t fingerprint = 0;

  Json ToJson() const;
  std::string ToText() const;

 private:
  double PerMemberPeriod(double count) const;
  double Datagrams() const;  // per member and period
  double Bytes() const;
  double Speed() const;
};

}  // namespace nekton
