#include "phi/phi_function.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "phi/tail.h"
#include "swim/random.h"

namespace nekton {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MATCHER_P2(Refuses, name, value, "") {
  return arg.status().code() == absl::StatusCode::kInvalidArgument &&
         testing::ExplainMatchResult(AllOf(HasSubstr(name), HasSubstr(value)), std::string(arg.status().message()),
                                     result_listener);
}

// The five examples of FD.
TEST(PhiTest, ExamplesOfTheDescription) {
  const double stable = Phi(1200, 1000, 50).value();
  const double variable = Phi(1200, 1000, 300).value();
  EXPECT_GT(stable, 4.49);
  EXPECT_LT(stable, 4.51);
  EXPECT_GT(variable, 0.59);
  EXPECT_LT(variable, 0.61);
  EXPECT_TRUE(stable > 2 && variable < 2);
  EXPECT_DOUBLE_EQ(Phi(1200, 1000, 50, 200).value(), std::log10(2));
  EXPECT_GT(Phi(1300, 1000, 50).value(), stable);
}

TEST(PhiTest, StaysFiniteWhereTheTailUnderflows) {
  const double far = Phi(1e6, 1000, 50).value();
  EXPECT_TRUE(std::isfinite(far));
  EXPECT_LT(far, Phi(1e6 + 1, 1000, 50).value());
  EXPECT_EQ(Phi(1e308, 0, 1e-308).value(), kMaxPhi);
  EXPECT_EQ(Phi(0, 1e308, 1e-308).value(), 0);
}

TEST(PhiTest, MarginIsGranted) {
  EXPECT_EQ(Phi(1500, 1000, 50, 300).value(), Phi(1200, 1000, 50).value());
  EXPECT_EQ(Phi(0, 1000, 500, 0).value(), NormalPhi(0, 1000, 500));
  EXPECT_LT(Phi(0, 1000, 500, 100).value(), Phi(0, 1000, 500).value());
}

TEST(PhiTest, BadArgumentsAreNamed) {
  EXPECT_THAT(Phi(-1, 1000, 50), Refuses("silence", "-1"));
  EXPECT_THAT(Phi(kNan, 1000, 50), Refuses("silence", "nan"));
  EXPECT_THAT(Phi(kInfinity, 1000, 50), Refuses("silence", "inf"));
  EXPECT_THAT(Phi(1200, kNan, 50), Refuses("mean", "nan"));
  EXPECT_THAT(Phi(1200, -kInfinity, 50), Refuses("mean", "-inf"));
  EXPECT_THAT(Phi(1200, 1000, 0), Refuses("sigma", "is 0"));
  EXPECT_THAT(Phi(1200, 1000, -0.5), Refuses("sigma", "-0.5"));
  EXPECT_THAT(Phi(1200, 1000, kNan), Refuses("sigma", "nan"));
  EXPECT_THAT(Phi(1200, 1000, kInfinity), Refuses("sigma", "inf"));
  EXPECT_THAT(Phi(1200, 1000, 50, -2), Refuses("pause_margin", "-2"));
  EXPECT_THAT(Phi(1200, 1000, 50, kNan), Refuses("pause_margin", "nan"));
  EXPECT_THAT(Phi(1200, 1000, 50, kInfinity), Refuses("pause_margin", "inf"));
}

TEST(ThresholdTest, IsTheLogarithmOfTheRatio) {
  EXPECT_DOUBLE_EQ(ThresholdFor(1, 1e-8).value(), 8);
  EXPECT_DOUBLE_EQ(ThresholdFor(100, 0.1).value(), 3);
  EXPECT_EQ(ThresholdFor(5, 5).value(), 0);
  // One mistake a week, a test a second.
  EXPECT_NEAR(ThresholdFor(1, 1.0 / (7 * 24 * 3600)).value(), 5.78, 0.01);
  EXPECT_NEAR(ThresholdFor(1e300, 1e-300).value(), 600, 1e-9);
}

TEST(ThresholdTest, BadArgumentsAreNamed) {
  EXPECT_THAT(ThresholdFor(0, 1), Refuses("tests_per_second", "is 0"));
  EXPECT_THAT(ThresholdFor(-3, 1), Refuses("tests_per_second", "-3"));
  EXPECT_THAT(ThresholdFor(kNan, 1), Refuses("tests_per_second", "nan"));
  EXPECT_THAT(ThresholdFor(kInfinity, 1), Refuses("tests_per_second", "inf"));
  EXPECT_THAT(ThresholdFor(1, 0), Refuses("mistakes_per_second", "is 0"));
  EXPECT_THAT(ThresholdFor(1, kNan), Refuses("mistakes_per_second", "nan"));
  EXPECT_THAT(ThresholdFor(1, kInfinity), Refuses("mistakes_per_second", "inf"));
  EXPECT_THAT(ThresholdFor(1, 2), Refuses("mistakes_per_second", "is 2"));
}

TEST(LossAwareTest, WithoutLossItIsClassicPhi) {
  for (const double phi : {0.0, 1e-300, 0.3, 8.0, 400.0, 1e300}) {
    EXPECT_EQ(LossAwarePhi(phi, 0), phi);
    EXPECT_EQ(LossAwareSum(std::vector<double>{phi}, 0).value(), phi);
  }
}

TEST(LossAwareTest, AgreesWithTheFormula) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double phi = std::exp(random.Unit() * 8 - 5);  // up to 20: far from any underflow
    const double loss = random.Unit();
    const long double tail = std::pow(10.0L, -static_cast<long double>(phi));
    const auto want = static_cast<double>(-std::log10(loss + (1 - static_cast<long double>(loss)) * tail));
    EXPECT_NEAR(LossAwarePhi(phi, loss), want, 1e-14 * (want + 1e-3)) << phi << " " << loss;
  }
}

TEST(LossAwareTest, OneLostMessageNeverWeighsMoreThanItsLikelihood) {
  for (const double loss : {0.01, 0.05, 0.5}) {
    double last = 0;
    for (double phi = 0; phi < 1000; phi += 0.37) {
      const double level = LossAwarePhi(phi, loss);
      EXPECT_LE(level, phi);
      EXPECT_LE(level, -std::log10(loss) * (1 + 1e-15));
      EXPECT_GE(level, last);
      last = level;
    }
    EXPECT_NEAR(last, -std::log10(loss), 1e-14);
  }
}

TEST(LossAwareTest, NeverExceedsPhiByARounding) {
  Random random(2);
  for (int i = 0; i < 10'000; ++i) {
    const double phi = random.Unit() * 200;
    EXPECT_LE(LossAwarePhi(phi, 1e-300), phi);
    EXPECT_NEAR(LossAwarePhi(phi, 1e-300), phi, 1e-14 * phi);
  }
}

TEST(LossAwareTest, StaysExactWhereItsPartsUnderflow) {
  // 10^-400 is no double. With a loss of 10^-300 it does not matter, with none it is all there is.
  EXPECT_NEAR(LossAwarePhi(400, 1e-300), 300, 1e-12);
  EXPECT_NEAR(LossAwarePhi(290, 1e-300), 290, 1e-9);
  EXPECT_NEAR(LossAwarePhi(320, 1e-320), -std::log10(2e-320), 1e-3);  // 1e-320 has four digits
  EXPECT_NEAR(LossAwarePhi(kMaxPhi, 0.01), 2, 1e-14);
  // And at the other end: (1 - p) times a small phi.
  EXPECT_NEAR(LossAwarePhi(1e-200, 0.25), 0.75e-200, 1e-214);
  EXPECT_EQ(LossAwarePhi(0, 0.25), 0);
}

TEST(LossAwareTest, SumsOverExpectations) {
  const std::vector<double> open = {8, 3, 0.5};
  const double want = LossAwarePhi(8, 0.01) + LossAwarePhi(3, 0.01) + LossAwarePhi(0.5, 0.01);
  EXPECT_DOUBLE_EQ(LossAwareSum(open, 0.01).value(), want);
  EXPECT_EQ(LossAwareSum({}, 0.01).value(), 0);
  EXPECT_EQ(LossAwareSum(std::vector<double>{kMaxPhi, kMaxPhi}, 0).value(), kMaxPhi);
}

TEST(LossAwareTest, BadArgumentsAreNamed) {
  const std::vector<double> open = {8, 3};
  EXPECT_THAT(LossAwareSum(open, -0.1), Refuses("loss", "-0.1"));
  EXPECT_THAT(LossAwareSum(open, 1), Refuses("loss", "is 1"));
  EXPECT_THAT(LossAwareSum(open, kNan), Refuses("loss", "nan"));
  EXPECT_THAT(LossAwareSum(std::vector<double>{1, -4}, 0.1), Refuses("phi", "-4"));
  EXPECT_THAT(LossAwareSum(std::vector<double>{kInfinity}, 0.1), Refuses("phi", "inf"));
  EXPECT_THAT(LossAwareSum(std::vector<double>{kNan}, 0.1), Refuses("phi", "nan"));
}

}  // namespace
}  // namespace nekton
