#include "swim/terms.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "stm/mistakes.h"
#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

enum class Unit : std::uint8_t { kNumber, kMicroseconds, kThousandths };
struct Term {
  const char* name;
  Unit unit;
};

// In the order of the wire; later versions append.
constexpr std::array kTerms = {
    Term{"monitoring", Unit::kNumber},
    Term{"probing", Unit::kNumber},
    Term{"period", Unit::kMicroseconds},
    Term{"tolerated_pause", Unit::kMicroseconds},
    Term{"hold_alpha", Unit::kThousandths},
    Term{"hold_beta", Unit::kThousandths},
    Term{"confirmers", Unit::kNumber},
    Term{"corroborators", Unit::kNumber},
    Term{"hearer_margin", Unit::kMicroseconds},
    Term{"suspect_after", Unit::kMicroseconds},
    Term{"fail_after", Unit::kMicroseconds},
    Term{"misses", Unit::kNumber},
    Term{"revive", Unit::kNumber},
    Term{"forget_after", Unit::kMicroseconds},
};
using Values = std::array<std::uint64_t, kTerms.size()>;
constexpr std::size_t kPeriod = 2;
static_assert(std::string_view(kTerms[kPeriod].name) == "period");

// What one side has said, as far as it did.
struct Said {
  Values values{};
  std::size_t count = 0;
  std::uint64_t period_before = 0;
};

Said Read(std::span<const std::byte> terms) {
  ByteReader reader(terms);
  Said said;
  for (; said.count < said.values.size(); ++said.count) {
    said.values[said.count] = reader.Varint();
    if (!reader.ok()) return said;
  }
  const std::uint64_t before = reader.Varint();
  if (reader.ok()) said.period_before = before;
  return said;
}

// Whether one of the periods of each is one of the other's.
bool SharePeriod(const Said& a, const Said& b) {
  const auto has = [](const Said& said, std::uint64_t period) {
    return period != 0 && (said.values[kPeriod] == period || said.period_before == period);
  };
  return has(a, b.values[kPeriod]) || has(a, b.period_before);
}

std::uint64_t Microseconds(Duration d) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}
std::uint64_t Thousandths(double value) { return static_cast<std::uint64_t>(std::llround(value * 1000)); }

// 0 for what the monitoring in use does not look at.
Values ValuesOf(const Config& config) {
  const auto of_probes = [&](std::uint64_t value) { return config.beats() ? 0 : value; };
  const auto of_beats = [&](std::uint64_t value) { return config.beats() ? value : 0; };
  return {static_cast<std::uint64_t>(config.monitoring),
          of_probes(static_cast<std::uint64_t>(config.probing)),
          Microseconds(config.period),
          of_probes(Microseconds(config.tolerated_pause)),
          of_probes(Thousandths(config.hold_alpha)),
          of_probes(Thousandths(config.hold_beta)),
          of_probes(config.confirmers),
          of_probes(config.corroborators),
          of_probes(Microseconds(config.hearer_margin)),
          of_beats(Microseconds(config.suspect_after)),
          of_beats(Microseconds(config.fail_after)),
          of_beats(config.misses),
          of_beats(static_cast<std::uint64_t>(config.revive)),
          Microseconds(config.forget_after)};
}

std::string Text(const Term& term, std::uint64_t value) {
  if (term.unit == Unit::kThousandths) return absl::StrCat(static_cast<double>(value) / 1000);
  if (term.unit == Unit::kNumber) return absl::StrCat(value);
  constexpr std::uint64_t kMost = Duration::max().count() / 1000;
  return DurationText(std::chrono::microseconds(std::min(value, kMost)));
}

}  // namespace

std::vector<std::byte> EncodeTerms(const Config& config, Duration period_before) {
  std::vector<std::byte> bytes((kTerms.size() + 1) * kVarintMax);
  ByteWriter writer(bytes.data());
  for (const std::uint64_t value : ValuesOf(config)) writer.Varint(value);
  if (period_before != Duration::zero()) writer.Varint(Microseconds(period_before));
  bytes.resize(static_cast<std::size_t>(writer.at() - bytes.data()));
  return bytes;
}

std::string DifferentTerms(std::span<const std::byte> theirs, std::span<const std::byte> ours) {
  const Said there = Read(theirs);
  const Said here = Read(ours);
  std::string text;
  for (std::size_t i = 0; i < std::min(here.count, there.count); ++i) {
    const Term& term = kTerms[i];
    const std::uint64_t a = here.values[i];
    const std::uint64_t b = there.values[i];
    if (a == b || (i == kPeriod && SharePeriod(here, there))) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", term.name, ": ", Text(term, a), " here, ", Text(term, b),
                    " there");
  }
  constexpr std::string_view kMore = " ...";
  if (text.size() > kRefusalTextMax) text.replace(kRefusalTextMax - kMore.size(), std::string::npos, kMore);
  return text;
}

}  // namespace nekton
