#include "transport/sim_network.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/numeric/int128.h"

namespace nekton {
namespace {

// floor(fraction / 2^64 * whole); `whole` is not negative.
Duration Share(std::uint64_t fraction, Duration whole) {
  return Duration(static_cast<Duration::rep>(
      absl::Uint128High64(absl::uint128(fraction) * static_cast<std::uint64_t>(whole.count()))));
}

constexpr Traffic operator|(Traffic a, Traffic b) {
  return static_cast<Traffic>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool Has(Traffic set, Traffic what) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(what)) != 0;
}

constexpr std::uint64_t Key(SimId from, SimId to) { return (std::uint64_t{from} << 32) | to; }

Loss Checked(Loss loss) {
  // Written so that a NaN becomes 0.
  loss.rate = loss.rate > 0 ? std::min(loss.rate, 1.0) : 0;
  loss.bad_rate = loss.bad_rate > 0 ? std::min(loss.bad_rate, 1.0) : 0;
  loss.mean_bad = std::max(loss.mean_bad, Duration::zero());
  if (loss.mean_bad > Duration::zero()) loss.mean_good = std::max(loss.mean_good, Duration(1));
  return loss;
}

LinkLaw Checked(LinkLaw law) {
  law.loss = Checked(law.loss);
  law.delay_min = std::max(law.delay_min, Duration::zero());
  law.delay_max = std::max(law.delay_max, law.delay_min);
  law.reorder_delay = std::max(law.reorder_delay, Duration::zero());
  return law;
}

MemberLaw Checked(MemberLaw law) {
  law.loss = Checked(law.loss);
  law.delay_min = std::max(law.delay_min, Duration::zero());
  law.delay_max = std::max(law.delay_max, law.delay_min);
  return law;
}

bool Loses(const Loss& loss) { return loss.rate > 0 || (loss.mean_bad > Duration::zero() && loss.bad_rate > 0); }
bool IsPlain(const MemberLaw& law) { return !Loses(law.loss) && law.delay_max == Duration::zero(); }

SimNetwork::Fate Dropped(Drop why) {
  SimNetwork::Fate fate;
  fate.drop = why;
  return fate;
}

}  // namespace

Duration Exponential(Random& random, Duration mean) {
  if (mean <= Duration::zero()) return {};
  for (Duration whole{};; whole += mean) {
    const std::uint64_t first = random.Next();
    std::uint64_t last = first;
    bool odd = true;  // length of the falling run so far
    for (std::uint64_t next = random.Next(); next < last; next = random.Next()) {
      last = next;
      odd = !odd;
    }
    if (odd) return whole + Share(first, mean);
  }
}

Loss Loss::Bursts(double share, Duration mean, double bad_rate, double good_rate) {
  Loss loss;
  loss.rate = good_rate;
  loss.bad_rate = bad_rate;
  loss.mean_bad = mean;
  loss.mean_good = Duration(static_cast<Duration::rep>(static_cast<double>(mean.count()) * (1 - share) / share));
  return loss;
}

SimNetwork::SimNetwork(std::uint64_t seed, const LinkLaw& law) : random_(seed), law_(Checked(law)) {}

void SimNetwork::SetLaw(const LinkLaw& law) { law_ = Checked(law); }

SimNetwork::Side& SimNetwork::SideOf(SimId member) {
  if (member >= kSimIdMax) {
    std::fprintf(stderr, "SimNetwork: %u is no member's id\n", member);
    std::abort();
  }
  if (member >= sides_.size()) sides_.resize(member + 1);
  return sides_[member];
}

SimNetwork::Pair& SimNetwork::PairOf(SimId from, SimId to) {
  SideOf(from).has_pairs = true;
  return pairs_[Key(from, to)];
}

const SimNetwork::Pair* SimNetwork::FindPair(SimId from, SimId to) const {
  if (from >= sides_.size() || !sides_[from].has_pairs) return nullptr;
  const auto found = pairs_.find(Key(from, to));
  return found == pairs_.end() ? nullptr : &found->second;
}

void SimNetwork::SetLink(SimId from, SimId to, const LinkLaw& law) {
  Pair& pair = PairOf(from, to);
  pair.law = Checked(law);
  pair.own_law = true;
  pair.chain = {};
}

void SimNetwork::ClearLink(SimId from, SimId to) {
  Pair& pair = PairOf(from, to);
  pair.own_law = false;
  pair.chain = {};
}

void SimNetwork::SetOut(SimId member, const MemberLaw& law) {
  Side& side = SideOf(member);
  side.out = Checked(law);
  side.out_chain = {};
  side.plain = IsPlain(side.out) && IsPlain(side.in);
}

void SimNetwork::SetIn(SimId member, const MemberLaw& law) {
  Side& side = SideOf(member);
  side.in = Checked(law);
  side.in_chain = {};
  side.plain = IsPlain(side.out) && IsPlain(side.in);
}

void SimNetwork::CutOneWay(SimId from, SimId to, Traffic what) {
  Pair& pair = PairOf(from, to);
  pair.cut = pair.cut | what;
}

void SimNetwork::Cut(SimId a, SimId b, Traffic what) {
  CutOneWay(a, b, what);
  CutOneWay(b, a, what);
}

void SimNetwork::CutOut(SimId member, Traffic what) {
  Side& side = SideOf(member);
  side.cut_out = side.cut_out | what;
}

void SimNetwork::CutIn(SimId member, Traffic what) {
  Side& side = SideOf(member);
  side.cut_in = side.cut_in | what;
}

void SimNetwork::Heal(SimId a, SimId b) {
  PairOf(a, b).cut = Traffic::kNone;
  PairOf(b, a).cut = Traffic::kNone;
}

void SimNetwork::Heal(SimId member) {
  Side& side = SideOf(member);
  side.cut_out = Traffic::kNone;
  side.cut_in = Traffic::kNone;
}

void SimNetwork::Partition(const std::vector<std::vector<SimId>>& groups) {
  HealPartition();
  std::uint32_t number = 0;
  for (const std::vector<SimId>& group : groups) {
    ++number;
    for (const SimId member : group) SideOf(member).group = number;
  }
  partitioned_ = true;
}

void SimNetwork::HealPartition() {
  for (Side& side : sides_) side.group = 0;
  partitioned_ = false;
}

void SimNetwork::HealAll() {
  HealPartition();
  for (Side& side : sides_) side.cut_out = side.cut_in = Traffic::kNone;
  for (auto& [key, pair] : pairs_) pair.cut = Traffic::kNone;
}

bool SimNetwork::IsCut(SimId from, SimId to, Traffic what) const { return Stops(FindPair(from, to), from, to, what); }

bool SimNetwork::Stops(const Pair* pair, SimId from, SimId to, Traffic what) const {
  const Side* out = from < sides_.size() ? &sides_[from] : nullptr;
  const Side* in = to < sides_.size() ? &sides_[to] : nullptr;
  if (out != nullptr && Has(out->cut_out, what)) return true;
  if (in != nullptr && Has(in->cut_in, what)) return true;
  if (partitioned_ && (out != nullptr ? out->group : 0) != (in != nullptr ? in->group : 0)) return true;
  return pair != nullptr && Has(pair->cut, what);
}

SimNetwork::Route SimNetwork::RouteOf(SimId from, SimId to) {
  Pair* pair = nullptr;
  if (law_.loss.mean_bad > Duration::zero() && from != kNobody) {
    pair = &PairOf(from, to);  // the default law needs a place for its chain on each link that is used
  } else if (from < sides_.size() && sides_[from].has_pairs) {
    const auto found = pairs_.find(Key(from, to));
    if (found != pairs_.end()) pair = &found->second;
  }
  return {pair, pair != nullptr && pair->own_law ? pair->law : law_};
}

bool SimNetwork::Lost(const Loss& loss, Chain& chain, Duration now) {
  double rate = loss.rate;
  if (loss.mean_bad > Duration::zero()) {
    if (!chain.begun) {
      // An exponential law has no memory: what is left of the time we look into is as long as a whole one.
      const double bad = static_cast<double>(loss.mean_bad.count());
      const double good = static_cast<double>(loss.mean_good.count());
      chain.begun = true;
      chain.bad = random_.Unit() * (bad + good) < bad;
      chain.flip = now + Exponential(random_, chain.bad ? loss.mean_bad : loss.mean_good);
    }
    while (chain.flip <= now) {
      chain.bad = !chain.bad;
      chain.flip += Exponential(random_, chain.bad ? loss.mean_bad : loss.mean_good);
    }
    if (chain.bad) rate = loss.bad_rate;
  }
  return rate > 0 && random_.Unit() < rate;
}

bool SimNetwork::LostOnTheWay(SimId from, SimId to, const Route& route, Duration now) {
  // Every chain moves on, whatever the others did, so that each is a fair sample of its own law.
  bool lost = false;
  if (from < sides_.size() && !sides_[from].plain) lost |= Lost(sides_[from].out.loss, sides_[from].out_chain, now);
  if (to < sides_.size() && !sides_[to].plain) lost |= Lost(sides_[to].in.loss, sides_[to].in_chain, now);
  Chain none;
  lost |= Lost(route.law.loss, route.pair != nullptr ? route.pair->chain : none, now);
  return lost;
}

Duration SimNetwork::Between(Duration min, Duration max) {
  return min == max ? min : min + Share(random_.Next(), max - min + Duration(1));
}

Duration SimNetwork::DelayOf(SimId from, SimId to, const LinkLaw& law) {
  Duration delay = Between(law.delay_min, law.delay_max);
  if (from < sides_.size() && !sides_[from].plain) {
    delay += Between(sides_[from].out.delay_min, sides_[from].out.delay_max);
  }
  if (to < sides_.size() && !sides_[to].plain) delay += Between(sides_[to].in.delay_min, sides_[to].in.delay_max);
  return delay;
}

SimNetwork::Fate SimNetwork::Datagram(SimId from, SimId to, std::size_t size, Duration now) {
  const Route route = RouteOf(from, to);
  const LinkLaw& law = route.law;
  if (Stops(route.pair, from, to, Traffic::kDatagrams)) return Dropped(Drop::kCut);
  if (size > law.mtu) return Dropped(Drop::kMtu);
  if (LostOnTheWay(from, to, route, now)) return Dropped(Drop::kLoss);
  Fate fate;
  fate.delay = DelayOf(from, to, law);
  if (law.reorder > 0 && random_.Unit() < law.reorder) {
    fate.reordered = true;
    fate.delay += law.reorder_delay;
  }
  if (law.duplicate > 0 && random_.Unit() < law.duplicate) {
    fate.twice = true;
    fate.second = DelayOf(from, to, law);
  }
  return fate;
}

SimNetwork::Fate SimNetwork::Segment(SimId from, SimId to, bool lossy, Duration now) {
  const Route route = RouteOf(from, to);
  if (Stops(route.pair, from, to, Traffic::kStreams)) return Dropped(Drop::kCut);
  if (lossy && LostOnTheWay(from, to, route, now)) return Dropped(Drop::kLoss);
  Fate fate;
  fate.delay = DelayOf(from, to, route.law);
  return fate;
}

}  // namespace nekton
