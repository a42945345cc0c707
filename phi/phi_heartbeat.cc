#include "phi/phi_heartbeat.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "phi/exact_silence.h"
#include "phi/tail.h"

namespace nekton {
namespace {

// Each heartbeat weighs 1/128 in the share of lost ones.
constexpr int kLossMemory = 7;
constexpr double kLossUnits = 0x1p32;

// A whole number of heartbeats counts as lost between two that were heard.
std::uint32_t CountLost(std::uint32_t share, std::uint32_t lost) {
  constexpr auto kMost = static_cast<std::uint32_t>(PhiHeartbeat::kLossMax * kLossUnits);
  for (; lost > 0 && share < kMost; --lost) share += (UINT32_MAX - share) >> kLossMemory;
  share = std::min(share, kMost);
  return share - (share >> kLossMemory);
}

// What one awaited heartbeat adds to the level, as a whole number of 2^-48: so the sum is exact, and whatever is added
// in whatever order, it never falls. For the same reason the logarithm and the exponential are asked only for numbers
// that lie so far apart that their errors cannot show (see tail.h).
constexpr double kUnits = 0x1p48;
constexpr double kLn10 = 2.3025850929940456840;
constexpr double kLog10E = 0.43429448190325182765;

double OnGrid(double value) { return (value + 24) - 24; }  // of 2^-48, and coarser from 8 on

std::uint64_t Units(double share) { return static_cast<std::uint64_t>(-std::log(share) * (kLog10E * kUnits) + 0.5); }

// Where 10^-phi is nothing beside the least loss.
constexpr double kSurelyLost = 18;

std::uint64_t Weight(double phi, double loss) {
  const double share = loss + (1 - loss) * std::exp(OnGrid(phi) * -kLn10);
  return Units(OnGrid(share));
}

Duration Interval(const Distribution& expected) {
  return std::max(Duration(1), HeldNanoseconds(std::round(expected.mean())));
}

}  // namespace

PhiHeartbeat::PhiHeartbeat(const Options& options)
    : options_(options), surely_in_time_(0), pool_(options.mean, options.deviation) {
  if (options.law != Law::kNormal) return;
  const double deviations = NormalAt(options.threshold, 0, 1);
  // A little less, for what is rounded.
  if (deviations >= 1) surely_in_time_ = 1 + 0.99 * deviations * std::clamp(options.deviation_share, 0.0, 1.0);
}

Distribution PhiHeartbeat::Fitted(const Moments& moments) const {
  const auto least = static_cast<double>(options_.deviation_min.count());
  const double mean = std::max(moments.mean, least);
  return {options_.law, mean, std::max({std::sqrt(moments.variance), least, options_.deviation_share * mean})};
}

Distribution PhiHeartbeat::Expected(std::uint32_t peer) const {
  if (peer >= peers_.size() || peers_[peer].window.count() == 0) return Fitted(pool_.moments());
  const Peer& known = peers_[peer];
  if (known.fitted) return {options_.law, known.mean, known.deviation};
  const Distribution expected = Fitted(Pool::Shrink(known.window.moments(), known.pool));
  known.mean = expected.mean();
  known.deviation = expected.deviation();
  known.fitted = true;
  return expected;
}

double PhiHeartbeat::Loss(std::uint32_t peer) const {
  return peer < peers_.size() ? std::clamp(peers_[peer].lost / kLossUnits, kLossMin, kLossMax) : kLossMin;
}

Instant PhiHeartbeat::DeadlineFor(std::uint32_t peer, Instant opened) const {
  return ClassicAt(Expected(peer), opened, options_.threshold);
}

Instant PhiHeartbeat::ClassicAt(const Distribution& expected, Instant opened, double level) const {
  const Duration silence = expected.SilenceFor(level);
  if (silence == Duration::max()) return kNever;
  return Later(Later(opened, options_.acceptable_pause), std::max(silence, Duration(1)));
}

// Most samples are told from late ones without a square root or a division. The mean is never less than the lesser of
// the peer's own and the pool's, nor the deviation than its share of it.
bool PhiHeartbeat::SurelyInTime(const Peer& peer, Duration sample) const {
  const auto late = static_cast<double>((sample - options_.acceptable_pause).count());
  const auto total = static_cast<double>(peer.window.total()) * 1000;
  return late * static_cast<double>(peer.window.count()) <= surely_in_time_ * total &&
         late <= surely_in_time_ * peer.pool.mean;
}

void PhiHeartbeat::Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t beats) {
  Reserve(peer + 1);
  Peer& known = peers_[peer];
  Duration sample = std::max(Duration::zero(), now - opened);
  if (beats > 1) sample /= beats;
  known.lost = CountLost(known.lost, beats > 1 ? beats - 1 : 0);
  const bool in_time = SurelyInTime(known, sample) || sample <= DeadlineFor(peer, Instant{}) - Instant{};
  if (in_time) {
    known.clipped = 0;
    known.clipped_sum = 0;
  } else {
    sample = Clipped(known, sample, DeadlineFor(peer, Instant{}) - Instant{});
  }
  known.window.Add(sample);
  if (options_.pooled) pool_.Add(sample);
  known.pool = pool_.moments();
  known.fitted = false;
}

// One of a run of late samples: what it counts for. If it is the last, the window holds all but this one on return.
Duration PhiHeartbeat::Clipped(Peer& peer, Duration sample, Duration limit) {
  peer.clipped_sum += ToSample(sample);
  if (++peer.clipped < kClippedMax) return limit;
  const Duration mean = std::chrono::microseconds(peer.clipped_sum / kClippedMax);
  peer.clipped = 0;
  peer.clipped_sum = 0;
  peer.window.Clear();
  for (int i = 1; i < kClippedMax; ++i) peer.window.Add(mean);
  return mean;
}

double PhiHeartbeat::Level(std::uint32_t peer, Instant opened, Instant now) const {
  if (now <= opened) return 0;
  const Distribution expected = Expected(peer);
  return options_.loss_aware ? LossAwareLevel(expected, Loss(peer), now - opened)
                             : ClassicLevel(expected, now - opened);
}

double PhiHeartbeat::ClassicLevel(const Distribution& expected, Duration silence) const {
  return silence > options_.acceptable_pause ? expected.Phi(silence - options_.acceptable_pause) : 0;
}

double PhiHeartbeat::LossAwareLevel(const Distribution& expected, double loss, Duration silence) const {
  if (silence <= options_.acceptable_pause) return 0;
  const Duration interval = Interval(expected);
  // From the one awaited last, and so late the least, to the first that is surely lost: so are all before it.
  const Duration late = silence - options_.acceptable_pause - Duration(1);
  auto before = static_cast<std::uint64_t>(late / interval);
  Duration waited = late % interval + Duration(1);
  const std::uint64_t most = Units(loss);
  __extension__ typedef unsigned __int128 Wide;
  Wide sum = 0;
  for (int i = 0; i < kLateMax; ++i) {
    const double phi = expected.Phi(waited);
    if (phi >= kSurelyLost) break;
    sum += std::min(Weight(phi, loss), most);
    if (before-- == 0) return static_cast<double>(sum) / kUnits;
    waited += interval;
  }
  sum += (static_cast<Wide>(before) + 1) * most;
  return static_cast<double>(sum) / kUnits;
}

// As if one heartbeat made the difference: those before it are lost, those after it do not count yet.
Duration PhiHeartbeat::LossAwareGuess(const Distribution& expected, double loss, double level) const {
  const double most = static_cast<double>(Units(loss)) / kUnits;
  const double lost = std::floor(level / most);
  const double tail = (std::pow(10, lost * most - level) - loss) / (1 - loss);
  const double phi = tail > 0 ? std::min(-std::log10(tail), kSurelyLost) : kSurelyLost;
  return HeldNanoseconds(static_cast<double>(options_.acceptable_pause.count()) + lost * expected.mean() +
                         static_cast<double>(expected.SilenceFor(phi).count()));
}

Instant PhiHeartbeat::ReachedAt(std::uint32_t peer, Instant opened, double level) const {
  if (level <= 0) return opened;
  const Distribution expected = Expected(peer);
  if (!options_.loss_aware) return ClassicAt(expected, opened, level);
  const double loss = Loss(peer);
  const Duration silence = ExactSilence(LossAwareGuess(expected, loss, level), level,
                                        [&](Duration s) { return LossAwareLevel(expected, loss, s); });
  return silence == Duration::max() ? kNever : Later(opened, silence);
}

void PhiHeartbeat::Reserve(std::uint32_t peers) {
  if (peers <= peers_.size()) return;
  peers_.reserve(peers);  // just so many: they are few, and large
  peers_.resize(peers);
}

void PhiHeartbeat::Forget(std::uint32_t peer) {
  if (peer < peers_.size()) peers_[peer] = Peer();
}

}  // namespace nekton
