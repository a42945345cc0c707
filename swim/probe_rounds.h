// The probe rounds that are open, and those that closed so lately that an ack may still come.
//
// A round is one probe of one member within a period, of up to `attempts` tries (ARCHITECTURE.md, "the life of a
// failure"; attempts = 1 is SWIM, section 3.1). A frame's sequence says which attempt of which round it answers:
// bit 31 zero, 28 bits serial, 3 bits attempt. Not thread-safe; movable.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "phi/time.h"
#include "stm/state.h"
#include "swim/outbox.h"

namespace nekton {

inline constexpr std::uint32_t kAttemptsMax = 8;
inline constexpr std::uint32_t kRelaysMax = 32;  // asked in one round, all attempts together

// Pings outside rounds. No round has the serial 0.
inline constexpr std::uint32_t kQuestionSequence = 0;  // a hearer's question; a try at a dead member
inline constexpr std::uint32_t kFarewellSequence = 1;  // a leaving member's goodbye

struct ProbeRound {
  enum class Phase : std::uint8_t {
    kFree,
    kOpen,
    kClosed
  };  // closed: an ack still counts until `end` of the next period

  Phase phase = Phase::kFree;
  bool acked = false;          // its one kHealthy has been given
  bool failed = false;         // it has failed, and was no void one
  bool accusing = false;       // goes on at a member that is SUSPECT here
  bool last_sent = false;      // no further attempt; it waits for the end
  bool refused = false;        // its port refused a connection
  bool local_trouble = false;  // we could not send: proves nothing
  bool in_turn = false;        // of staggered probing: its target may shift the next one
  bool stream_first = false;   // the first attempt goes over the stream, too: its port is said to refuse
  std::uint8_t attempts = 0;   // sent
  std::uint8_t asked = 0;      // relays
  std::uint32_t serial = 0;
  PeerId target = kNoPeer;
  std::uint64_t target_id = 0;
  Instant start{};
  Duration period{};  // of its prober, as it was then
  Instant next_attempt = kNever;
  Instant end{};               // open: of the period; closed: until when an ack counts
  ExchangeId stream = 0;       // of the stream ping; 0: none
  std::uint32_t answered = 0;  // bit i: relay i answered, by ack or nack
  std::array<Instant, kAttemptsMax> sent_at{};
  std::array<std::uint8_t, kAttemptsMax> asked_by{};  // relays asked up to and with attempt i
  std::array<std::uint64_t, kRelaysMax> relays{};     // wire ids

  bool HasAsked(std::uint64_t relay) const {
    for (std::uint8_t i = 0; i < asked; ++i) {
      if (relays[i] == relay) return true;
    }
    return false;
  }
  void Answered(std::uint64_t relay) {
    for (std::uint8_t i = 0; i < asked; ++i) {
      if (relays[i] == relay) answered |= std::uint32_t{1} << i;
    }
  }
  std::uint32_t Sequence(std::uint32_t attempt) const { return serial << 3 | attempt; }
};

class ProbeRounds {
 public:
  static constexpr std::uint32_t kSlots = 32;

  // `start` seeds the serials, so that a guess at a sequence is no better than any other.
  explicit ProbeRounds(std::uint32_t start) : serial_(start & kSerialMask) {}

  // A fresh open round; the oldest closed one makes room. Null: all slots are open.
  ProbeRound* Open(PeerId target, std::uint64_t target_id, Instant start, Instant end);
  // The round and attempt that an answer belongs to; null: none that is open or closed lately.
  ProbeRound* Find(std::uint32_t sequence, std::uint32_t* attempt);
  // Whether it may be the first attempt of a round of its sender's.
  static bool IsFirst(std::uint32_t sequence) { return (sequence & 0x80000007) == 0 && sequence > 7; }
  // The open round at a member; null: none.
  ProbeRound* FindOpen(PeerId target);
  void Close(ProbeRound& round, Instant ack_until);
  // The member's row goes: its rounds go.
  void Forget(PeerId target);

  // When the next attempt of any open round is due, or its end; kNever: none.
  Instant NextDue() const { return next_due_; }
  // To be called after changing `next_attempt` of a round.
  void Reschedule();

  template <typename F>
  void ForEachOpen(F f) {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      if ((open_ >> i & 1) != 0) f(slots_[i]);
    }
  }

 private:
  static constexpr std::uint32_t kSerialMask = (1u << 28) - 1;

  // 12 KB, of which an input seldom needs more than one round.
  std::vector<ProbeRound> slots_ = std::vector<ProbeRound>(kSlots);
  std::uint32_t open_ = 0;  // bit i: slot i is open
  std::uint32_t serial_;
  Instant next_due_ = kNever;
};

}  // namespace nekton
