// Why a member is in its state, with names in place of handles.
#pragma once

#include <map>
#include <string>

#include "stm/explanation.h"
#include "swim/event.h"

namespace nekton {

struct MemberExplanation {
  MemberPtr member;
  Explanation why;
  std::map<PeerId, std::string> names;  // of everybody that `why` speaks of
};

// In words, several lines without a newline at the end; control characters that a peer may have sent are escaped. For
// people: the wording may change; programs read ToJson (swim/event_json.h).
std::string Describe(const MemberExplanation& explanation);

}  // namespace nekton
