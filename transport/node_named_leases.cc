// Named leases of a node: a LeaseKeeper under its member's name, with hints from its failure detector.
#include <memory>
#include <string>
#include <utility>

#include "lease/candidacy.h"
#include "transport/node_impl.h"

namespace nekton {
namespace {

absl::Status NoRegister() {
  return absl::FailedPreconditionError("named leases: there is no register (NodeOptions::lease_register)");
}

}  // namespace

absl::Status Node::Impl::KeepLeases(std::shared_ptr<Register> over, std::int64_t drift_ppm) {
  if (over == nullptr) return absl::OkStatus();
  LeaseKeeperOptions options;
  options.holder = core->config().name;
  options.generation = core->config().generation;
  options.drift_ppm = drift_ppm;
  options.must_not_wait = [d = delivery] { return d->OnDispatcher(); };
  absl::StatusOr<std::unique_ptr<LeaseKeeper>> started = LeaseKeeper::Start(std::move(over), std::move(options));
  if (!started.ok()) {
    core->RequestClose();
    return started.status();
  }
  keeper = *std::move(started);
  // The core may outlive us; what it holds must not keep the keeper.
  core->SetDoubtHandler([kept = std::weak_ptr<LeaseKeeper>(keeper)](const std::string& member) {
    const std::shared_ptr<LeaseKeeper> leases = kept.lock();
    if (leases != nullptr) leases->HolderInactive(member);
  });
  return absl::OkStatus();
}

absl::Status Node::Impl::CheckLeaseName(const std::string& name) const {
  if (keeper == nullptr) return NoRegister();
  const std::string& label = core->config().label;
  if (core->by_candidates() && (name == SeatKey(label) || name == SeatViewKey(label))) {
    return absl::InvalidArgumentError(absl::StrCat("lease \"", name, "\": the name is the authority's"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LeaseHandle> Node::AcquireLeaseAsync(const std::string& name, const LeaseOptions& options,
                                                    LeaseCallbacks callbacks) {
  if (absl::Status status = impl_->CheckLeaseName(name); !status.ok()) return status;
  return impl_->keeper->Acquire(name, options, std::move(callbacks));
}

absl::StatusOr<LeaseHandle> Node::AcquireLease(const std::string& name, const LeaseOptions& options, Duration timeout,
                                               LeaseCallbacks callbacks) {
  if (absl::Status status = CheckTimeout(timeout); !status.ok()) return status;
  if (absl::Status status = impl_->CheckLeaseName(name); !status.ok()) return status;
  return impl_->keeper->AcquireWithin(name, options, std::min(timeout, kWaitMax), std::move(callbacks));
}

}  // namespace nekton
