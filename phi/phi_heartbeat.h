// The phi-accrual detector for heartbeats: the next one is overdue when its lateness is improbable, given this peer's
// last 128 intervals.
//
// Source: Hayashibara et al., "The phi accrual failure detector" (SRDS 2004), 4.3; intervals are taken as normal, since
// a clock sends them. What is new here against the paper: peers of which little is known are drawn toward all peers
// (phi/pool.h); outliers are clipped, so that one outage does not blunt the detector; and the level knows that messages
// get lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/detector.h"
#include "phi/distribution.h"
#include "phi/pool.h"
#include "phi/window.h"

namespace nekton {

class PhiHeartbeat final : public Detector {
 public:
  struct Options {
    double threshold = 8;  // > 0: one heartbeat in 10^threshold comes later than its deadline
    Duration mean{};       // of the intervals of a peer of which nothing is known, and their deviation; > 0
    Duration deviation{};
    Duration deviation_min{};       // no deviation is taken to be less than this (> 0), nor a mean,
    double deviation_share = 0.05;  // nor a deviation than this share of the mean
    Duration acceptable_pause{};    // granted on top of every interval: phi of silence - acceptable_pause, and none
                                    // until then; >= 0
    Law law = Law::kNormal;
    bool loss_aware = true;  // of the level alone; false: the level is classic phi, as the deadline is
    bool pooled = true;      // false: peers of which little is known are drawn toward mean and deviation alone, so
                             // none has any influence on another
  };
  // So many samples beyond the point of suspicion in a row are a new normal: the window begins anew, with as many
  // samples of their mean.
  static constexpr std::uint8_t kClippedMax = 8;
  // No peer's loss is taken to be less or more.
  static constexpr double kLossMin = 0.01;
  static constexpr double kLossMax = 0.5;
  // A heartbeat that is late by so many intervals counts as lost in Level, whatever the law says.
  static constexpr int kLateMax = 64;
  // What a peer takes once it was heard.
  static constexpr std::size_t kPeerBytes = 600;

  explicit PhiHeartbeat(const Options& options);

  // Classic phi >= threshold, of the time since `opened` alone: lost messages count in full. (What convicts asks again
  // before it accuses; so a single lost heartbeat costs a question.)
  Instant DeadlineFor(std::uint32_t peer, Instant opened) const override;
  // The sample is the time since `opened`, shared out among the `beats`. Beyond the deadline it is clipped to it. Who
  // has committed a death meanwhile must not call this: the gap is no interval.
  void Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t beats) override;
  // The sum of -log10(p + (1 - p) 10^-phi) over all heartbeats that are due by now, each awaited one mean interval after
  // the one before; p is the measured share of lost ones, held within kLossMin and kLossMax. So each weighs at most
  // -log10 p (2 at 1 % loss), and no single lost message convicts.
  double Level(std::uint32_t peer, Instant opened, Instant now) const override;
  Instant ReachedAt(std::uint32_t peer, Instant opened, double level) const override;
  double threshold() const override { return options_.threshold; }
  void SetThreshold(double threshold) override;
  void Reserve(std::uint32_t peers) override;
  void Forget(std::uint32_t peer) override;

  // As it is expected now. Of a peer that was heard this changes only when it is heard again, so neither its deadline
  // nor its level move with what others do meanwhile.
  Distribution Expected(std::uint32_t peer) const;
  double Loss(std::uint32_t peer) const;  // as it is counted: within kLossMin and kLossMax

 private:
  // A law's mean and deviation in nanoseconds, held as a Distribution's are.
  struct Fit {
    double mean = 0;
    double deviation = 0;
  };
  struct Peer {
    Window window;
    Moments pool;                   // when the peer was last heard: what is expected of it changes then and only then
    mutable Fit fit;                // what follows from both, once it was asked for
    std::uint64_t clipped_sum = 0;  // us, of the samples clipped in a row
    std::uint32_t lost = 0;         // the decayed share, in 2^-32
    std::uint8_t clipped = 0;       // in a row
    mutable bool fitted = false;
  };
  static_assert(sizeof(Peer) == kPeerBytes);

  bool SurelyInTime(const Peer& peer, Duration sample) const;
  static Duration Clipped(Peer& peer, Duration sample, Duration limit);
  Fit Fitted(const Moments& moments) const;
  Fit FitOf(std::uint32_t peer) const;
  Instant ClassicAt(const Distribution& expected, Instant opened, double level) const;
  double ClassicLevel(const Distribution& expected, Duration silence) const;
  double LossAwareLevel(Fit fit, double loss, Duration silence) const;
  Duration LossAwareGuess(const Distribution& expected, double loss, double level) const;

  Options options_;
  double surely_in_time_ = 0;  // what the mean is multiplied with; 0 if that says nothing
  Pool pool_;
  std::vector<Peer> peers_;
};

}  // namespace nekton
