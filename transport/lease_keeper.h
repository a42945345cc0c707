// Named leases for a program: a keeper drives them over a register, on threads of its own. It needs no Node.
//
//     auto keeper = nekton::LeaseKeeper::Start(std::move(reg), {.holder = "alpha"});
//     auto lease = (*keeper)->Acquire("job", {}, {.acquired = [](nekton::FencingToken token) { ... }});
//     ... if (const auto token = lease->Check()) Write(*token, ...);
//
// Callbacks of all leases come one at a time from one thread that does nothing else: one that blocks delays other
// callbacks, and neither a renewal nor the end of a lease nor Check(). In callbacks everything here may be called; the
// blocking forms are refused there (FailedPrecondition). What a late callback would tell of an acquisition that is over by
// then is left out: acquired and lost alternate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lease/fencing_token.h"
#include "lease/lease_hold.h"
#include "lease/named_lease.h"
#include "lease/register.h"
#include "phi/time.h"

namespace nekton {

struct LeaseKeeperOptions {
  std::string holder = {};       // this member's name
  std::uint64_t generation = 0;  // of this life of it; 0: the wall clock's nanoseconds
  std::int64_t drift_ppm = kDriftPpm;
  std::size_t leases_max = 4096;
  // Says that the thread which asks must not wait: the blocking forms are refused there, as they are in callbacks. Empty: any
  // other may. (A Node names its own: transport/node.h.)
  std::function<bool()> must_not_wait = nullptr;
};

// NamedLeaseOptions has the meaning; 0: the default there.
struct LeaseOptions {
  Duration duration = std::chrono::seconds(10);
  Duration handover_delay{};
  Duration notice{};
  Duration spread{};
  Duration release_spread{};
  Duration patience{};
};

struct LeaseCallbacks {
  std::function<void(FencingToken)> acquired = nullptr;
  std::function<void(FencingToken)> about_to_lose = nullptr;
  std::function<void(FencingToken, LossReason, const std::string& by)> lost = nullptr;
  // kNone, or kUnsettled: it ends by itself. Once after each Release.
  std::function<void(LossReason)> released = nullptr;
};

class LeaseHandle;

class LeaseKeeper {
 public:
  // InvalidArgument names the field.
  static absl::StatusOr<std::unique_ptr<LeaseKeeper>> Start(std::shared_ptr<Register> over, LeaseKeeperOptions options);
  ~LeaseKeeper();  // Stop()
  // All holds end; what is held is released, without waiting for the answer. No callback begins after this, and it waits
  // for the one that runs, unless it is called there. Any thread, any number of times. Who waits in a blocking form gets
  // Cancelled.
  void Stop();

  // Contends from now on, and again after every loss, until the handle is released or gone. AlreadyExists while another
  // handle of this keeper contends for the same name; ResourceExhausted at leases_max; InvalidArgument.
  absl::StatusOr<LeaseHandle> Acquire(const std::string& name, const LeaseOptions& options, LeaseCallbacks callbacks);
  // The same, and waits until it is held. DeadlineExceeded: it is not contended for any more. Not in callbacks, nor where
  // LeaseKeeperOptions::must_not_wait.
  absl::StatusOr<LeaseHandle> AcquireWithin(const std::string& name, const LeaseOptions& options, Duration timeout,
                                            LeaseCallbacks callbacks = {});
  // The failure detector suspects this member, or holds it for INACTIVE: those that wait for its leases look at the records
  // now. It shortens no wait.
  void HolderInactive(const std::string& holder);

  class Core;

 private:
  explicit LeaseKeeper(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

// One contender. Move-only; released by the destructor; may outlive the keeper (then it holds nothing). When the destructor
// has returned no callback of it runs or comes, unless it is destroyed inside one.
class LeaseHandle {
 public:
  LeaseHandle() = default;
  LeaseHandle(LeaseHandle&&) noexcept = default;
  LeaseHandle& operator=(LeaseHandle&& other) noexcept;
  ~LeaseHandle();

  // The token if the lease is held now. Wait-free, from any thread. It is true now and not a moment longer: a process may
  // be paused between this and what it does next, and no margin covers that. Show the token to the resource, which
  // refuses it when it is old (lease/fenced_resource.h).
  std::optional<FencingToken> Check() const;
  Duration Left() const;  // negative when not held

  // Check() says no from here on; then the register is told, so that the next one may have it at once. Does not wait.
  void Release();
  // The same, and waits until the register has answered. Unavailable: it has not, and the lease ends by itself after its
  // duration; DeadlineExceeded; FailedPrecondition in callbacks.
  absl::Status ReleaseWithin(Duration timeout);
  // A resource refused us: it has seen this token (FencedAnswer::current). The next token is above it.
  void RaiseAbove(FencingToken token);

  class Client;

 private:
  friend class LeaseKeeper;
  LeaseHandle(std::shared_ptr<LeaseKeeper::Core> core, std::shared_ptr<Client> client);
  std::shared_ptr<LeaseKeeper::Core> core_;
  std::shared_ptr<Client> client_;
};

// CLOCK_BOOTTIME, which counts suspend, CLOCK_MONOTONIC_RAW, which is not slewed, and the wall clock.
Tick ReadLeaseClocks();

}  // namespace nekton
