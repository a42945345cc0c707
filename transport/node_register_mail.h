// Where the answers of a register wait for a loop. The register's callbacks keep it, and nothing else of the node: whoever
// lets go of a node last, it is not a thread of its register. Thread-safe.
#pragma once

#include <uv.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "lease/register.h"

namespace nekton {

class RegisterMail {
 public:
  // `wake` is sent to for each answer until Close().
  explicit RegisterMail(uv_async_t* wake) : wake_(wake) {}

  void Put(std::uint64_t id, RegisterAnswer answer) {
    const std::lock_guard lock(mutex_);
    if (wake_ == nullptr) return;
    answers_.emplace_back(id, std::move(answer));
    uv_async_send(wake_);
  }
  std::vector<std::pair<std::uint64_t, RegisterAnswer>> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    answers_.clear();
  }

 private:
  std::mutex mutex_;
  uv_async_t* wake_;
  // One request of the lease and one of the view are under way; of those that were given up the register bounds the number.
  std::vector<std::pair<std::uint64_t, RegisterAnswer>> answers_;
};

}  // namespace nekton
