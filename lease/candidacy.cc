#include "lease/candidacy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr std::uint64_t kViewRequests = std::uint64_t{1} << 63U;  // the ids of the lease's requests are below

}  // namespace

std::string SeatKey(std::string_view label) {
  return label.empty() ? "authority" : absl::StrCat("authority/", absl::string_view(label.data(), label.size()));
}
std::string SeatViewKey(std::string_view label) { return absl::StrCat(SeatKey(label), "/view"); }

Candidacy::Candidacy(NamedLeaseOptions lease, std::string view_key, std::uint64_t seed)
    : lease_(std::move(lease), seed),
      view_key_(std::move(view_key)),
      patience_(lease_.options().patience),
      last_id_(kViewRequests) {}

void Candidacy::Begin(const Tick& now, CandidacyOutput& out) {
  LeaseOutbox lease;
  lease_.Acquire(now, lease);
  Take(now, lease, out);
}

void Candidacy::End(const Tick& now, CandidacyOutput& out) {
  LeaseOutbox lease;
  lease_.Release(now, lease);  // the hold ends without an event
  if (stage_ == Stage::kSeated) out.lost = true;
  stage_ = Stage::kStanding;
  storing_.reset();
  pending_.reset();
  Take(now, lease, out);
}

void Candidacy::Answer(const Tick& now, std::uint64_t id, const RegisterAnswer& answer, CandidacyOutput& out) {
  LeaseOutbox lease;
  if ((id & kViewRequests) == 0) {
    lease_.Answer(id, answer, now, lease);
    return Take(now, lease, out);
  }
  // First, so that an answer that comes too late makes nobody the authority.
  lease_.Wake(now, lease);
  Take(now, lease, out);
  if (!pending_.has_value() || pending_->id != id) return;
  const Pending sent = *std::exchange(pending_, std::nullopt);
  OnView(now, sent, answer, out);
  Step(now, out);
}

void Candidacy::Wake(const Tick& now, CandidacyOutput& out) {
  LeaseOutbox lease;
  lease_.Wake(now, lease);
  Take(now, lease, out);
}

Instant Candidacy::NextWake() const {
  Instant next = lease_.NextWake();
  if (pending_.has_value()) {
    next = std::min(next, pending_->give_up);
  } else if (stage_ == Stage::kReading || storing_.has_value()) {
    next = std::min(next, std::max(retry_at_, now_));
  }
  return next;
}

void Candidacy::Store(const Tick& now, View view, CandidacyOutput& out) {
  if (stage_ != Stage::kSeated) return;
  storing_ = std::move(view);
  Step(now, out);
}

std::string_view Candidacy::holder() const {
  const std::optional<LeaseRecord>& record = lease_.record();
  return record.has_value() ? std::string_view(record->holder) : std::string_view();
}

// What came of an input to the lease.
void Candidacy::Take(const Tick& now, LeaseOutbox& lease, CandidacyOutput& out) {
  std::move(lease.requests.begin(), lease.requests.end(), std::back_inserter(out.requests));
  for (const LeaseEvent& event : lease.events) {
    if (event.kind == LeaseEventKind::kAcquired) {
      stage_ = Stage::kReading;
      token_ = event.token;
      pending_.reset();
      retry_at_ = now.boot;
    } else if (event.kind == LeaseEventKind::kLost) {
      // Taken and lost at one input: nobody was told, and nobody needs to be.
      if (stage_ == Stage::kSeated && !std::exchange(out.taken, std::nullopt).has_value()) out.lost = true;
      stage_ = Stage::kStanding;
      storing_.reset();
      pending_.reset();
    }
  }
  Step(now, out);
}

void Candidacy::Step(const Tick& now, CandidacyOutput& out) {
  now_ = now.boot;
  if (pending_.has_value() && now.boot >= pending_->give_up) pending_.reset();
  if (pending_.has_value() || now.boot < retry_at_) return;
  if (stage_ == Stage::kReading) {
    Send(now, Sent::kRead, std::nullopt, out);
  } else if (stage_ == Stage::kSeated && storing_.has_value()) {
    Send(now, Sent::kStore, Encode(ViewRecord{token_, *storing_}), out);
  }
}

void Candidacy::Send(const Tick& now, Sent what, std::optional<std::string> value, CandidacyOutput& out) {
  RegisterRequest request;
  request.id = ++last_id_;
  request.key = view_key_;
  request.write = value.has_value();
  request.expected = version_;
  request.value = std::move(value);
  pending_ = Pending{request.id, what, nekton::Later(now.boot, patience_)};
  out.requests.push_back(std::move(request));
}

absl::StatusOr<ViewRecord> Candidacy::RecordOf(const RegisterAnswer& there) {
  if (there.version == kAbsent) return ViewRecord{};
  absl::StatusOr<ViewRecord> record = DecodeViewRecord(there.value);
  // What a restored register has under keys that were never written (AfterRestore).
  if (!record.ok() && DecodeLeaseRecord(there.value).ok()) return ViewRecord{};
  return record;
}

void Candidacy::OnView(const Tick& now, const Pending& sent, const RegisterAnswer& answer, CandidacyOutput& out) {
  if (answer.verdict == RegisterVerdict::kUnknown) return Later(now);  // read again, or written again as it was
  const bool yes = answer.verdict == RegisterVerdict::kYes;
  switch (sent.what) {
    case Sent::kRead:
      return OnThere(now, answer, out);
    case Sent::kFence:
      if (!yes) return OnThere(now, answer, out);
      version_ = answer.version;
      record_.token = token_;
      return Sit(out);
    case Sent::kStore:
      if (!yes) return OnRefused(now, answer, out);
      version_ = answer.version;
      record_ = {token_, *std::exchange(storing_, std::nullopt)};
      out.stored = CandidacyOutput::Stored{record_.view.epoch(), absl::OkStatus()};
      return;
  }
}

// What stands there, to be fenced; or it is fenced already, by a write of ours that was not answered.
void Candidacy::OnThere(const Tick& now, const RegisterAnswer& there, CandidacyOutput& out) {
  absl::StatusOr<ViewRecord> record = RecordOf(there);
  // Not ours to replace: it may be of a later release, or the key another program's.
  if (!record.ok()) return Later(now);
  if (record->token > token_) return Outdated(now, record->token, out);
  version_ = there.version;
  record_ = *std::move(record);
  if (record_.token == token_) return Sit(out);
  Send(now, Sent::kFence, Encode(ViewRecord{token_, record_.view}), out);
}

// The version is not the one that we knew: our own write was done and its answer lost, or we are deposed.
void Candidacy::OnRefused(const Tick& now, const RegisterAnswer& there, CandidacyOutput& out) {
  absl::StatusOr<ViewRecord> record = RecordOf(there);
  if (record.ok() && record->token == token_ && record->view.head == storing_->head) {
    version_ = there.version;
    record_ = *std::move(record);
    storing_.reset();
    out.stored = CandidacyOutput::Stored{record_.view.epoch(), absl::OkStatus()};
    return;
  }
  Outdated(now, record.ok() ? std::max(record->token, token_) : token_, out);
}

void Candidacy::Sit(CandidacyOutput& out) {
  stage_ = Stage::kSeated;
  out.taken = CandidacyOutput::Seat{Mandate{token_, lease_.hold()}, record_.view};
}

// Somebody had a higher token: what we hold is worth nothing, and the next one will be above it.
void Candidacy::Outdated(const Tick& now, FencingToken seen, CandidacyOutput& out) {
  LeaseOutbox lease;
  lease_.RaiseAbove(seen, now, lease);
  Take(now, lease, out);
}

}  // namespace nekton
