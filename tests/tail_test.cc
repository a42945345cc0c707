#include "phi/tail.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/source_dir.h"

namespace nekton {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

// One of the laws with its parameters.
struct Tail {
  std::string law;
  double first = 0;
  double second = 0;

  double Phi(double x) const {
    if (law == "normal") return NormalPhi(x, first, second);
    if (law == "lognormal") return LogNormalPhi(x, first, second);
    if (law == "exponential") return ExponentialPhi(x, first);
    if (law == "gamma") return GammaPhi(x, first, second);
    ADD_FAILURE() << law;
    return kNan;
  }
  double At(double phi) const {
    if (law == "normal") return NormalAt(phi, first, second);
    if (law == "lognormal") return LogNormalAt(phi, first, second);
    if (law == "exponential") return ExponentialAt(phi, first);
    return GammaAt(phi, first, second);
  }
  std::string ToString() const { return law + " " + std::to_string(first) + " " + std::to_string(second); }
};

struct Row {
  Tail tail;
  double x = 0;
  double phi = 0;
  std::string text;
};

// Every row or a failure. The values have 50 digits behind them, for exactly the doubles that the columns name.
std::vector<Row> ReferenceRows() {
  std::ifstream in(SourceDir() + "/tests/data/phi_reference.csv");
  std::string line;
  EXPECT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "dist,param1,param2,elapsed,phi");
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    Row row{.tail = {}, .x = 0, .phi = 0, .text = line};
    EXPECT_TRUE(std::getline(fields, row.tail.law, ','));
    for (double* number : {&row.tail.first, &row.tail.second, &row.x, &row.phi}) {
      std::string field;
      EXPECT_TRUE(std::getline(fields, field, ',')) << line;
      char* end = nullptr;
      *number = std::strtod(field.c_str(), &end);  // takes numbers below the normal ones, which stod refuses
      EXPECT_TRUE(!field.empty() && *end == '\0') << line;
    }
    rows.push_back(row);
  }
  return rows;
}

double StandardScore(const Tail& tail, double x) {
  return ((tail.law == "lognormal" ? std::log(x) : x) - tail.first) / tail.second;
}

// The bounds that tail.h states.
double Bound(const Row& row) {
  if (row.phi == 0) return 0;
  const bool gamma = row.tail.law == "gamma";
  if (row.tail.law == "exponential") return 1e-15;
  if (row.phi >= 0.01 && !gamma) return 1e-14;
  if (gamma) return row.phi >= 0.01 && row.tail.first <= 1000 ? 1e-12 : 2e-14 * (1 + row.tail.first);
  const double z = StandardScore(row.tail, row.x);
  return 4e-15 * (1 + z * z);
}

TEST(TailTest, AgreesWithEveryRowOfTheReference) {
  std::map<std::string, int> rows_of;
  for (const Row& row : ReferenceRows()) {
    ++rows_of[row.tail.law];
    const double phi = row.tail.Phi(row.x);
    // Numbers below the normal ones have fewer digits.
    EXPECT_LE(std::abs(phi - row.phi), row.phi * Bound(row) + 2 * kSmallest) << row.text << ": " << phi;
  }
  EXPECT_EQ(rows_of,
            (std::map<std::string, int>{{"normal", 76}, {"lognormal", 46}, {"exponential", 40}, {"gamma", 45}}));
}

TEST(TailTest, InverseReturnsToEveryRowOfTheReference) {
  int returned = 0;
  for (const Row& row : ReferenceRows()) {
    const double phi = row.tail.Phi(row.x);
    // Where nothing normal is left of phi, nothing can lead back.
    if (phi < std::numeric_limits<double>::min()) continue;
    ++returned;
    const double scale = row.tail.law == "normal" ? std::max(std::abs(row.x), row.tail.second) : row.x;
    EXPECT_NEAR(row.tail.At(phi), row.x, 1e-13 * scale) << row.text;
  }
  EXPECT_EQ(returned, 195);
}

// Laws whose parameters are those of times in any unit.
Tail RandomTail(Random& random) {
  static const char* const kLaws[] = {"normal", "lognormal", "exponential", "gamma"};
  Tail tail{.law = kLaws[random.Below(4)], .first = 0, .second = 0};
  const double mean = std::exp(random.Unit() * 40 - 10);
  const double relative = std::exp(random.Unit() * 4.6 - 4.6);  // 1 % to 100 %
  tail.first = mean;
  tail.second = mean * relative;
  if (tail.law == "lognormal") tail.first = std::log(mean), tail.second = relative;
  if (tail.law == "gamma") tail.first = 1 / (relative * relative), tail.second = mean * relative * relative;
  return tail;
}

// Near where the law lives: from far on the left to a thousand means.
double RandomTime(Random& random, const Tail& tail) { return tail.At(0.3) * std::exp(random.Unit() * 9 - 2); }

double AnyDouble(Random& random) { return std::bit_cast<double>(random.Next()); }

void ExpectOrdered(const Tail& tail, double x, double y) {
  const double low = tail.Phi(std::min(x, y));
  const double high = tail.Phi(std::max(x, y));
  EXPECT_TRUE(0 <= low && low <= high && high <= kMaxPhi)
      << tail.ToString() << std::hexfloat << " at " << x << ", " << y << ": " << low << ", " << high;
}

TEST(TailTest, FiniteAndInOrderOverAllDoubles) {
  Random random(1);
  for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
    const Tail tail = RandomTail(random);
    const double x = AnyDouble(random);
    const double y = AnyDouble(random);
    if (std::isnan(x) || std::isnan(y)) continue;
    ExpectOrdered(tail, x, y);
    ExpectOrdered(tail, RandomTime(random, tail), y);
  }
}

TEST(TailTest, NeverFallsFromOneDoubleToTheNext) {
  Random random(2);
  for (int i = 0; i < 300'000 && !testing::Test::HasFailure(); ++i) {
    const Tail tail = RandomTail(random);
    const double x = i % 8 == 0 ? AnyDouble(random) : RandomTime(random, tail);
    if (std::isnan(x)) continue;
    ExpectOrdered(tail, x, std::nextafter(x, kInfinity));
  }
}

// Places where the plain formulas do fall, by one unit in the last place.
TEST(TailTest, NeverFallsWhereRoundingWouldMakeIt) {
  const Tail normal{"normal", 0, 1};
  for (const double z : {-0x1.c0fd1e7162d1bp+0, 0x1.c03e3480b7cadp+0}) {
    ExpectOrdered(normal, z, std::nextafter(z, kInfinity));
  }
  const Tail lognormal{"lognormal", -0x1.1aa2836650c0dp+9, 0x1.8d831acfe49edp-6};
  constexpr double kEdge = 0x1.6a09e667f3bcdp+661;
  ExpectOrdered(lognormal, std::nextafter(kEdge, 0), kEdge);
}

// Around each place where the computation takes another path.
TEST(TailTest, NeverFallsWhereTheFormulaChanges) {
  const auto around = [](const Tail& tail, double x) {
    for (int i = -2000; i < 2000; ++i) {
      const auto bits = std::bit_cast<std::int64_t>(x) + i;
      ExpectOrdered(tail, std::bit_cast<double>(bits), std::bit_cast<double>(bits + 1));
    }
  };
  for (const double z : {-38.0, -4.0, -1.0, 1.0, 25.0}) around({"normal", 0, 1}, z);
  // From one polynomial to the next: sixteen to every power of two of |z| + 1.
  for (double power = 1; power < 32; power *= 2) {
    for (int i = 0; i < 16; ++i) {
      const double z = power * (1 + i / 16.0) - 1;
      if (z == 0) continue;  // the doubles around zero are not neighbours by their bits
      for (const double side : {-z, z}) around({"normal", 0, 1}, side);
    }
  }
  for (double power = 1e-300; power < 1e300; power *= 1e10) {
    // Where the exponent is counted up: at the square root of 1/2.
    const double edge = std::ldexp(std::sqrt(0.5), std::ilogb(power));
    for (const double mu : {-700.0, -3.0, 0.0, 4.6, 700.0}) around({"lognormal", mu, 0.25}, edge);
  }
  for (const double shape : {0.1, 0.5, 1.0, 2.5, 19.0, 20.0, 100.0, 1000.0, 1e4}) {
    const Tail tail{"gamma", shape, 1};
    for (const double x : {shape * 0.6, shape, shape + 1, shape * 1.4, 10 * shape + 2000}) around(tail, x);
    for (const double phi : {0.3, 0.5, 280.0}) around(tail, tail.At(phi));
  }
}

TEST(TailTest, InverseReturns) {
  Random random(3);
  for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
    const Tail tail = RandomTail(random);
    const double x = RandomTime(random, tail);
    const double phi = tail.Phi(x);
    if (phi < std::numeric_limits<double>::min()) continue;
    const double scale = tail.law == "normal" ? std::max(x, tail.second) : x;
    EXPECT_NEAR(tail.At(phi), x, 1e-13 * scale) << tail.ToString();
  }
}

TEST(TailTest, LevelReturns) {
  Random random(4);
  for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
    const Tail tail = RandomTail(random);
    const double phi = std::exp(random.Unit() * 30 - 10);
    const double x = tail.At(phi);
    if (x >= kLargest) continue;
    // By so much the nearest doubles to x differ in phi.
    const double blur = 64 * std::numeric_limits<double>::epsilon() * std::abs(x);
    const double low = tail.Phi(x - blur) * (1 - 1e-13);
    const double high = tail.Phi(x + blur) * (1 + 1e-13);
    EXPECT_TRUE(low <= phi && phi <= high) << tail.ToString() << " " << phi << ": " << low << " to " << high;
  }
}

TEST(TailTest, EndsOfTheDoubles) {
  const std::vector<Tail> tails = {
      {"normal", 1, 1},        {"normal", 0, kSmallest},      {"normal", kLargest, kLargest},
      {"lognormal", 0, 1},     {"lognormal", 700, 1e-9},      {"lognormal", -700, kSmallest},
      {"exponential", 1, 0},   {"exponential", kSmallest, 0}, {"exponential", 1e308, 0},
      {"gamma", 1, 1},         {"gamma", 1e300, 1e-300},      {"gamma", 1e-300, 1},
      {"gamma", 3, kSmallest}, {"gamma", 3, kLargest}};
  for (const Tail& tail : tails) {
    double last = 0;
    for (const double x : {kNan, -kInfinity, -kLargest, -1.0, -kSmallest, 0.0, kSmallest, 1e-300, 1.0, 1e10, 1e154,
                           1e300, kLargest, kInfinity}) {
      const double phi = tail.Phi(x);
      EXPECT_TRUE(last <= phi && phi <= kMaxPhi) << tail.ToString() << " at " << x << ": " << phi;
      last = phi;
    }
  }
  EXPECT_EQ(NormalPhi(kNan, 0, 1), 0);
  EXPECT_EQ(NormalPhi(-kInfinity, 0, 1), 0);
  EXPECT_EQ(NormalPhi(kInfinity, 0, 1), kMaxPhi);
  EXPECT_EQ(NormalPhi(1e200, 0, 1), kMaxPhi);
  EXPECT_EQ(ExponentialPhi(kInfinity, 1), kMaxPhi);
  EXPECT_EQ(GammaPhi(kLargest, 1, 1e-9), kMaxPhi);
}

TEST(TailTest, EndsOfTheInverse) {
  for (const double phi : {0.0, -0.0, -1.0, -kInfinity, kNan}) {
    EXPECT_EQ(NormalAt(phi, 5, 1), -kInfinity);
    EXPECT_EQ(LogNormalAt(phi, 5, 1), 0);
    EXPECT_EQ(ExponentialAt(phi, 5), 0);
    EXPECT_EQ(GammaAt(phi, 5, 1), 0);
  }
  for (const double phi : {kMaxPhi, kInfinity}) {
    EXPECT_DOUBLE_EQ(NormalAt(phi, 0, 1), std::sqrt(2 * std::log(10)) * std::sqrt(kLargest));
    EXPECT_EQ(LogNormalAt(phi, 0, 1), kLargest);
    EXPECT_EQ(ExponentialAt(phi, 1), kLargest);
    EXPECT_EQ(GammaAt(phi, 5, 1), kLargest);
    EXPECT_TRUE(std::isfinite(ExponentialAt(phi, 0.1)));
  }
  // Levels so small that they have few digits left.
  EXPECT_LT(NormalAt(kSmallest, 0, 1), -38);
  EXPECT_GT(NormalAt(kSmallest, 0, 1), -39);
}

TEST(TailTest, LogarithmOfNumbersBelowTheNormalOnes) {
  EXPECT_NEAR(LogNormalPhi(0x1p-1060, -1060 * std::log(2), 0.25), std::log10(2), 1e-12);
}

// The usual logistic approximation says 21.24 here.
TEST(TailTest, IsNoApproximation) { EXPECT_NEAR(NormalPhi(8, 0, 1), 15.206142551017155, 1e-13); }

// Between the rows of the reference: what the standard library's erfc gives, wherever that does not underflow.
TEST(TailTest, AgreesWithErfc) {
  Random random(6);
  for (int i = 0; i < 200'000; ++i) {
    const double z = -37 + 74 * random.Unit();
    const double half = 0.5 * std::erfc(std::abs(z) * std::sqrt(0.5));
    const double want = (z < 0 ? -std::log1p(-half) : -std::log(half)) * std::log10(std::exp(1));
    const double bound = want >= 0.01 ? 1e-14 : 4e-15 * (1 + z * z);
    ASSERT_NEAR(NormalPhi(z, 0, 1), want, 1.1 * bound * want) << z;
  }
}

TEST(TailTest, GammaHoldsItsShape) {
  EXPECT_EQ(GammaPhi(0.5, 1e-3, 1), GammaPhi(0.5, kMinShape, 1));
  EXPECT_EQ(GammaPhi(1.01e4, 1e7, 1), GammaPhi(1.01e4, kMaxShape, 1));
  EXPECT_NE(GammaPhi(0.5, 0.11, 1), GammaPhi(0.5, kMinShape, 1));
}

}  // namespace
}  // namespace nekton
