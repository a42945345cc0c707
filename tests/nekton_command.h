// The command `nekton`, run to its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/child_process.h"

namespace nekton {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

inline Words Command(Words arguments) {
  arguments.insert(arguments.begin(), NEKTON_COMMAND);
  return arguments;
}

inline Finished Nekton(Words arguments) { return RunToEnd(Command(std::move(arguments))); }

inline std::size_t Lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace nekton
