// Our own requests and reliable messages that have not ended: whom they are for, what is left of their time, and when
// each is to be sent again. It keeps them; what is sent is the engine's business (engine_request.cc).
//
// Bounded by MailLimits. Not thread-safe; movable. Pointers to entries are good until they are closed. Costs nothing
// while there are none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "phi/time.h"
#include "stm/deadlines.h"
#include "swim/mail.h"
#include "swim/random.h"

namespace nekton {

struct OpenRequest {
  std::uint64_t id = 0;      // the user's
  std::uint32_t number = 0;  // the one on the wire
  std::string member;
  std::uint64_t life = 0;   // of the member, to which it is addressed: its wire id
  std::uint64_t as = 0;     // our own life, in which it was ordered
  std::uint64_t cause = 0;  // the request that we serve and for which this is; 0: none
  std::vector<std::byte> body;
  Instant begun{};
  Instant deadline{};
  Duration backoff{};
  std::uint32_t tries = 0;
  bool used = false;
  bool reliable = false;
  bool idempotent = false;
  bool inner = false;
  bool received = false;   // the other has it, and is asked about it from here on
  bool streaming = false;  // an exchange of it is under way
  bool cancelled = false;  // it has ended for the user; the other is to be told
};

class Requests {
 public:
  Requests(const MailLimits& limits, std::uint64_t seed)
      : limits_(limits), random_(seed), last_number_(static_cast<std::uint32_t>(random_.Next())) {}

  bool empty() const { return by_number_.empty(); }
  std::size_t size() const { return by_number_.size(); }

  // AlreadyExists: the id; ResourceExhausted: a limit, named.
  absl::Status Room(std::uint64_t id, const std::string& member, std::size_t bytes) const;
  // A new one, with what has to be known of it; there must be room.
  OpenRequest& Open(OpenRequest request, Instant now);
  OpenRequest* FindId(std::uint64_t id);
  OpenRequest* FindNumber(std::uint32_t number);
  // Another number on the wire, above all before it and above `past`.
  void Renumber(OpenRequest& request, std::uint32_t past);
  // It has ended for the user. Its id is free; what the other is still to be told stays, without the body.
  void Cancel(OpenRequest& request);
  void Close(OpenRequest& request);

  // Other limits from here on; what is open beyond them stays open.
  void SetLimits(const MailLimits& limits) { limits_ = limits; }
  // When the next is due: its deadline, or its turn to be sent again.
  Instant next() const { return timers_.empty() ? kNever : timers_.top().when; }
  // One that is due at `now`, or null. Its timer stands until it is closed or gets another.
  OpenRequest* Due(Instant now) { return next() <= now ? &slots_[timers_.top().id] : nullptr; }
  // Its next turn: after its backoff, or at its deadline if that is sooner, or if there is nothing to be sent meanwhile.
  void Later(OpenRequest& request, Instant now);
  void AtDeadline(OpenRequest& request);
  void AtOnce(OpenRequest& request, Instant now);

  // `visit` may close the one that it is given.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].used) visit(slots_[i]);
    }
  }

 private:
  std::uint32_t SlotOf(const OpenRequest& request) const { return by_number_.at(request.number); }
  std::uint32_t NextNumber();

  MailLimits limits_;
  Random random_;  // of its own: who asks nothing has the same luck as ever
  std::uint32_t last_number_;
  std::deque<OpenRequest> slots_;
  std::vector<std::uint32_t> free_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> by_id_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> by_number_;
  absl::flat_hash_map<std::string, std::size_t> per_member_;
  std::size_t bytes_ = 0;
  Deadlines timers_;  // by slot
};

}  // namespace nekton
