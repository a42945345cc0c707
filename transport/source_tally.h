// Who sends what is refused: a count for each host, of the first kHostsMax; all further ones together. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "swim/address.h"

namespace nekton {

class SourceTally {
 public:
  static constexpr std::size_t kHostsMax = 32;

  // Ports do not tell hosts apart.
  void Add(Address host, std::uint64_t count = 1) {
    host.port = 0;
    const auto known = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& h) { return h.first == host; });
    if (known != hosts_.end()) {
      known->second += count;
    } else if (hosts_.size() < kHostsMax) {
      hosts_.emplace_back(host, count);
    } else {
      others_ += count;
    }
  }
  const std::vector<std::pair<Address, std::uint64_t>>& hosts() const { return hosts_; }
  std::uint64_t others() const { return others_; }

 private:
  std::vector<std::pair<Address, std::uint64_t>> hosts_;
  std::uint64_t others_ = 0;
};

}  // namespace nekton
