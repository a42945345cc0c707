#include "bench/detector_quality/quality.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nekton::quality {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

DetectionTimes Summary(std::vector<Duration> times, std::uint64_t undetected) {
  DetectionTimes summary{.crashes = times.size(), .undetected = undetected};
  if (times.empty()) return summary;
  double sum = 0;
  for (const Duration time : times) sum += Seconds(time);
  summary.mean = sum / static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  const double rank = std::ceil(0.99 * static_cast<double>(times.size()));
  summary.p99 = Seconds(times[static_cast<std::size_t>(rank) - 1]);
  summary.max = Seconds(times.back());
  return summary;
}

// What would have happened, had the sender crashed at one of these instants.
class Crashes {
 public:
  Crashes(std::span<const Instant> instants, Instant begin) : left_(instants) {
    while (!left_.empty() && left_.front() < begin) left_ = left_.subspan(1);
  }
  bool AnyBefore(Instant until) const { return !left_.empty() && left_.front() < until; }
  // With the last beat before the crash came the suspicion that stays; `until` the next one was sent.
  void Detect(Instant suspected, Instant until) {
    for (; AnyBefore(until); left_ = left_.subspan(1)) {
      if (suspected == kNever) {
        ++undetected_;
      } else {
        times_.push_back(std::max(Duration::zero(), suspected - left_.front()));
      }
    }
  }
  DetectionTimes Times() && { return Summary(std::move(times_), undetected_); }

 private:
  std::span<const Instant> left_;
  std::vector<Duration> times_;
  std::uint64_t undetected_ = 0;
};

}  // namespace

double Quality::MistakesPerHour() const {
  return watched > Duration::zero() ? static_cast<double>(mistakes) / Seconds(watched) * 3600 : 0;
}

std::optional<double> Quality::MistakeSeconds() const {
  if (mistakes == 0) return std::nullopt;
  return Seconds(suspected) / static_cast<double>(mistakes);
}

double Quality::QueryAccuracy() const {
  return watched > Duration::zero() ? 1 - Seconds(suspected) / Seconds(watched) : 1;
}

Quality Measure(const Trace& trace, Contender* contender, std::size_t warmup, std::span<const Instant> crashes) {
  Quality quality;
  const std::vector<Beat>& beats = trace.beats;
  if (warmup >= beats.size()) return quality;
  quality.watched = beats.back().arrived - beats[warmup].arrived;
  Crashes imagined(crashes, beats[warmup].sent);
  std::optional<Instant> suspected_since;
  for (std::size_t i = 0; i + 1 < beats.size(); ++i) {
    const Beat& beat = beats[i];
    const Beat& next = beats[i + 1];
    contender->Heard(beat);
    // Most beats come in time, and no crash follows them: nobody asks then how much time there was.
    const bool crashes_here = i >= warmup && imagined.AnyBefore(next.sent);
    if (!crashes_here && !contender->Suspects(next.arrived - Duration(1))) {
      suspected_since.reset();
      continue;
    }
    const Instant due = contender->SuspectAt();
    // A beat that comes when even the next one is overdue ends no suspicion.
    const bool goes_on = due <= beat.arrived && suspected_since.has_value();
    const Instant since = goes_on ? *suspected_since : std::max(due, beat.arrived);
    const bool mistaken = since < next.arrived;
    if (crashes_here) imagined.Detect(since, next.sent);
    if (mistaken && i >= warmup) {
      if (!goes_on || i == warmup) ++quality.mistakes;
      quality.suspected += next.arrived - std::max(since, beat.arrived);
    }
    suspected_since = mistaken ? std::optional(since) : std::nullopt;
  }
  quality.detection = std::move(imagined).Times();
  return quality;
}

}  // namespace nekton::quality
