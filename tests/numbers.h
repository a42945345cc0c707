// Tests that measure: how much of it the environment asks for, and what came out, in seconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "phi/time.h"

namespace nekton {

inline std::uint64_t NumberFromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

inline double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// The smallest value that is not exceeded by this share of them; `values` is not empty.
inline Duration Quantile(std::vector<Duration> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size()) + 0.999999);
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

}  // namespace nekton
