// The one authority of a group: it alone writes the membership view and its epoch, grants leases, and moves objects.
//
// What it guarantees, to whoever drives it as said:
//   - An epoch is stored before anyone hears of it, and none is used twice, whatever crashes: it goes on from the view that
//     its store gives back. A store that is older than what members hold (a backup that was restored) is noticed, and
//     from then on it writes nothing.
//   - The grantor's rule: no view that ends a holder's right to commit is written, whatever the failure detector, a refused
//     port, an expulsion or a restart says, before the holder's write lease has run out by the slower clock of this machine;
//     so the holder is first renewed no more. After a start that wait applies to everybody once, and one from a store
//     writes nothing until then: it hears first what members hold.
//   - A view with a newcomer is *settled* when all who could still commit under an older one have said that they hold the
//     new one, or have no write lease any more. Until then the newcomer commits nothing (lease/home_leases.h).
//
// Joins and removals go into a view at once, and into one together if the last was written less than kTogether ago. A
// member that is only suspected stays; a removed one comes back through a fresh join alone.
//
// Pure: each call carries the time, and leaves in `out` what is to be done. It should be woken about once a second, at
// NextWake() in any case. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lease/lease_move.h"
#include "lease/lease_terms.h"
#include "lease/signature.h"
#include "lease/view.h"
#include "phi/time.h"

namespace nekton {

// What is to be done, in this order.
struct AuthorityOutput {
  std::optional<View> store;          // durably; then Stored()
  std::optional<View> announce;       // the view in force: to be pushed to all
  std::vector<std::string> admitted;  // members that asked to join and are in it
  std::vector<std::string> removed;   // and those that are not any more
  std::vector<LeaseMove> moves;       // to be sent to whom they name first, Moved() says who has it
};

struct LeaseGrant {
  bool renewed = false;       // else the member holds an older view, is none, or is being removed
  std::uint64_t epoch = 0;    // of the view in force
  std::uint64_t settled = 0;  // up to here views are settled
};

class Authority {
 public:
  static constexpr Duration kTogether = std::chrono::milliseconds(200);
  static constexpr Duration kStoreAgain = std::chrono::seconds(1);  // after a store that failed
  static constexpr std::size_t kMovesMax = 4096;                    // of one view

  // `self`: the member that it runs in, always in the view.
  Authority(const SigningKey& key, std::string label, LeaseTerms terms, ViewMember self);

  // Before Begin: it follows another member in this role. So it writes a view of its own even if nothing else asks for one.
  void Succeed() { succeeds_ = true; }
  // First: with what the store holds; epoch 0: nothing yet. DataLoss: the stored view is not ours. Writes a first view.
  absl::Status Begin(const Tick& now, const View& stored, AuthorityOutput& out);
  void Stored(const Tick& now, std::uint64_t epoch, const absl::Status& status, AuthorityOutput& out);
  void Wake(const Tick& now, AuthorityOutput& out);
  Instant NextWake() const;

  // A member asks to be admitted. OK: it is in the view in force, or will be; `admitted` tells. InvalidArgument names the
  // field; FailedPrecondition: a life of it that is newer is known; ResourceExhausted: kViewMembersMax; Unavailable: our
  // store is behind.
  absl::Status Join(const Tick& now, const ViewMember& member, AuthorityOutput& out);
  // A life of a member has ended: committed INACTIVE, left, or expelled by hand. Of others than the one in the view: nothing.
  void Gone(const Tick& now, std::string_view name, std::uint64_t generation, AuthorityOutput& out);
  // It was not dead: if its removal was not written yet, it stays.
  void Back(const Tick& now, std::string_view name, std::uint64_t generation);

  // A member asks for its leases to be renewed and says which view it holds. The answer goes out at once, or not at all.
  LeaseGrant Renew(const Tick& now, std::string_view name, std::uint64_t generation, std::uint64_t epoch);

  // Moves an object to another member of the view, for as long as that view lasts. Errors: InvalidArgument, NotFound: `to` is
  // no member, FailedPrecondition: it is there already, or the view is not settled; ResourceExhausted: kMovesMax.
  absl::Status Move(const Tick& now, const ObjectId& object, std::string_view to, AuthorityOutput& out);
  // `name` has a move that it was sent: the old home first, then it is due to the new one.
  void Moved(const Tick& now, const ObjectId& object, std::uint64_t epoch, std::string_view name, AuthorityOutput& out);
  // Moves that somebody has not got yet, to be sent again.
  std::vector<LeaseMove> Pending(std::string_view name) const;

  // A head that somebody holds. One that this key signed and that is above ours, or another of the same epoch: our store is
  // behind, for good.
  void Saw(const ViewHead& head);
  // The member that it runs in goes on under another generation, which the next view says.
  void SetGeneration(std::uint64_t generation) { self_.generation = generation; }

  const View& view() const { return view_; }  // in force
  const ViewMember& self() const { return self_; }
  std::uint64_t settled() const { return settled_; }
  bool behind() const { return behind_; }

 private:
  struct Holder {
    ViewMember member;
    bool granted = false;                 // in this life of ours
    Duration granted_at{};                // when it was last sent a renewing answer, by clock_
    std::uint64_t has = 0;                // the epoch that it said it holds
    bool leaving = false;                 // renewed no more; it goes when its lease has run out
    std::optional<ViewMember> successor;  // its next life, which takes its place then
  };
  struct Moving {
    LeaseMove move;
    bool drained = false;  // the old home has it
    bool taken = false;    // and the new one
  };

  void Advance(const Tick& now);
  Duration WaitLeft(const Tick& now, const Holder& holder) const;
  Duration ListenLeft(const Tick& now) const;
  bool HasWork(const Tick& now) const;
  void Write(const Tick& now, AuthorityOutput& out);
  void Settle(const Tick& now);
  std::string_view HomeOf(const ObjectId& object) const;

  const SigningKey key_;
  const std::string label_;
  const LeaseTerms terms_;
  ViewMember self_;

  View view_;
  std::map<std::string, Holder, std::less<>> holders_;      // of the view, but ourselves
  std::map<std::string, ViewMember, std::less<>> joining_;  // in the next view
  std::map<ObjectId, Moving> moves_;
  std::uint64_t settled_ = 0;
  Instant written_at_ = Instant::min();
  std::optional<View> storing_;
  Instant store_again_ = kNever;
  bool behind_ = false;
  bool restored_ = false;  // begun from a store
  bool succeeds_ = false;  // and has not written yet
  bool inherited_ =
      false;  // the view in force is of a life before this one, and so may moves be that we do not know of
  Tick now_;
  LeaseClock clock_;  // since we began
};

}  // namespace nekton
