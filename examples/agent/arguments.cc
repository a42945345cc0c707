#include "examples/agent/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "examples/agent/words.h"

namespace nekton {
namespace {

absl::Status Bad(std::string_view text, std::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": ", Absl(rule)));
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(std::string_view text) {
  constexpr std::string_view kRule = "must be a time such as 5s, 1.5s, 200ms, 2m or 1h";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(digits);
  double scale = 1e9;
  if (unit == "ms") {
    scale = 1e6;
  } else if (unit == "m") {
    scale = 60e9;
  } else if (unit == "h") {
    scale = 3600e9;
  } else if (!unit.empty() && unit != "s") {
    return Bad(text, kRule);
  }
  double number = 0;
  if (!absl::SimpleAtod(Absl(text.substr(0, digits)), &number)) return Bad(text, kRule);
  if (number * scale > 1e18) return Bad(text, "must not be longer than 1e9 s");
  return Duration(std::llround(number * scale));
}

absl::StatusOr<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || !absl::SimpleAtoi(Absl(text), &value) || value < min || value > max) {
    return Bad(text, absl::StrCat("must be a whole number from ", min, " to ", max));
  }
  return value;
}

void Arguments::Flag(std::string_view name, bool* out) { options_.push_back({std::string(name), out, {}}); }

void Arguments::Text(std::string_view name, std::string* out) {
  One(name, [out](std::string_view value) {
    *out = value;
    return absl::OkStatus();
  });
}

void Arguments::Count(std::string_view name, std::uint64_t min, std::uint64_t max, std::uint64_t* out) {
  One(name, [=](std::string_view value) {
    const absl::StatusOr<std::uint64_t> count = ParseCount(value, min, max);
    if (count.ok()) *out = *count;
    return count.status();
  });
}

void Arguments::Time(std::string_view name, Duration* out) {
  One(name, [=](std::string_view value) {
    const absl::StatusOr<Duration> time = ParseDuration(value);
    if (time.ok()) *out = *time;
    return time.status();
  });
}

void Arguments::One(std::string_view name, Take take) {
  options_.push_back({std::string(name), nullptr, std::move(take)});
}

void Arguments::Each(std::string_view name, Take take) {
  options_.push_back({std::string(name), nullptr, std::move(take), /*repeats=*/true});
}

absl::Status Arguments::Parse(std::span<const char* const> arguments) {
  help_ = std::any_of(arguments.begin(), arguments.end(),
                      [](std::string_view argument) { return argument == "--help" || argument == "-h"; });
  if (help_) return absl::OkStatus();
  for (std::size_t next = 0; next < arguments.size();) {
    absl::Status status = ParseOne(arguments, &next);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Arguments::ParseOne(std::span<const char* const> arguments, std::size_t* next) {
  const std::string_view argument = arguments[(*next)++];
  if (argument.size() < 3 || !argument.starts_with("--")) return Bad(argument, "not an option; options begin with --");
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(2, equals == std::string_view::npos ? equals : equals - 2);
  const auto option = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
  if (option == options_.end()) return Bad(absl::StrCat("--", Absl(name)), "unknown option");
  const std::string dashed = absl::StrCat("--", option->name);
  if (option->given && !option->repeats) return absl::InvalidArgumentError(absl::StrCat(dashed, ": given twice"));
  option->given = true;
  if (option->flag != nullptr) {
    if (equals != std::string_view::npos) return absl::InvalidArgumentError(absl::StrCat(dashed, ": takes no value"));
    *option->flag = true;
    return absl::OkStatus();
  }
  if (equals == std::string_view::npos && *next == arguments.size()) {
    return absl::InvalidArgumentError(absl::StrCat(dashed, ": needs a value"));
  }
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view(arguments[(*next)++]) : argument.substr(equals + 1);
  const absl::Status status = option->take(value);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(dashed, " ", status.message()));
}

bool Arguments::given(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name && o.given; });
}

}  // namespace nekton
