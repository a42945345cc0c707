// The leases of a member on the objects that it is home to: until when it may serve reads, and until when commits.
//
// Nothing here creates a lease or moves a home: leases come from the view alone, and from moves that the authority
// signed. One renewal renews them all. It counts from the *sending* of the ping that the authority's answer
// acknowledges, by the clock that ran longer: a frame that waited in a socket while we were paused renews nothing, and
// neither does one under an older view.
//
// A view that takes a member in makes it home to objects whose old home may not have that view yet; and so does one that
// ends moves. A member that is removed has no write lease any more when the view without it is signed (lease/authority.h);
// so only newcomers, all after such a view, and who missed the view before it and cannot know, have to wait: until the
// authority says with a renewal that the view is *settled*, that is, known to all who could still commit under an older
// one. Reads do not wait.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lease/fence.h"
#include "lease/homes.h"
#include "lease/lease_clock.h"
#include "lease/lease_move.h"
#include "lease/lease_terms.h"
#include "lease/object_id.h"
#include "lease/view.h"
#include "phi/time.h"

namespace nekton {

enum class HomeState : std::uint8_t {
  kNotHome,   // another member is
  kActive,    // we are
  kDraining,  // we were, until the authority moved it in this view: who asks us is told where to
};

struct HomeLease {
  HomeState state = HomeState::kNotHome;
  std::uint64_t epoch = 0;  // that assigned it
  std::string moved_to;     // kDraining
};

class HomeLeases {
 public:
  static constexpr std::size_t kMovesMax = 4096;     // of one view; beyond: refused
  static constexpr std::size_t kServedMax = 65'536;  // objects remembered for their fences; beyond: not remembered

  HomeLeases(std::string self, std::uint64_t generation, LeaseTerms terms)
      : self_(std::move(self)), generation_(generation), terms_(terms) {}

  // Takes a higher epoch; else nothing. All moves of the old view end. Returns a fence for each object that we served,
  // or were moved, and that is homed elsewhere now, in the order of the objects.
  std::vector<Fence> Install(const View& view);
  // The authority moves an object; the signature was verified. False: not of this view, we are neither of the two, the
  // target is no member, or kMovesMax are kept.
  bool Move(const LeaseMove& move);

  // The authority has acknowledged the ping that we sent at `sent`, under the view `epoch`, and says up to which epoch views
  // are settled. False, and it renews nothing: a view that is not ours, we are not in it, or an older ping than the one
  // that counts.
  // `sent`: what Stamp() said then.
  bool Renew(const Tick& now, Duration sent, std::uint64_t epoch, std::uint64_t settled);
  // To be asked before a ping is sent: this life's lease time.
  Duration Stamp(const Tick& now) {
    clock_.Advance(now);
    return clock_.Longer(now);
  }
  // The authority's own: it renews itself.
  bool RenewOwn(const Tick& now, std::uint64_t settled) { return Renew(now, Stamp(now), epoch(), settled); }
  // About once a second, so that no time is missed (lease/lease_clock.h).
  void Advance(const Tick& now) { clock_.Advance(now); }
  // All leases end now: we were displaced, declared dead, or leave.
  void Void() { renewed_ = false; }
  // Without contact to the authority no commit passes, though the lease may not have run out.
  void SetAuthority(bool current) { authority_ = current; }
  bool authority() const { return authority_; }

  // Ours, by the view or by a move? An object that is served here is remembered for its fence.
  HomeLease Find(const ObjectId& object);
  bool MayRead(const Tick& now) const;
  // Authority, a write lease that has not run out, and a view that is settled as far as it has to be.
  bool MayCommit(const Tick& now) const;
  // Until MayCommit() ends, as things stand; zero: it does not hold.
  Duration WriteLeft(const Tick& now) const;
  Duration ReadLeft(const Tick& now) const;
  // There is a write lease that has not run out.
  bool WriteRuns(const Tick& now) const { return renewed_ && Left(now, terms_.write_usable()) >= Duration::zero(); }
  // It was renewed once, and has not been for so long that it has run out.
  bool WriteRanOut(const Tick& now) const { return renewed_ && Left(now, terms_.write_usable()) < Duration::zero(); }

  std::uint64_t epoch() const { return homes_.epoch(); }
  std::uint64_t settled() const { return settled_; }
  const Homes& homes() const { return homes_; }

 private:
  bool InView(std::string_view name) const;
  Duration Left(const Tick& now, Duration usable) const;

  std::string self_;
  std::uint64_t generation_;
  LeaseTerms terms_;
  Homes homes_;
  std::vector<std::string> members_;  // of the view, ascending
  bool member_ = false;               // we, in this life, are one of them
  std::uint64_t settle_from_ = 0;     // commits wait until this view is settled
  std::uint64_t settled_ = 0;
  absl::flat_hash_map<ObjectId, LeaseMove> moves_;       // of this view, from us or to us
  absl::flat_hash_map<ObjectId, std::uint64_t> served_;  // with the epoch that assigned it
  bool renewed_ = false;
  Duration renewed_at_{};  // when the ping of the last renewal was sent
  LeaseClock clock_;
  bool authority_ = false;
};

}  // namespace nekton
