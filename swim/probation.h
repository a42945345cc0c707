// When a member that the group holds dead may refute that (rule I).
//
// Once in a while anybody is declared dead who is not: it refutes as soon as it hears of it. But one on a bad link, whose
// death was true as far as the others could tell, would come and go with every whim of that link. So from the second time
// on within kMemory it first waits until it has had no trouble of its own for 30 s, then 60, 120, 240. Whoever has had
// none, because it is the others who were wrong, waits for nothing. It alone can tell, and it alone can refute: nobody
// else needs to know of this. Takes the time as an argument; not thread-safe; a plain value.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

class Probation {
 public:
  static constexpr Duration kMemory = std::chrono::minutes(5);  // since it last came back
  static constexpr Duration kFirstWait = std::chrono::seconds(30);
  static constexpr std::uint32_t kDoublingsMax = 3;

  // Something told us that others may well not reach us, or we them.
  void Trouble(Instant now) { trouble_ = now; }
  // We hear that we are held dead at this incarnation of ours, old or new. To be called as often as that is heard. An old
  // one counts too: we had refuted a suspicion, and those who then declared us dead did not hear it.
  void Condemned(Instant now, std::uint64_t incarnation) {
    if (incarnation < unheard_of_) return;
    unheard_of_ = incarnation + 1;
    if (condemned_) return;
    condemned_ = true;
    deaths_ = deaths_ > 0 && now - returned_ <= kMemory ? deaths_ + 1 : 1;
  }
  bool condemned() const { return condemned_; }
  // No accusation of us is to be refuted yet.
  bool Waits(Instant now) const {
    if (!condemned_ || deaths_ < 2 || trouble_ == Instant::min()) return false;
    return now - trouble_ < kFirstWait * (1 << std::min(deaths_ - 2, kDoublingsMax));
  }
  // We refuted whatever was said of us.
  void Refuted(Instant now) {
    if (condemned_) returned_ = now;
    condemned_ = false;
  }

 private:
  std::uint64_t unheard_of_ = 0;  // no death at this incarnation or above was heard of yet
  bool condemned_ = false;
  std::uint32_t deaths_ = 0;  // in a row, this one included
  Instant returned_{};        // from the last one
  Instant trouble_ = Instant::min();
};

}  // namespace nekton
