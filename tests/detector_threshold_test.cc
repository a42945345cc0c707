// A detector whose threshold is changed convicts from then on as one that had it from the beginning.
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "phi/fixed_deadline.h"
#include "phi/phi_heartbeat.h"
#include "phi/phi_probe.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

using Make = std::unique_ptr<Detector> (*)(double threshold);
const Make kMakers[] = {
    [](double threshold) -> std::unique_ptr<Detector> { return std::make_unique<FixedDeadline>(3s, threshold); },
    [](double threshold) -> std::unique_ptr<Detector> {
      return std::make_unique<PhiProbe>(PhiProbe::Options{.threshold = threshold, .mean = 30ms, .deviation = 10ms});
    },
    [](double threshold) -> std::unique_ptr<Detector> {
      return std::make_unique<PhiHeartbeat>(
          PhiHeartbeat::Options{.threshold = threshold, .mean = 1s, .deviation = 100ms, .deviation_min = 10ms});
    },
};

TEST(DetectorThreshold, ItIsAsIfItHadBeenSoFromTheBeginning) {
  for (const Make make : kMakers) {
    for (const double threshold : {0.5, 2.0, 12.0}) {
      const std::unique_ptr<Detector> changed = make(5);
      const std::unique_ptr<Detector> fresh = make(threshold);
      changed->SetThreshold(threshold);
      EXPECT_EQ(changed->threshold(), threshold);
      Instant opened{1000s};
      // Ever later answers, so that what is clipped shows, too.
      for (int i = 0; i < 50; ++i) {
        const Instant now = opened + 20ms * (i % 7) + 1s * (i % 11);
        changed->Heard(1, opened, now, 1);
        fresh->Heard(1, opened, now, 1);
        EXPECT_EQ(changed->DeadlineFor(1, now), fresh->DeadlineFor(1, now));
        EXPECT_EQ(changed->Level(1, now, now + 1700ms), fresh->Level(1, now, now + 1700ms));
        opened = now;
      }
    }
  }
}

TEST(DetectorThreshold, WhatWasLearnedStays) {
  for (const Make make : kMakers) {
    const std::unique_ptr<Detector> changed = make(5);
    const std::unique_ptr<Detector> same = make(5);
    Instant now{1000s};
    for (int i = 0; i < 20; ++i) {
      changed->Heard(1, now, now + 1200ms, 1);
      same->Heard(1, now, now + 1200ms, 1);
      now += 1200ms;
    }
    changed->SetThreshold(9);
    changed->SetThreshold(5);
    EXPECT_EQ(changed->DeadlineFor(1, now), same->DeadlineFor(1, now));
  }
}

}  // namespace
}  // namespace nekton
