// The links of the simulated network: what becomes of a datagram or of a segment of a stream.
//
// Every ordered pair of members is a link; both directions of a pair are separate. What a link does is the sum of its
// own law (or the default one), the outgoing law of the sender, the incoming law of the receiver, cuts and partitions.
// A fate is decided when the thing is sent: what is in flight when a link is cut still arrives.
// Not thread-safe. The same seed and calls give the same fates on every compiler: no libm, no hash order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"
#include "swim/random.h"

namespace nekton {

// A simulated member: dense, in the order of Simulator::Add, never reused. kNobody: an address that no member has.
using SimId = std::uint32_t;
inline constexpr SimId kNobody = 0xffffffff;
inline constexpr SimId kSimIdMax = 1 << 24;  // ids are below it

// Random loss. Independent of everything if mean_bad is 0; else a Gilbert-Elliott chain in continuous time (Gilbert,
// Bell System Technical Journal 39, 1960): good and bad times take turns, both of exponential length.
struct Loss {
  double rate = 0;       // probability in the good state, in [0, 1]
  double bad_rate = 0;   // probability in the bad state
  Duration mean_good{};  // mean length of a good time; > 0 if mean_bad is
  Duration mean_bad{};   // mean length of a bad time; 0: never bad
  // Bad for `share` (in (0, 1)) of the time, `mean` long on average.
  static Loss Bursts(double share, Duration mean, double bad_rate, double good_rate = 0);
};

// The law of one direction of a link.
struct LinkLaw {
  Loss loss = {};
  Duration delay_min = std::chrono::microseconds(500);  // one way, uniform in [delay_min, delay_max]
  Duration delay_max = std::chrono::milliseconds(1);
  double duplicate = 0;      // probability that a datagram comes twice, each with a delay of its own
  double reorder = 0;        // probability that a datagram waits reorder_delay longer, so that later ones overtake it
  Duration reorder_delay{};  // >= 0
  std::size_t mtu = std::numeric_limits<std::size_t>::max();  // bytes; a larger datagram vanishes
};

// What all traffic of one member meets in one direction, on top of the links' laws.
struct MemberLaw {
  Loss loss = {};
  Duration delay_min{};
  Duration delay_max{};
};

enum class Traffic : std::uint8_t { kNone = 0, kDatagrams = 1, kStreams = 2, kAll = 3 };

// Why a datagram did not arrive.
#define NEKTON_SIM_DROPS(X)                                                  \
  X(kNone, "none")                                                           \
  X(kLoss, "loss")                                                           \
  X(kCut, "cut")                /* by a cut or a partition */                \
  X(kMtu, "mtu")                /* larger than the link's */                 \
  X(kFilter, "filter")          /* Simulator::SetFilter said no */           \
  X(kSendFailed, "send_failed") /* Simulator::SetSendsFail */                \
  X(kNoListener, "no_listener") /* nobody listens at the address */          \
  X(kPaused, "paused")          /* to a paused member that keeps no input */ \
  X(kFull, "in_flight_full")    /* SimOptions::flights_max */                \
  X(kBuffer, "buffer_full")     /* the socket buffer of a paused member */
enum class Drop : std::uint8_t {
#define NEKTON_SIM_DROP(id, name) id,
  NEKTON_SIM_DROPS(NEKTON_SIM_DROP)
#undef NEKTON_SIM_DROP
};
inline constexpr std::array kDropNames = {
#define NEKTON_SIM_DROP(id, name) std::string_view(name),
    NEKTON_SIM_DROPS(NEKTON_SIM_DROP)
#undef NEKTON_SIM_DROP
};
#undef NEKTON_SIM_DROPS

class SimNetwork {
 public:
  SimNetwork(std::uint64_t seed, const LinkLaw& law);

  // Laws. Probabilities outside [0, 1] are taken as the nearer end, a maximum below its minimum as the minimum. Ids of
  // members that come later are fine; kNobody and the like end the program with a message.
  void SetLaw(const LinkLaw& law);  // of every link that has none of its own
  const LinkLaw& law() const { return law_; }
  void SetLink(SimId from, SimId to, const LinkLaw& law);  // one direction
  void ClearLink(SimId from, SimId to);                    // back to the default law
  void SetOut(SimId member, const MemberLaw& law);         // on all that it sends
  void SetIn(SimId member, const MemberLaw& law);          // on all that is sent to it

  // Cuts add up; a stream over a cut link stands still until it is healed or its time is up.
  void Cut(SimId a, SimId b, Traffic what = Traffic::kAll);  // both directions
  void CutOneWay(SimId from, SimId to, Traffic what = Traffic::kAll);
  void CutOut(SimId member, Traffic what = Traffic::kAll);  // nothing leaves it
  void CutIn(SimId member, Traffic what = Traffic::kAll);   // nothing reaches it
  void Heal(SimId a, SimId b);                              // the cuts of this pair, both directions
  void Heal(SimId member);                                  // its CutOut and CutIn
  // Members of different groups are cut off from each other; all that are in no list are one further group. Replaces
  // the partition before.
  void Partition(const std::vector<std::vector<SimId>>& groups);
  void HealPartition();
  void HealAll();  // every cut and the partition; laws stay

  // Would this be stopped by a cut or a partition now?
  bool IsCut(SimId from, SimId to, Traffic what) const;

  // What becomes of a datagram sent now.
  struct Fate {
    Drop drop = Drop::kNone;  // then nothing else counts
    bool twice = false;
    bool reordered = false;
    Duration delay{};
    Duration second{};  // of the copy
  };
  Fate Datagram(SimId from, SimId to, std::size_t size, Duration now);
  // The same for one segment of a stream. It is never doubled or overtaken; only if `lossy` it may be lost.
  Fate Segment(SimId from, SimId to, bool lossy, Duration now);

 private:
  struct Chain {  // of a bursty loss
    bool begun = false;
    bool bad = false;
    Duration flip{};
  };
  struct Side {  // of one member
    MemberLaw out;
    MemberLaw in;
    Chain out_chain;
    Chain in_chain;
    Traffic cut_out = Traffic::kNone;
    Traffic cut_in = Traffic::kNone;
    bool plain = true;        // both laws do nothing
    bool has_pairs = false;   // some link that begins here has an entry in pairs_
    std::uint32_t group = 0;  // of the partition
  };
  struct Pair {  // of one direction of a link
    LinkLaw law;
    bool own_law = false;
    Traffic cut = Traffic::kNone;
    Chain chain;
  };

  Side& SideOf(SimId member);
  Pair& PairOf(SimId from, SimId to);
  const Pair* FindPair(SimId from, SimId to) const;
  struct Route {
    Pair* pair = nullptr;  // null: nothing of its own is known of this link
    const LinkLaw& law;
  };
  Route RouteOf(SimId from, SimId to);
  bool Stops(const Pair* pair, SimId from, SimId to, Traffic what) const;
  bool Lost(const Loss& loss, Chain& chain, Duration now);
  bool LostOnTheWay(SimId from, SimId to, const Route& route, Duration now);
  Duration Between(Duration min, Duration max);
  Duration DelayOf(SimId from, SimId to, const LinkLaw& law);

  Random random_;
  LinkLaw law_;
  std::vector<Side> sides_;                         // by SimId; a shorter table means defaults
  absl::flat_hash_map<std::uint64_t, Pair> pairs_;  // by (from, to); looked up, never walked in its own order
  bool partitioned_ = false;
};

// Exponentially distributed with this mean, from comparisons alone (von Neumann, "Various techniques used in connection
// with random digits", 1951), so that no libm can make two machines differ. 0 for a mean of 0.
Duration Exponential(Random& random, Duration mean);

}  // namespace nekton
