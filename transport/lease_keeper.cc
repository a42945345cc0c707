#include "transport/lease_keeper.h"

#include <time.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "transport/lease_keeper_core.h"

namespace nekton {
namespace {

Duration ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Tick ReadLeaseClocks() {
  return {.boot = Instant(ReadClock(CLOCK_BOOTTIME)),
          .raw = RawInstant(ReadClock(CLOCK_MONOTONIC_RAW)),
          .wall = WallTime(ReadClock(CLOCK_REALTIME))};
}

LeaseKeeper::LeaseKeeper(std::shared_ptr<Core> core) : core_(std::move(core)) {}

LeaseKeeper::~LeaseKeeper() {
  core_->Stop();
  core_->LetGo();
}

void LeaseKeeper::Stop() { core_->Stop(); }

absl::StatusOr<std::unique_ptr<LeaseKeeper>> LeaseKeeper::Start(std::shared_ptr<Register> over,
                                                                LeaseKeeperOptions options) {
  if (over == nullptr) return absl::InvalidArgumentError("register: it is null");
  NamedLeaseOptions probe;
  probe.name = "x";
  probe.holder = options.holder;
  probe.drift_ppm = options.drift_ppm;
  const std::vector<std::string> problems = ProblemsOf(probe);
  if (!problems.empty()) return absl::InvalidArgumentError(problems.front());
  if (options.generation == 0) {
    options.generation = static_cast<std::uint64_t>(ReadLeaseClocks().wall.time_since_epoch().count());
  }
  auto core = std::make_shared<Core>(std::move(over), std::move(options));
  core->Begin();
  return std::unique_ptr<LeaseKeeper>(new LeaseKeeper(std::move(core)));
}

absl::StatusOr<LeaseHandle> LeaseKeeper::Acquire(const std::string& name, const LeaseOptions& options,
                                                 LeaseCallbacks callbacks) {
  absl::StatusOr<std::shared_ptr<LeaseHandle::Client>> client = core_->Acquire(name, options, std::move(callbacks));
  if (!client.ok()) return client.status();
  return LeaseHandle(core_, *std::move(client));
}

absl::StatusOr<LeaseHandle> LeaseKeeper::AcquireWithin(const std::string& name, const LeaseOptions& options,
                                                       Duration timeout, LeaseCallbacks callbacks) {
  if (core_->MustNotWait()) {
    return absl::FailedPreconditionError("AcquireWithin: it would block the thread that callbacks come from");
  }
  absl::StatusOr<LeaseHandle> handle = Acquire(name, options, std::move(callbacks));
  if (!handle.ok() || core_->WaitHeld(*handle->client_, timeout)) return handle;
  if (core_->stopped()) return absl::CancelledError("AcquireWithin: the keeper was stopped");
  return absl::DeadlineExceededError(absl::StrCat("AcquireWithin: \"", name, "\" is another's"));
}

void LeaseKeeper::HolderInactive(const std::string& holder) { core_->HolderInactive(holder); }

LeaseHandle::LeaseHandle(std::shared_ptr<LeaseKeeper::Core> core, std::shared_ptr<Client> client)
    : core_(std::move(core)), client_(std::move(client)) {}

LeaseHandle& LeaseHandle::operator=(LeaseHandle&& other) noexcept {
  // What it held so far ends with `old`.
  const LeaseHandle old = std::move(*this);
  core_ = std::move(other.core_);
  client_ = std::move(other.client_);
  return *this;
}

LeaseHandle::~LeaseHandle() {
  if (client_ == nullptr) return;
  Release();
  core_->Forget(*client_);
}

std::optional<FencingToken> LeaseHandle::Check() const {
  if (client_ == nullptr || client_->over.load(std::memory_order_acquire)) return std::nullopt;
  const std::optional<FencingToken> held = client_->hold->Check(ReadLeaseClocks());
  if (!held || held->value != client_->token.load(std::memory_order_acquire)) return std::nullopt;
  return held;
}

Duration LeaseHandle::Left() const { return Check() ? client_->hold->Left(ReadLeaseClocks()) : Duration(-1); }

void LeaseHandle::Release() {
  if (client_ != nullptr) core_->Release(*client_);
}

absl::Status LeaseHandle::ReleaseWithin(Duration timeout) {
  if (client_ == nullptr) return absl::FailedPreconditionError("ReleaseWithin: the handle is empty");
  if (core_->MustNotWait()) {
    return absl::FailedPreconditionError("ReleaseWithin: it would block the thread that callbacks come from");
  }
  Release();
  const std::optional<LossReason> how = core_->WaitReleased(*client_, timeout);
  if (!how) return absl::DeadlineExceededError("ReleaseWithin: the register has not answered yet");
  if (*how == LossReason::kUnsettled) {
    return absl::UnavailableError("ReleaseWithin: the register did not answer; the lease ends by itself");
  }
  return absl::OkStatus();
}

void LeaseHandle::RaiseAbove(FencingToken token) {
  if (client_ != nullptr) core_->RaiseAbove(*client_, token);
}

}  // namespace nekton
