// Why a member is in its state, with names in place of handles.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "phi/time.h"
#include "stm/explanation.h"
#include "swim/event.h"

namespace nekton {

// What an operator has said of a member, as it holds here now (swim/notice.h).
struct NoticeInfo {
  std::string origin;  // the member on which it was said
  Duration left{};     // so long it holds still
};

struct MemberExplanation {
  MemberPtr member;
  Explanation why;
  std::map<PeerId, std::string> names;  // of everybody that `why` speaks of
  std::optional<NoticeInfo> maintenance = std::nullopt;
  std::optional<NoticeInfo> expelled = std::nullopt;  // this life of it
};

// In words, several lines without a newline at the end; control characters that a peer may have sent are escaped. For
// people: the wording may change; programs read ToJson (swim/event_json.h).
std::string Describe(const MemberExplanation& explanation);

}  // namespace nekton
