// What is kept of the heartbeats to and from one other member. Internal.
#pragma once

#include <cstdint>

#include "phi/time.h"
#include "swim/link.h"

namespace nekton {

struct Beat {
  Link link;
  Instant next_send = kNever;
  Instant next_ask = kNever;  // when it is asked (again) for an answer
  std::uint32_t asked = 0;    // the sequence that is to be answered
  bool convicted = false;     // silent for too long, or nothing proves that it hears us
  bool given_up = false;      // its one kDead of silence has been given
};
static_assert(sizeof(Beat) <= 100);  // with what phi keeps of it at most 700 bytes

}  // namespace nekton
