#include "bench/tuning/settings.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "bench/common/protocols.h"

namespace nekton::bench {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

std::string Point(const Axis& axis, double value) { return absl::StrCat(Absl(axis.name), " ", value, Absl(axis.unit)); }

Config Default() { return *ProtocolConfig("nekton"); }

// A group in which one suspicion of another is a suspicion here, whatever the number of attempts.
void SetAttempts(Config& config, double value) {
  config.attempts = static_cast<std::uint32_t>(value);
  config.rumour_weight = config.attempts;
}

void SetHold(Config& config, double value) {
  config.tolerated_pause = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

}  // namespace

std::span<const Axis> Axes() {
  static const auto* const axes = new std::vector<Axis>{
      {"hold", " s", {1.5, 2, 3, 4}, SetHold},
      {"beta", "", {1, 2, 4, 6}, [](Config& c, double value) { c.hold_beta = value; }},
      {"K", "", {1, 2, 3, 4}, [](Config& c, double value) { c.confirmers = static_cast<std::uint32_t>(value); }},
      {"attempts", "", {1, 3, 5, 8}, SetAttempts},
      {"relays", "", {1, 2, 3}, [](Config& c, double value) { c.relays = static_cast<std::uint32_t>(value); }},
  };
  return *axes;
}

std::vector<Setting> Star() {
  std::vector<Setting> settings = {{"nekton", Default(), true, false}};
  for (const Axis& axis : Axes()) {
    for (const double value : axis.values) {
      Config config = Default();
      axis.set(config, value);
      if (config != Default()) settings.push_back({Point(axis, value), config});
    }
  }
  settings.push_back({"staggered", *ProtocolConfig("staggered")});
  return settings;
}

std::vector<Setting> Product() {
  std::vector<Setting> settings = {{"", Default()}};
  for (const Axis& axis : Axes()) {
    std::vector<Setting> longer;
    for (const Setting& setting : settings) {
      for (const double value : axis.values) {
        Setting next = setting;
        absl::StrAppend(&next.name, next.name.empty() ? "" : ", ", Point(axis, value));
        axis.set(next.config, value);
        longer.push_back(next);
      }
    }
    settings = longer;
  }
  for (Setting& setting : settings) setting.is_default = setting.config == Default();
  return settings;
}

std::vector<Setting> Baselines() {
  std::vector<Setting> settings;
  for (const std::string_view name : ProtocolNames()) {
    if (name != "nekton" && name != "staggered") {
      settings.push_back({std::string(name), *ProtocolConfig(name), false, true});
    }
  }
  return settings;
}

std::vector<Setting> EveryNth(const std::vector<Setting>& settings, std::size_t step) {
  std::vector<Setting> some;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (i % step == 0 || settings[i].is_default) some.push_back(settings[i]);
  }
  return some;
}

}  // namespace nekton::bench
