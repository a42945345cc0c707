#include "bench/detector_quality/trace.h"

#include "swim/random.h"

namespace nekton::quality {

std::vector<Instant> CrashInstants(const Trace& trace, std::size_t warmup, std::size_t count, std::uint64_t seed) {
  std::vector<Instant> instants;
  if (warmup >= trace.beats.size()) return instants;
  const Instant begin = trace.beats[warmup].sent;
  const auto part = static_cast<double>((trace.beats.back().sent - begin).count()) / static_cast<double>(count);
  Random random(seed);
  instants.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double at = part * (static_cast<double>(i) + random.Unit());
    instants.push_back(begin + Duration(static_cast<Duration::rep>(at)));
  }
  return instants;
}

}  // namespace nekton::quality
