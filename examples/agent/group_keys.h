// The keys of a whole group, changed from one member: each change is a request to every member (sealed, as all is).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "transport/node.h"

namespace nekton {

// Answers those of other members, on behalf of `node`, until it is stopped.
void ServeGroupKeys(Node& node);

// "" (the keys of this member), "new" (a fresh one, added everywhere), "add HEX", "use ID", "remove ID". Blocks while members answer, up
// to 5 s each. A key is used only when every member that is ACTIVE has it, and removed only when it seals nowhere; else FailedPrecondition
// names who stands against it. A step that failed halfway may be repeated.
absl::StatusOr<std::string> ChangeGroupKeys(Node& node, std::string_view words);

}  // namespace nekton
