// Everything an engine counts. Reading is cheap; the names are stable and fit a metrics system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nekton {

// One line per counter: enumerator, name as printed. Sent datagrams and bytes are accounted by purpose.
#define NEKTON_COUNTERS(X)                               \
  X(kDatagramsReceived, "datagrams_received")            \
  X(kBytesReceived, "bytes_received")                    \
  X(kProbeDatagramsSent, "probe_datagrams_sent")         \
  X(kProbeBytesSent, "probe_bytes_sent")                 \
  X(kRelayDatagramsSent, "relay_datagrams_sent")         \
  X(kRelayBytesSent, "relay_bytes_sent")                 \
  X(kGossipDatagramsSent, "gossip_datagrams_sent")       \
  X(kGossipBytesSent, "gossip_bytes_sent")               \
  X(kReconnectDatagramsSent, "reconnect_datagrams_sent") \
  X(kReconnectBytesSent, "reconnect_bytes_sent")         \
  X(kHeartbeatDatagramsSent, "heartbeat_datagrams_sent") \
  X(kHeartbeatBytesSent, "heartbeat_bytes_sent")         \
  X(kWatchDatagramsSent, "watch_datagrams_sent")         \
  X(kWatchBytesSent, "watch_bytes_sent")                 \
  X(kMailDatagramsSent, "mail_datagrams_sent")           \
  X(kMailBytesSent, "mail_bytes_sent")                   \
  X(kMailStreamsSent, "mail_streams_sent")               \
  X(kMailStreamBytesSent, "mail_stream_bytes_sent")      \
  X(kMailStray, "mail_stray")                            \
  X(kMessagesReceived, "messages_received")              \
  X(kRequestsSent, "requests_sent")                      \
  X(kRequestsRetried, "requests_sent_again")             \
  X(kRetriesHeld, "request_retries_held_back")           \
  X(kRequestsServed, "requests_served")                  \
  X(kRequestsRepeated, "requests_repeated_to_us")        \
  X(kRequestsRefused, "requests_refused_full")           \
  X(kRequestsCancelled, "requests_served_cancelled")     \
  X(kRequestsExpired, "requests_served_too_late")        \
  X(kRequestsLate, "requests_held_back_too_long")        \
  X(kSyncRequestsSent, "sync_requests_sent")             \
  X(kSyncBytesSent, "sync_bytes_sent")                   \
  X(kSyncsServed, "syncs_served")                        \
  X(kSyncsDeclined, "syncs_declined_busy")               \
  X(kSyncsFailed, "syncs_failed")                        \
  X(kStreamPingsSent, "stream_pings_sent")               \
  X(kRounds, "probe_rounds")                             \
  X(kRoundsFailed, "probe_rounds_failed")                \
  X(kRoundsVoid, "probe_rounds_void")                    \
  X(kRoundsBackedOff, "probe_rounds_backed_off")         \
  X(kCorroborations, "corroborations")                   \
  X(kAttemptsFailed, "probe_attempts_failed")            \
  X(kAcksLate, "acks_late")                              \
  X(kAcksStray, "acks_stray")                            \
  X(kAcksStream, "acks_stream_only")                     \
  X(kNacksReceived, "nacks_received")                    \
  X(kRelaysRefused, "relays_refused_full")               \
  X(kHeartbeatsOld, "heartbeats_old")                    \
  X(kConvictions, "heartbeat_convictions")               \
  X(kConvictionsWrong, "heartbeat_convictions_wrong")    \
  X(kPulsesOld, "pulses_old")                            \
  X(kPulsesStray, "pulses_stray")                        \
  X(kWatchesIgnored, "watch_requests_ignored")           \
  X(kWatchersRefused, "watchers_refused_full")           \
  X(kSuspicionsOwn, "suspicions_own")                    \
  X(kSuspicionsHeard, "suspicions_heard")                \
  X(kRefutations, "refutations_own")                     \
  X(kRefutationsHeldBack, "refutations_held_back")       \
  X(kUpdatesApplied, "updates_applied")                  \
  X(kUpdatesKnown, "updates_known")                      \
  X(kUpdatesStale, "updates_stale")                      \
  X(kUpdatesRefused, "updates_refused")                  \
  X(kUpdatesUnknownKind, "updates_unknown_kind")         \
  X(kUpdatesDisplaced, "updates_displaced_at_bound")     \
  X(kMembersRefused, "members_refused_full")             \
  X(kNewsBytesSent, "news_bytes_sent")                   \
  X(kBroadcastBytesSent, "broadcast_bytes_sent")         \
  X(kBroadcastsOwn, "broadcasts_own")                    \
  X(kBroadcastsHeard, "broadcasts_heard")                \
  X(kBroadcastsKnown, "broadcasts_known")                \
  X(kBroadcastsStale, "broadcasts_stale")                \
  X(kBroadcastsRefused, "broadcasts_refused")            \
  X(kBroadcastsDisplaced, "broadcasts_displaced")        \
  X(kBroadcastSyncsSent, "broadcast_syncs_sent")         \
  X(kBadShort, "bad_too_short")                          \
  X(kBadLabel, "bad_label")                              \
  X(kBadVersion, "bad_version")                          \
  X(kBadChecksum, "bad_checksum")                        \
  X(kBadType, "bad_type")                                \
  X(kBadBody, "bad_body")                                \
  X(kSendFailed, "send_failed")                          \
  X(kSendTooBig, "send_too_big")                         \
  X(kPauses, "pauses_of_this_process")

enum class Counter : std::uint8_t {
#define NEKTON_COUNTER_ENUM(id, name) id,
  NEKTON_COUNTERS(NEKTON_COUNTER_ENUM)
#undef NEKTON_COUNTER_ENUM
};

inline constexpr std::array kCounterNames = {
#define NEKTON_COUNTER_NAME(id, name) std::string_view(name),
    NEKTON_COUNTERS(NEKTON_COUNTER_NAME)
#undef NEKTON_COUNTER_NAME
};
#undef NEKTON_COUNTERS

class Counters {
 public:
  std::uint64_t& operator[](Counter c) { return values_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](Counter c) const { return values_[static_cast<std::size_t>(c)]; }
  static constexpr std::size_t size() { return kCounterNames.size(); }

 private:
  std::array<std::uint64_t, kCounterNames.size()> values_{};
};

}  // namespace nekton
