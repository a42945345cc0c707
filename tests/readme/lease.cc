// What README.md shows stands in the place of the mark.
#include <memory>
#include <string>

#include "transport/lease_keeper.h"

void Write(nekton::FencingToken token);

void Work(const absl::StatusOr<std::unique_ptr<nekton::LeaseKeeper>>& keeper) {
  // @code
}
