// What an engine keeps of requests over streams: its own that are under way, and those of newcomers that wait for their
// answer. Internal.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "swim/address.h"
#include "swim/outbox.h"
#include "swim/table_sums.h"

namespace nekton {

// What an exchange of ours is for.
enum class Errand : std::uint8_t { kContact, kRepair, kQuestion, kStreamPing, kBroadcasts, kMail, kMailAnswer };
using Leaves = std::bitset<TableSums::kLeaves>;
struct Exchange {
  Errand errand = Errand::kContact;
  Address address;
  std::uint32_t sequence = 0;  // stream ping; mail: number of the request
  std::uint64_t served = 0;    // mail answer: of which served request
  bool join = false;           // contact: sent as a newcomer
  bool reconnect = false;      // after a separation: what it brings is news to others too
  Leaves leaves{};             // whose rows it is about; none: all, or sums
};

// A newcomer that waits until it is known whether its name is in use.
struct Admission {
  ExchangeId id = 0;
  std::uint32_t sequence = 0;  // of the round that finds it out
  std::vector<std::byte> request;
};

}  // namespace nekton
