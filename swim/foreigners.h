// Who sends us frames of another cluster: each host is worth one line a minute, not one a frame.
//
// At most kHostsMax hosts are remembered; while all of those are recent, further ones go unreported (they are counted
// all the same). Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "phi/time.h"
#include "swim/address.h"

namespace nekton {

class Foreigners {
 public:
  static constexpr std::size_t kHostsMax = 32;
  static constexpr Duration kQuiet = std::chrono::minutes(1);

  // True: this host is to be reported now. Ports do not tell hosts apart.
  bool Report(Address host, Instant now) {
    host.port = 0;
    auto slot = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& h) { return h.first == host; });
    if (slot != hosts_.end() && now - slot->second < kQuiet) return false;
    if (slot == hosts_.end()) {
      slot = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& h) { return now - h.second >= kQuiet; });
    }
    if (slot == hosts_.end()) {
      if (hosts_.size() == kHostsMax) return false;
      slot = hosts_.insert(hosts_.end(), {host, now});
    }
    *slot = {host, now};
    return true;
  }

 private:
  std::vector<std::pair<Address, Instant>> hosts_;
};

}  // namespace nekton
