// A thread for calls that wait for a disk or for another machine: stores are slow, and no loop may wait for them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace nekton {

// What is handed over is done one after another, in order, on the worker's own thread. Thread-safe.
class StoreWorker {
 public:
  using Work = std::function<void()>;
  static constexpr std::size_t kWaitingMax = 1024;

  StoreWorker();
  // Ends after the work that is being done; what waits is dropped unseen. From within a piece of work it does not wait
  // for that one.
  ~StoreWorker();
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;

  // OK: it will be done, unless the worker goes first. The thread is started with the first of them. ResourceExhausted:
  // kWaitingMax wait, or the system gives no thread.
  absl::Status Post(Work work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nekton
