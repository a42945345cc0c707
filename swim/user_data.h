// Orders about data of the application that the group spreads: tags of a member, and broadcasts to everybody.
#pragma once

#include <map>
#include <string>

namespace nekton {

// Tags: what a member says of itself, for as long as it is one. Config::tags are the first ones. A change travels like any
// news of the member, under a higher incarnation of its own: the newest holds, is never replaced by an older one, and is
// what members learn who join or restart later. Others are told by one kUpdated for each change that they hear of; of
// changes that follow each other quickly some are skipped, the last one never. We ourselves get a kUpdated for each. A
// change is no refutation that would count against our health; but where we are suspected it proves, as one does, that we
// lived after the accusation.
//
// Errors of all three: InvalidArgument with the size and the limit (kTagsMax, 512 bytes together, as swim/tags.h encodes
// them; with a small datagram_max less) or for an empty key; then the tags stay as they were. FailedPrecondition while the
// member leaves. What changes nothing is no change.
struct SetTag {
  std::string key;
  std::string value;  // any bytes, as those of the key
};
struct EraseTag {
  std::string key;  // without effect where there is no such tag
};
struct SetTags {
  std::map<std::string, std::string> tags;  // in place of all
};

}  // namespace nekton
