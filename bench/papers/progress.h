// What a long measurement says of how far it is.
#pragma once

#include <functional>
#include <string_view>

namespace nekton::bench {

using Progress = std::function<void(std::string_view what)>;  // may be empty

inline void Tell(const Progress& progress, std::string_view what) {
  if (progress) progress(what);
}

}  // namespace nekton::bench
