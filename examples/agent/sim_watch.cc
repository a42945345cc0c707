#include "examples/agent/sim_watch.h"

#include <algorithm>

#include "absl/strings/numbers.h"

namespace nekton {
namespace {

void Note(const Event& event, SimWatch::Mistakes* mistakes) {
  if (event.kind == EventKind::kFailed) {
    ++mistakes->inactive;
  } else {
    ++mistakes->suspicions;
    mistakes->accusations += event.cause.own ? 1 : 0;
  }
}

void Note(const Event& event, Duration after, SimWatch::Kill* kill) {
  if (event.kind == EventKind::kFailed) {
    ++kill->confirmed_by;
    if (!kill->first_confirm) kill->first_confirm = after;
    kill->last_confirm = after;
  } else {
    ++kill->suspected_by;
    if (!kill->first_suspect) kill->first_suspect = after;
  }
}

}  // namespace

SimId SubjectOf(const Event& event) {
  SimId id = kNobody;
  if (event.member == nullptr || !event.member->name.starts_with('n')) return kNobody;
  return absl::SimpleAtoi(event.member->name.substr(1), &id) ? id : kNobody;
}

void SimWatch::Killed(SimId id) {
  Kill kill;
  kill.id = id;
  kill.generation = simulator_->generation(id);
  kill.at = simulator_->now();
  kill.others = simulator_->live_count() - (simulator_->live(id) ? 1 : 0);
  kills_.push_back(kill);
}

void SimWatch::Saw(const SimEvent& seen) {
  const Event& event = seen.event;
  if (event.kind != EventKind::kSuspected && event.kind != EventKind::kFailed) return;
  const SimId id = SubjectOf(event);
  if (id >= simulator_->size()) return;
  const std::uint64_t generation = event.member->key.generation;
  for (Kill& kill : kills_) {
    if (kill.id == id && kill.generation == generation) return Note(event, seen.at - kill.at, &kill);
  }
  if (generation != simulator_->generation(id)) return;  // a life that ended by a restart
  if (simulator_->paused(id)) return Note(event, &of_paused_);
  if (simulator_->live(id)) Note(event, &of_running_);
}

std::optional<Duration> SimWatch::FirstSuspect() const {
  std::optional<Duration> first;
  for (const Kill& kill : kills_) {
    if (kill.first_suspect) first = std::min(first.value_or(*kill.first_suspect), *kill.first_suspect);
  }
  return first;
}

std::optional<Duration> SimWatch::LastConfirm() const {
  std::optional<Duration> last;
  for (const Kill& kill : kills_) {
    if (kill.last_confirm) last = std::max(last.value_or(*kill.last_confirm), *kill.last_confirm);
  }
  return last;
}

}  // namespace nekton
