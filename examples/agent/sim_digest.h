// The events of a large group, put together: one line for what many members saw of one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "phi/time.h"
#include "transport/simulator.h"

namespace nekton {

class SimDigest {
 public:
  struct Entry {
    EventKind kind = EventKind::kJoined;
    SimId subject = kNobody;  // kNobody: of many; all joins are one entry
    std::uint64_t count = 0;
    Duration first{};
    Duration last{};
  };
  // An entry is put out when nothing more came for `quiet`.
  SimDigest(Duration quiet, std::function<void(const Entry&)> put) : quiet_(quiet), put_(std::move(put)) {}

  void Saw(const SimEvent& event);
  void Flush(Duration now, bool all = false);  // to be called now and then

 private:
  Duration quiet_;
  std::function<void(const Entry&)> put_;
  std::map<std::pair<EventKind, SimId>, Entry> open_;
};

}  // namespace nekton
