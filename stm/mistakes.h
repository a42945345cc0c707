// The mistakes of a configuration, collected: field, value and rule of each, all reported at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"

namespace nekton {

class Mistakes {
 public:
  void Add(std::string_view field, std::string_view value, std::string_view rule);

  // Each adds a mistake unless the value keeps the rule. A NaN never does.
  void Range(std::string_view field, double value, double min, double max);
  void Range(std::string_view field, Duration value, Duration min, Duration max);
  void Count(std::string_view field, std::uint64_t value, std::uint64_t min, std::uint64_t max);
  void AtLeast(std::string_view field, Duration value, std::string_view other, Duration min);
  void AtMost(std::string_view field, Duration value, std::string_view other, Duration max);

  std::size_t size() const { return lines_.size(); }
  // OK, or InvalidArgument: "field = value: rule", one a line.
  absl::Status status() const;

 private:
  std::vector<std::string> lines_;
};

std::string DurationText(Duration d);  // "2.5 s"

}  // namespace nekton
