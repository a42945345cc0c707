// When a member is isolated: it has reached no more than a share of the members that it knows of, for some time.
//
// Exactly the share is too little: with the default of a half neither half of a group that broke in two has a majority,
// so both are told; a program that goes on in both of them is the one that corrupts its data. So it takes more than half to
// go on, and in a group of two the loss of the other is isolation. It is no quorum: two parts that have never met, or
// whose rest has left, are each complete.
//
// Both ways it takes the same time without interruption. It keeps a count, not names. Takes the time as an argument; not
// thread-safe; a plain value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "phi/time.h"
#include "swim/contact.h"

namespace nekton {

class Isolation {
 public:
  // `share`: 0 to below 1; 0: never isolated. `expect`: as many members are known at least.
  Isolation(double share, Duration after, std::uint32_t expect)
      : share_(share), after_(after), expect_(expect), contact_{.known = std::max(1U, expect)} {}

  // Other values from here on: what they make of the present is counted from the next Count() on, and what has stood for
  // so long already is not begun anew.
  void Change(double share, Duration after) {
    share_ = share;
    after_ = after;
  }

  // So many are reached from `now` on, of so many in the table.
  void Count(Instant now, std::uint32_t reachable, std::uint32_t present) {
    present_ = present;
    contact_.reachable = reachable;
    contact_.known = std::max(present + forgotten_, expect_);
    const bool few = TooFew(reachable, present);
    if (few == few_) return;
    few_ = few;
    since_ = now;
    Settle();
  }
  bool TooFew(std::uint32_t reachable, std::uint32_t present) const {
    return static_cast<double>(reachable) <= share_ * static_cast<double>(std::max(present + forgotten_, expect_));
  }
  // Whether that has stood for so long now that contact().isolated has changed.
  bool Turn(Instant now) {
    if (next() > now) return false;
    contact_.isolated = few_;
    Settle();
    return true;
  }
  Instant next() const { return few_ == contact_.isolated ? kNever : Later(since_, after_); }

  // An INACTIVE member was forgotten.
  void Forgot() { forgotten_ += few_ || contact_.isolated ? 1 : 0; }
  // One that was in no row is in one now: it is taken for one of the forgotten.
  void Met() { forgotten_ -= forgotten_ > 0 ? 1 : 0; }
  // We did not run for so long: it proves nothing.
  void Excuse(Duration pause) { since_ = Later(since_, pause); }

  const Contact& contact() const { return contact_; }

 private:
  // Enough are reached, and that is settled: who was forgotten is forgotten.
  void Settle() {
    if (few_ || contact_.isolated) return;
    forgotten_ = 0;
    contact_.known = std::max(present_, expect_);
  }

  double share_;
  Duration after_;
  std::uint32_t expect_;
  Contact contact_;
  bool few_ = false;  // too few are reached,
  Instant since_{};   // or enough again, since then
  std::uint32_t present_ = 1;
  std::uint32_t forgotten_ = 0;
};

}  // namespace nekton
