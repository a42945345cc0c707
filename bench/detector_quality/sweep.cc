#include "bench/detector_quality/sweep.h"

#include <array>

#include "phi/fixed_deadline.h"
#include "phi/phi_heartbeat.h"

namespace nekton::quality {
namespace {

constexpr std::size_t kChenWindow = 1000;

// In intervals: what is granted beyond the expected arrival.
constexpr std::array kMargins = {0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.7,  1.0,  1.05,
                                 1.2,  1.5,  2.0,  3.0, 5.0, 9.0, 16.0, 28.0, 50.0};
// Classic phi grows with the square of the silence, so that only absurd thresholds outlast a pause.
constexpr std::array kThresholds = {0.5,  1.0,  2.0,  3.0,  4.0,   6.0,   8.0,    12.0,   16.0,
                                    24.0, 32.0, 64.0, 96.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0};
// The loss-aware level grows in proportion to it.
constexpr std::array kLossAwareThresholds = {0.5, 1.0, 1.5, 1.8,  1.95, 2.0,  2.5,  3.0,  4.0,
                                             5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 32.0, 56.0, 100.0};

Duration Times(Duration interval, double factor) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(interval.count()) * factor));
}

double Milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::unique_ptr<Contender> MakePhi(Duration interval, double threshold, bool loss_aware) {
  PhiHeartbeat::Options options;
  options.threshold = threshold;
  options.mean = interval;
  options.deviation = interval / 10 + Duration(1);
  options.deviation_min = Duration(1);
  options.loss_aware = loss_aware;
  const auto verdict = loss_aware ? LibraryContender::Verdict::kLevel : LibraryContender::Verdict::kDeadline;
  return std::make_unique<LibraryContender>(std::make_unique<PhiHeartbeat>(options), verdict);
}

}  // namespace

std::vector<Setting> Settings(const Trace& trace) {
  const Duration interval = trace.interval;
  std::vector<Setting> settings;
  for (const double margin : kMargins) {
    const Duration limit = interval + Times(interval, margin);
    settings.push_back({"fixed", "timeout_ms", Milliseconds(limit), [=] {
                          return std::make_unique<LibraryContender>(std::make_unique<FixedDeadline>(limit, 1),
                                                                    LibraryContender::Verdict::kDeadline);
                        }});
  }
  for (const double margin : kMargins) {
    const Duration time = Times(interval, margin);
    settings.push_back({"chen", "margin_ms", Milliseconds(time),
                        [=] { return std::make_unique<ChenContender>(ChenEstimator(interval, kChenWindow), time); }});
  }
  for (const double threshold : kThresholds) {
    settings.push_back({"phi", "threshold", threshold, [=] { return MakePhi(interval, threshold, false); }});
  }
  for (const double threshold : kLossAwareThresholds) {
    settings.push_back({"phi-loss-aware", "threshold", threshold, [=] { return MakePhi(interval, threshold, true); }});
  }
  return settings;
}

}  // namespace nekton::quality
