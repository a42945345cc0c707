// What was measured, as text and as JSON: a line each, with its line feed. In the table figures are rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/tuning/measures.h"
#include "bench/tuning/published.h"
#include "bench/tuning/settings.h"

namespace nekton::bench {

struct TuningRow {
  std::string_view table;  // "rules", "grid"
  Setting setting;
  std::size_t number = 0;  // from 1
  std::size_t of = 0;      // rows that are measured
  std::uint64_t seed = 1;
  Measures measures;
};

// What was not measured is null. Every count has the 95 % Poisson interval of its mean, in the unit of its rate.
std::string TuningJson(const TuningRow& row);
std::string TuningText(const TuningRow& row);
std::string TuningTextHead();

// Only what the paper gives.
std::string PublishedJson(const PublishedPoint& point);
std::string PublishedText(const PublishedPoint& point);
std::string PublishedTextHead();

}  // namespace nekton::bench
