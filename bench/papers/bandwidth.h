// What single members send and receive from second to second.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/simulator.h"

namespace nekton::bench {

struct Rate {
  double mean = 0;  // KB/s (1,000 bytes)
  double p99 = 0;
  double max = 0;
};

// Bytes of datagrams, with 28 of the headers of UDP and IP for each, and of sent syncs, without the headers of TCP.
class Bandwidth {
 public:
  explicit Bandwidth(const Simulator& sim);
  // One sample of each member that ran at the last call too; a second after it.
  void Sample();
  Rate Sent() const;
  Rate Received() const;

 private:
  struct Total {
    bool runs = false;
    double sent = 0;
    double received = 0;
  };
  Total TotalOf(SimId id) const;

  const Simulator& sim_;
  std::vector<Total> before_;
  std::vector<double> sent_;  // KB
  std::vector<double> received_;
};

}  // namespace nekton::bench
