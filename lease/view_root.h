// The member that is the authority: its Authority, fed with what its failure detector says and what members ask. Part of
// LeaseRoom. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lease/authority.h"
#include "lease/lease_config.h"
#include "lease/lease_counters.h"
#include "lease/lease_message.h"
#include "lease/lease_peers.h"
#include "phi/time.h"

namespace nekton {

class ViewRoot {
 public:
  // A member of the view of whose life nobody here has ever heard is removed so long after our start: it was gone before.
  static constexpr Duration kAbsentAfter = std::chrono::seconds(30);
  static constexpr Duration kTurnEvery = std::chrono::seconds(1);
  static constexpr Duration kReviewEvery = std::chrono::milliseconds(20);  // at most, of the whole view

  ViewRoot(const LeaseConfig& config, std::string label, ViewMember self);

  absl::Status Begin(const Tick& now, const View& stored, AuthorityOutput& out);
  // After each input: what has come to its time, and what the table says if `version` of it is a new one.
  void Turn(const Tick& now, LeasePeers peers, std::uint64_t version, AuthorityOutput& out);
  Instant NextWake() const { return wake_; }

  // To a join or a ping of `name`, whose row is `peer`. Moves that it has not got yet go with the answer.
  LeaseMessage Answer(const Tick& now, std::string_view name, const LeasePeer& peer, const LeaseMessage& question,
                      AuthorityOutput& out, LeaseCounters& counters);

  Authority& authority() { return authority_; }
  const Authority& authority() const { return authority_; }

 private:
  void Review(const Tick& now, LeasePeers peers, AuthorityOutput& out);
  LeaseMessage::Result Admit(const Tick& now, std::string_view name, const LeasePeer& peer, AuthorityOutput& out,
                             std::string& why);

  const PublicKey key_;
  const LeaseTerms terms_;
  const std::vector<std::string> admit_;
  Authority authority_;
  Instant begun_{};
  std::uint64_t reviewed_ = 0;        // the table's version then
  std::uint64_t reviewed_epoch_ = 0;  // and ours
  bool absent_ = false;               // there was somebody whom the table does not know
  Instant reviewed_at_ = Instant::min();
  Instant turned_ = Instant::min();
  Instant wake_ = Instant::min();
};

}  // namespace nekton
