// Events and members as JSON objects of one line, for programs that read logs.
//
// Keys keep their names and meaning; further ones may come. Keys that do not apply are left out. Numbers are integers
// but for those that end in _s, which are seconds with nine decimals. Bytes that are no UTF-8 come out as U+FFFD.
#pragma once

#include <string>

#include "swim/event.h"

namespace nekton {

// name, address, generation, incarnation, status, self, tags.
std::string ToJson(const MemberInfo& member);

// event, at_ns, and, as its kind has them: the keys of the member; before, transition, reason, own, observers, attempts
// [{after_s, relays, nacks, stream, refused}], lasted_s, generation_before (changes of state); other_address, result,
// message, heard_by, duration_s.
std::string ToJson(const Event& event);

}  // namespace nekton
