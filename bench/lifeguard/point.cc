#include "bench/lifeguard/point.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nekton::bench {
namespace {

template <typename Counts, typename Blocks, typename Normals>
std::vector<Point> Grid(const Counts& counts, const Blocks& blocks, const Normals& normals) {
  std::vector<Point> points;
  for (const std::uint32_t count : counts) {
    for (const std::uint32_t block : blocks) {
      for (const auto normal : normals) points.push_back({count, block, normal});
    }
  }
  return points;
}

}  // namespace

std::string Name(const Point& point) {
  const std::string name = absl::StrCat(point.blocked, "/", point.block_ms);
  return point.normal_ms ? absl::StrCat(name, "/", *point.normal_ms) : name;
}

std::optional<Point> ParsePoint(std::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(absl::string_view(text.data(), text.size()), '/');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::vector<std::uint32_t> numbers;
  for (const absl::string_view part : parts) {
    std::uint32_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number == 0) return std::nullopt;
    numbers.push_back(number);
  }
  Point point{numbers[0], numbers[1], std::nullopt};
  if (numbers.size() == 3) point.normal_ms = numbers[2];
  return point;
}

std::uint64_t SaltOf(const Point& point) {
  return std::uint64_t{point.blocked} << 48 | std::uint64_t{point.block_ms} << 24 | point.normal_ms.value_or(0);
}

std::vector<Point> ThresholdPoints() {
  return Grid(kBlockedCounts, kBlockedTimes, std::array{std::optional<std::uint32_t>()});
}

std::vector<Point> IntervalPoints() { return Grid(kBlockedCounts, kBlockedTimes, kNormalTimes); }

std::vector<Point> SubsetPoints() {
  return Grid(std::array{1U, 8U, 16U, 32U}, std::array{512U, 2048U, 8192U, 16384U, 32768U},
              std::array{64U, 1024U, 16384U});
}

std::optional<std::vector<Point>> PointsOf(std::string_view set) {
  if (set == "subset") return SubsetPoints();
  if (set == "threshold") return ThresholdPoints();
  if (set == "interval") return IntervalPoints();
  if (set != "full") return std::nullopt;
  std::vector<Point> points = ThresholdPoints();
  for (const Point& point : IntervalPoints()) points.push_back(point);
  return points;
}

std::vector<Point> Sample(const std::vector<Point>& points, std::uint64_t share, std::uint64_t seed) {
  std::vector<Point> some;
  for (std::uint64_t i = seed % share; i < points.size(); i += share) some.push_back(points[i]);
  return some;
}

}  // namespace nekton::bench
