#include "lease/object_gate.h"

namespace nekton {

std::string_view Name(Verdict verdict) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "served", "stale-epoch", "forbidden", "replay", "not-home", "moved", "not-current", "no-authority", "busy"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Decision ObjectGate::Judge(const Tick& now, const ObjectRequest& request) {
  Decision decision;
  decision.epoch = leases_->epoch();
  const auto end = [&decision](Verdict verdict) {
    decision.verdict = verdict;
    return decision;
  };
  if (request.epoch < leases_->epoch()) return end(Verdict::kStaleEpoch);
  if (request.epoch > leases_->epoch()) return end(Verdict::kNotCurrent);
  decision.detail = Check(request.capability, authority_, label_, request.object, request.operation, now.wall);
  if (!decision.detail.ok()) return end(Verdict::kForbidden);
  switch (answers_.Look(request.capability, request.request, now.wall)) {
    case FirstAnswers::Found::kAnswered:
      decision.answer = answers_.AnswerTo(request.capability, request.request);
      return end(Verdict::kReplay);
    case FirstAnswers::Found::kForgotten:
      decision.detail = absl::AlreadyExistsError("request id: older than the last that are remembered");
      return end(Verdict::kForbidden);
    case FirstAnswers::Found::kUnderWay:
    case FirstAnswers::Found::kFull:
      return end(Verdict::kBusy);
    case FirstAnswers::Found::kNew:
      break;
  }
  const HomeLease lease = leases_->Find(request.object);
  if (lease.state == HomeState::kNotHome) return end(Verdict::kNotHome);
  if (lease.state == HomeState::kDraining) {
    decision.moved_to = lease.moved_to;
    decision.epoch = lease.epoch;
    return end(Verdict::kMoved);
  }
  if (!leases_->MayRead(now)) return end(Verdict::kNotCurrent);
  if (request.operation == Operation::kCommit && !leases_->MayCommit(now)) return end(Verdict::kNoAuthority);
  answers_.Begin(request.capability, request.request);
  return decision;
}

Decision ObjectGate::Decide(const Tick& now, const ObjectRequest& request) {
  Decision decision = Judge(now, request);
  ++counters_.by_verdict[static_cast<std::size_t>(decision.verdict)];
  counters_.commits += decision.verdict == Verdict::kServe && request.operation == Operation::kCommit ? 1 : 0;
  return decision;
}

void ObjectGate::Served(const ObjectRequest& request, std::span<const std::byte> answer) {
  answers_.End(request.capability, request.request, answer);
}

}  // namespace nekton
