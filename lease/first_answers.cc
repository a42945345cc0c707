#include "lease/first_answers.h"

#include <algorithm>

namespace nekton {

void FirstAnswers::Sweep(WallTime now) {
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.expires < now) {
      known_.erase(it++);
    } else {
      ++it;
    }
  }
}

FirstAnswers::Found FirstAnswers::Look(const Capability& capability, std::uint64_t request, WallTime now) {
  const auto known = known_.find(capability.id);
  if (known == known_.end()) {
    if (known_.size() >= kCapabilitiesMax) Sweep(now);
    return known_.size() >= kCapabilitiesMax ? Found::kFull : Found::kNew;
  }
  const std::deque<Request>& requests = known->second.requests;
  const auto at =
      std::find_if(requests.begin(), requests.end(), [request](const Request& r) { return r.id == request; });
  if (at != requests.end()) return at->done ? Found::kAnswered : Found::kUnderWay;
  return request <= known->second.floor ? Found::kForgotten : Found::kNew;
}

std::span<const std::byte> FirstAnswers::AnswerTo(const Capability& capability, std::uint64_t request) const {
  const auto known = known_.find(capability.id);
  if (known == known_.end()) return {};
  for (const Request& r : known->second.requests) {
    if (r.id == request) return r.answer;
  }
  return {};
}

void FirstAnswers::Begin(const Capability& capability, std::uint64_t request) {
  Known& known = known_[capability.id];
  known.expires = capability.expires;
  if (known.requests.size() >= kWindow) {
    // The lowest goes: what comes later with an id below it is refused.
    const auto lowest = std::min_element(known.requests.begin(), known.requests.end(),
                                         [](const Request& a, const Request& b) { return a.id < b.id; });
    known.floor = std::max(known.floor, lowest->id);
    known.requests.erase(lowest);
  }
  known.requests.push_back({request, false, {}});
}

void FirstAnswers::End(const Capability& capability, std::uint64_t request, std::span<const std::byte> answer) {
  const auto known = known_.find(capability.id);
  if (known == known_.end()) return;
  for (Request& r : known->second.requests) {
    if (r.id != request || r.done) continue;
    r.done = true;
    if (answer.size() <= kAnswerMax) r.answer.assign(answer.begin(), answer.end());
  }
}

}  // namespace nekton
