#include "swim/stagger.h"

#include <algorithm>

namespace nekton {
namespace {

// Less than this does not matter: an ack without a shift is shorter.
constexpr int kGoodEnough = Stagger::kShiftUnits / 32;

struct Place {
  std::uint64_t distance = 0;
  std::uint64_t id = 0;
  PeerId row = kNoPeer;
};

// The nearest so far, in order.
class Nearest {
 public:
  void Add(const Place& place) {
    if (places_.size() == Stagger::kObservers) {
      if (place.distance >= places_.back().distance) return;
      places_.pop_back();
    }
    const auto after = [](const Place& a, const Place& b) { return a.distance < b.distance; };
    places_.insert(std::upper_bound(places_.begin(), places_.end(), place, after), place);
  }
  const absl::InlinedVector<Place, Stagger::kObservers>& places() const { return places_; }

 private:
  absl::InlinedVector<Place, Stagger::kObservers> places_;
};

Duration RandomPart(Duration whole, Random& random) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * random.Unit()));
}

}  // namespace

void Stagger::Clear() {
  targets_.clear();
  observers_.clear();
  next_ = kNever;
  formed_ = false;
}

void Stagger::Reform(const MemberTable& table, Instant now, Duration period, Random& random) {
  if (formed_ && version_ == table.version()) return;
  formed_ = true;
  version_ = table.version();
  const std::uint64_t mine = table[kSelf].id;
  Nearest behind;
  Nearest ahead;
  for (std::uint32_t i = 0; i < table.ring_size(); ++i) {
    const PeerId row = table.RingAt(i);
    const std::uint64_t id = table[row].id;
    behind.Add({mine - id, id, row});
    ahead.Add({id - mine, id, row});
  }
  observers_.clear();
  for (const Place& place : ahead.places()) observers_.push_back(place.id);
  absl::InlinedVector<Target, kObservers> before;
  before.swap(targets_);
  for (const Place& place : behind.places()) {
    const auto known = std::find_if(before.begin(), before.end(), [&](const Target& t) { return t.id == place.id; });
    targets_.push_back(
        {place.id, place.row, known != before.end() ? known->due : Later(now, RandomPart(period, random))});
  }
  Reschedule();
}

PeerId Stagger::Take(const MemberTable& table, Instant now, Duration period) {
  PeerId taken = kNoPeer;
  const Duration cycle = period * static_cast<Duration::rep>(targets_.size());
  for (Target& target : targets_) {
    if (target.due > now) continue;
    const bool missed = now - target.due > period / 2;
    target.due = target.due + cycle * ((now - target.due) / cycle + 1);
    if (missed || !table.used(target.row) || table[target.row].id != target.id || !table.IsAlive(target.row)) continue;
    taken = target.row;
    break;
  }
  Reschedule();
  return taken;
}

void Stagger::Shift(PeerId target, std::int16_t units, Duration period) {
  const auto it = std::find_if(targets_.begin(), targets_.end(), [&](const Target& t) { return t.row == target; });
  if (it == targets_.end()) return;
  const Duration cycle = period * static_cast<Duration::rep>(targets_.size());
  it->due += std::clamp<Duration>(period * units / kShiftUnits, period / 2 - cycle, period / 2);
  Reschedule();
}

std::int16_t Stagger::ShiftFor(std::uint64_t observer, Instant now, Duration period) const {
  const auto it = std::find(observers_.begin(), observers_.end(), observer);
  if (it == observers_.end()) return 0;
  const Duration cycle = period * static_cast<Duration::rep>(observers_.size());
  // How late it came. Half a period early is late by nearly a cycle: it is to be in its slot the next time already.
  Duration late = (now.time_since_epoch() - period * (it - observers_.begin())) % cycle;
  if (late < Duration{}) late += cycle;
  if (late > cycle - period / 2) late -= cycle;
  const auto units = late / std::max<Duration>(period / kShiftUnits, Duration(1));
  if (units > -kGoodEnough && units < kGoodEnough) return 0;
  return static_cast<std::int16_t>(-units);
}

void Stagger::Reschedule() {
  next_ = kNever;
  for (const Target& target : targets_) next_ = std::min(next_, target.due);
}

}  // namespace nekton
