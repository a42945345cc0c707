#include "stm/mistakes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace nekton {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string DurationText(Duration d) { return absl::StrFormat("%.12g s", std::chrono::duration<double>(d).count()); }

void Mistakes::Add(std::string_view field, std::string_view value, std::string_view rule) {
  lines_.push_back(absl::StrCat(Absl(field), " = ", Absl(value), ": ", Absl(rule)));
}

void Mistakes::Range(std::string_view field, double value, double min, double max) {
  if (value >= min && value <= max) return;
  Add(field, absl::StrCat(value), absl::StrCat("must be from ", min, " to ", max));
}

void Mistakes::Range(std::string_view field, Duration value, Duration min, Duration max) {
  if (value >= min && value <= max) return;
  Add(field, DurationText(value), absl::StrCat("must be from ", DurationText(min), " to ", DurationText(max)));
}

void Mistakes::Count(std::string_view field, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
  if (value >= min && value <= max) return;
  Add(field, absl::StrCat(value), absl::StrCat("must be from ", min, " to ", max));
}

void Mistakes::AtLeast(std::string_view field, Duration value, std::string_view other, Duration min) {
  if (value >= min) return;
  Add(field, DurationText(value), absl::StrCat("must not be below ", Absl(other), " = ", DurationText(min)));
}

void Mistakes::AtMost(std::string_view field, Duration value, std::string_view other, Duration max) {
  if (value <= max) return;
  Add(field, DurationText(value), absl::StrCat("must not be above ", Absl(other), " = ", DurationText(max)));
}

absl::Status Mistakes::status() const {
  return lines_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

}  // namespace nekton
