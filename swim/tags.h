// A member's tags as the byte string that travels: for each tag, in ascending order of its key, the length of the key,
// the key, the length of the value, the value; lengths are varints. No tags are no bytes. Equal tags have equal bytes.
//
// Keys have at least one byte and are unique; values may be empty; both may hold any bytes. All together take at most
// kTagsMax (512) bytes in this form. Pure and thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace nekton {

// The tag of members that says where they are: what of a group fails together (relays and corroborators are picked by it).
inline constexpr std::string_view kZoneTag = "zone";

// InvalidArgument: an empty key, or more than kTagsMax bytes; the message says how many.
absl::StatusOr<std::string> EncodeTags(const std::map<std::string, std::string>& tags);
// InvalidArgument if EncodeTags could not have made `bytes`.
absl::StatusOr<std::map<std::string, std::string>> DecodeTags(std::string_view bytes);
// The value of one tag in the bytes of encoded tags; empty where there is none, or they are no tags. A view into `bytes`;
// allocates nothing.
std::string_view TagOf(std::string_view bytes, std::string_view key);
// Would DecodeTags take it? Allocates nothing.
bool AreTags(std::string_view bytes);

}  // namespace nekton
