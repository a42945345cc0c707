// Where an authority keeps its view, so that it goes on from there after a restart. An interface: files and databases
// are in transport (store_*), and here is one that keeps it in memory, for tests and the simulator.
//
// One process at a time has a store open. It is called on one thread at a time, and may block.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/view.h"

namespace nekton {

class ViewStore {
 public:
  virtual ~ViewStore() = default;
  // The view that was written last; one of epoch 0: nothing yet. DataLoss: what is there is no view.
  virtual absl::StatusOr<View> Read() = 0;
  // OK: it is durable. Else: it may have been written or not, and is written again.
  virtual absl::Status Write(const View& view) = 0;
};

class MemoryViewStore final : public ViewStore {
 public:
  MemoryViewStore() = default;
  explicit MemoryViewStore(View view) : view_(std::move(view)) {}

  absl::StatusOr<View> Read() override { return view_; }
  absl::Status Write(const View& view) override {
    view_ = view;
    return absl::OkStatus();
  }

 private:
  View view_;
};

}  // namespace nekton
