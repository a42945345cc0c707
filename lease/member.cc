#include "lease/member.h"

#include <string>

#include "absl/strings/str_join.h"

namespace nekton {
namespace {

constexpr std::uint64_t kSeatStream = 0x73656174;  // of randomness
// Under which the heads of views are said, whichever candidate says them: each in the place of the one before.
const std::string kSeatName = "authority";
constexpr int kRoundsMax = 8;  // of what the room says and hears at once of its own; two are needed

}  // namespace

absl::StatusOr<Member> Member::Create(const Config& config, const Address& self, std::shared_ptr<Identities> identities,
                                      const LeaseConfig& leases, View stored) {
  absl::StatusOr<Engine> engine = Engine::Create(config, self, std::move(identities));
  const std::vector<std::string> problems = ProblemsOf(leases, config);
  if (!problems.empty()) {
    std::string mistakes = engine.ok() ? "" : std::string(engine.status().message()) + "\n";
    return absl::InvalidArgumentError(mistakes + absl::StrJoin(problems, "\n"));
  }
  if (!engine.ok()) return engine.status();
  if (!leases.enabled()) return Member(*std::move(engine), nullptr);
  const bool of_another = stored.epoch() != 0 && !VerifyHead(leases.key, config.label, stored.head);
  if (of_another) return absl::DataLossError("the stored view was not signed by this authority for this group");
  Member member(*std::move(engine), std::make_unique<LeaseRoom>(leases, config, self, std::move(stored)));
  if (leases.by_lease() && leases.IsCandidate(config.name)) {
    Random random(config.seed ^ config.generation ^ kSeatStream);
    member.candidacy_ =
        std::make_unique<Candidacy>(SeatLeaseOf(leases, config), SeatViewKey(config.label), random.Next());
  }
  return member;
}

std::optional<LeasePeer> Member::Peer(std::string_view name) const {
  const MemberPtr found = engine_.Find(name);
  if (found == nullptr) return std::nullopt;
  const bool alive = found->status == MemberStatus::kActive || found->status == MemberStatus::kSuspect;
  return LeasePeer{found->key.generation, found->address, alive};
}

void Member::Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out) {
  const std::size_t told = out.events().size();
  engine_.Receive(now, from, datagram, out);
  After(now, told, out);
}

void Member::Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request, Outbox& out,
                   bool busy) {
  const std::size_t told = out.events().size();
  engine_.Serve(now, from, id, request, out, busy);
  After(now, told, out);
}

void Member::Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
                    Outbox& out) {
  const std::size_t told = out.events().size();
  engine_.Answer(now, id, status, answer, out);
  After(now, told, out);
}

void Member::Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out) {
  const std::size_t told = out.events().size();
  engine_.Report(now, about, trouble, out);
  After(now, told, out);
}

void Member::Wake(const Tick& now, Outbox& out) {
  const std::size_t told = out.events().size();
  engine_.Wake(now, out);
  if (room_ != nullptr && !begun_) {
    begun_ = true;
    LeaseOutput output;
    // What could be wrong with the store was looked at in Create.
    (void)room_->Begin(now, output);
    Do(now, output, out);
    if (candidacy_ != nullptr) {
      CandidacyOutput first;
      candidacy_->Begin(now, first);
      Heed(now, first, out);
    }
  }
  After(now, told, out);
}

absl::Status Member::Order(const Tick& now, const Command& command, Outbox& out) {
  const std::size_t told = out.events().size();
  const absl::Status status = engine_.Order(now, command, out);
  if (room_ != nullptr && status.ok() && std::holds_alternative<Leave>(command)) room_->End();
  After(now, told, out);
  return status;
}

void Member::HoldProbes(const Tick& now, bool hold, Outbox& out) {
  const std::size_t told = out.events().size();
  engine_.HoldProbes(now, hold, out);
  After(now, told, out);
}

void Member::Stored(const Tick& now, StoreId id, const absl::Status& status, Outbox& out) {
  if (room_ == nullptr) return;
  LeaseOutput output;
  room_->Stored(
      now, id, status, [this](std::string_view name) { return Peer(name); }, output);
  Do(now, output, out);
  After(now, out.events().size(), out);
}

absl::Status Member::Move(const Tick& now, const ObjectId& object, std::string_view to, Outbox& out) {
  if (room_ == nullptr) return absl::FailedPreconditionError("no authority is configured");
  if (candidacy_ != nullptr) Contend(now, out);
  LeaseOutput output;
  const absl::Status status = room_->Move(now, object, to, output);
  Do(now, output, out);
  After(now, out.events().size(), out);
  return status;
}

Instant Member::NextWake() const {
  const Instant wake = engine_.NextWake();
  if (room_ == nullptr || wake == kNever || !begun_) return wake;
  return std::min({wake, room_->NextWake(), candidacy_ == nullptr ? kNever : candidacy_->NextWake()});
}

// What the engine has heard for the room, and what the room makes of it and of the time. `told`: so many events were in
// the outbox before.
void Member::After(const Tick& now, std::size_t told, Outbox& out) {
  if (room_ == nullptr || !begun_) return Decline(now, out);
  if (engine_.NextWake() == kNever) room_->End();
  if (candidacy_ != nullptr) Contend(now, out);  // first: nothing is heard as the authority by who is it no longer
  if (engine_.version() != version_) {
    version_ = engine_.version();
    const std::uint64_t generation = engine_.Self()->key.generation;
    if (generation != room_->generation()) room_->NewLife(now, generation);
  }
  const auto peers = [this](std::string_view name) { return Peer(name); };
  LeaseOutput output;
  for (int round = 0; round < kRoundsMax; ++round) {
    for (const Event& event : out.events().subspan(told)) room_->HearEvent(event, output);
    told = out.events().size();
    const std::vector<std::string> heads = std::exchange(out.inner_broadcasts(), {});
    const std::vector<Mail> mails = std::exchange(out.inner(), {});
    for (const std::string& head : heads) room_->HearHead(now, head, peers, output);
    for (const Mail& mail : mails) room_->Hear(now, mail, peers, output);
    room_->Turn(now, peers, engine_.version(), output);
    const bool idle = output.idle();
    Do(now, output, out);
    if (idle && out.inner().empty() && out.inner_broadcasts().empty()) return;
  }
}

// Others have an authority, and we have none.
void Member::Decline(const Tick& now, Outbox& out) {
  if (out.inner().empty() && out.inner_broadcasts().empty()) return;
  out.inner_broadcasts().clear();
  for (const Mail& mail : std::exchange(out.inner(), {})) {
    if (mail.kind != MailKind::kRequest) continue;
    (void)engine_.Order(now, Respond{mail.id, absl::UnimplementedError("no authority is configured here"), {}}, out);
  }
}

void Member::Do(const Tick& now, LeaseOutput& output, Outbox& out) {
  LeaseOutput todo = std::exchange(output, {});
  if (todo.store.has_value() && candidacy_ == nullptr) {
    out.Add(Outbox::Store{todo.store->epoch(), EncodeView(*todo.store)});
  } else if (todo.store.has_value()) {
    CandidacyOutput stored;
    candidacy_->Store(now, *std::move(todo.store), stored);
    Heed(now, stored, out);
  }
  if (todo.say.has_value()) {
    const auto head = EncodeViewHead(*todo.say);
    const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
    // Where it does not fit beside what users have said it is said later; who pings hears of it anyway.
    if (!engine_.SayInner(now, candidacy_ == nullptr ? config().name : kSeatName, bytes, out).ok()) room_->NotSaid(now);
  }
  // A letter that cannot be sent is one that was lost: it is written again.
  for (LeaseOutput::Letter& letter : todo.letters) {
    (void)engine_.SendInner(now, {std::move(letter.to), std::move(letter.body)}, out);
  }
  for (LeaseOutput::Question& question : todo.questions) {
    Request request;
    request.id = question.id;
    request.member = std::move(question.to);
    request.body = std::move(question.body);
    request.budget = LeaseRoom::kFetchBudget;
    const absl::Status status = engine_.AskInner(now, request, out);
    if (status.ok()) continue;
    Mail refused;
    refused.kind = MailKind::kDone;
    refused.inner = true;
    refused.id = request.id;
    refused.status = status;
    out.Add(std::move(refused));
  }
  for (LeaseOutput::Answer& answer : todo.answers) {
    Respond respond;
    respond.id = answer.id;
    if (answer.body.empty()) respond.status = absl::NotFoundError("no newer view is held here");
    respond.body = std::move(answer.body);
    (void)engine_.Order(now, respond, out);  // if nobody waits for it any more, so be it
  }
  for (Evidence& evidence : todo.evidence) {
    if (evidence_.size() >= kEvidenceMax) {
      ++evidence_lost_;
    } else {
      evidence_.push_back(std::move(evidence));
    }
  }
}

}  // namespace nekton
