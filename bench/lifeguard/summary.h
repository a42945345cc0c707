// What many trials of one protocol came to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/lifeguard/trial.h"

namespace nekton::bench {

class Summary {
 public:
  // `seed`: of the first run of each point.
  Summary(std::string protocol, Block block, std::uint64_t seed)
      : protocol_(std::move(protocol)), block_(block), seed_(seed) {}

  void Add(const Point& point, std::uint64_t seed, const TrialResult& result);

  // One line of JSON, with its line feed. `label` says what the trials were: a point, or a set of them.
  std::string JsonLine(const std::string& label) const;
  // Two lines of a table, and one for each trial with a false positive (ten at most).
  std::string Text() const;
  static std::string TextHead();

  std::uint64_t runs() const { return runs_; }
  std::uint64_t false_positives() const { return sum_.false_positives; }

 private:
  struct Removal {  // of anomalies of one length
    std::uint64_t anomalies = 0;
    std::uint64_t removed = 0;
  };
  double PerRun(std::uint64_t count) const;

  std::string protocol_;
  Block block_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
  std::uint64_t ungathered_ = 0;
  TrialResult sum_;  // its times are those of anomalies of 16384 ms and longer
  std::uint64_t long_anomalies_ = 0;
  std::uint64_t missed_long_ = 0;
  std::uint64_t suspected_ = 0;
  std::map<std::uint32_t, Removal> removals_;  // by D
  std::vector<std::string> violations_;
};

}  // namespace nekton::bench
