// The settings of Lifeguard's experiments: how many members suffer, for how long, and how often.
//
// Source: Dadgar, Phillips, Currey, "Lifeguard: Local Health Awareness for More Accurate Failure Detection", DSN 2018,
// arXiv 1707.00788, section V.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nekton::bench {

inline constexpr std::array<std::uint32_t, 9> kBlockedCounts = {1, 4, 8, 12, 16, 20, 24, 28, 32};
inline constexpr std::array<std::uint32_t, 6> kBlockedTimes = {128, 512, 2048, 8192, 16384, 32768};   // ms
inline constexpr std::array<std::uint32_t, 8> kNormalTimes = {1, 4, 16, 64, 256, 1024, 4096, 16384};  // ms

struct Point {
  std::uint32_t blocked = 1;   // C, members
  std::uint32_t block_ms = 0;  // D
  // I, between two anomalies of an Interval run. nullopt: one anomaly only, the Threshold experiment.
  std::optional<std::uint32_t> normal_ms;
  friend bool operator==(const Point&, const Point&) = default;
};
std::string Name(const Point& point);                    // "8/2048/64", "8/2048"
std::optional<Point> ParsePoint(std::string_view text);  // as Name writes it; any numbers above 0
std::uint64_t SaltOf(const Point& point);                // different for different points

std::vector<Point> ThresholdPoints();  // 54
std::vector<Point> IntervalPoints();   // 432
// 60 of the Interval points, fixed: C 1, 8, 16, 32; D 512 ms to 32768 ms; I 64, 1024, 16384 ms.
std::vector<Point> SubsetPoints();
// "subset", "threshold", "interval", or "full": the last two together. nullopt: no such set.
std::optional<std::vector<Point>> PointsOf(std::string_view set);
// Every `share`-th of them, from the one with the index seed % share on: as many seeds in a row take each point once.
std::vector<Point> Sample(const std::vector<Point>& points, std::uint64_t share, std::uint64_t seed);  // share > 0

}  // namespace nekton::bench
