// What a node is made of, and how threads wait for its loop. Included by node*.cc alone.
//
//   node.cc          how it begins and ends, joins and leaves, and what it tells at every moment
//   node_calls.cc    calls that its loop's thread makes for others
//   node_letters.cc  messages and requests to other members
//   node_leases.cc   views, homes and leases
//   node_named_leases.cc  named leases
//   node_keys.cc     the keys that seal its frames
#pragma once

#include <uv.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "transport/delivery.h"
#include "transport/node.h"
#include "transport/node_core.h"
#include "transport/node_mail.h"

namespace nekton {

inline constexpr Duration kWaitMax = std::chrono::hours(24 * 365);  // longer ones would overflow the clock
inline constexpr Duration kLoopGrace = std::chrono::seconds(1);     // for a loop that is late

inline absl::Status WouldBlock(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(absl::string_view(what.data(), what.size()), " would wait for the very thread it is called on"));
}

inline absl::Status CheckTimeout(Duration timeout) {
  if (timeout >= Duration::zero()) return absl::OkStatus();
  return absl::InvalidArgumentError("timeout: must not be negative");
}

// Somebody who waits for the loop's thread.
class Waiter {
 public:
  // What is waited for has been done; false: it never will be. The first call counts.
  void End(bool made) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_.has_value()) ended_ = made;
    }
    changed_.notify_all();
  }
  absl::Status Wait(Duration timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::min(timeout, kWaitMax), [this] { return ended_.has_value(); });
    if (!ended_.has_value()) return absl::DeadlineExceededError("the loop did not run in time");
    return *ended_ ? absl::OkStatus() : absl::CancelledError("the node was stopped");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> ended_;  // true: made
};

// A loop on the heap that is closed when it goes. What is left in it (nothing, unless libuv failed) is left alone.
struct LoopDeleter {
  void operator()(uv_loop_t* loop) const {
    uv_run(loop, UV_RUN_DEFAULT);
    if (uv_loop_close(loop) == 0) delete loop;
  }
};
using OwnLoop = std::unique_ptr<uv_loop_t, LoopDeleter>;

class Node::Impl {
 public:
  Impl(std::shared_ptr<Delivery> d, std::shared_ptr<NodeCore> c) : delivery(std::move(d)), core(std::move(c)) {}
  ~Impl();

  absl::Status StartThreads(OwnLoop loop);
  void Stop();
  // Has the loop's thread do it, and waits for that. What `work` writes to is read only if this is OK.
  absl::Status Ask(std::string_view what, Duration timeout, std::function<void(Driver&)> work);
  // The same for an order; its status, too.
  absl::Status Order(std::string_view what, Duration timeout, Command order);
  // Changes the keys and their file; NotFound and the like change nothing.
  absl::Status ChangeRing(std::string_view what, Duration timeout, std::function<absl::Status(Keyring&)> change);
  absl::Status OrderAsync(Command order, std::function<void(const absl::Status&)> done);
  // Gives a completion, if there is one, its place in the queue, which it keeps until it was called or is dropped.
  template <typename Result>
  absl::Status Place(std::function<void(const Result&)>& done) {
    if (!done) return absl::OkStatus();
    absl::StatusOr<Delivery::Place> place = delivery->TakePlace();
    if (!place.ok()) return place.status();
    done = [place = *std::move(place), done = std::move(done)](const Result& result) { done(result); };
    return absl::OkStatus();
  }
  // Has the loop's thread find something out, and tells `done`, if there is one, after the events that led to it.
  template <typename Result, typename Work>
  absl::Status AskAsync(std::function<void(const Result&)> done, Work work) {
    if (absl::Status status = Place(done); !status.ok()) return status;
    const auto result = std::make_shared<std::optional<Result>>();
    std::function<void()> told;
    if (done) {
      told = [to = delivery, result, done = std::move(done)] { to->Post([result, done] { done(**result); }); };
    }
    return core->Call([result, work = std::move(work)](Driver& driver) { result->emplace(work(driver)); },
                      std::move(told));
  }
  // The time of its budget begins now.
  static absl::StatusOr<NodeMail::Errand> Plan(std::string member, std::vector<std::byte> body,
                                               const RequestOptions& options, bool reliable);
  absl::StatusOr<std::vector<std::byte>> Wait(std::string_view what, absl::StatusOr<NodeMail::Errand> errand);

  // Named leases over this register; null: none. Before the loop runs.
  absl::Status KeepLeases(std::shared_ptr<Register> over, std::int64_t drift_ppm);
  absl::Status CheckLeaseName(const std::string& name) const;

  const std::shared_ptr<Delivery> delivery;
  const std::shared_ptr<NodeCore> core;
  std::shared_ptr<LeaseKeeper> keeper;  // null: no register

 private:
  // The loop's thread waits for nobody, so anybody may wait for it. The delivery thread may itself be in Stop().
  std::mutex loop_mutex_;
  std::thread loop_thread_;
  std::mutex delivery_mutex_;
  std::thread delivery_thread_;
};

}  // namespace nekton
