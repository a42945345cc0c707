// Notices (swim/notice.h): a member is spared for its planned restart, or removed by hand.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stm/mistakes.h"
#include "swim/engine_impl.h"

namespace nekton {
namespace {

std::size_t Count(const Broadcasts& broadcasts, Instant now, Notice::Kind kind) {
  std::size_t count = 0;
  broadcasts.ForEach(now, [&](std::uint64_t, const BroadcastPart& part) {
    const auto notice = ReadNotice(part.key, part.bytes);
    count += notice.has_value() && notice->kind == kind && !notice->over ? 1 : 0;
  });
  return count;
}

}  // namespace

// The one that holds now. Its views are good until the next change of broadcasts.
std::optional<BroadcastPart> Engine::Impl::FindNotice(Notice::Kind kind, std::string_view name, Instant now) const {
  if (broadcasts_.reserved() == 0) return std::nullopt;
  const auto part = broadcasts_.Find(KeyOf(kind, name), now);
  if (!part.has_value() || part->left <= Duration{}) return std::nullopt;
  const auto notice = ReadNotice(part->key, part->bytes);
  const bool holds = notice.has_value() && !notice->over && notice->name == name;
  return holds ? part : std::nullopt;
}

// As it holds for the life of this row.
std::optional<NoticeInfo> Engine::Impl::Said(Instant now, Notice::Kind kind, PeerId row) const {
  const auto held = FindNotice(kind, table_[row].who->name, now);
  if (!held.has_value()) return std::nullopt;
  const std::uint64_t generation = ReadNotice(held->key, held->bytes)->generation;
  const std::uint64_t its = table_[row].key.generation;
  if (kind == Notice::Kind::kMaintenance ? its < generation : its > generation) return std::nullopt;
  return NoticeInfo{std::string(held->origin), held->left};
}

absl::StatusOr<PeerId> Engine::Impl::Concerned(std::string_view member) const {
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  const PeerId row = table_.FindName(member);
  if (row != kNoPeer && table_[row].status != MemberStatus::kLeft) return row;
  return absl::NotFoundError(absl::StrCat("member = \"", absl::string_view(member.data(), member.size()),
                                          "\": ", row == kNoPeer ? "no member has this name" : "it has left"));
}

absl::Status Engine::Impl::TakeMaintenance(Outbox& out, const Maintenance& order) {
  if (order.duration < Duration{} || order.duration > kMaintenanceMax) {
    return absl::InvalidArgumentError(absl::StrCat("duration = ", DurationText(order.duration), ": must be from 0 to ",
                                                   DurationText(kMaintenanceMax)));
  }
  const absl::StatusOr<PeerId> row = Concerned(order.member);
  if (!row.ok()) return row.status();
  const Row& subject = table_[*row];
  Notice notice{.kind = Notice::Kind::kMaintenance, .name = subject.who->name, .generation = subject.key.generation};
  const auto held = FindNotice(notice.kind, notice.name, now_.boot);
  if (order.duration == Duration{}) {
    if (!held.has_value()) return absl::NotFoundError(absl::StrCat(order.member, " is not in maintenance"));
    notice.over = true;
    // For as long as a copy of what it ends could be about.
    return SayBroadcast(out, KeyOf(notice.kind, notice.name), BytesOf(notice),
                        std::max<Duration>(held->left, std::chrono::seconds(1)));
  }
  if (subject.status == MemberStatus::kInactive) {
    return absl::FailedPreconditionError(absl::StrCat(order.member, " is INACTIVE already"));
  }
  if (!held.has_value() && Count(broadcasts_, now_.boot, notice.kind) >= kMaintenancesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMaintenancesMax, " members are in maintenance, and no more can be at a time"));
  }
  return SayBroadcast(out, KeyOf(notice.kind, notice.name), BytesOf(notice),
                      std::max<Duration>(order.duration, std::chrono::milliseconds(1)));
}

absl::Status Engine::Impl::TakeExpel(Outbox& out, const Expel& order) {
  const absl::StatusOr<PeerId> row = Concerned(order.member);
  if (!row.ok()) return row.status();
  if (*row == kSelf) return absl::InvalidArgumentError("member: it is this member itself, which can leave");
  const Row& subject = table_[*row];
  const Notice notice{.kind = Notice::Kind::kExpelled, .name = subject.who->name, .generation = subject.key.generation};
  if (!FindNotice(notice.kind, notice.name, now_.boot).has_value() &&
      Count(broadcasts_, now_.boot, notice.kind) >= kExpulsionsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kExpulsionsMax, " expulsions are kept, and no more can be; each ends broadcast_keep after it"));
  }
  const std::string key = KeyOf(notice.kind, notice.name);
  const absl::Status said = SayBroadcast(out, key, BytesOf(notice), config_.broadcast_keep);
  if (!said.ok()) return said;
  const PeerId forced[] = {*row};  // nobody gossips with the dead, so we tell it
  SendGossipTo(out, *row, forced);
  return absl::OkStatus();
}

// A notice of a life that cannot be. It is neither kept nor passed on: an expulsion of all lives that may ever come would
// lock a name out.
bool Engine::Impl::IsAbsurd(const BroadcastPart& part) const {
  if (!IsReserved(part.key)) return false;
  const auto notice = ReadNotice(part.key, part.bytes);
  return notice.has_value() && !IsGeneration(notice->generation, table_.FindName(notice->name));
}

void Engine::Impl::HeardNotice(Outbox& out, const BroadcastPart& part) {
  const auto notice = ReadNotice(part.key, part.bytes);
  if (!notice.has_value()) return;  // of a later version
  const PeerId row = table_.FindName(notice->name);
  if (row == kNoPeer || table_[row].status == MemberStatus::kLeft) return;  // when it comes: NoticesOf
  if (notice->kind == Notice::Kind::kExpelled) return Expelled(out, row, *notice, part);
  SpareRow(row, *notice, part);
  if (!out.wants_events()) return;
  Event event;
  event.kind = EventKind::kMaintenance;
  event.at = now_.boot;
  event.member = table_.MakeInfo(row);
  event.duration = notice->over ? Duration{} : std::min(part.left, kMaintenanceMax);
  event.cause.observers = {std::string(part.origin)};
  out.Add(std::move(event));
}

// No member is spared for longer than the limit, whatever is said.
void Engine::Impl::SpareRow(PeerId row, const Notice& notice, const BroadcastPart& part) {
  if (row == kSelf || table_[row].key.generation < notice.generation) return;
  stm_.Spare(now_, row, notice.over ? now_.boot : now_.boot + std::min(part.left, kMaintenanceMax));
  if (table_[row].status == MemberStatus::kSuspect && row_timers_.Get(row).has_value()) ScheduleQuestion(row);
}

// A row that is new here, or speaks of a new life.
void Engine::Impl::NoticesOf(PeerId row) {
  const auto held = FindNotice(Notice::Kind::kMaintenance, table_[row].who->name, now_.boot);
  if (held.has_value()) SpareRow(row, *ReadNotice(held->key, held->bytes), *held);
}

void Engine::Impl::Expelled(Outbox& out, PeerId row, const Notice& notice, const BroadcastPart& part) {
  if (table_[row].key.generation > notice.generation) return;
  Cause cause;
  cause.transition = Transition::kExpelled;
  cause.observers = {std::string(part.origin)};
  if (row == kSelf) {
    if (phase_ != Phase::kRunning) return;  // who says goodbye is going anyway
    Emit(out, EventKind::kExpelled, kSelf, MemberStatus::kActive, std::move(cause));
    const absl::Status cancelled = absl::CancelledError("the member was expelled");
    EndJoinCalls(out, &cancelled);
    phase_ = Phase::kGone;
    return;
  }
  stm_.Expelled(now_, row, table_[row].key, changes_);
  news_.Drop(row);               // the notice says more, and is believed at once
  if (changes_.empty()) return;  // it is dead already, and stays so
  Commit(out, &cause);
  SetTombstone(row, part.age);
}

bool Engine::Impl::IsExpelled(std::string_view name, std::uint64_t generation) const {
  const auto held = FindNotice(Notice::Kind::kExpelled, name, now_.boot);
  return held.has_value() && generation <= ReadNotice(held->key, held->bytes)->generation;
}

// The news of an expelled member is the notice, which it obeys and others believe.
bool Engine::Impl::AddExpulsion(FrameWriter& writer, PeerId row) const {
  const Row& r = table_[row];
  if (r.status != MemberStatus::kInactive || !IsExpelled(r.who->name, r.key.generation)) return false;
  return writer.Add(*FindNotice(Notice::Kind::kExpelled, r.who->name, now_.boot));
}

}  // namespace nekton
