// What README.md shows stands in the place of the mark.
#include <chrono>
#include <iostream>
#include <memory>

#include "transport/node.h"

void Look(nekton::Config& config, const absl::StatusOr<std::unique_ptr<nekton::Node>>& node) {
  // @code
}
