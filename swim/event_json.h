// Events, members and explanations as JSON objects of one line, for programs that read logs.
//
// Keys keep their names and meaning; further ones may come. Keys that do not apply are left out. Numbers are integers
// but for those that end in _s, which are seconds with nine decimals. Bytes that are no UTF-8 come out as U+FFFD.
#pragma once

#include <string>

#include "swim/event.h"
#include "swim/member_explanation.h"

namespace nekton {

// name, address, generation, incarnation, status, self, tags.
std::string ToJson(const MemberInfo& member);

// The keys of the member; state, recorded, departed, transition, observer, since_s, count, threshold; INACTIVE: revive,
// recovery_left_s; SUSPECT: hold {running, own, outside, awaits_signal, left_s, confirmations, confirmers, refusals,
// condemned}; witnesses [{observer, verdict, refused, counts}]; flaps; recent [{kind, signal, reason, observer,
// weight, ago_s}]. An observer that has been forgotten, and the member itself (refutation), is "".
std::string ToJson(const MemberExplanation& explanation);

// event, at_ns, and, as its kind has them: the keys of the member; before, transition, reason, own, observers, attempts
// [{after_s, relays, nacks, stream, refused}], lasted_s, generation_before (changes of state); other_address, result,
// message, heard_by, duration_s; threshold, rose, level; reachable, known.
std::string ToJson(const Event& event);

}  // namespace nekton
