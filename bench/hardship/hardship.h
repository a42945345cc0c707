// The cases: each makes one kind of trouble for a group.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/hardship/outcome.h"
#include "bench/hardship/scene.h"
#include "swim/config.h"

namespace nekton::bench {

struct Hardship {
  std::string name;        // "freeze/128/loss"
  std::string what;        // one line
  std::uint64_t runs = 1;  // when nobody says how many
  bool large = false;      // takes long: run only when asked for
  // One run. Its violations, if there are any, name the seed.
  std::function<Outcome(const Config& config, std::uint64_t seed, const std::function<void(const SimEvent&)>& watch)>
      run;
};

// In the order in which tables show them.
const std::vector<Hardship>& Hardships();
const Hardship* FindHardship(const std::string& name);  // null: there is none

}  // namespace nekton::bench
