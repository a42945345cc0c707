#include "bench/detector_quality/contender.h"

#include <algorithm>

namespace nekton::quality {
namespace {

constexpr std::uint32_t kPeer = 0;

}  // namespace

void LibraryContender::Heard(const Beat& beat) {
  if (last_) {
    const std::uint64_t due = std::min<std::uint64_t>(beat.sequence - last_->sequence, UINT32_MAX);
    const std::uint32_t beats = verdict_ == Verdict::kLevel ? static_cast<std::uint32_t>(due) : 1;
    detector_->Heard(kPeer, last_->arrived, beat.arrived, beats);
  }
  last_ = beat;
}

Instant LibraryContender::SuspectAt() const {
  if (verdict_ == Verdict::kDeadline) return detector_->DeadlineFor(kPeer, last_->arrived);
  return detector_->ReachedAt(kPeer, last_->arrived, detector_->threshold());
}

bool LibraryContender::Suspects(Instant now) const {
  if (verdict_ == Verdict::kDeadline) return SuspectAt() <= now;
  return detector_->Level(kPeer, last_->arrived, now) >= detector_->threshold();
}

}  // namespace nekton::quality
