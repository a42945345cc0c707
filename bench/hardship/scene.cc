#include "bench/hardship/scene.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Scene::Scene(Group* group, std::function<void(const SimEvent&)> watch)
    : group_(*group),
      watch_(std::move(watch)),
      suffers_(group->size(), false),
      condemned_(group->size(), false),
      accused_(group->size(), false),
      holds_dead_(std::size_t{group->size()} * group->size(), false) {
  outcome_.runs = 1;
}

void Scene::Suffer(const std::vector<SimId>& ids) {
  for (const SimId id : ids) {
    if (suffers_[id]) continue;
    suffers_[id] = true;
    sick_.push_back(id);
  }
}

void Scene::Begin() {
  began_ = sim().now();
  group_.BeginLoad();
  sim().SetHandler([this](const SimEvent& event) { Saw(event); });
}

void Scene::Saw(const SimEvent& seen) {
  if (watch_) watch_(seen);
  const Event& event = seen.event;
  const SimId subject = SubjectOf(event);
  if (subject >= group_.size()) return;
  switch (event.kind) {
    case EventKind::kSuspected:
      ++(suffers_[subject] ? outcome_.suspicions_sick : outcome_.suspicions_healthy);
      if (suffers_[subject]) return;
      accused_[subject] = true;
      if (!event.cause.own) return;
      ++outcome_.accusations_healthy;
      outcome_.accusations_by_sick += suffers_[seen.member] ? 1 : 0;
      return;
    case EventKind::kFailed:
      return Verdict(seen.member, event, subject, true);
    case EventKind::kJoined:
    case EventKind::kRecovered:
    case EventKind::kRestarted:
      return Verdict(seen.member, event, subject, false);
    default:
      return;
  }
}

void Scene::Verdict(SimId observer, const Event& event, SimId subject, bool dead) {
  if (dead && suffers_[subject]) {
    ++outcome_.dead_sick;
    condemned_[subject] = true;
  } else if (dead) {
    ++outcome_.dead_healthy;
    outcome_.dead_healthy_at_healthy += suffers_[observer] ? 0 : 1;
  }
  auto holds = holds_dead_[std::size_t{observer} * group_.size() + subject];
  if (holds == dead) return;
  holds = dead;
  if (!suffers_[subject]) return;
  Changed(observer, subject);
  outcome_.rejoins += dead ? 0 : 1;
  if (!dead) came_back_.insert({subject, event.member->key});
  if (suffers_[observer]) return;
  dead_pairs_ += dead ? 1 : 0;
  dead_pairs_ -= dead ? 0 : 1;
  if (dead_pairs_ == sick_.size() * (group_.size() - sick_.size())) {
    all_dead_at_ = sim().now();
  } else {
    all_dead_at_.reset();
  }
}

void Scene::Changed(SimId observer, SimId subject) {
  std::deque<Duration>& times = changed_[std::uint64_t{observer} << 32 | subject];
  times.push_back(sim().now());
  while (times.front() + 1min < sim().now()) times.pop_front();
  outcome_.changes = std::max(outcome_.changes, std::uint64_t{times.size()});
}

// No member that suffers nothing has it among its living.
bool Scene::Gone(SimId subject) const {
  for (SimId id = 0; id < group_.size(); ++id) {
    if (suffers_[id] || group_.sim().member(id) == nullptr) continue;
    for (const MemberPtr& row : group_.sim().member(id)->Members()) {
      const bool living = row->status == MemberStatus::kActive || row->status == MemberStatus::kSuspect;
      if (living && row->name == group_.sim().name(subject)) return false;
    }
  }
  return true;
}

void Scene::AwaitAllDead(Duration limit) {
  if (!sim().RunUntil([this] { return all_dead_at_.has_value(); }, limit, 100ms)) {
    ++outcome_.never;
  } else {
    outcome_.times.push_back(Seconds(*all_dead_at_ - began_));
  }
}

Outcome Scene::Finish() {
  outcome_.load = group_.EndLoad();
  outcome_.member_hours = outcome_.load.member_seconds / 3600;
  outcome_.sick = sick_.size();
  outcome_.comebacks = came_back_.size();
  for (const SimId id : sick_) outcome_.gone += Gone(id) ? 1 : 0;
  for (SimId id = 0; id < group_.size(); ++id) {
    outcome_.sick_condemned += condemned_[id] ? 1 : 0;
    outcome_.healthy_accused += accused_[id] ? 1 : 0;
  }
  return outcome_;
}

}  // namespace nekton::bench
