// What the application has seen of members, and why a member is in its state.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "swim/engine_impl.h"
#include "swim/quoted.h"

namespace nekton {
namespace {}  // namespace

absl::StatusOr<Observation> Engine::Impl::Understand(const PeerObservation& said) {
  const PeerId peer = table_.FindName(said.peer);
  if (peer == kNoPeer) return absl::NotFoundError(absl::StrCat("peer = ", Quoted(said.peer), ": no such member"));
  if (peer == kSelf) return absl::InvalidArgumentError("peer: a member does not observe itself");
  const bool own = said.observer.empty();
  const PeerId observer = own ? kSelf : table_.FindName(said.observer);
  if (observer == kNoPeer) {
    return absl::NotFoundError(absl::StrCat("observer = ", Quoted(said.observer), ": no such member"));
  }
  if (!own && observer == kSelf) return absl::InvalidArgumentError("observer: leave it empty for ourselves");
  const std::uint64_t known = table_[peer].key.generation;
  if (!own && said.epoch > known) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch = ", said.epoch, ": ", Quoted(said.peer), " has generation ", known, " here"));
  }
  if (!own && (said.nonce == 0 || said.timestamp == WallTime{})) {
    return absl::InvalidArgumentError(said.nonce == 0
                                          ? "nonce = 0: each observation of another has one of its own"
                                          : "timestamp: an observation of another must say when it was made");
  }
  if (own) return Own(peer, said.signal, Reason::kApplication, 1);
  return Observation{.peer = peer,
                     .observer = observer,
                     .signal = said.signal,
                     .reason = Reason::kApplication,
                     .epoch = said.epoch != 0 ? said.epoch : known,
                     .sequence = said.sequence,
                     .nonce = said.nonce,
                     .timestamp = said.timestamp};
}

absl::Status Engine::Impl::TakeObservations(Outbox& out, const Observe& observe) {
  std::vector<Observation> understood;
  std::vector<std::string> mistakes;
  absl::StatusCode code = absl::StatusCode::kNotFound;
  for (std::size_t i = 0; i < observe.observations.size(); ++i) {
    absl::StatusOr<Observation> one = Understand(observe.observations[i]);
    const absl::Status status = one.ok() ? stm_.Check(now_, *one) : one.status();
    if (status.ok()) {
      understood.push_back(*one);
      continue;
    }
    if (!absl::IsNotFound(status)) code = absl::StatusCode::kInvalidArgument;
    mistakes.push_back(absl::StrCat("observations[", i, "].", status.message()));
  }
  if (!mistakes.empty()) return absl::Status(code, absl::StrJoin(mistakes, "\n"));

  for (const Observation& observation : understood) {
    const PeerId peer = observation.peer;
    const auto before = stm_.HoldOf(peer);
    stm_.Apply(now_, observation, table_[peer].key, Terms(), changes_);
    const auto after = stm_.HoldOf(peer);
    Cause cause;
    cause.own = observation.observer == kSelf;
    cause.reason = Reason::kApplication;
    cause.observers = {table_[observation.observer].who->name};
    Commit(out, &cause);
    const bool ran = before.has_value() && before->running;
    if (after.has_value() && after->running && (!ran || after->own != before->own)) {
      // As if a round had failed: ours, or that of the member who saw it, whose one voice it stays wherever it is handed
      // in. Our rounds go on at it in either case.
      suspicions_.MarkOwn(peer);
      row_timers_.Cancel(peer);
      suspicions_.Merge(peer, {table_[observation.observer].id, false});
      news_.Put(peer);
    } else if (ran && after.has_value() && !after->running) {
      Waver(peer);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<MemberExplanation> Engine::Impl::Explain(const Tick& now, std::string_view name) {
  const PeerId row = table_.FindName(name);
  if (row == kNoPeer) return absl::NotFoundError(absl::StrCat("no member is called ", Quoted(name)));
  MemberExplanation explanation{.member = table_.Info(row), .why = stm_.Explain(now, row), .names = {}};
  explanation.maintenance = Said(now.boot, Notice::Kind::kMaintenance, row);
  explanation.expelled = Said(now.boot, Notice::Kind::kExpelled, row);
  const auto add = [&](PeerId id) {
    if (id != kNoPeer && table_.used(id)) explanation.names[id] = table_[id].who->name;
  };
  add(row);
  add(explanation.why.observer);
  for (const Witness& witness : explanation.why.witnesses) add(witness.observer);
  for (const Testimony& said : explanation.why.recent) add(said.observer);
  return explanation;
}

}  // namespace nekton
