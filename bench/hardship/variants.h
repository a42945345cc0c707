// nekton with one of its parts left out at a time.
#pragma once

#include <string>
#include <vector>

#include "swim/config.h"

namespace nekton::bench {

struct Variant {
  std::string name;  // "nekton", "- A void deaf rounds", ...
  Config config;
};

// The whole first. Without nacks rule A rests, too, and without rule E hearers ask nobody.
std::vector<Variant> LeaveOneOut();

}  // namespace nekton::bench
