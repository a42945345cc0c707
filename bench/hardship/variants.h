// nekton with one of its parts left out at a time.
#pragma once

#include <string>
#include <vector>

#include "swim/config.h"

namespace nekton::bench {

struct Variant {
  std::string name;  // "nekton", "without A", ...
  Config config;
};

// The whole first.
std::vector<Variant> LeaveOneOut();

}  // namespace nekton::bench
