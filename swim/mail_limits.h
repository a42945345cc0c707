// What messages and requests between members may take (swim/mail.h). Each bound that is reached is an error that names
// it, here or at the member that asks. None of these times is one of the failure detector's, and none of its is used.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

struct MailLimits {
  // Ours that wait for an answer, or to be acknowledged.
  std::size_t open_per_member = 256;
  std::size_t open = 4096;
  std::size_t open_bytes = std::size_t{64} << 20;  // of their bodies, which are kept to be sent again

  // Others' that wait for our handler.
  std::size_t served_per_member = 256;
  std::size_t served = 1024;
  std::size_t served_bytes = std::size_t{64} << 20;  // of their bodies

  // What is known of others' requests, so that none is done twice: until its deadline and `keep` have passed. A further
  // one is refused. Answers are kept as long, but the oldest go when there are too many bytes of them; who then asks
  // again is told that.
  std::size_t known_per_member = 16384;
  std::size_t known = 65536;
  std::size_t answer_bytes_per_member = std::size_t{4} << 20;
  std::size_t answer_bytes = std::size_t{16} << 20;
  Duration keep = std::chrono::seconds(5);  // so late a copy may come; 0 to 1 h

  // A request is sent again after this, or after a fifth of its budget where that is less (but not below 5 ms), then
  // after twice as long each time, up to retry_max; each time a quarter more or less, by chance.
  Duration retry_after = std::chrono::milliseconds(50);
  Duration retry_max = std::chrono::seconds(2);
  std::uint32_t retries_per_second = 100;  // of all requests together; 0: none is sent again

  friend bool operator==(const MailLimits&, const MailLimits&) = default;
};

}  // namespace nekton
