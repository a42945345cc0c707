// Notices: what members tell each other about a member by the hand of an operator. They travel as broadcasts whose keys are
// nekton's own (swim/user_data.h), so what spreads, orders, mends and ends broadcasts does the same for them.
//
// The key of a notice is its first byte 0, its kind, and a hash of the member's name; so the newest of a kind and name
// holds. Bytes: swim/FORMAT.md. Pure and thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "phi/time.h"

namespace nekton {

// A planned restart: until it is over the member may be SUSPECT, but nobody declares it dead, or removes it, for anything
// that was seen or said. A restart within that time is kRestarted as ever. When it is over what was left of its hold goes
// on. Every member that knows this one is told by one kMaintenance event, and by another when it is ended early; that it is
// over with its time is told by none. It holds for this life of the member and later ones. A goodbye, an expulsion and
// another name at its address end a member as ever.
//
// It may be ordered by the member itself, before it restarts, or by any other. A second one replaces the first. It reaches
// who is reached by broadcasts: a member that is cut off from us meanwhile does not know of it.
//
// Errors: InvalidArgument: `duration` is not from 0 to kMaintenanceMax; NotFound: the member is unknown or has left; of a
// duration of 0: it is not in maintenance; FailedPrecondition: it is INACTIVE already, or we are leaving;
// ResourceExhausted: kMaintenancesMax members are in maintenance, or as Broadcast.
struct Maintenance {
  std::string member;
  Duration duration{};  // from now; 0: it ends now
};

// Removes a member: everybody who hears of it holds it INACTIVE at once (kFailed, by kExpelled and whom), whatever state it
// was in, and takes no news of that life or earlier ones, so that neither gossip nor its own word brings it back, for as
// long as the notice is kept: Config::broadcast_keep. The member itself, when it hears of it, reports kExpelled and is
// silent from then on. A later life of it, with a higher generation, may join as ever. For all else it is one of the
// INACTIVE members: forgotten like them, and counted like them for isolation.
// Errors: InvalidArgument: it is ourselves (see Leave); NotFound: the member is unknown or has left; FailedPrecondition: we
// are leaving; ResourceExhausted: kExpulsionsMax are kept, or as Broadcast.
struct Expel {
  std::string member;
};

inline constexpr Duration kMaintenanceMax = std::chrono::hours(1);
inline constexpr std::size_t kMaintenancesMax = 64;
inline constexpr std::size_t kExpulsionsMax = 64;

struct Notice {
  enum class Kind : std::uint8_t { kMaintenance = 'm', kExpelled = 'x' };

  Kind kind = Kind::kMaintenance;
  std::string_view name;
  std::uint64_t generation = 0;  // of the life that it is about, from 1
  bool over = false;             // maintenance: it has ended
};

// Is this the key of a broadcast that is ours and no user's?
constexpr bool IsReserved(std::string_view key) { return !key.empty() && key.front() == '\0'; }
std::string KeyOf(Notice::Kind kind, std::string_view name);
// The key of what members tell each other beneath their users (Engine::SayInner): of kind 'v', and the bytes are theirs.
std::string InnerKey(std::string_view name);
bool IsInnerKey(std::string_view key);
std::string BytesOf(const Notice& notice);
// Nullopt: it is none, or of a kind that we do not know. The views point into `bytes`.
std::optional<Notice> ReadNotice(std::string_view key, std::string_view bytes);

}  // namespace nekton
