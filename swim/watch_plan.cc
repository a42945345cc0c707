#include "swim/watch_plan.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

namespace nekton {
namespace {

// What the fixed detector grants, and the level that it has then.
constexpr int kFixedIntervals = 3;
constexpr double kConvicts = 8;

// A clock sends the pulses, so they are expected to be regular; the network makes some of them late, and loses some.
PhiHeartbeat::Options Expectation(Duration interval) {
  return {.threshold = kConvicts,
          .mean = interval,
          .deviation = interval / 4,
          .deviation_min = std::max<Duration>(std::chrono::milliseconds(1), interval / 100),
          .deviation_share = 0.1,
          .loss_aware = true,
          .pooled = false};
}

std::vector<double> Ascending(std::vector<double> thresholds) {
  std::sort(thresholds.begin(), thresholds.end());
  return thresholds;
}

}  // namespace

WatchPlan::WatchPlan(Duration interval, std::vector<double> thresholds)
    : interval_(interval),
      thresholds_(Ascending(std::move(thresholds))),
      fixed_(kFixedIntervals * interval, kConvicts),
      phi_(Expectation(interval)) {}

bool WatchPlan::Is(Duration interval, const std::vector<double>& thresholds) const {
  return interval == interval_ &&
         std::is_permutation(thresholds_.begin(), thresholds_.end(), thresholds.begin(), thresholds.end());
}

std::uint8_t WatchPlan::Sit() {
  const auto seat = static_cast<std::uint8_t>(std::countr_one(taken_));
  taken_ |= std::uint64_t{1} << seat;
  phi_.Reserve(seat + 1U);
  Forget(seat);
  return seat;
}

}  // namespace nekton
