// What the sockets count, apart from the engine's counters. Names are stable and fit a metrics system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nekton {

// One line per counter: enumerator, name as printed.
#define NEKTON_TRANSPORT_COUNTERS(X)                                       \
  X(kTruncated, "transport_datagrams_truncated")                           \
  X(kReceiveErrors, "transport_receive_errors")                            \
  X(kSendBlocked, "transport_send_blocked")         /* full buffer */      \
  X(kSendDenied, "transport_send_denied")           /* EPERM, EACCES */    \
  X(kSendUnreachable, "transport_send_unreachable") /* no route */         \
  X(kSendTooBig, "transport_send_too_big")          /* EMSGSIZE */         \
  X(kSendOther, "transport_send_failed_otherwise")                         \
  X(kTroublesDropped, "transport_troubles_dropped") /* reports at bound */ \
  X(kServed, "transport_streams_served")            /* accepted */         \
  X(kServedFull, "transport_streams_refused_full")                         \
  X(kServedBusy, "transport_streams_busy")                                 \
  X(kServedEvicted, "transport_streams_evicted_slow")                      \
  X(kServedTimedOut, "transport_streams_timed_out")                        \
  X(kServedMalformed, "transport_streams_malformed")                       \
  X(kServedBroken, "transport_streams_broken") /* peer went away */        \
  X(kAcceptErrors, "transport_accept_errors")                              \
  X(kExchanges, "transport_exchanges")                                     \
  X(kExchangesFull, "transport_exchanges_refused_full")                    \
  X(kExchangesRefused, "transport_exchanges_connection_refused")           \
  X(kExchangesTimedOut, "transport_exchanges_timed_out")                   \
  X(kExchangesBroken, "transport_exchanges_broken")                        \
  X(kExchangesTooLarge, "transport_exchanges_answer_too_large")

enum class TransportCounter : std::uint8_t {
#define NEKTON_COUNTER_ENUM(id, name) id,
  NEKTON_TRANSPORT_COUNTERS(NEKTON_COUNTER_ENUM)
#undef NEKTON_COUNTER_ENUM
};

inline constexpr std::array kTransportCounterNames = {
#define NEKTON_COUNTER_NAME(id, name) std::string_view(name),
    NEKTON_TRANSPORT_COUNTERS(NEKTON_COUNTER_NAME)
#undef NEKTON_COUNTER_NAME
};
#undef NEKTON_TRANSPORT_COUNTERS

class TransportCounters {
 public:
  std::uint64_t& operator[](TransportCounter c) { return values_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](TransportCounter c) const { return values_[static_cast<std::size_t>(c)]; }
  static constexpr std::size_t size() { return kTransportCounterNames.size(); }

 private:
  std::array<std::uint64_t, kTransportCounterNames.size()> values_{};
};

}  // namespace nekton
