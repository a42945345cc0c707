// Which settings are measured: along the axes of the parameters that decide how soon and how surely a crash is known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "swim/config.h"

namespace nekton::bench {

struct Axis {
  std::string_view name;  // "beta"
  std::string_view unit;  // " s", or nothing
  std::vector<double> values;
  void (*set)(Config& config, double value);
};
std::span<const Axis> Axes();

struct Setting {
  std::string name;  // "nekton", "beta 2", "hold 3 s, beta 2, K 3, attempts 8, relays 2", "swim"
  Config config;
  bool is_default = false;   // nekton as it is shipped
  bool is_baseline = false;  // a protocol of others
};

std::vector<Setting> Star();     // the default, and it with each other value of each axis
std::vector<Setting> Product();  // every combination
std::vector<Setting> Baselines();

// The default, where it is among them, and of all every `step`-th, the first included, in their order.
std::vector<Setting> EveryNth(const std::vector<Setting>& settings, std::size_t step);

}  // namespace nekton::bench
