// What a hearer has asked about the suspects that it is about to believe dead (rules E and J), and whether anybody
// answered. One entry for each SUSPECT row at most. Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "stm/state.h"

namespace nekton {

class OpenQuestions {
 public:
  enum class State : std::uint8_t { kNone, kOpen, kAnswered };
  static constexpr std::size_t kAsked = 2;  // members at a time

  // These members were asked, once more perhaps; nobody can be asked: there will be no answer to wait for.
  void Asked(PeerId suspect, std::span<const std::uint64_t> ids) {
    Question& question = all_[suspect];
    question.state = ids.empty() ? State::kAnswered : State::kOpen;
    question.asked = {};
    std::copy_n(ids.begin(), std::min(ids.size(), kAsked), question.asked.begin());
    ++question.times;
  }
  void AnsweredBy(std::uint64_t id) {  // what it knows of the suspects was in its answer
    for (auto& [suspect, question] : all_) {
      if (std::find(question.asked.begin(), question.asked.end(), id) != question.asked.end()) {
        question.state = State::kAnswered;
      }
    }
  }
  State StateOf(PeerId suspect) const {
    const auto it = all_.find(suspect);
    return it == all_.end() ? State::kNone : it->second.state;
  }
  std::uint32_t Times(PeerId suspect) const {
    const auto it = all_.find(suspect);
    return it == all_.end() ? 0 : it->second.times;
  }
  void Forget(PeerId suspect) { all_.erase(suspect); }

 private:
  struct Question {
    std::array<std::uint64_t, kAsked> asked{};  // 0: nobody
    std::uint32_t times = 0;
    State state = State::kNone;
  };
  absl::flat_hash_map<PeerId, Question> all_;
};

}  // namespace nekton
