// What is to be done about views and leases after an input. The caller owns it, does it in this order, and clears it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/evidence.h"
#include "lease/view.h"

namespace nekton {

struct LeaseOutput {
  struct Letter {
    std::string to;
    std::vector<std::byte> body;
  };
  struct Question {
    std::uint64_t id = 0;
    std::string to;
    std::vector<std::byte> body;
  };
  struct Answer {
    std::uint64_t id = 0;  // of the mail; `body` empty: NotFound
    std::vector<std::byte> body;
  };

  std::optional<View> store;        // durably, then Stored()
  std::optional<ViewHead> say;      // to all
  std::vector<Letter> letters;      // best effort
  std::vector<Question> questions;  // requests; how each ended is to be Heard()
  std::vector<Answer> answers;
  std::vector<Evidence> evidence;  // what was decided; bounded by what one input can cause

  bool idle() const {  // but for the evidence
    return !store.has_value() && !say.has_value() && letters.empty() && questions.empty() && answers.empty();
  }
};

}  // namespace nekton
