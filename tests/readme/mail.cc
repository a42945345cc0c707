// What README.md shows stands in the place of the mark.
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "transport/node.h"

using namespace std::chrono_literals;

std::vector<std::byte> Work(const std::vector<std::byte>& question, nekton::Duration left);
void Use(const absl::StatusOr<std::vector<std::byte>>& answer);

void Talk(const std::unique_ptr<nekton::Node>& node, const std::vector<std::byte>& bytes) {
  // @code
  Use(answer);
}
