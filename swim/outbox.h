// What one input caused. The caller owns it, hands it to every call, drains it and clears it; clearing keeps the
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "phi/time.h"
#include "swim/address.h"
#include "swim/event.h"
#include "swim/mail.h"

namespace nekton {

// Names one exchange over a stream. Of our own requests: chosen by the engine; of served ones: by the transport.
using ExchangeId = std::uint64_t;

// Empties a list that is short nearly always, and long after a join or a split: what it took then is given back.
template <typename T>
void ClearLarge(std::vector<T>& list) {
  constexpr std::size_t kKept = 16;
  list.clear();
  if (list.capacity() > kKept) list.shrink_to_fit();
}

class Outbox {
 public:
  // Without `events` the engine makes none: for large simulations whose events nobody reads.
  explicit Outbox(bool events = true) : wants_events_(events) {}

  struct Datagram {
    Address to;
    std::uint32_t offset = 0;  // into the arena
    std::uint32_t size = 0;
  };
  struct Request {  // open a stream, send `bytes`, hand the answer to Answer(id, ...)
    ExchangeId id = 0;
    Address to;
    Duration limit{};  // for connect, request and answer together
    std::vector<std::byte> bytes;
  };
  struct Reply {  // answer to Serve(id, ...); an empty one closes the stream without an answer
    ExchangeId id = 0;
    std::vector<std::byte> bytes;
  };

  struct Store {  // keep `bytes` durably in place of what was kept before, then Stored(id, ...)
    std::uint64_t id = 0;
    std::vector<std::byte> bytes;
  };

  std::span<const Datagram> datagrams() const { return datagrams_; }
  std::span<const std::byte> bytes(const Datagram& d) const { return {arena_.data() + d.offset, d.size}; }
  std::span<Request> requests() { return requests_; }
  std::span<Reply> replies() { return replies_; }
  std::span<const Event> events() const { return events_; }
  bool wants_events() const { return wants_events_; }
  // Of other members, for our user. Requests in it wait for Respond: who does not look at it leaves them unanswered.
  std::span<Mail> mail() { return mail_; }
  // Of the authority of a group alone (lease/member.h); in order, and one is under way at a time.
  std::span<Store> stores() { return stores_; }
  bool empty() const {
    return datagrams_.empty() && requests_.empty() && replies_.empty() && events_.empty() && mail_.empty() &&
           stores_.empty();
  }

  // What members tell each other beneath their users: mail, and the bytes of the latest inner broadcast that was heard
  // (Engine::SayInner). For the member that the engine is part of, which takes it out.
  std::vector<Mail>& inner() { return inner_; }
  std::vector<std::string>& inner_broadcasts() { return inner_broadcasts_; }

  void Clear() {
    arena_.clear();
    datagrams_.clear();
    requests_.clear();
    replies_.clear();
    ClearLarge(events_);
    ClearLarge(mail_);
    stores_.clear();
    inner_.clear();
    inner_broadcasts_.clear();
  }

  // For the engine.
  std::vector<std::byte>& arena() { return arena_; }
  void AddDatagram(const Address& to, std::size_t offset) {
    datagrams_.push_back({to, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(arena_.size() - offset)});
  }
  void Add(Request request) { requests_.push_back(std::move(request)); }
  void Add(Reply reply) { replies_.push_back(std::move(reply)); }
  void Add(Event event) { events_.push_back(std::move(event)); }
  void Add(Mail mail) { (mail.inner ? inner_ : mail_).push_back(std::move(mail)); }
  void Add(Store store) { stores_.push_back(std::move(store)); }

 private:
  bool wants_events_;
  std::vector<std::byte> arena_;
  std::vector<Datagram> datagrams_;
  std::vector<Request> requests_;
  std::vector<Reply> replies_;
  std::vector<Event> events_;
  std::vector<Mail> mail_;
  std::vector<Store> stores_;
  std::vector<Mail> inner_;
  std::vector<std::string> inner_broadcasts_;
};

}  // namespace nekton
