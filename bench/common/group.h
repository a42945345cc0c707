// A group of equal members in the simulator, which an experiment makes trouble for.
#pragma once

#include <cstdint>
#include <vector>

#include "swim/config.h"
#include "swim/random.h"
#include "transport/simulator.h"

namespace nekton::bench {

// What the members together sent in some time.
struct Load {
  double datagrams = 0;
  double bytes = 0;           // of datagrams, without the headers of UDP and IP
  double member_seconds = 0;  // of members that run
  Load& operator+=(const Load& other);
  double DatagramsPerSecond() const;  // of one member; 0 if no time passed
  double BytesPerSecond() const;
};

class Group {
 public:
  // Streams lose segments where datagrams get lost. The same seed gives the same run.
  Group(const Config& config, std::uint32_t members, std::uint64_t seed);

  // Starts the members, one every 20 ms on average, and lets time pass until all know each other. False if they do not
  // within two minutes, or one does not start.
  bool Gather();

  Simulator& sim() { return sim_; }
  Random& random() { return random_; }  // of the experiment; the simulator has its own
  std::uint32_t size() const { return static_cast<std::uint32_t>(sim_.size()); }
  std::vector<SimId> Choose(std::uint32_t count);  // different members, at random
  Duration UpTo(Duration limit);                   // at random
  void Lose(double rate);                          // on every link, each datagram on its own

  void BeginLoad();
  Load EndLoad() const;  // since BeginLoad; the time of those that run now

 private:
  Simulator sim_;
  Random random_;
  SimCounters load_base_;
  Duration load_began_{};
};

// The member that an event is about: members are named n0, n1, ... kNobody where there is none.
SimId SubjectOf(const Event& event);

// Everything about a run depends on this: different `salt`, different luck.
std::uint64_t MixSeeds(std::uint64_t seed, std::uint64_t salt);

}  // namespace nekton::bench
