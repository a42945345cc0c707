// A candidate for the authority: whoever of several members holds the lease "authority" is it, so that no single member is
// indispensable. The lease is a named one (lease/named_lease.h); beside it, in the same register, stands the view.
//
// Why no epoch is used twice and no two members ever commit to one object, whoever is killed, stopped or cut off when:
//   - One key. All candidates have the authority's signing key, so members believe a view whoever wrote it, and need to know
//     nothing of who that is. What orders the views is their epoch, and that is written in one place:
//   - The register. The view stands there in a record with the token of its writer. A view counts as written, and is told
//     to somebody, only after a compare-and-set from the version that its writer knew (Stored). So of one epoch there is one.
//   - The fence. Who gets the lease first reads that record and writes it back under its own, higher token, before it grants
//     or tells anything. From then on the compare-and-set of every earlier holder fails, however late it arrives; and
//     what an earlier holder wrote before that is what the new one goes on from.
//   - The mandate. Everything that an authority does as such, a renewal of leases above all, is done at an instant at which
//     its hold of the lease stands by its own clock (Mandate::Stands). It has ended before anybody else can have it.
//   - The wait. A new authority writes no view before write_wait() has passed since it took its seat, as one that was started
//     again from a store does (lease/authority.h): whatever its predecessor granted has run out by then.
// A deposed authority that was stopped and goes on finds its hold over at its first input, before it does anything with that.
//
// What this does not do: an authority that reaches the register and no member stays what it is (nothing unsafe comes of
// it, but epochs stand still until somebody ends it). And the register is one: without it nobody becomes the authority, and
// one that cannot renew ends.
//
// Pure, driven like NamedLease: inputs have a Tick, and what is to be done stands in `out`. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lease/mandate.h"
#include "lease/named_lease.h"
#include "lease/register.h"
#include "lease/view.h"
#include "lease/view_record.h"
#include "phi/time.h"

namespace nekton {

// The keys in the register of the candidates of a group.
std::string SeatKey(std::string_view label);      // of the lease: "authority", or "authority/" and the label
std::string SeatViewKey(std::string_view label);  // of the view: the same, and "/view"

struct CandidacyOutput {
  struct Seat {
    Mandate mandate;
    View view;  // in force; epoch 0: none yet
  };
  struct Stored {
    std::uint64_t epoch = 0;
    absl::Status status;
  };
  std::vector<RegisterRequest> requests;  // to be done in this order; each ends in Answer(), or is lost
  // At most one of both: the seat was taken, or what was taken is lost.
  std::optional<Seat> taken;
  bool lost = false;
  std::optional<Stored> stored;
};

class Candidacy {
 public:
  // `lease`: with name and holder, without problems. `view_key`: where the view stands. `seed`: 64 random bits, others for
  // every candidate.
  Candidacy(NamedLeaseOptions lease, std::string view_key, std::uint64_t seed);

  void Begin(const Tick& now, CandidacyOutput& out);  // contends from now on
  void End(const Tick& now, CandidacyOutput& out);    // for good; the seat is free for others at once
  void Answer(const Tick& now, std::uint64_t id, const RegisterAnswer& answer, CandidacyOutput& out);
  void Wake(const Tick& now, CandidacyOutput& out);
  Instant NextWake() const;
  // Who sits writes a view. `stored` follows, unless the seat is lost first. One at a time; the same one again is allowed.
  void Store(const Tick& now, View view, CandidacyOutput& out);

  // Who holds the lease by the record that was seen last; empty: nobody.
  std::string_view holder() const;
  bool sits() const { return stage_ == Stage::kSeated; }

 private:
  enum class Stage : std::uint8_t { kStanding, kReading, kSeated };
  enum class Sent : std::uint8_t { kRead, kFence, kStore };
  struct Pending {
    std::uint64_t id = 0;
    Sent what{};
    Instant give_up{};
  };

  void Take(const Tick& now, LeaseOutbox& lease, CandidacyOutput& out);
  void Step(const Tick& now, CandidacyOutput& out);
  void Send(const Tick& now, Sent what, std::optional<std::string> value, CandidacyOutput& out);
  void OnView(const Tick& now, const Pending& sent, const RegisterAnswer& answer, CandidacyOutput& out);
  void OnThere(const Tick& now, const RegisterAnswer& there, CandidacyOutput& out);
  void OnRefused(const Tick& now, const RegisterAnswer& there, CandidacyOutput& out);
  void Sit(CandidacyOutput& out);
  void Outdated(const Tick& now, FencingToken seen, CandidacyOutput& out);
  void Later(const Tick& now) { retry_at_ = nekton::Later(now.boot, patience_); }
  static absl::StatusOr<ViewRecord> RecordOf(const RegisterAnswer& there);

  NamedLease lease_;
  const std::string view_key_;
  const Duration patience_;
  Stage stage_ = Stage::kStanding;
  FencingToken token_;
  std::uint64_t version_ = kAbsent;  // of the view's record
  ViewRecord record_;                // what we go on from, or have written
  std::optional<View> storing_;
  std::optional<Pending> pending_;
  Instant retry_at_ = Instant::min();
  std::uint64_t last_id_;
  Instant now_{};
};

}  // namespace nekton
