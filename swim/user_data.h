// Orders about data of the application that the group spreads: tags of a member, and broadcasts to everybody.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "phi/time.h"

namespace nekton {

// Tags: what a member says of itself, for as long as it is one. Config::tags are the first ones. A change travels like any
// news of the member, under a higher incarnation of its own: the newest holds, is never replaced by an older one, and is
// what members learn who join or restart later. Others are told by one kUpdated for each change that they hear of; of
// changes that follow each other quickly some are skipped, the last one never. We ourselves get a kUpdated for each. A
// change is no refutation that would count against our health; but where we are suspected it proves, as one does, that we
// lived after the accusation. While we may not refute yet (swim/probation.h) others learn of a change when we do.
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

// Broadcasts: news with a shelf life, for every member that is alive. Each has a key, and keys are the whole group's:
// whoever broadcasts, a newer one of a key takes the place of an older one, on its way and where it is held. Newer is what
// was said by somebody who knew of the other (a Lamport clock); of two that did not know of each other the same one wins
// everywhere. Every member, the sender among them, is told by one kBroadcast event of each, unless a newer one of that key
// reached it first: an older one never comes after a newer.
//
// Each is kept by all members for Config::broadcast_keep, and then ends everywhere; its key is free again. Until then it
// is what mends losses, and what members learn who join or restart: their event is marked `replayed`. So what has to hold
// for longer is a tag, or is said again. To free the bytes of a key sooner, broadcast nothing under it. Who says something
// before it has joined may find that the group knows a newer one.
//
// Errors: InvalidArgument with the size and the limit: a key of 1 to 64 bytes, it and the bytes at most 1,024 together;
// with a small datagram_max less; a key that begins with a byte 0 is not the user's (swim/notice.h). ResourceExhausted:
// 256 keys, or 64 KiB of keys and bytes, are held. FailedPrecondition while the member leaves. Where members far from each
// other reach the bound at once, all keep the newest ones; what is given up is counted (broadcasts_displaced), and was told
// first.
struct Broadcast {
  std::string key;
  std::string bytes;  // any, and none
};

inline constexpr std::size_t kBroadcastKeyMax = 64;
inline constexpr std::size_t kBroadcastBytesMax = 1024;  // of one, with its key
inline constexpr std::size_t kBroadcastKeysMax = 256;    // of all
inline constexpr std::size_t kBroadcastsBytesMax = std::size_t{64} << 10;
inline constexpr Duration kBroadcastKeepMax = std::chrono::hours(24);

}  // namespace nekton
