// A register whose store blocks (a database, a mutex), made asynchronous: one thread of its own and a bounded queue.
//
// Watches are looked at after every write of this register and every `watch_every`, cheaply where the store can tell
// that nothing has changed. All functions of RegisterWorker are thread-safe. It must not be destroyed in a callback.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lease/memory_register.h"
#include "lease/register.h"
#include "phi/time.h"

namespace nekton {

// Used by one thread at a time.
class RegisterBackend {
 public:
  virtual ~RegisterBackend() = default;
  virtual RegisterAnswer Do(const RegisterRequest& request) = 0;  // may block
  // Whether anything may have been written since this was last asked.
  virtual bool Changed() { return true; }
};

class RegisterWorker final : public Register {
 public:
  struct Options {
    std::size_t queue = 4096;  // requests that may wait
    std::size_t watches = 4096;
    Duration watch_every = std::chrono::milliseconds(20);
  };

  explicit RegisterWorker(std::unique_ptr<RegisterBackend> backend) : RegisterWorker(std::move(backend), Options{}) {}
  RegisterWorker(std::unique_ptr<RegisterBackend> backend, Options options);
  ~RegisterWorker() override;

  void Read(std::string key, Done done) override;
  void CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value, Done done) override;
  std::uint64_t Watch(std::string key, Changed changed) override;
  void Unwatch(std::uint64_t watch) override;

 private:
  struct Waiting {
    RegisterRequest request;
    Done done;
  };
  struct Watched {
    std::string key;
    std::shared_ptr<Changed> changed;
    std::optional<std::uint64_t> told;  // the version
  };
  using Lock = std::unique_lock<std::mutex>;
  using Time = std::chrono::steady_clock::time_point;

  void Put(RegisterRequest request, Done done);
  void Run();
  void Serve(Lock& lock);
  void Look(Lock& lock);

  const std::unique_ptr<RegisterBackend> backend_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable work_;
  bool stopped_ = false;
  std::deque<Waiting> queue_;
  std::deque<Waiting> refused_;  // answered by the worker, as all are; bounded like the queue
  std::map<std::uint64_t, Watched> watches_;
  std::uint64_t next_watch_ = 1;
  bool look_ = false;  // before the next time is due
  bool all_ = false;   // whatever the store says of changes: a watch is new
  Time next_look_{};
  std::thread thread_;  // the last: it uses all others
};

// A table in memory that several registers of one process share; the table ends with the process.
class SharedTable {
 public:
  RegisterAnswer Do(const RegisterRequest& request) {
    const std::lock_guard lock(mutex_);
    return table_.Do(request);
  }
  std::uint64_t revision() {
    const std::lock_guard lock(mutex_);
    return table_.revision();
  }

 private:
  std::mutex mutex_;
  MemoryTable table_;
};

std::unique_ptr<Register> MakeLocalRegister(std::shared_ptr<SharedTable> table);

}  // namespace nekton
