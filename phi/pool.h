// What is known of all peers together, for those of which little is known.
#pragma once

#include <cstdint>

#include "phi/time.h"
#include "phi/window.h"

namespace nekton {

// The decayed mean and variance of the samples of all peers. A value; allocates nothing. Thread-compatible.
//
// Weights are in samples: the prior weighs kPriorWeight, and the newest sample at least 1/kMemory.
class Pool {
 public:
  static constexpr std::uint32_t kPriorWeight = 8;
  static constexpr std::uint32_t kMemory = 1024;

  // What is assumed before anything was heard; both > 0.
  Pool(Duration mean, Duration deviation);

  // A negative sample counts as zero.
  void Add(Duration sample);

  Moments moments() const { return {.count = count_, .mean = mean_, .variance = variance_}; }
  // The peer's own moments, drawn toward the pool's as if kPriorWeight more samples of the peer had been like the
  // pool's: those of both sets taken together, so a peer that is unlike the pool has, at first, a wide deviation.
  Moments Shrink(const Moments& peer) const { return Shrink(peer, moments()); }
  // The same, given what moments() was at some time.
  static Moments Shrink(const Moments& peer, const Moments& pool);

 private:
  std::uint32_t count_ = kPriorWeight;
  double mean_;
  double variance_;
};

// What is kept of one peer where there are too many for windows: a decayed mean and standard deviation, and a small
// tally, in 8 bytes. The first 15 samples count alike, from then on each new one for a fifteenth (decayed as in Jacobson
// 1988).
class CompactStats {
 public:
  // Held within 0 and 2^32 - 1 quarters of a microsecond (17.9 minutes), the deviation within 8.3 s; both are rounded
  // to quarters.
  void Add(Duration sample);
  void Clear() { *this = CompactStats(); }
  // count is at most kMemory: such a peer never leaves the pool altogether.
  Moments moments() const;

  static constexpr std::uint32_t kMemory = 15;  // what fits beside the deviation

  // A count of the caller's, up to kTallyMax; samples do not change it, Clear does.
  static constexpr std::uint32_t kTallyMax = 7;
  std::uint32_t tally() const { return tally_; }
  void SetTally(std::uint32_t tally) { tally_ = tally & kTallyMax; }

 private:
  static constexpr int kCountBits = 4;
  static constexpr int kTallyBits = 3;
  static constexpr int kDeviationBits = 32 - kCountBits - kTallyBits;

  std::uint32_t mean_ = 0;
  std::uint32_t count_ : kCountBits = 0;
  std::uint32_t tally_ : kTallyBits = 0;
  std::uint32_t deviation_ : kDeviationBits = 0;
};
static_assert(sizeof(CompactStats) == 8);

}  // namespace nekton
