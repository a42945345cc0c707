// What the network between the nodes of one process does to them, put around each node's own transport.
//
// The same as bench/peers/memberlist does to the other library: each datagram is lost with a probability; a stream's SYN, or
// the answer to it, that is lost is sent again after 1, 2, 4 s, a lost segment after 200, 400, ... ms, one segment for a
// request and one for its answer. A node may have a loss of its own, of all that it sends and is sent, and streams may be
// spared. Who is mute sends and hears nothing, and two sides that are split nothing of each other: a stream between them
// ends at its limit. Lives on one loop.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "swim/address.h"
#include "swim/random.h"
#include "transport/transport.h"

namespace nekton::bench {

class Weather {
 public:
  Weather(uv_loop_t* loop, std::uint64_t seed) : loop_(loop), random_(seed) {}

  // Around a node's own transport. `side`: of a split, 0 or 1.
  std::unique_ptr<Transport> Around(std::unique_ptr<Transport> inner, int side);

  void SetLoss(double share) { loss_ = share; }
  void SetLossOf(const Address& address, double share) { at_[address].loss = share; }
  void SpareStreams() { spare_streams_ = true; }
  void Split(bool split) { split_ = split; }
  void Mute(const Address& address) { at_[address].mute = true; }

  std::uint64_t datagrams() const { return datagrams_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class Weathered;
  struct Place {
    int side = 0;
    bool mute = false;
    double loss = 0;
  };
  bool Lost(const Address& from, const Address& to);
  bool SegmentLost(const Address& from, const Address& to) { return !spare_streams_ && Lost(from, to); }
  double LossOf(const Address& address) const;
  bool Cut(const Address& from, const Address& to) const;
  void Later(Duration delay, std::function<void()> work);

  uv_loop_t* loop_;
  Random random_;
  double loss_ = 0;
  bool spare_streams_ = false;
  bool split_ = false;
  absl::flat_hash_map<Address, Place> at_;
  std::uint64_t datagrams_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace nekton::bench
