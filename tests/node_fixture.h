// Nodes on 127.0.0.1 with short periods, and waiting for what they will know.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/node.h"

namespace nekton {

// A tenth of Lan's times, but patient with an exchange: a machine under a sanitizer is slow.
inline Config FastConfig(const std::string& name, std::vector<std::string> seeds = {}) {
  using namespace std::chrono_literals;
  Config config = Config::Local();
  config.name = name;
  config.bind = "127.0.0.1:0";
  config.seeds = std::move(seeds);
  config.period = 100ms;
  config.max_local_pause = 100ms;
  config.tolerated_pause = 300ms;
  config.hearer_margin = 100ms;
  config.gossip_interval = 20ms;
  config.join_backoff_min = 50ms;
  config.join_backoff_max = 500ms;
  config.seed_retry = 1s;
  config.stream_timeout = 5s;
  return config;
}

inline std::unique_ptr<Node> MustStart(Config config, NodeOptions options = {}) {
  auto node = Node::Start(std::move(config), std::move(options));
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : nullptr;
}

// For a port number that was free at another address, or until just now: somebody else may have it here. `start` then
// tries another number.
inline std::unique_ptr<Node> StartAtSomePort(const std::function<absl::StatusOr<std::unique_ptr<Node>>()>& start) {
  for (int i = 0; i < 50; ++i) {
    auto node = start();
    if (node.ok()) return *std::move(node);
    if (!absl::IsAlreadyExists(node.status())) {
      ADD_FAILURE() << node.status();
      break;
    }
  }
  return nullptr;
}

// False after a time in which the slowest machine would have come to it.
inline bool WaitFor(const std::function<bool()>& condition, std::chrono::seconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline std::size_t Entries(const char* directory) {
  const std::filesystem::directory_iterator all(directory);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
inline std::size_t Threads() { return Entries("/proc/self/task"); }
inline std::size_t Descriptors() { return Entries("/proc/self/fd"); }

inline std::uint64_t CounterOf(const Node& node, std::string_view name) {
  for (const CounterValue& c : node.Counters()) {
    if (c.name == name) return c.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

inline bool Has(const Node& node, const std::string& name, MemberStatus status) {
  const MemberPtr member = node.Members().Find(name);
  return member != nullptr && member->status == status;
}

// A runs-so-many-times knob: NEKTON_STORM in the environment, or `usual`.
inline int Storm(int usual) {
  const char* text = std::getenv("NEKTON_STORM");
  return text != nullptr ? std::atoi(text) : usual;
}

// Keeps what its handlers hear; thread-safe.
class EventLog {
 public:
  EventHandler Handler() {
    return [this](const Event& event) { Add(event); };
  }
  void Add(const Event& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  std::vector<Event> all() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::size_t Count(EventKind kind, const std::string& name = "") const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const Event& e : events_) {
      if (e.kind == kind && (name.empty() || (e.member != nullptr && e.member->name == name))) ++count;
    }
    return count;
  }
  std::string text() const {
    std::string text;
    for (const Event& e : all()) text += Describe(e) + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace nekton
