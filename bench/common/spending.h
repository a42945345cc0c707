// What members sent, by purpose.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "swim/counters.h"
#include "transport/simulator.h"

namespace nekton::bench {

// Purposes of datagrams, with the counters of each. A sync goes over a stream, so it is none of them.
struct Purpose {
  std::string_view name;
  Counter datagrams;
  Counter bytes;
};
inline constexpr std::array<Purpose, 5> kPurposes = {
    {{"probe", Counter::kProbeDatagramsSent, Counter::kProbeBytesSent},
     {"relay", Counter::kRelayDatagramsSent, Counter::kRelayBytesSent},
     {"gossip", Counter::kGossipDatagramsSent, Counter::kGossipBytesSent},
     {"reconnect", Counter::kReconnectDatagramsSent, Counter::kReconnectBytesSent},
     {"heartbeat", Counter::kHeartbeatDatagramsSent, Counter::kHeartbeatBytesSent}}};

struct Spending {
  struct Sum {
    double count = 0;  // datagrams; of syncs: requests
    double bytes = 0;  // without headers of UDP and IP; of syncs: of requests and answers
  };
  std::array<Sum, kPurposes.size()> by_purpose;
  Sum sync;

  Sum Datagrams() const;  // of all purposes
  Spending& operator+=(const Spending& other);
  Spending operator-(const Spending& other) const;
  Spending operator*(double factor) const;
};

// Of all members that run, since each was started.
Spending SpendingOf(const Simulator& sim);
Spending SpendingOf(const Counters& counters);

}  // namespace nekton::bench
