// What is under way in the simulated world: a queue in order of time, and in order of launch where times are equal.
//
// The heap holds small entries; the flights themselves, with their bytes, lie in slots that are used again, the one
// freed last first, so that in the steady state nothing is allocated and what is touched is warm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/time.h"
#include "swim/address.h"
#include "swim/engine.h"
#include "transport/sim_network.h"

namespace nekton {

enum class FlightKind : std::uint8_t {
  kDatagram,  // to whoever listens at `to_address`
  kServe,     // inputs of member `to` in its life `life`: a request on a stream,
  kAnswer,    // the end of one of its own requests,
  kTrouble,   // a Report
  kStored,    // of its store
  kSegment,   // a step of a stream (sim_streams.h)
  kConnect,   // of a blocked member, which holds it back: a SYN,
  kReply,     // an answer to a request
  kLookup,    // member `to` looks its seeds up again
  kAction,    // of Simulator::At
};

struct Flight {
  FlightKind kind = FlightKind::kDatagram;
  bool late = false;      // a slow member has already kept it waiting
  std::uint8_t code = 0;  // Trouble; SimStreams::Step; StreamEnd of an answer
  SimId from = kNobody;
  SimId to = kNobody;
  std::uint32_t life = 0;
  std::uint64_t handle = 0;  // ExchangeId; index of the action
  Address from_address;
  Address to_address;
  std::vector<std::byte> bytes;
};

class Flights {
 public:
  // A slot for a new flight, all fields as above and `bytes` empty. References to flights end with the next New.
  std::uint32_t New();
  Flight& operator[](std::uint32_t slot) { return flights_[slot]; }
  void Free(std::uint32_t slot);
  void Launch(std::uint32_t slot, Duration at);

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Duration next() const { return heap_.front().at; }  // when the first lands; not empty
  std::uint32_t Pop();                                // its slot, which now is the caller's to free or launch again

 private:
  struct Entry {
    Duration at;
    std::uint64_t order;
    std::uint32_t slot;
    bool Before(const Entry& other) const { return at != other.at ? at < other.at : order < other.order; }
  };
  static constexpr std::size_t kChildren = 4;
  static constexpr std::size_t kKeptBytes = 4096;  // capacity that a freed slot keeps

  std::vector<Entry> heap_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;
  std::uint64_t launched_ = 0;
};

}  // namespace nekton
