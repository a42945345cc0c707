// A named lease over a register with compare-and-set: one contender's side of it.
//
// The record under the lease's name says who holds it, with which token, and for how long it was granted. Time is never
// compared between machines, and no store's clock or time-to-live is trusted:
//  - A holder counts from before it sent the request that got or renewed the lease, by the longer of its clocks, and stops
//    after H = T (1 - rho) / (1 + rho) (UsableOf). It renews every T / 3.
//  - A contender takes the lease from another only when it has itself known the same version of the record for longer than
//    the T that stands in it, by the shorter of its clocks; its write expects that version, so a renewal in between wins.
//  - The token rises by one at every acquisition, also when the same member takes it again, and at no renewal.
// So while clocks run within rho of true time no two hold at once, whatever is lost, late or paused (the proof is
// UsableOf's). What no clock can rule out, a write that was on its way when its holder lost, is the resource's to refuse
// (lease/fenced_resource.h).
//
// A request without an answer is repeated as it was: its kYes counts from its own sending, its kNo brings the record, and
// a record with the nonce of the attempt shows that an earlier sending was done, which then counts from the first.
//
// Pure, driven like the engine: every input has a Tick; requests and events stand in an outbox; nothing is called. Not
// thread-safe; only its LeaseHold may be asked by any thread. An early, late or repeated Wake does no harm.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/fencing_token.h"
#include "lease/lease_clock.h"
#include "lease/lease_hold.h"
#include "lease/lease_record.h"
#include "lease/register.h"
#include "phi/time.h"
#include "swim/random.h"

namespace nekton {

struct NamedLeaseOptions {
  std::string name;    // of the lease: the register's key; 1 to 200 bytes, no control characters
  std::string holder;  // the member's name; the same
  std::uint64_t generation = 0;
  Duration duration = std::chrono::seconds(10);  // T; 20 ms to 24 h
  std::int64_t drift_ppm = kDriftPpm;            // rho; 0 to 200,000, the same for all who contend
  // After a holder was lost, not released, the taker waits so long before it is told: for work that is under way at
  // resources without fences. It must be below H.
  Duration handover_delay{};
  Duration notice{};          // kAboutToLose at so much left; 0: T / 4
  Duration spread{};          // a random part of it is waited before a takeover; 0: T / 10, at most 1 s
  Duration release_spread{};  // the same after a release; 0: T / 20, at most 100 ms
  Duration patience{};        // after so long without an answer a request is repeated, sooner near the end; 0: T / 8
  // The shell hands over what the register tells of changes (Observe). Then a contender reads only every T, in case a
  // watch has died; without it every T / 4.
  bool watched = false;
};
// All that is wrong; empty if nothing is.
std::vector<std::string> ProblemsOf(const NamedLeaseOptions& options);

enum class LeaseEventKind : std::uint8_t { kAcquired, kAboutToLose, kLost, kReleased };
std::string_view Name(LeaseEventKind kind);  // "acquired", "about-to-lose", "lost", "released"

enum class LossReason : std::uint8_t {
  kNone,
  kExpired,    // no renewal was answered in time
  kTaken,      // the record is another's
  kGone,       // the record is gone, or no record any more
  kBehind,     // a resource has seen a higher token (RaiseAbove)
  kUnsettled,  // of kReleased: nobody confirmed; the lease ends by itself after T
};
std::string_view Name(LossReason reason);

// A kAcquired is followed by one kLost or by Release, and only then by the next kAcquired; kAboutToLose comes at most once
// between two renewals.
struct LeaseEvent {
  LeaseEventKind kind{};
  FencingToken token;
  LossReason reason = LossReason::kNone;
  std::string by;  // of kTaken: the new holder
};

struct LeaseOutbox {
  std::vector<RegisterRequest> requests;
  std::vector<LeaseEvent> events;
};

class NamedLease {
 public:
  // `seed`: 64 random bits, others for every contender. `options` must be without problems.
  // `hold`: what its users ask; nobody else may write it.
  NamedLease(NamedLeaseOptions options, std::uint64_t seed,
             std::shared_ptr<LeaseHold> hold = std::make_shared<LeaseHold>());
  ~NamedLease();  // the hold ends; the record stays until T has passed
  NamedLease(NamedLease&&) = default;
  NamedLease& operator=(NamedLease&&) = delete;

  // From now on it contends, and again after every loss, until Release.
  void Acquire(const Tick& now, LeaseOutbox& out);
  // The hold has ended when this returns, before anything is sent; the next one may have the lease at once. Returns
  // false, and changes nothing in the register, if there was no lease to give back. kReleased follows when it is settled.
  bool Release(const Tick& now, LeaseOutbox& out);
  void Answer(std::uint64_t id, const RegisterAnswer& answer, const Tick& now, LeaseOutbox& out);
  void Observe(const RegisterAnswer& there, const Tick& now, LeaseOutbox& out);  // of a watch
  // The failure detector holds the holder for INACTIVE: look at the record now. It shortens no wait.
  void Hint(const Tick& now, LeaseOutbox& out);
  // A resource refused us: it has seen `token`. New acquisitions get higher ones; a hold of a lower one is lost.
  void RaiseAbove(FencingToken token, const Tick& now, LeaseOutbox& out);
  void Wake(const Tick& now, LeaseOutbox& out);
  Instant NextWake() const { return next_wake_; }

  const NamedLeaseOptions& options() const { return options_; }
  // Held from kAcquired until kLost or the call of Release; one object for all acquisitions.
  const std::shared_ptr<LeaseHold>& hold() const { return hold_; }
  bool holds() const { return held_ && held_->told; }
  bool wanted() const { return wanted_; }
  bool idle() const { return !wanted_ && !held_ && !releasing_; }
  // What was last seen under the name.
  const std::optional<LeaseRecord>& record() const { return record_; }

 private:
  enum class Sent : std::uint8_t { kRead, kTake, kRenew, kRelease };
  struct Pending {
    std::uint64_t id = 0;
    Sent what{};
    Duration sent{};  // by the longer clock
    Instant give_up{};
    LeaseRecord wrote;
  };
  // A write that may have been done, or may yet be: the attempt, and when it was first sent.
  struct Open {
    std::uint64_t expected = kAbsent;
    LeaseRecord wrote;
    Duration first_sent{};
  };
  struct Held {
    LeaseRecord record;
    Duration base{};      // what it counts from, by the longer clock
    Duration renew_at{};  // the same clock
    Duration tell_at{};   // by the shorter clock
    bool told = false;
    bool noticed = false;
  };
  struct Releasing {
    LeaseRecord record;
    Duration until{};  // by the longer clock
  };

  void Begin(const Tick& now);
  void Step(LeaseOutbox& out);
  void Tell(LeaseEventKind kind, FencingToken token, LossReason reason, LeaseOutbox& out) const;
  void CheckHold(LeaseOutbox& out);
  void SendNext(LeaseOutbox& out);
  void Contend(LeaseOutbox& out);
  void Send(Sent what, std::optional<LeaseRecord> record, LeaseOutbox& out);
  void SendTake(LeaseOutbox& out);
  void SendRenew(LeaseOutbox& out);
  void SendRelease(LeaseOutbox& out);
  void Yes(const Pending& sent, const RegisterAnswer& answer, LeaseOutbox& out);
  void Learn(const RegisterAnswer& there, bool watch);
  void Reconcile(LeaseOutbox& out);
  void Got(const LeaseRecord& record, Duration base, LeaseOutbox& out);
  void Renewed(const LeaseRecord& record, Duration base);
  void Lose(LossReason reason, LeaseOutbox& out);
  void Settled(LossReason reason, LeaseOutbox& out);
  Duration Hurried(Duration time) const;
  void Backoff();
  bool Ours() const { return record_ && (record_->SameHold(mine_[0]) || record_->SameHold(mine_[1])); }
  Duration Left() const { return usable_ - (longer_ - held_->base); }
  bool Takeable() const { return TakeableIn() <= Duration::zero(); }
  Duration TakeableIn() const;
  Instant NextOf() const;
  Duration Part(Duration of) {
    return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(of.count())));
  }

  NamedLeaseOptions options_;
  Duration usable_;  // H
  Random random_;
  LeaseClock clock_;
  std::shared_ptr<LeaseHold> hold_;
  bool begun_ = false;
  Tick now_;
  Duration longer_{};   // LongestBetween all readings so far
  Duration shorter_{};  // LeaseClock
  Instant next_wake_ = kNever;

  bool wanted_ = false;
  // What we know of the register.
  bool known_ = false;
  bool bad_record_ = false;
  std::uint64_t version_ = kAbsent;
  std::optional<LeaseRecord> record_;
  Duration seen_at_{};  // since when we know this version, by the shorter clock
  Duration wait_{};     // the random part of the wait
  Instant poll_at_{};

  std::array<LeaseRecord, 2> mine_;  // the acquisition that we wrote or tried last, and the one before
  bool from_other_ = false;          // the last one would end a lease that was not released
  FencingToken floor_;
  std::optional<Held> held_;
  std::optional<Releasing> releasing_;
  std::optional<Pending> pending_;
  std::optional<Open> open_;
  Instant retry_at_ = Instant::min();
  std::uint32_t failures_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace nekton
