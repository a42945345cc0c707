// Runs that failure detectors in the field did not stand, each as a plain sequence of heartbeats.
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "phi/fixed_deadline.h"
#include "phi/phi_heartbeat.h"
#include "swim/random.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Duration kInterval = seconds(1);
constexpr Duration kPause = seconds(3);
constexpr std::uint32_t kPeer = 0;
constexpr double kThreshold = 8;

struct Named {
  std::string name;
  std::unique_ptr<Detector> detector;
};

PhiHeartbeat::Options PhiOptions(Duration acceptable_pause, bool loss_aware) {
  return {.threshold = kThreshold,
          .mean = kInterval,
          .deviation = milliseconds(100),
          .deviation_min = milliseconds(100),
          .acceptable_pause = acceptable_pause,
          .loss_aware = loss_aware};
}

std::vector<Named> Detectors(Duration acceptable_pause) {
  std::vector<Named> all;
  all.push_back({"fixed", std::make_unique<FixedDeadline>(kInterval + acceptable_pause, kThreshold)});
  all.push_back({"phi", std::make_unique<PhiHeartbeat>(PhiOptions(acceptable_pause, false))});
  all.push_back({"loss-aware phi", std::make_unique<PhiHeartbeat>(PhiOptions(acceptable_pause, true))});
  return all;
}

// A peer's heartbeats as an observer hears them.
class Stream {
 public:
  explicit Stream(Detector& detector) : detector_(detector) {}

  void Beat(Duration interval) {
    const Instant now = last_ + interval;
    detector_.Heard(kPeer, last_, now, 1);
    last_ = now;
  }
  void Beats(int times, Duration interval = kInterval, Duration jitter = {}) {
    for (int i = 0; i < times; ++i) {
      const double off = (2 * random_.Unit() - 1) * static_cast<double>(jitter.count());
      Beat(interval + Duration(std::llround(off)));
    }
  }
  // It was held dead meanwhile: the heartbeat that ends it opens an expectation, but is no sample.
  void CommittedDeath(Duration silence) { last_ += silence; }

  double Level(Duration silence) const { return detector_.Level(kPeer, last_, last_ + silence); }
  bool Convicts(Duration silence) const { return detector_.DeadlineFor(kPeer, last_) <= last_ + silence; }
  Duration Detection() const { return detector_.DeadlineFor(kPeer, last_) - last_; }

 private:
  Detector& detector_;
  Instant last_{seconds(1000)};
  Random random_{1};
};

void ExpectSound(const Stream& stream) {
  EXPECT_EQ(stream.Level(seconds(-1)), 0) << "before the last heartbeat";
  double last = 0;
  for (const Duration silence : {Duration(0), Duration(milliseconds(1)), Duration(seconds(1)), Duration(seconds(10)),
                                 Duration(hours(1)), Duration(hours(30 * 24))}) {
    const double level = stream.Level(silence);
    EXPECT_TRUE(std::isfinite(level)) << silence.count();
    EXPECT_GE(level, last) << silence.count();
    last = level;
  }
}

// A thousand intervals of exactly one second have no variance at all. It must not be divided by, nor may rounding make
// it negative; the next heartbeat may still be a tenth of a second late; and the peer's death is still noticed.
TEST(FieldPhiTest, PerfectlyRegularHeartbeatsGiveAFiniteLevelThatIsNeitherDeafNorNervous) {
  for (const Named& each : Detectors(milliseconds(500))) {
    SCOPED_TRACE(each.name);
    Stream stream(*each.detector);
    stream.Beats(1000);
    ExpectSound(stream);
    EXPECT_FALSE(stream.Convicts(milliseconds(1100)));
    EXPECT_LT(stream.Level(milliseconds(1100)), kThreshold);
    EXPECT_TRUE(stream.Convicts(seconds(3)));
    EXPECT_GE(stream.Level(seconds(10)), kThreshold) << "well before an hour";
  }
}

// The same with no pause granted: all that keeps phi from convicting at 1,001 ms is the floor of the deviation.
TEST(FieldPhiTest, TheFloorOfTheDeviationAloneKeepsPhiFromConvictingATenthOfASecondLate) {
  for (const bool loss_aware : {false, true}) {
    PhiHeartbeat detector(PhiOptions(Duration(0), loss_aware));
    Stream stream(detector);
    stream.Beats(1000);
    ExpectSound(stream);
    EXPECT_FALSE(stream.Convicts(milliseconds(1100)));
    EXPECT_LT(stream.Level(milliseconds(1100)), 2);
    EXPECT_TRUE(stream.Convicts(seconds(2)));
  }
}

// Heartbeats that were queued come all at once: intervals of nothing, mean zero.
TEST(FieldPhiTest, HeartbeatsAllAtOnceGiveAFiniteLevel) {
  for (const Named& each : Detectors(milliseconds(500))) {
    SCOPED_TRACE(each.name);
    Stream stream(*each.detector);
    stream.Beats(1000, Duration(0));
    ExpectSound(stream);
    EXPECT_FALSE(stream.Convicts(milliseconds(500)));
    EXPECT_TRUE(stream.Convicts(seconds(10)));
    stream.Beats(10);
    ExpectSound(stream);
  }
}

// One minute without a heartbeat, then half a minute of beats, then a crash. If the minute were stored as one more
// interval, the detector would be tolerant of minutes from then on, and the crash go unnoticed for as long.
TEST(FieldPhiTest, ALongGapDoesNotDelayTheNoticeOfTheNextCrash) {
  for (const Duration jitter : {Duration(0), Duration(milliseconds(100)), Duration(milliseconds(300))}) {
    for (std::size_t which = 0; which < 3; ++which) {
      const auto detection = [&](auto gap) {
        const std::vector<Named> all = Detectors(Duration(0));
        Stream stream(*all[which].detector);
        stream.Beats(200, kInterval, jitter);
        gap(stream);
        stream.Beats(30, kInterval, jitter);
        return stream.Detection();
      };
      const Duration undisturbed = detection([](Stream&) {});
      const Duration committed = detection([](Stream& stream) { stream.CommittedDeath(seconds(60)); });
      const Duration heard = detection([](Stream& stream) { stream.Beat(seconds(60)); });
      SCOPED_TRACE(testing::Message() << "detector " << which << ", jitter " << jitter.count() << " ns, undisturbed "
                                      << undisturbed.count() << " ns");
      EXPECT_GE(undisturbed, kInterval);
      EXPECT_LT(undisturbed, seconds(3));
      EXPECT_EQ(committed, undisturbed) << "the gap across a conviction is no sample";
      EXPECT_LE(heard, undisturbed * 12 / 10) << "and where nobody convicted, it is clipped";
    }
  }
}

// The acceptable pause counts from when the next heartbeat is expected, in both detectors: else a swap of detectors
// under one configuration would change when a peer is convicted by as much as an interval. Fixed: interval + pause = 4 s,
// and that instant convicts. Phi: 5.6 deviations later, of at least 0.1 s: at 4.561 s, and a little more if the peer
// does not keep time so well.
TEST(FieldPhiTest, BothDetectorsCountTheAcceptablePauseFromTheNextHeartbeat) {
  for (const Named& each : Detectors(kPause)) {
    SCOPED_TRACE(each.name);
    Stream stream(*each.detector);
    stream.Beats(200);
    for (const int ms : {2900, 3500, 3900}) {
      EXPECT_FALSE(stream.Convicts(milliseconds(ms))) << ms;
      EXPECT_LT(stream.Level(milliseconds(ms)), kThreshold) << ms;
    }
    EXPECT_FALSE(stream.Convicts(seconds(4) - nanoseconds(1)));
    if (each.name == "fixed") {
      EXPECT_EQ(stream.Detection(), seconds(4));
      EXPECT_EQ(stream.Level(seconds(4)), kThreshold);
    } else {
      EXPECT_GT(stream.Detection(), milliseconds(4500));
      EXPECT_LT(stream.Detection(), milliseconds(4700));
    }
    EXPECT_TRUE(stream.Convicts(seconds(6)));
  }
}

}  // namespace
}  // namespace nekton
