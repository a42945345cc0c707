// The threads behind a LeaseKeeper: one drives the leases, one calls back. Internal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "transport/lease_keeper.h"

namespace nekton {

// What a handle, the driver and the caller of callbacks share.
class LeaseHandle::Client {
 public:
  std::uint64_t lease = 0;  // the number of its NamedLease
  std::string name;
  LeaseCallbacks callbacks;
  std::shared_ptr<LeaseHold> hold;
  std::atomic<std::uint64_t> token{0};  // the one it was given last; tokens of others' acquisitions are not its own
  std::atomic<bool> over{false};        // released
  // Under the core's mutex.
  std::deque<LeaseEvent> events;       // to be told: at most a lost, an acquired with its notice, and a released
  bool gone = false;                   // the handle is: tell nothing
  std::optional<LossReason> released;  // how it ended
};

class LeaseKeeper::Core : public std::enable_shared_from_this<Core> {
 public:
  using Client = LeaseHandle::Client;
  static constexpr std::size_t kCommandsMax = 65'536;

  Core(std::shared_ptr<Register> over, LeaseKeeperOptions options);
  void Begin();
  void Stop();
  void LetGo();  // after Stop(), and once: its keeper goes
  bool stopped();

  absl::StatusOr<std::shared_ptr<Client>> Acquire(const std::string& name, const LeaseOptions& options,
                                                  LeaseCallbacks callbacks);
  void HolderInactive(const std::string& holder);
  void Release(Client& client);
  void Forget(Client& client);  // waits for its callback
  void RaiseAbove(const Client& client, FencingToken token);
  bool OnCallbackThread() const { return std::this_thread::get_id() == teller_id_.load(); }
  bool MustNotWait() const { return OnCallbackThread() || (options_.must_not_wait && options_.must_not_wait()); }
  // False at the deadline.
  bool WaitHeld(const Client& client, Duration timeout);
  std::optional<LossReason> WaitReleased(const Client& client, Duration timeout);

 private:
  struct Start {
    std::uint64_t lease;
    std::string name;
    NamedLeaseOptions options;
    std::shared_ptr<Client> client;
  };
  struct Again {  // the lease is being released by its last client
    std::uint64_t lease;
    std::shared_ptr<Client> client;
  };
  struct Released {
    std::uint64_t lease;
  };
  struct Answered {
    std::uint64_t lease;
    std::uint64_t id;
    RegisterAnswer answer;
  };
  struct Raise {
    std::uint64_t lease;
    FencingToken token;
  };
  struct Inactive {
    std::string holder;
  };
  using Command = std::variant<Start, Again, Released, Answered, Raise, Inactive>;
  // The driver's own.
  struct Entry {
    std::string name;
    std::unique_ptr<NamedLease> lease;
    std::shared_ptr<Client> client;
    std::shared_ptr<Client> releasing;
    std::uint64_t watch = 0;
    Instant due = kNever;
  };
  struct Name {
    std::uint64_t lease = 0;
    bool taken = false;  // by a client that was not released
    std::shared_ptr<LeaseHold> hold;
    LeaseOptions options;
  };
  using Lock = std::unique_lock<std::mutex>;

  bool Put(Command command);  // false: too many
  void Drive();
  void TakeTurn(std::deque<Command>& commands, std::map<std::uint64_t, RegisterAnswer>& news);
  void Do(Command& command);
  void Step(std::uint64_t number, Entry& entry, LeaseOutbox& out);
  void Send(std::uint64_t number, Entry& entry, RegisterRequest request);
  void Tell(Entry& entry, LeaseEvent event);
  void Queue(const std::shared_ptr<Client>& client, LeaseEvent event);
  void ReleaseEntry(Entry& entry, LeaseOutbox& out);
  void CallBack();
  void Call(Lock& lock, const std::shared_ptr<Client>& client, const LeaseEvent& event);

  std::shared_ptr<Register> register_;  // the driver's, and Stop()'s after its end
  const LeaseKeeperOptions options_;
  std::mutex mutex_;
  std::condition_variable work_;     // for the driver
  std::condition_variable events_;   // for the one that calls back
  std::condition_variable changed_;  // for those who wait
  bool stopped_ = false;
  std::deque<Command> commands_;
  std::map<std::uint64_t, RegisterAnswer> news_;  // of watches, the newest of each lease
  std::map<std::string, Name> names_;
  std::uint64_t next_lease_ = 1;
  std::deque<std::shared_ptr<Client>> to_tell_;
  const Client* telling_ = nullptr;

  std::map<std::uint64_t, Entry> entries_;
  std::set<std::pair<Instant, std::uint64_t>> due_;

  std::atomic<std::thread::id> teller_id_{};
  // The driver waits for nobody, so anybody may wait for it. The teller may itself be in Stop().
  std::mutex driver_mutex_;
  std::thread driver_;
  std::mutex teller_mutex_;
  std::thread teller_;
};

}  // namespace nekton
