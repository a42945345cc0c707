// What README.md shows stands in the place of the mark.
#include <iostream>
#include <memory>

#include "transport/node.h"

void Look(const absl::StatusOr<std::unique_ptr<nekton::Node>>& node) {
  // @code
}
