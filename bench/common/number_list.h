// Lists of numbers on a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nekton::bench {

// Puts the numbers of `texts` into `numbers`. What it returns, if it is not empty, says which of them is no number from
// `min` to `max`, or not whole where it must be, and to which flag it belongs.
std::string ParseNumbers(std::string_view flag, const std::vector<std::string>& texts, double min, double max,
                         bool whole, std::vector<double>* numbers);

}  // namespace nekton::bench
