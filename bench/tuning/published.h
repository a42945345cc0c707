// What the Lifeguard paper publishes of its own two parameters: nine points, as shares of SWIM's figures there.
//
// Source: Dadgar, Phillips, Currey, "Lifeguard", arXiv 1707.00788v2, table VII (K 3, all parts): the Interval
// experiment, 4320 runs each, of real processes. Shares can be set beside a simulator's, absolute figures hardly.
#pragma once

#include <array>

namespace nekton::bench {

struct PublishedPoint {
  int alpha = 0;
  int beta = 0;
  // Percent of SWIM's.
  double median_first = 0;
  double median_full = 0;
  double p99_first = 0;
  double p99_full = 0;
  double p999_first = 0;
  double p999_full = 0;
  double fp = 0;             // false positives
  double fp_at_healthy = 0;  // of these, at members that suffer no anomaly
};

inline constexpr std::array<PublishedPoint, 9> kPublishedPoints = {{
    {2, 2, 53.14, 55.12, 69.81, 73.07, 76.08, 76.20, 98.37, 31.15},
    {2, 4, 54.10, 56.28, 72.88, 76.96, 75.41, 75.11, 43.64, 22.47},
    {2, 6, 54.34, 56.74, 75.53, 79.15, 80.36, 78.58, 24.16, 13.65},
    {4, 2, 82.96, 84.42, 94.28, 97.05, 99.07, 92.17, 37.72, 20.29},
    {4, 4, 83.04, 84.03, 96.17, 96.69, 93.71, 95.14, 8.04, 9.50},
    {4, 6, 83.12, 84.42, 96.82, 96.52, 94.69, 92.71, 3.18, 4.83},
    {5, 2, 99.76, 99.92, 104.95, 105.73, 112.32, 107.64, 26.61, 15.38},
    {5, 4, 99.52, 99.61, 102.71, 105.08, 111.44, 107.93, 5.43, 5.05},
    {5, 6, 100.08, 100.08, 105.54, 106.62, 109.28, 107.49, 1.53, 1.89},
}};

}  // namespace nekton::bench
