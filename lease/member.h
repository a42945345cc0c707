// One pure member: the engine with everything above it, composed in one place, without I/O.
//
// The simulator runs ten thousand of them on a virtual clock, the libuv node runs one, a user may run one inside any
// event loop. Contract and thread-safety are the engine's (swim/engine.h): each input carries a Tick, what it causes is in
// the Outbox, NextWake() says when the next Wake is due. Beside those, what an authority is to store is in
// Outbox::stores() and comes back by Stored(); and what was decided about members, views and homes is evidence(), which
// the caller clears when it has read it.
//
// Where the authority is one of several candidates it stores nothing; each of them asks a register instead. What it asks is in
// register_requests(), which the caller takes, and each answer comes back by Answered().
//
// Without an authority (LeaseConfig) a member is its engine: no byte, no timer and no allocation more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/candidacy.h"
#include "lease/evidence.h"
#include "lease/lease_config.h"
#include "lease/lease_room.h"
#include "lease/view.h"
#include "swim/engine.h"

namespace nekton {

class Member {
 public:
  static constexpr std::size_t kEvidenceMax = 4096;  // kept until it is cleared; beyond, counted

  // The engine's errors, and InvalidArgument with every mistake of `leases`, one a line. `stored`: what the authority's
  // store holds (lease/view_store.h); DataLoss: it is none of its views.
  static absl::StatusOr<Member> Create(const Config& config, const Address& self,
                                       std::shared_ptr<Identities> identities = nullptr, const LeaseConfig& leases = {},
                                       View stored = {});

  void Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out);
  void Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request, Outbox& out,
             bool busy = false);
  void Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
              Outbox& out);
  void Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out);
  void Stored(const Tick& now, StoreId id, const absl::Status& status, Outbox& out);
  void Answered(const Tick& now, std::uint64_t id, const RegisterAnswer& answer, Outbox& out);
  void Wake(const Tick& now, Outbox& out);
  absl::Status Order(const Tick& now, const Command& command, Outbox& out);
  void HoldProbes(const Tick& now, bool hold, Outbox& out);

  Instant NextWake() const;
  std::uint64_t Fingerprint() const { return engine_.Fingerprint(); }
  const Counters& counters() const { return engine_.counters(); }
  absl::StatusOr<MemberExplanation> Explain(const Tick& now, std::string_view name) const {
    return engine_.Explain(now, name);
  }
  const StmCounters& stm_counters() const { return engine_.stm_counters(); }
  absl::StatusOr<double> Level(const Tick& now, std::string_view member) const { return engine_.Level(now, member); }
  const Config& config() const { return engine_.config(); }
  std::vector<MemberPtr> Members() const { return engine_.Members(); }
  MemberPtr Self() const { return engine_.Self(); }
  MemberPtr Find(std::string_view name) const { return engine_.Find(name); }
  std::size_t size() const { return engine_.size(); }
  std::size_t alive() const { return engine_.alive(); }
  std::vector<BroadcastInfo> HeldBroadcasts(const Tick& now) const { return engine_.HeldBroadcasts(now); }
  Contact contact() const { return engine_.contact(); }
  std::uint32_t digest() const { return engine_.digest(); }
  std::uint64_t version() const { return engine_.version(); }

  // Views, homes and leases; null: no authority is configured.
  LeaseRoom* leases() { return room_.get(); }
  const LeaseRoom* leases() const { return room_.get(); }
  // Authority::Move. FailedPrecondition: this member is not the authority.
  absl::Status Move(const Tick& now, const ObjectId& object, std::string_view to, Outbox& out);

  // To be taken out by the caller, in this order; a handful at most.
  std::vector<RegisterRequest>& register_requests() { return register_requests_; }

  std::span<const Evidence> evidence() const { return evidence_; }
  std::uint64_t evidence_lost() const { return evidence_lost_; }
  void ClearEvidence() { evidence_.clear(); }

 private:
  Member(Engine engine, std::unique_ptr<LeaseRoom> room) : engine_(std::move(engine)), room_(std::move(room)) {}
  void After(const Tick& now, std::size_t told, Outbox& out);
  void Decline(const Tick& now, Outbox& out);
  void Do(const Tick& now, LeaseOutput& output, Outbox& out);
  std::optional<LeasePeer> Peer(std::string_view name) const;
  // Of a candidate: member_candidacy.cc.
  void Contend(const Tick& now, Outbox& out);
  void Heed(const Tick& now, CandidacyOutput& todo, Outbox& out);

  Engine engine_;
  std::unique_ptr<LeaseRoom> room_;
  std::unique_ptr<Candidacy> candidacy_;  // of a candidate; else null
  bool stood_down_ = false;               // for good
  std::string believed_;                  // whom the register named last
  std::vector<RegisterRequest> register_requests_;
  bool begun_ = false;
  std::uint64_t version_ = 0;  // of the table, when our own row was last looked at
  std::vector<Evidence> evidence_;
  std::uint64_t evidence_lost_ = 0;
};

}  // namespace nekton
