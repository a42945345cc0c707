// The quality of failure detectors, by hand on small traces; the traces that are made up; Chen's estimator; reports.
#include "bench/detector_quality/quality.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/detector_quality/chen_estimator.h"
#include "bench/detector_quality/contender.h"
#include "bench/detector_quality/report.h"
#include "bench/detector_quality/sweep.h"
#include "bench/detector_quality/synthetic.h"
#include "bench/detector_quality/trace.h"
#include "bench/detector_quality/trace_file.h"
#include "phi/fixed_deadline.h"

namespace nekton::quality {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Instant Ms(std::int64_t ms) { return Instant(milliseconds(ms)); }

// Beats 1 to `count`, sent every second from 1 s on and there at once.
Trace Regular(std::uint64_t count) {
  Trace trace{.name = "regular", .description = "", .interval = seconds(1), .beats = {}, .due = count};
  for (std::uint64_t i = 1; i <= count; ++i) {
    const Instant at{seconds(i)};
    trace.beats.push_back({i, at, at});
  }
  return trace;
}

// Of ten, the fifth is 0.7 s late.
Trace OneLate() {
  Trace trace = Regular(10);
  trace.beats[4].arrived += milliseconds(700);
  return trace;
}

std::unique_ptr<Contender> Fixed(Duration limit) {
  return std::make_unique<LibraryContender>(std::make_unique<FixedDeadline>(limit, 1),
                                            LibraryContender::Verdict::kDeadline);
}

Quality MeasureFixed(const Trace& trace, Duration limit, std::size_t warmup, const std::vector<Instant>& crashes) {
  return Measure(trace, Fixed(limit).get(), warmup, crashes);
}

TEST(QualityTest, ALateBeatIsOneMistake) {
  const Quality quality = MeasureFixed(OneLate(), milliseconds(1500), 0, {});
  EXPECT_EQ(quality.mistakes, 1U);
  EXPECT_EQ(quality.suspected, milliseconds(200));
  EXPECT_EQ(quality.watched, seconds(9));
  EXPECT_DOUBLE_EQ(quality.MistakesPerHour(), 400);
  EXPECT_DOUBLE_EQ(quality.MistakeSeconds().value(), 0.2);
  EXPECT_DOUBLE_EQ(quality.QueryAccuracy(), 1 - 0.2 / 9);
}

TEST(QualityTest, ABeatAtTheDeadlineIsInTime) {
  EXPECT_EQ(MeasureFixed(OneLate(), milliseconds(1700), 0, {}).mistakes, 0U);
  const Quality quality = MeasureFixed(OneLate(), milliseconds(1700) - Duration(1), 0, {});
  EXPECT_EQ(quality.mistakes, 1U);
  EXPECT_EQ(quality.suspected, Duration(1));
  EXPECT_FALSE(MeasureFixed(Regular(10), seconds(1), 0, {}).MistakeSeconds().has_value());
}

TEST(QualityTest, ACrashIsDetectedByWhatWasSentBefore) {
  // Right after the second beat; in the middle after the fourth; with the late one on the way; and at another place.
  const Quality quality = MeasureFixed(OneLate(), milliseconds(1500), 0, {Ms(2000), Ms(4500), Ms(5000), Ms(9250)});
  EXPECT_EQ(quality.detection.crashes, 4U);
  EXPECT_EQ(quality.detection.undetected, 0U);
  EXPECT_DOUBLE_EQ(quality.detection.mean, (1.5 + 1.0 + 2.2 + 1.25) / 4);
  EXPECT_DOUBLE_EQ(quality.detection.p99, 2.2);
  EXPECT_DOUBLE_EQ(quality.detection.max, 2.2);
}

TEST(QualityTest, ACrashRightAfterABeatIsDetectedAtTheDeadline) {
  for (int limit = 1000; limit <= 5000; limit += 500) {
    const Quality quality = MeasureFixed(Regular(10), milliseconds(limit), 0, {Ms(3000)});
    EXPECT_DOUBLE_EQ(quality.detection.max, limit / 1000.0);
  }
}

TEST(QualityTest, OneCrashInAHundredMayTakeLonger) {
  std::vector<Instant> crashes;
  for (int i = 0; i < 200; ++i) crashes.push_back(Ms(3000 + 2 * i));
  const Quality quality = MeasureFixed(Regular(10), milliseconds(1500), 0, crashes);
  EXPECT_DOUBLE_EQ(quality.detection.max, 1.5);
  EXPECT_DOUBLE_EQ(quality.detection.p99, 1.496) << "the 198th of 200";
}

TEST(QualityTest, WhatIsNeverDetectedIsCounted) {
  const Quality quality = MeasureFixed(Regular(10), Duration::max(), 0, {Ms(3000), Ms(4000)});
  EXPECT_EQ(quality.detection.undetected, 2U);
  EXPECT_EQ(quality.detection.crashes, 0U);
}

TEST(QualityTest, TheWarmupIsNotMeasured) {
  const Quality quality = MeasureFixed(OneLate(), milliseconds(1500), 4, {Ms(4999), Ms(5000), Ms(10000), Ms(10001)});
  EXPECT_EQ(quality.mistakes, 0U);
  EXPECT_EQ(quality.watched, milliseconds(4300));
  EXPECT_EQ(quality.detection.crashes, 1U);
  EXPECT_EQ(MeasureFixed(OneLate(), milliseconds(1500), 3, {}).mistakes, 1U);
  EXPECT_EQ(MeasureFixed(OneLate(), milliseconds(1500), 10, {}).watched, Duration::zero());
}

// From the fifth on, all beats are 2 s late. Chen's average of the last four follows: it expects number 6 at 6.5 s, when
// number 5 has not even come, so that one ends no suspicion; number 7 at 8 s, and it comes at 9 s; number 8 at 9.5 s.
TEST(QualityTest, ABeatThatIsOverdueItselfEndsNoSuspicion) {
  Trace trace = Regular(9);
  for (std::size_t i = 4; i < 9; ++i) trace.beats[i].sent = trace.beats[i].arrived += seconds(2);
  ChenContender chen(ChenEstimator(seconds(1), 4), milliseconds(500));
  const Quality quality = Measure(trace, &chen, 0, std::vector{Ms(7250), Ms(8250)});
  EXPECT_EQ(quality.mistakes, 2U) << "from 5.5 to 8 s, and from 8.5 to 9 s";
  EXPECT_EQ(quality.suspected, seconds(3));
  EXPECT_DOUBLE_EQ(quality.detection.max, 0.25) << "the first crash came when it was suspected already";
  EXPECT_DOUBLE_EQ(quality.detection.mean, 0.125);
}

TEST(ChenEstimatorTest, ExpectsExactlyTheNextBeatOfARegularSender) {
  ChenEstimator chen(milliseconds(100), 1000);
  for (int i = 0; i < 3000; ++i) {
    chen.Heard(static_cast<std::uint64_t>(7 + i), Ms(5000 + 100 * i));
    ASSERT_EQ(chen.Expected(), Ms(5100 + 100 * i));
  }
}

TEST(ChenEstimatorTest, LossesDoNotMisleadIt) {
  ChenEstimator chen(milliseconds(100), 3);
  chen.Heard(1, Ms(100));
  chen.Heard(2, Ms(200));
  chen.Heard(40, Ms(4000));
  EXPECT_EQ(chen.Expected(), Ms(4100));
}

TEST(ChenEstimatorTest, AveragesWhatIsInTheWindow) {
  ChenEstimator chen(milliseconds(100), 2);
  chen.Heard(1, Ms(100));
  chen.Heard(2, Ms(230));
  EXPECT_EQ(chen.Expected(), Ms(315));
  chen.Heard(3, Ms(310));
  EXPECT_EQ(chen.Expected(), Ms(420)) << "the first has left";
}

class Recorder final : public Detector {
 public:
  explicit Recorder(std::vector<std::uint32_t>* beats) : beats_(beats) {}
  Instant DeadlineFor(std::uint32_t, Instant opened) const override { return Later(opened, seconds(10)); }
  void Heard(std::uint32_t, Instant, Instant, std::uint32_t beats) override { beats_->push_back(beats); }
  double Level(std::uint32_t, Instant opened, Instant now) const override { return now >= opened + seconds(20); }
  Instant ReachedAt(std::uint32_t, Instant opened, double) const override { return Later(opened, seconds(20)); }
  double threshold() const override { return 1; }
  void SetThreshold(double) override {}
  void Reserve(std::uint32_t) override {}
  void Forget(std::uint32_t) override {}

 private:
  std::vector<std::uint32_t>* beats_;
};

TEST(ContenderTest, OnlyTheLevelIsToldOfLosses) {
  for (const auto verdict : {LibraryContender::Verdict::kDeadline, LibraryContender::Verdict::kLevel}) {
    const bool level = verdict == LibraryContender::Verdict::kLevel;
    std::vector<std::uint32_t> beats;
    LibraryContender contender(std::make_unique<Recorder>(&beats), verdict);
    for (const std::uint64_t sequence : {1U, 2U, 5U, 6U}) contender.Heard({sequence, Ms(0), Ms(1000)});
    EXPECT_THAT(beats, level ? ElementsAre(1, 3, 1) : ElementsAre(1, 1, 1));
    EXPECT_EQ(contender.SuspectAt(), level ? Ms(21000) : Ms(11000));
  }
}

TEST(ContenderTest, SuspectsFromTheInstantOn) {
  const Trace trace = WanTrace(3, 2000);
  for (const Setting& setting : Settings(trace)) {
    const std::unique_ptr<Contender> contender = setting.make();
    for (std::size_t i = 0; i < trace.beats.size(); ++i) {
      contender->Heard(trace.beats[i]);
      if (i % 50 != 49) continue;
      const Instant at = contender->SuspectAt();
      EXPECT_TRUE(contender->Suspects(at)) << setting.detector << ' ' << setting.value;
      EXPECT_FALSE(contender->Suspects(at - Duration(1))) << setting.detector << ' ' << setting.value;
    }
  }
}

// The mean loss of traces whose losses come in runs that begin on their own, and its standard error.
class Losses {
 public:
  void Add(const Trace& trace) {
    due_ += static_cast<double>(trace.due);
    lost_ += static_cast<double>(trace.due) * trace.Loss();
    for (std::size_t i = 1; i < trace.beats.size(); ++i) {
      const auto run = static_cast<double>(trace.beats[i].sequence - trace.beats[i - 1].sequence - 1);
      squares_ += run * run;
    }
  }
  void Expect(double stated) const {
    const double error = std::sqrt(squares_) / due_;
    EXPECT_NEAR(lost_ / due_, stated, 4 * error);
    EXPECT_LT(error, stated / 5) << "too short to tell";
  }

 private:
  double due_ = 0;
  double lost_ = 0;
  double squares_ = 0;
};

TEST(SyntheticTest, LossesAreAsStated) {
  Losses wan;  // a few long bursts hold most of them
  for (std::uint64_t seed = 1; seed <= 5; ++seed) wan.Add(WanTrace(seed, 2'000'000));
  wan.Expect(0.00399);
  Losses lan;
  lan.Add(LanTrace(1, 500'000));
  lan.Expect(0.0001);
  Losses burst;
  burst.Add(GcTrace(1, 500'000, AfterPause::kBurst));
  burst.Expect(0.0001);
  Losses skip;
  skip.Add(GcTrace(1, 500'000, AfterPause::kSkip));
  const double pause = 3.8 / std::log(20);
  skip.Expect(pause / (60 + pause));
}

TEST(SyntheticTest, TheWanHasTheMomentsOfItsTwin) {
  const Trace trace = WanTrace(2, 1'000'000);
  double sum = 0;
  double squares = 0;
  for (const Beat& beat : trace.beats) {
    const double ms = std::chrono::duration<double, std::milli>(beat.arrived - beat.sent).count();
    sum += ms;
    squares += ms * ms;
  }
  const auto n = static_cast<double>(trace.beats.size());
  const double mean = sum / n;
  // Some 1200 spikes: their mean is known to 5 %, their deviation to about as much.
  EXPECT_NEAR(mean, 283.338 / 2, 0.05 * 3 * 4.6);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 27.342 / std::sqrt(2), 0.05 * 3 * 19.3);
  const Duration sending = trace.beats.back().sent - trace.beats.front().sent;
  const auto intervals = static_cast<double>(trace.beats.back().sequence - trace.beats.front().sequence);
  EXPECT_NEAR(static_cast<double>(sending.count()) / intervals * 1e-6, 103.501, 4 * 0.189 / std::sqrt(intervals));
}

TEST(SyntheticTest, TracesAreInOrder) {
  for (const Trace& trace : SyntheticTraces(5, 20'000)) {
    ASSERT_GT(trace.beats.size(), 19'000U) << trace.name;
    EXPECT_EQ(trace.due, 20'000U);
    for (std::size_t i = 0; i < trace.beats.size(); ++i) {
      const Beat& beat = trace.beats[i];
      ASSERT_GE(beat.arrived, beat.sent) << trace.name;
      if (i == 0) continue;
      const Beat& before = trace.beats[i - 1];
      ASSERT_TRUE(before.sequence < beat.sequence && before.sent <= beat.sent && before.arrived <= beat.arrived)
          << trace.name << ' ' << beat.sequence;
    }
  }
}

std::vector<Duration> Arrivals(const Trace& trace) {
  std::vector<Duration> arrivals;
  for (const Beat& beat : trace.beats) arrivals.push_back(beat.arrived.time_since_epoch());
  return arrivals;
}

TEST(SyntheticTest, TheSeedIsTheTrace) {
  const std::vector<Trace> some = SyntheticTraces(5, 3000);
  const std::vector<Trace> same = SyntheticTraces(5, 3000);
  const std::vector<Trace> others = SyntheticTraces(6, 3000);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(Arrivals(some[i]), Arrivals(same[i]));
    EXPECT_NE(Arrivals(some[i]), Arrivals(others[i]));
  }
}

TEST(SyntheticTest, AfterAPauseBeatsComeAtOnceOrNotAtAll) {
  const Trace burst = GcTrace(1, 100'000, AfterPause::kBurst);
  const Trace skip = GcTrace(1, 100'000, AfterPause::kSkip);
  std::size_t together = 0;
  for (std::size_t i = 1; i < burst.beats.size(); ++i) {
    together += burst.beats[i].sent == burst.beats[i - 1].sent ? 1 : 0;
  }
  EXPECT_GT(together, 1000U);
  for (std::size_t i = 1; i < skip.beats.size(); ++i) {
    ASSERT_GT(skip.beats[i].sent - skip.beats[i - 1].sent, milliseconds(99));
    ASSERT_LT(skip.beats[i].sent - skip.beats[i - 1].sent, milliseconds(4400));
  }
}

TEST(TraceTest, CrashesAreSpreadOverWhatIsMeasured) {
  const Trace trace = Regular(101);
  const std::vector<Instant> crashes = CrashInstants(trace, 1, 99, 7);
  ASSERT_EQ(crashes.size(), 99U);
  for (std::size_t i = 0; i < crashes.size(); ++i) {
    EXPECT_GE(crashes[i], Instant(seconds(2 + i)));
    EXPECT_LT(crashes[i], Instant(seconds(3 + i)));
  }
  EXPECT_EQ(crashes, CrashInstants(trace, 1, 99, 7));
  EXPECT_NE(crashes, CrashInstants(trace, 1, 99, 8));
  EXPECT_TRUE(CrashInstants(trace, 101, 99, 7).empty());
}

absl::StatusOr<Trace> Parse(const std::string& text) {
  std::istringstream in(text);
  return ParseTrace(in, "t");
}

TEST(TraceFileTest, ReadsWhatArrived) {
  const absl::StatusOr<Trace> trace =
      Parse("# sequence arrival\n\n10 5000000000\n11\t5100000000\r\n 14 5400000000\n13 5410000000\n15 5500000000");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->beats.size(), 4U) << "13 came after 14";
  EXPECT_EQ(trace->interval, milliseconds(100));
  EXPECT_EQ(trace->due, 6U);
  EXPECT_EQ(trace->beats[2].sequence, 14U);
  EXPECT_EQ(trace->beats[2].arrived, Ms(400));
  EXPECT_EQ(trace->beats[2].sent, Ms(400));
}

TEST(TraceFileTest, SaysWhichLineIsWrong) {
  const auto error = [](const std::string& text) { return std::string(Parse(text).status().message()); };
  EXPECT_THAT(error("1 10\n\n2\n"), HasSubstr("t:3: \"2\" must be SEQUENCE ARRIVAL_NS"));
  EXPECT_THAT(error("1 10\n2 20 30\n"), HasSubstr("t:2: \"2 20 30\" must be"));
  EXPECT_THAT(error("1 10\n-2 20\n"), HasSubstr("t:2: SEQUENCE must be a whole number"));
  EXPECT_THAT(error("1 10\n2 2.5\n"), HasSubstr("t:2: ARRIVAL_NS must be a whole number"));
  EXPECT_THAT(error("1 10\n2 -1\n"), HasSubstr("t:2: ARRIVAL_NS must be"));
  EXPECT_THAT(error("1 10\n2 9223372036854775808\n"), HasSubstr("t:2: ARRIVAL_NS must be"));
  EXPECT_THAT(error("1 10\n2 9\n"), HasSubstr("t:2: ARRIVAL_NS must not be less"));
  EXPECT_THAT(error("1 10\n1 20\n"), HasSubstr("fewer than two beats"));
  EXPECT_THAT(error(""), HasSubstr("fewer than two beats"));
  EXPECT_THAT(error("1 10\n1000 11\n"), HasSubstr("less than 1 ns apart"));
  EXPECT_THAT(error("1 0\n2 9223372036854775807\n"), HasSubstr("longer than 100 days"));
  EXPECT_EQ(ReadTrace("/no/such/file").status().code(), absl::StatusCode::kNotFound);
}

TEST(ReportTest, TableAndJsonAgree) {
  const Row row{"wan", "fixed", "timeout_ms", 1500,
                MeasureFixed(OneLate(), milliseconds(1500), 0, {Ms(2000), Ms(4500), Ms(5000), Ms(9250)})};
  const auto json = nlohmann::json::parse(JsonLine(row));
  std::istringstream table(TableLine(row));
  std::string detector;
  std::string parameter;
  table >> detector >> parameter;
  EXPECT_EQ(json.at("detector"), detector);
  EXPECT_EQ(json.at("parameter"), parameter);
  for (const char* key : {"value", "detection_mean_s", "detection_p99_s", "detection_max_s", "mistakes",
                          "mistakes_per_hour", "mistake_duration_s", "query_accuracy"}) {
    double shown = -1;
    table >> shown;
    EXPECT_NEAR(json.at(key).get<double>(), shown, 6e-5) << key;
  }
  EXPECT_EQ(json.at("crashes"), 4);
  EXPECT_EQ(json.at("undetected"), 0);
  EXPECT_EQ(json.at("watched_s"), 9.0);
}

TEST(ReportTest, WithoutAMistakeNoneHasALength) {
  const Row row{"wan", "fixed", "timeout_ms", 1500, MeasureFixed(Regular(10), Duration::max(), 0, {Ms(3000)})};
  EXPECT_TRUE(nlohmann::json::parse(JsonLine(row)).at("mistake_duration_s").is_null());
  EXPECT_THAT(TableLine(row), HasSubstr(" - "));
  EXPECT_THAT(TableLine(row), HasSubstr("undetected: 1"));
  EXPECT_THAT(TableHead(Regular(10)), HasSubstr("10 beats arrived"));
}

// A detector that waits longer detects later and is wrong less.
TEST(SweepTest, OnTheWanPatienceCostsTimeAndSparesMistakes) {
  const Trace trace = WanTrace(1, 30'000);
  const std::vector<Instant> crashes = CrashInstants(trace, 1000, 2000, 1);
  std::string detector;
  Quality before;
  Quality first;
  for (const Setting& setting : Settings(trace)) {
    const Quality quality = Measure(trace, setting.make().get(), 1000, crashes);
    EXPECT_EQ(quality.detection.undetected, 0U);
    if (setting.detector != detector) {
      detector = setting.detector;
      first = quality;
      EXPECT_GT(first.mistakes, 100U) << detector;
    } else {
      EXPECT_GT(quality.detection.mean, before.detection.mean) << detector << ' ' << setting.value;
      EXPECT_GE(quality.QueryAccuracy(), before.QueryAccuracy()) << detector << ' ' << setting.value;
      EXPECT_LT(quality.mistakes, first.mistakes) << detector << ' ' << setting.value;
      if (detector == "fixed") {
        EXPECT_LE(quality.mistakes, before.mistakes) << setting.value;
      }
    }
    before = quality;
  }
}

}  // namespace
}  // namespace nekton::quality
