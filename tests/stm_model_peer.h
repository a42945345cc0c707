// What the slow model of the StateTransitionManager knows of one peer: lists of what was said, and all that follows from
// them, worked out anew whenever somebody asks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "stm/stm.h"

namespace nekton {

// Rules that a test may have the model get wrong, to see that the comparison finds it.
enum class StmMistake { kNone, kNoMargin, kNothingTakenBack, kLateBoundary, kLastNonceOnly, kGapsForgotten };

struct StmModelPeer {
  static constexpr std::size_t kObservers = 16;
  static constexpr std::size_t kNonces = 16;
  static constexpr std::size_t kWitnesses = 8;

  struct Heard {  // one observation that was let in
    std::uint64_t epoch;
    std::uint64_t sequence;
    WallTime stamp;
    std::uint64_t nonce;
    Signal signal;
  };
  struct Trail {
    PeerId observer;
    bool own;
    std::vector<Heard> heard;
    std::uint32_t doubt;  // in which it spoke last
  };
  struct Counted {
    PeerId observer;  // kNoPeer: it is not remembered any more
    std::uint64_t weight;
  };
  struct Hold {
    Instant start;
    bool own;          // our own evidence stands behind it
    bool own_refused;  // and says that the port refused us
    bool outside;      // observations from outside began it
    bool awaits = false;
    std::vector<Duration> gaps{};
    Instant refused_at = kNever;
    Instant changed{};
  };

  bool stranger = false;
  LifeKey key{};
  State state = State::kActive;
  Instant since{};
  std::optional<Transition> why{};
  PeerId by = kNoPeer;
  bool gone = false;
  std::uint32_t flaps = 0;
  Instant expires{};
  std::vector<Counted> counted{};
  std::vector<std::uint64_t> ours{};  // the weights of our own kSuspect in this doubt
  std::uint32_t doubt = 0;            // a kHealthy ends one
  std::vector<Trail> trails{};        // the last applied first
  WallTime floor = WallTime::min();
  WallTime born{};  // when it was first spoken against
  std::vector<Witness> witnesses{};
  HoldTerms terms{};
  std::optional<Hold> hold{};  // while it runs

  Instant Idle() const { return state == State::kActive ? expires : kNever; }

  bool Learn(LifeKey newer) {
    if (!(newer > key)) return false;
    if (newer.generation > key.generation) flaps = 0;  // those were of another life
    if (newer.generation > key.generation && state == State::kActive) {
      counted.clear();
      ours.clear();
    }
    key = newer;
    gone = false;
    witnesses.clear();
    return true;
  }

  // What counts towards the next state.
  std::uint64_t Total(std::uint64_t rumour_weight) const {
    std::uint64_t total = state == State::kActive ? Voices() * rumour_weight : 0;
    for (const Counted& word : counted) total += word.weight;
    return total;
  }

  std::uint64_t Ours() const { return std::accumulate(ours.begin(), ours.end(), std::uint64_t{0}); }
  bool OutsideAgainst() const {
    return std::any_of(trails.begin(), trails.end(), [this](const Trail& t) {
      return !t.own && t.heard.back().signal != Signal::kHealthy && t.doubt == doubt;
    });
  }

  // --- the hold

  std::uint32_t Voices() const {
    return CountWitnesses([](const Witness& w) { return w.counts; });
  }
  std::uint32_t Named() const { return Voices() + (hold->own ? 1 : 0); }
  std::uint32_t Confirmations() const { return std::max(Named(), 1U) - 1; }
  std::uint32_t Marks() const {
    return CountWitnesses([](const Witness& w) { return w.counts && w.refused; }) +
           (hold->own && hold->own_refused ? 1 : 0);
  }
  bool Condemned() const {
    return Named() >= 2 && CountWitnesses([](const Witness& w) { return w.counts && w.verdict; }) > 0;
  }

  Duration Length(StmMistake mistake) const {
    Duration length = terms.max;
    if (terms.confirmers > 0) {
      const std::uint32_t confirmations = std::min(Confirmations(), terms.confirmers);
      const long double share = std::log(confirmations + 1.0L) / std::log(terms.confirmers + 1.0L);
      length -= Duration(std::llround(share * static_cast<long double>((terms.max - terms.min).count())));
    }
    return hold->own || hold->outside || mistake == StmMistake::kNoMargin ? length : length + terms.margin;
  }

  std::pair<Instant, Transition> EndOfHold(StmMistake mistake) const {
    const Duration excused = std::accumulate(hold->gaps.begin(), hold->gaps.end(), Duration::zero());
    const bool condemned = Condemned();
    std::pair end{hold->start + (condemned ? terms.min : Length(mistake)) + excused,
                  condemned ? Transition::kGossip : Transition::kConfirmDeadHoldElapsed};
    if (hold->refused_at != kNever) {
      const Instant refused = std::max(hold->start + terms.refused + excused, hold->refused_at);
      if (refused < end.first) end = {refused, Transition::kRefused};
    }
    end.first = std::max(end.first, hold->changed);
    return end;
  }

  void HoldChanged(Instant now) {
    hold->changed = now;
    const bool enough = terms.confirmers > 0 && terms.refused > Duration::zero() && Marks() > terms.confirmers;
    hold->refused_at = enough ? std::min(hold->refused_at, now) : kNever;
  }
  void StartHold(Instant now, const Hold& begun) {
    hold = begun;
    hold->start = now;
    HoldChanged(now);
  }
  // Also where none runs: what was said so far counts no more.
  void StopHold() {
    hold.reset();
    for (Witness& w : witnesses) w.counts = false;
    ++doubt;
  }

  // --- who said what

  std::size_t TrailOf(PeerId observer) const {
    std::size_t at = 0;
    while (at < trails.size() && trails[at].observer != observer) ++at;
    return at;
  }

  // Gates 4 and 5. `displaced`: whether another observer had to make room.
  Outcome Replayed(const Observation& said, WallTime wall, StmMistake mistake, bool& displaced) {
    const Heard now{said.epoch, said.sequence, said.timestamp.value_or(wall), said.nonce, said.signal};
    const auto at = static_cast<std::ptrdiff_t>(TrailOf(said.observer));
    if (at == std::ssize(trails)) {
      if (said.timestamp && *said.timestamp <= floor) return Outcome::kStale;
      if (said.timestamp && said.signal == Signal::kHealthy && *said.timestamp < born) return Outcome::kStale;
      displaced = trails.size() == kObservers;
      if (displaced) DisplaceTrail();
      trails.insert(trails.begin(), Trail{said.observer, !said.timestamp, {now}, doubt});
      return Outcome::kApplied;
    }
    auto& heard = trails[static_cast<std::size_t>(at)].heard;
    const std::size_t known = std::min(heard.size(), mistake == StmMistake::kLastNonceOnly ? 1 : kNonces);
    const auto same = [&](const Heard& h) { return h.epoch == now.epoch && h.nonce == now.nonce; };
    if (std::any_of(heard.end() - static_cast<std::ptrdiff_t>(known), heard.end(), same)) return Outcome::kDuplicate;
    const auto order = [](const Heard& h) { return std::tuple(h.epoch, h.sequence, h.stamp, h.nonce); };
    const Heard last = heard.back();
    if (order(now) <= order(last)) return Outcome::kOutOfOrder;
    heard.push_back(now);
    trails[static_cast<std::size_t>(at)].doubt = doubt;
    std::rotate(trails.begin(), trails.begin() + at, trails.begin() + at + 1);
    const bool again = now.epoch == last.epoch && now.sequence == last.sequence && now.signal == last.signal;
    return again ? Outcome::kSuperseded : Outcome::kApplied;
  }

  bool Counts(PeerId observer) const {
    return std::any_of(witnesses.begin(), witnesses.end(),
                       [&](const Witness& w) { return w.observer == observer && w.counts; });
  }

  // kApplied, kDuplicate or kFull.
  Outcome Witnessed(const Word& word, bool verdict, bool& displaced) {
    for (Witness& w : witnesses) {
      if (w.observer != word.observer) continue;
      const bool first_verdict = verdict && !w.verdict;
      const bool first_mark = word.refused && !w.refused;
      if (!first_verdict && !first_mark) return Outcome::kDuplicate;
      w.verdict |= verdict;
      w.refused |= first_mark;
      w.counts |= first_verdict;
      return Outcome::kApplied;
    }
    witnesses.push_back({word.observer, true, word.refused, verdict});
    if (witnesses.size() <= kWitnesses) return Outcome::kApplied;
    const auto least = std::max_element(witnesses.begin(), witnesses.end(), [](const Witness& a, const Witness& b) {
      return std::tuple(!a.counts, !a.verdict, !a.refused, a.observer) <
             std::tuple(!b.counts, !b.verdict, !b.refused, b.observer);
    });
    displaced = least->observer != word.observer;
    witnesses.erase(least);
    return displaced ? Outcome::kApplied : Outcome::kFull;
  }

  // All that `observer` said is void. Returns whether there was anything.
  bool TakeBack(Instant now, PeerId observer) {
    std::erase_if(counted, [&](const Counted& word) { return word.observer == observer; });
    const std::size_t at = TrailOf(observer);
    const bool trailed = at < trails.size();
    if (trailed) DropTrail(at);
    const bool heard = std::erase_if(witnesses, [&](const Witness& w) { return w.observer == observer; }) > 0;
    // The voice from outside has no name: it falls silent when nobody outside speaks against the peer any more.
    const bool silenced = trailed && hold && hold->outside && !OutsideAgainst();
    if (silenced) hold->outside = false;
    if (hold && Named() == 0 && !hold->outside) {
      hold.reset();  // the doubt goes on: what outsiders said in it stands
    } else if (hold && (heard || silenced)) {
      HoldChanged(now);
    }
    return trailed || heard;
  }

 private:
  template <typename Which>
  std::uint32_t CountWitnesses(Which which) const {
    return static_cast<std::uint32_t>(std::count_if(witnesses.begin(), witnesses.end(), which));
  }

  void DropTrail(std::size_t at) {
    if (!trails[at].own) floor = std::max(floor, trails[at].heard.back().stamp);
    trails.erase(trails.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // What it said still counts, but nobody knows any more that it was its.
  void DisplaceTrail() {
    std::size_t victim = trails.size() - 1;  // one of our own, if all are
    for (std::size_t at = 0; at < trails.size(); ++at) {
      if (!trails[at].own) victim = at;
    }
    for (Counted& word : counted) {
      if (word.observer == trails[victim].observer) word.observer = kNoPeer;
    }
    DropTrail(victim);
  }
};

}  // namespace nekton
