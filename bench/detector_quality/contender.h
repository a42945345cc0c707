// A failure detector that is measured: it hears the beats of one peer and says when it would suspect it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "bench/detector_quality/chen_estimator.h"
#include "bench/detector_quality/trace.h"
#include "phi/detector.h"

namespace nekton::quality {

class Contender {
 public:
  virtual ~Contender() = default;
  // Beats come in the order of a trace.
  virtual void Heard(const Beat& beat) = 0;
  // The peer is suspected from then on if no further beat comes; may be in the past. One beat at least has been heard.
  virtual Instant SuspectAt() const = 0;
  // Whether it is suspected at `now`, if none has come: SuspectAt() <= now, for less work where that is possible.
  virtual bool Suspects(Instant now) const { return SuspectAt() <= now; }
};

// A detector of the library, by one of its two verdicts.
class LibraryContender final : public Contender {
 public:
  enum class Verdict {
    kDeadline,  // DeadlineFor(), and each beat is told as if there were no losses: the detectors of the literature
    kLevel,     // where Level() reaches threshold(), and the detector is told what was lost
  };
  LibraryContender(std::unique_ptr<Detector> detector, Verdict verdict)
      : detector_(std::move(detector)), verdict_(verdict) {}

  void Heard(const Beat& beat) override;
  Instant SuspectAt() const override;
  bool Suspects(Instant now) const override;

 private:
  std::unique_ptr<Detector> detector_;
  Verdict verdict_;
  std::optional<Beat> last_;
};

// Expected arrival and a constant safety margin.
class ChenContender final : public Contender {
 public:
  ChenContender(const ChenEstimator& estimator, Duration margin) : estimator_(estimator), margin_(margin) {}

  void Heard(const Beat& beat) override { estimator_.Heard(beat.sequence, beat.arrived); }
  Instant SuspectAt() const override { return Later(estimator_.Expected(), margin_); }

 private:
  ChenEstimator estimator_;
  Duration margin_;
};

}  // namespace nekton::quality
