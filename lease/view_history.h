// Who came and went in the views that a member held lately, so that whoever holds one of them is told the difference and
// not the whole view. Bounded: of what is forgotten the whole is told. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lease/view.h"
#include "lease/view_delta.h"

namespace nekton {

class ViewHistory {
 public:
  static constexpr std::size_t kStepsMax = 64;    // views that are remembered
  static constexpr std::size_t kNamesMax = 4096;  // and the names in all of them: at most 1 MiB

  // `after` has taken the place of `before`. Nothing is remembered of epoch 0.
  void Add(const View& before, const View& after);
  // What makes the view of this epoch and digest into `now`, which was added last. Nullopt: it is not remembered.
  std::optional<ViewDelta> Since(std::uint64_t epoch, const ViewDigest& digest, const View& now) const;

  std::size_t steps() const { return steps_.size(); }
  std::size_t names() const { return names_; }

 private:
  struct Step {
    std::uint64_t epoch = 0;  // before it
    ViewDigest digest;
    std::vector<std::string> names;  // of who came, went or changed
  };
  std::deque<Step> steps_;
  std::size_t names_ = 0;
};

}  // namespace nekton
