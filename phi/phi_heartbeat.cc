#include "phi/phi_heartbeat.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "phi/exact_silence.h"
#include "phi/level_units.h"
#include "phi/normal_tail.h"
#include "phi/tail.h"

namespace nekton {
namespace {

// Each heartbeat weighs 1/128 in the share of lost ones.
constexpr int kLossMemory = 7;
constexpr double kLossUnits = 0x1p32;

constexpr double kLn10 = 2.3025850929940456840;

// A whole number of heartbeats counts as lost between two that were heard.
std::uint32_t CountLost(std::uint32_t share, std::uint32_t lost) {
  constexpr auto kMost = static_cast<std::uint32_t>(PhiHeartbeat::kLossMax * kLossUnits);
  for (; lost > 0 && share < kMost; --lost) share += (UINT32_MAX - share) >> kLossMemory;
  share = std::min(share, kMost);
  return share - (share >> kLossMemory);
}

// Where 10^-phi is nothing beside the least loss.
constexpr double kSurelyLost = 18;

// Tail is P(X > waited). It never rises as `waited` grows, from one nanosecond to the next, and is 0 where SurelyLost.
struct NormalLaw {
  double mean;
  double per_deviation;
  double Score(double waited) const { return (waited - mean) * per_deviation; }
  bool SurelyLost(double waited) const { return Score(waited) >= kNormalTailEnd; }
  double Tail(double waited) const { return NormalTail(Score(waited)); }
};
struct AnyLaw {
  Distribution expected;
  double Phi(double waited) const { return expected.Phi(HeldNanoseconds(waited)); }
  bool SurelyLost(double waited) const { return Phi(waited) >= kSurelyLost; }
  double Tail(double waited) const {
    const double phi = Phi(waited);
    // In steps of 2^-48, and coarser from 8 on: so far apart that the errors of the exponential cannot show.
    return phi >= kSurelyLost ? 0 : std::exp(((phi + 24) - 24) * -kLn10);
  }
};

// What a lost one adds. Of most peers the loss is the least.
std::uint64_t Most(double loss) {
  constexpr std::uint64_t kOfLeast = LevelUnits(PhiHeartbeat::kLossMin);
  return loss > PhiHeartbeat::kLossMin ? LevelUnits(loss) : kOfLeast;
}

// The level after `late` (>= 0) more than the acceptable pause and a nanosecond. Whole units are summed, so whatever is
// added in whatever order, the sum never falls.
template <typename Arrival>
double Sum(const Arrival& law, double loss, Duration interval, Duration late) {
  // From the one awaited last, and so late the least, to the first that is surely lost: so are all before it.
  const auto before = static_cast<std::uint64_t>(late / interval);
  auto waited = static_cast<std::uint64_t>((late % interval).count()) + 1;
  const auto step = static_cast<std::uint64_t>(interval.count());
  const auto ns = [](std::uint64_t time) { return static_cast<double>(static_cast<std::int64_t>(time)); };
  const auto units = [&](double tail) { return LevelUnits(loss + (1 - loss) * tail); };
  std::uint64_t sum = 0;
  std::uint64_t i = 0;
  // By twos: whether the first is late enough to count, and the next not surely lost, is hard to foresee.
  for (; i < PhiHeartbeat::kLateMax && !law.SurelyLost(ns(waited)) && i <= before; i += 2) {
    sum += units(law.Tail(ns(waited)));
    sum += units(law.Tail(ns(waited + step))) * (i < before ? 1 : 0);
    waited += 2 * step;
  }
  const std::uint64_t lost = before + 1 - std::min(before + 1, i);
  const std::uint64_t most = Most(loss);
  constexpr std::uint64_t kFew = 1 << 12;
  if (lost < kFew) return static_cast<double>(static_cast<std::int64_t>(sum + lost * most)) / kLevelUnits;
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<double>(sum + static_cast<Wide>(lost) * most) / kLevelUnits;
}

}  // namespace

PhiHeartbeat::PhiHeartbeat(const Options& options) : options_(options), pool_(options.mean, options.deviation) {
  SetThreshold(options.threshold);
}

void PhiHeartbeat::SetThreshold(double threshold) {
  options_.threshold = threshold;
  surely_in_time_ = 0;
  if (options_.law != Law::kNormal) return;
  const double deviations = NormalAt(threshold, 0, 1);
  // A little less, for what is rounded.
  if (deviations >= 1) surely_in_time_ = 1 + 0.99 * deviations * std::clamp(options_.deviation_share, 0.0, 1.0);
}

PhiHeartbeat::Fit PhiHeartbeat::Fitted(const Moments& moments) const {
  const auto least = static_cast<double>(options_.deviation_min.count());
  const double mean = std::max(moments.mean, least);
  const double deviation = std::max({std::sqrt(moments.variance), least, options_.deviation_share * mean});
  const Distribution held(options_.law, mean, deviation);
  return {.mean = held.mean(), .deviation = held.deviation()};
}

PhiHeartbeat::Fit PhiHeartbeat::FitOf(std::uint32_t peer) const {
  if (peer >= peers_.size() || peers_[peer].window.count() == 0) return Fitted(pool_.moments());
  const Peer& known = peers_[peer];
  if (!known.fitted) {
    known.fit = Fitted(Pool::Shrink(known.window.moments(), known.pool));
    known.fitted = true;
  }
  return known.fit;
}

Distribution PhiHeartbeat::Expected(std::uint32_t peer) const {
  const Fit fit = FitOf(peer);
  return {options_.law, fit.mean, fit.deviation};
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
  return options_.loss_aware ? LossAwareLevel(FitOf(peer), Loss(peer), now - opened)
                             : ClassicLevel(Expected(peer), now - opened);
}

double PhiHeartbeat::ClassicLevel(const Distribution& expected, Duration silence) const {
  return silence > options_.acceptable_pause ? expected.Phi(silence - options_.acceptable_pause) : 0;
}

double PhiHeartbeat::LossAwareLevel(Fit fit, double loss, Duration silence) const {
  if (silence <= options_.acceptable_pause) return 0;
  const Duration late = silence - options_.acceptable_pause - Duration(1);
  const auto interval = Duration(static_cast<Duration::rep>(fit.mean + 0.5));  // the mean is at least 1 ns
  if (options_.law == Law::kNormal) return Sum(NormalLaw{fit.mean, 1 / fit.deviation}, loss, interval, late);
  return Sum(AnyLaw{{options_.law, fit.mean, fit.deviation}}, loss, interval, late);
}

// As if one heartbeat made the difference: those before it are lost, those after it do not count yet.
Duration PhiHeartbeat::LossAwareGuess(const Distribution& expected, double loss, double level) const {
  const double most = static_cast<double>(Most(loss)) / kLevelUnits;
  const double lost = std::floor(level / most);
  const double tail = (std::pow(10, lost * most - level) - loss) / (1 - loss);
  const double phi = tail > 0 ? std::min(-std::log10(tail), kSurelyLost) : kSurelyLost;
  return HeldNanoseconds(static_cast<double>(options_.acceptable_pause.count()) + lost * expected.mean() +
                         static_cast<double>(expected.SilenceFor(phi).count()));
}

Instant PhiHeartbeat::ReachedAt(std::uint32_t peer, Instant opened, double level) const {
  if (level <= 0) return opened;
  if (!options_.loss_aware) return ClassicAt(Expected(peer), opened, level);
  const Fit fit = FitOf(peer);
  const double loss = Loss(peer);
  const Duration silence = ExactSilence(LossAwareGuess(Expected(peer), loss, level), level,
                                        [&](Duration s) { return LossAwareLevel(fit, loss, s); });
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
