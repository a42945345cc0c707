#include "phi/phi_probe.h"

#include <algorithm>
#include <cmath>

namespace nekton {

PhiProbe::PhiProbe(const Options& options) : options_(options), pool_(options.mean, options.deviation) {}

Moments PhiProbe::Known(std::uint32_t peer) const { return peer < peers_.size() ? peers_[peer].moments() : Moments{}; }

Distribution PhiProbe::Expected(std::uint32_t peer) const {
  const Moments moments = pool_.Shrink(Known(peer));
  const double deviation = std::max({std::sqrt(moments.variance), static_cast<double>(options_.deviation_min.count()),
                                     options_.deviation_share * moments.mean});
  return Distribution(Law::kLogNormal, moments.mean, deviation);
}

Instant PhiProbe::DeadlineFor(std::uint32_t peer, Instant opened) const {
  return Later(opened, Expected(peer).SilenceFor(options_.threshold));
}

void PhiProbe::Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t /*beats*/) {
  Reserve(peer + 1);
  const Duration sample = std::max(Duration::zero(), now - opened);
  const Duration limit = Expected(peer).SilenceFor(options_.threshold);
  CompactStats& known = peers_[peer];
  if (sample > limit && known.tally() + 1 == kClippedMax) {
    known.Clear();
    known.Add(sample);
    pool_.Add(sample);
    return;
  }
  known.SetTally(sample > limit ? known.tally() + 1 : 0);
  known.Add(std::min(sample, limit));
  pool_.Add(std::min(sample, limit));
}

void PhiProbe::Reserve(std::uint32_t peers) {
  if (peers > peers_.size()) peers_.resize(peers);
}

double PhiProbe::Level(std::uint32_t peer, Instant opened, Instant now) const {
  return Expected(peer).Phi(now - opened);
}

Instant PhiProbe::ReachedAt(std::uint32_t peer, Instant opened, double level) const {
  const Duration silence = Expected(peer).SilenceFor(level);
  return silence == Duration::max() ? kNever : Later(opened, silence);
}

void PhiProbe::Forget(std::uint32_t peer) {
  if (peer < peers_.size()) peers_[peer].Clear();
}

}  // namespace nekton
