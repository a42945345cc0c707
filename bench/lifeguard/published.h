// What the Lifeguard paper published of its Interval experiment, to stand beside ours.
//
// Source: Dadgar, Phillips, Currey, arXiv 1707.00788v2, tables IV, V and VI: real processes on one machine, all 432
// points 10 times.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nekton::bench {

struct Published {
  std::string_view protocol;  // by our name
  std::uint64_t runs = 0;
  std::uint64_t false_positives = 0;
  std::uint64_t false_positives_at_healthy = 0;
  std::array<double, 3> first{};  // s: median, 99 %, 99.9 %
  std::array<double, 3> full{};
  double messages_percent = 0;  // of SWIM's
  double bytes_percent = 0;
};

std::span<const Published> PublishedResults();
std::string JsonLine(const Published& published);  // with the keys of Summary's, and "published": true
std::string Text(const Published& published);      // two lines of Summary's table

}  // namespace nekton::bench
