#include "transport/store_worker.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace nekton {

struct StoreWorker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> waiting;
  bool ends = false;
  std::thread thread;

  void Run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ends || !waiting.empty(); });
      if (ends) return;
      Work work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds goes without the lock
      lock.lock();
    }
  }
};

StoreWorker::StoreWorker() : state_(std::make_shared<State>()) {}

StoreWorker::~StoreWorker() {
  std::deque<Work> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
    dropped.swap(state_->waiting);
  }
  state_->changed.notify_all();
  if (!state_->thread.joinable()) return;
  if (state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

absl::Status StoreWorker::Post(Work work) {
  const std::lock_guard lock(state_->mutex);
  if (state_->waiting.size() >= kWaitingMax) return absl::ResourceExhaustedError("too much waits for the store");
  if (!state_->thread.joinable()) {
    // The host program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = true;
    try {
      state_->thread = std::thread([state = state_] { state->Run(); });
    } catch (const std::system_error&) {
      begun = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!begun) return absl::ResourceExhaustedError("the system gives no thread for the store");
  }
  state_->waiting.push_back(std::move(work));
  state_->changed.notify_one();
  return absl::OkStatus();
}

}  // namespace nekton
