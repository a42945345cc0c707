// Requests and reliable messages of other members: those that our handler works on, and those that are over and are
// remembered so that none is done twice. It keeps them; what is sent is the engine's business (engine_respond.cc).
//
// Each is known by its sender's life and the number that the sender gave it, from its arrival until its deadline and
// MailLimits::keep have passed. Of each life one number is kept beyond that: the highest that was forgotten, or refused.
// Up to it nothing is begun that is not known, so that a copy which was held back for however long is not done again.
// Numbers rise, modulo 2^32. Bounded by MailLimits. Not thread-safe; movable. Pointers to entries are good until the
// next call that is not const. Costs nothing while there are none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "phi/time.h"
#include "stm/deadlines.h"
#include "swim/mail.h"
#include "swim/outbox.h"

namespace nekton {

struct ServedRequest {
  enum class State : std::uint8_t {
    kFree,
    kWorking,   // our handler has it
    kAnswered,  // the answer is kept
    kOver,      // nobody waits for an answer: cancelled, or past its deadline
  };
  std::uint64_t id = 0;    // ours, by which it is responded to
  std::uint64_t peer = 0;  // the wire id of its sender's life
  std::uint32_t number = 0;
  State state = State::kFree;
  bool reliable = false;   // a message
  bool inner = false;      // nekton's own
  bool cancelled = false;  // kOver: before its deadline
  bool streaming = false;  // an exchange that carries its answer is under way
  bool forgotten = false;  // kAnswered: the answer had to go
  std::uint8_t code = 0;   // of the answer
  Instant deadline{};
  ExchangeId stream = 0;            // of a reliable message: on which the sender waits; 0: none
  std::string member{};             // kWorking: its sender's name
  std::size_t bytes = 0;            // kWorking: of its body
  std::vector<std::byte> answer{};  // kAnswered
};

class ServedRequests {
 public:
  explicit ServedRequests(const MailLimits& limits) : limits_(limits) {}

  bool empty() const { return by_key_.empty(); }
  std::size_t working() const { return working_; }

  ServedRequest* Find(std::uint64_t peer, std::uint32_t number);
  ServedRequest* FindId(std::uint64_t id);
  // Whether one that is not known is begun no more.
  bool IsPast(std::uint64_t peer, std::uint32_t number) const;
  // The highest such number; 0: there is none.
  std::uint32_t past(std::uint64_t peer) const;
  // It, and what came before it, is begun no more; for one that is refused.
  void SetPast(std::uint64_t peer, std::uint32_t number);
  // Lets go of the numbers of lives that nobody knows, if there are many.
  void BoundPast(absl::FunctionRef<bool(std::uint64_t peer)> is_known);
  std::size_t past_size() const { return past_.size(); }

  // Why a new one is refused, with the limit that is reached; empty: there is room.
  std::string Full(std::uint64_t peer, std::size_t bytes) const;
  // A new one; there must be room. The handler has it until Answer or Over.
  ServedRequest& Take(std::uint64_t peer, std::uint32_t number, Instant deadline, std::size_t bytes);
  // One that was cancelled before it came. Where there is no room to remember it, it is past.
  void TakeCancelled(std::uint64_t peer, std::uint32_t number, Instant now);
  void Answer(ServedRequest& request, std::uint8_t code, std::vector<std::byte> answer);
  void Over(ServedRequest& request, bool cancelled);

  // Other limits from here on; what is known beyond them stays known.
  void SetLimits(const MailLimits& limits) { limits_ = limits; }
  // When the next deadline passes, or something is forgotten.
  Instant next() const { return timers_.empty() ? kNever : timers_.top().when; }
  // Forgets what is to be forgotten at `now`, until it meets one that the handler has and whose deadline has passed, and
  // returns that: it is to be made Over. Null: there is none.
  ServedRequest* Expired(Instant now);

  template <typename Visit>
  void ForEachWorking(Visit visit) {
    for (ServedRequest& request : slots_) {
      if (request.state == ServedRequest::State::kWorking) visit(request);
    }
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  struct Share {
    std::size_t known = 0;
    std::size_t working = 0;
    std::size_t answer_bytes = 0;
  };

  std::uint32_t SlotOf(const ServedRequest& request) const { return by_id_.at(request.id); }
  bool Remembers(std::uint64_t peer) const;
  ServedRequest& Add(std::uint64_t peer, std::uint32_t number, Instant deadline);
  void StopWork(ServedRequest& request);
  void DropAnswer(ServedRequest& request);
  void MakeRoom(const ServedRequest& newest);
  void Forget(std::uint32_t slot);

  MailLimits limits_;
  std::uint64_t last_id_ = 0;
  std::deque<ServedRequest> slots_;
  std::vector<std::uint32_t> free_;
  absl::flat_hash_map<Key, std::uint32_t> by_key_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> by_id_;
  absl::flat_hash_map<std::uint64_t, Share> shares_;  // by peer
  std::deque<std::uint64_t> answered_;                // by id, the oldest first; some are not known any more
  std::size_t working_ = 0;
  std::size_t working_bytes_ = 0;
  std::size_t answer_bytes_ = 0;
  Deadlines timers_;                                        // by slot
  absl::flat_hash_map<std::uint64_t, std::uint32_t> past_;  // by peer
  std::size_t past_enough_ = 0;                             // BoundPast looks at more than so many
};

}  // namespace nekton
