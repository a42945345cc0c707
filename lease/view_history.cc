#include "lease/view_history.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace nekton {
namespace {

// Both are in order of names.
std::vector<std::string> Changed(const View& before, const View& after) {
  std::vector<std::string> names;
  auto old = before.members.begin();
  auto now = after.members.begin();
  while (old != before.members.end() || now != after.members.end()) {
    if (now == after.members.end() || (old != before.members.end() && old->name < now->name)) {
      names.push_back((old++)->name);
    } else if (old == before.members.end() || now->name < old->name) {
      names.push_back((now++)->name);
    } else {
      if (*old != *now) names.push_back(now->name);
      ++old;
      ++now;
    }
  }
  return names;
}

}  // namespace

void ViewHistory::Add(const View& before, const View& after) {
  if (before.epoch() == 0) return;
  Step step{before.epoch(), before.head.digest, Changed(before, after)};
  names_ += step.names.size();
  steps_.push_back(std::move(step));
  while (!steps_.empty() && (steps_.size() > kStepsMax || names_ > kNamesMax)) {
    names_ -= steps_.front().names.size();
    steps_.pop_front();
  }
}

std::optional<ViewDelta> ViewHistory::Since(std::uint64_t epoch, const ViewDigest& digest, const View& now) const {
  const auto from = std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) { return step.epoch == epoch; });
  if (from == steps_.end() || from->digest != digest) return std::nullopt;
  std::set<std::string_view> names;
  for (auto step = from; step != steps_.end(); ++step) names.insert(step->names.begin(), step->names.end());
  ViewDelta delta;
  delta.base = epoch;
  delta.head = now.head;
  delta.ends_moves = now.ends_moves;
  delta.changes.reserve(names.size());
  for (const std::string_view name : names) {
    const ViewMember* member = now.Find(name);
    ViewDelta::Change change;
    change.gone = member == nullptr;
    if (change.gone) {
      change.member.name = std::string(name);
    } else {
      change.member = *member;
    }
    delta.changes.push_back(std::move(change));
  }
  return delta;
}

}  // namespace nekton
