// What the members of a simulated group sent between two moments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "phi/time.h"
#include "swim/counters.h"
#include "transport/simulator.h"

namespace nekton {

// Purposes of datagrams, and syncs over streams, with the counters of each.
struct Purpose {
  std::string_view name;
  Counter messages;
  Counter bytes;
};
inline constexpr std::array<Purpose, 6> kPurposes = {
    {{"probe", Counter::kProbeDatagramsSent, Counter::kProbeBytesSent},
     {"relay", Counter::kRelayDatagramsSent, Counter::kRelayBytesSent},
     {"gossip", Counter::kGossipDatagramsSent, Counter::kGossipBytesSent},
     {"reconnect", Counter::kReconnectDatagramsSent, Counter::kReconnectBytesSent},
     {"heartbeat", Counter::kHeartbeatDatagramsSent, Counter::kHeartbeatBytesSent},
     {"watch", Counter::kWatchDatagramsSent, Counter::kWatchBytesSent}}};

class SimTraffic {
 public:
  explicit SimTraffic(const Simulator* simulator) : simulator_(simulator) {}

  void Begin() { base_ = Total(); }  // from here on it counts
  void End() { sum_ = Difference(); }
  void Ends(SimId id);                                                     // a member's process is about to end
  void Passed(std::uint64_t live, Duration time) { ran_ += live * time; }  // `live` members ran for `time`

  double Of(Counter counter) const { return static_cast<double>(sum_[counter]); }
  Duration ran() const { return ran_; }  // the time of all members together

 private:
  Counters Total() const;
  Counters Difference() const;

  const Simulator* simulator_;
  Counters ended_;  // of the processes that ended
  Counters base_;
  Counters sum_;
  Duration ran_{};
};

}  // namespace nekton
