// Saying goodbye: the leave goes to members directly until enough have acknowledged it, and to the rest by gossip.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/engine_impl.h"

namespace nekton {
namespace {

// Members that are told directly, and so the most acknowledgements that are waited for.
constexpr std::uint32_t kFarewellsMax = 32;

}  // namespace

absl::Status Engine::Impl::BeginLeave(Outbox& out, const Leave& leave) {
  if (leave.timeout < Duration{}) return absl::InvalidArgumentError("timeout: must not be negative");
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving already");
  phase_ = Phase::kLeaving;
  EndAllWatches(out);
  const absl::Status cancelled = absl::CancelledError("the member is leaving");
  EndJoinCalls(out, &cancelled);
  rounds_.ForEachOpen([&](ProbeRound& round) { rounds_.Close(round, now_.boot); });
  next_period_ = kNever;
  stagger_.Clear();
  next_contact_ = kNever;
  leave_until_ = Later(now_.boot, leave.timeout == Duration{} ? config_.leave_timeout : leave.timeout);
  const std::uint32_t others = table_.ring_size();
  farewell_enough_ = std::min(others, kFarewellsMax);
  const std::uint32_t start = others == 0 ? 0 : random_.Below(others);
  for (std::uint32_t i = 0; i < farewell_enough_; ++i) farewell_open_.push_back(table_.RingAt(start + i));
  // Nothing else of ours is worth a byte of these frames.
  table_.SetStatus(kSelf, MemberStatus::kLeft, random_);
  news_.Put(kSelf);
  Farewell(out);
  return absl::OkStatus();
}

void Engine::Impl::Farewell(Outbox& out) {
  if (farewell_open_.empty()) return FinishLeave(out);
  Frame ping = Header(FrameType::kPing, kFarewellSequence);
  ping.digest = table_.digest();
  const PeerId forced[] = {kSelf};
  for (const PeerId row : farewell_open_) {
    if (table_.used(row)) Send(out, table_[row].address, ping, Purpose::kGossip, forced, true);
  }
  next_farewell_ = now_.boot + config_.gossip_interval;
}

void Engine::Impl::HeardFarewell(Outbox& out, std::uint64_t sender) {
  if (phase_ != Phase::kLeaving) return;
  const auto it = std::find(farewell_open_.begin(), farewell_open_.end(), table_.FindId(sender));
  if (it == farewell_open_.end()) return;
  farewell_open_.erase(it);
  ++farewell_heard_;
  if (farewell_open_.empty()) FinishLeave(out);
}

void Engine::Impl::LeaveTick(Outbox& out) {
  if (leave_until_ <= now_.boot) return FinishLeave(out);
  if (next_farewell_ <= now_.boot) Farewell(out);
}

void Engine::Impl::FinishLeave(Outbox& out) {
  phase_ = Phase::kGone;
  MixFingerprint(farewell_heard_);
  if (!out.wants_events()) return;
  Event event;
  event.kind = EventKind::kLeaveDone;
  event.at = now_.boot;
  event.member = table_.MakeInfo(kSelf);
  event.heard_by = farewell_heard_;
  if (farewell_heard_ < farewell_enough_) {
    event.status = absl::DeadlineExceededError(
        absl::StrCat("only ", farewell_heard_, " of ", farewell_enough_, " members acknowledged the leave in time"));
  }
  out.Add(std::move(event));
}

}  // namespace nekton
