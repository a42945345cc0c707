#include "stm/witnesses.h"

#include <algorithm>
#include <tuple>

namespace nekton {
namespace {

// Lower is kept longer.
auto Rank(const Witness& w) { return std::tuple(!w.counts, !w.verdict, !w.refused, w.observer); }
bool Before(const Witness& a, const Witness& b) { return Rank(a) < Rank(b); }

}  // namespace

Witnesses::News Witnesses::Add(const Word& word, bool verdict, PeerId* displaced) {
  *displaced = kNoPeer;
  const auto end = witnesses_.begin() + size_;
  const auto at = std::find_if(witnesses_.begin(), end, [&](const Witness& w) { return w.observer == word.observer; });
  if (at != end) {
    const bool first_verdict = verdict && !at->verdict;
    const bool more = first_verdict || (word.refused && !at->refused);
    at->verdict |= verdict;
    at->refused |= word.refused;
    if (at->counts || !first_verdict) return more ? News::kMore : News::kNone;
    at->counts = true;
    return News::kWitness;
  }
  const Witness witness{word.observer, true, word.refused, verdict};
  if (size_ < kMax) {
    witnesses_[size_++] = witness;
    return News::kWitness;
  }
  const auto worst = std::max_element(witnesses_.begin(), end, Before);
  if (!Before(witness, *worst)) return News::kFull;
  *displaced = worst->observer;
  const bool counted = worst->counts;
  *worst = witness;
  return counted ? News::kMore : News::kWitness;
}

bool Witnesses::Remove(PeerId observer) {
  const auto end = witnesses_.begin() + size_;
  const auto at = std::find_if(witnesses_.begin(), end, [&](const Witness& w) { return w.observer == observer; });
  if (at == end) return false;
  *at = witnesses_[--size_];
  return true;
}

void Witnesses::Retire() {
  for (std::size_t i = 0; i < size_; ++i) witnesses_[i].counts = false;
}

bool Witnesses::Has(PeerId observer) const {
  const auto known = all();
  return std::any_of(known.begin(), known.end(), [&](const Witness& w) { return w.observer == observer; });
}

bool Witnesses::Counts(PeerId observer) const {
  const auto known = all();
  return std::any_of(known.begin(), known.end(), [&](const Witness& w) { return w.observer == observer && w.counts; });
}

std::uint32_t Witnesses::counting() const {
  const auto known = all();
  return static_cast<std::uint32_t>(
      std::count_if(known.begin(), known.end(), [](const Witness& w) { return w.counts; }));
}

std::uint32_t Witnesses::refused() const {
  const auto known = all();
  return static_cast<std::uint32_t>(
      std::count_if(known.begin(), known.end(), [](const Witness& w) { return w.counts && w.refused; }));
}

bool Witnesses::verdict() const {
  const auto known = all();
  return std::any_of(known.begin(), known.end(), [](const Witness& w) { return w.counts && w.verdict; });
}

}  // namespace nekton
