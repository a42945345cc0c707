// Who may join under which name.
//
// A name belongs to who is alive under it. A newcomer at the same address is its restart, at once; at another address it
// has to wait until we have looked, by one round, whether anybody answers at the old one: if so it is refused, and
// nobody's state changes; if the round failed it is admitted, and whoever had the name is its former life; if the round
// said nothing it is asked to come again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/engine_impl.h"
#include "swim/wire.h"

namespace nekton {

// Whether the sender of a sync is one of us, or may become one; else it was refused.
bool Engine::Impl::Admits(Outbox& out, ExchangeId id, const Frame& frame, const Update& sender) {
  const auto refuse = [&](Refusal refusal, std::string_view text) {
    Refuse(out, id, refusal, text);
    return false;
  };
  if (phase_ != Phase::kRunning) return refuse(Refusal::kBusy, "this member is leaving");
  if (Pulls()) return refuse(Refusal::kBusy, "this member has slept, and does not know yet who is there");
  if (frame.version_min > kProtocolVersion || frame.version_max < kProtocolVersion) {
    return refuse(Refusal::kVersion, "no protocol version in common");
  }
  const PeerId row = table_.FindName(sender.name);
  if (!Plausible(sender, row)) {
    ++counters_[Counter::kUpdatesRefused];
    return refuse(Refusal::kImplausible,
                  absl::StrCat("generation ", sender.key.generation, ", incarnation ", sender.key.incarnation,
                               ": too far ahead of what this member knows (generations are times in ms)"));
  }
  if ((frame.flags & kFlagJoin) == 0) return true;
  if (const std::string difference = DifferentTerms(frame.terms, terms_); !difference.empty()) {
    return refuse(Refusal::kTerms, difference);
  }
  if (row == kNoPeer && table_.full() && !(config_.beats() && OldestTombstone() != kNoPeer)) {
    ++counters_[Counter::kMembersRefused];
    return refuse(Refusal::kFull, absl::StrCat("the member table is full: ", config_.members_max, " rows"));
  }
  return true;
}

bool Engine::Impl::NeedsProof(const Frame& frame, const Update& sender) const {
  if ((frame.flags & kFlagJoin) == 0) return false;
  const PeerId row = table_.FindName(sender.name);
  return row != kNoPeer && table_[row].address != sender.address && table_.IsAlive(row);
}

void Engine::Impl::Examine(Outbox& out, ExchangeId id, const Update& sender, std::span<const std::byte> request) {
  const PeerId row = table_.FindName(sender.name);
  // Where all send heartbeats to all, the state says it; and nobody takes our own.
  if (config_.beats() || row == kSelf) return RefuseName(out, id, row, sender.address);
  ProbeRound* round = rounds_.FindOpen(row);
  if (round == nullptr) round = StartRound(out, row, now_.boot + std::min(config_.period, config_.stream_timeout / 2));
  if (round == nullptr || admissions_.size() == kAdmissionsMax) {
    return Refuse(out, id, Refusal::kBusy, "this member cannot look now whether the name is in use");
  }
  admissions_.push_back({id, round->Sequence(0), {request.begin(), request.end()}});
}

void Engine::Impl::RefuseName(Outbox& out, ExchangeId id, PeerId row, const Address& newcomer) {
  if (conflicts_.Due(row, now_.boot)) {
    Emit(out, EventKind::kNameConflict, row, table_[row].status, {}, newcomer);
  }
  Refuse(out, id, Refusal::kNameInUse,
         absl::StrCat("name in use: \"", table_[row].who->name, "\" is alive at ", table_[row].address.ToString()));
}

// Those whose round is over get their answer.
void Engine::Impl::AdmissionsDue(Outbox& out) {
  for (std::size_t i = 0; i < admissions_.size();) {
    std::uint32_t attempt;
    const ProbeRound* round = rounds_.Find(admissions_[i].sequence, &attempt);
    const bool over = round == nullptr || round->acked || round->phase == ProbeRound::Phase::kClosed;
    if (!over) {
      ++i;
      continue;
    }
    const bool acked = round != nullptr && round->acked;
    const bool failed = round == nullptr || round->failed;
    const Admission admission = std::move(admissions_[i]);
    admissions_.erase(admissions_.begin() + static_cast<std::ptrdiff_t>(i));
    Conclude(out, admission, acked, failed);
  }
}

void Engine::Impl::Conclude(Outbox& out, const Admission& admission, bool acked, bool failed) {
  Frame frame;
  Update sender;
  if (DecodeStream(admission.request, label_, &frame) != Fault::kNone) return;
  UpdateReader(frame.updates).Next(&sender);
  // It may have come to an end otherwise meanwhile.
  if (!Admits(out, admission.id, frame, sender)) return;
  if (!NeedsProof(frame, sender)) return Admit(out, admission.id, frame);
  const PeerId row = table_.FindName(sender.name);
  if (acked) return RefuseName(out, admission.id, row, sender.address);
  if (failed) return Admit(out, admission.id, frame);
  Refuse(out, admission.id, Refusal::kBusy, "whether the name is in use could not be found out");
}

}  // namespace nekton
