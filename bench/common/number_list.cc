#include "bench/common/number_list.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace nekton::bench {

std::string ParseNumbers(std::string_view flag, const std::vector<std::string>& texts, double min, double max,
                         bool whole, std::vector<double>* numbers) {
  const absl::string_view name(flag.data(), flag.size());
  if (texts.empty()) return absl::StrCat(name, ": must not be empty");
  for (const std::string& text : texts) {
    double value = 0;
    if (!absl::SimpleAtod(text, &value) || !(value >= min && value <= max) || (whole && value != std::floor(value))) {
      return absl::StrCat(name, ": \"", text, "\" is no ", whole ? "whole " : "", "number from ", min, " to ", max);
    }
    numbers->push_back(value);
  }
  return {};
}

}  // namespace nekton::bench
