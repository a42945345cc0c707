#include "bench/papers/field_baseline.h"

#include <chrono>

#include "bench/common/protocols.h"

namespace nekton::bench {

Config FieldBaseline() {
  Config config = *ProtocolConfig("memberlist");
  config.digest_patience = 30;
  config.reconnect_periods = 100'000;
  config.seed_retry = config.join_backoff_max = std::chrono::hours(1);
  return config;
}

}  // namespace nekton::bench
