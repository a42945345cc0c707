#include "examples/agent/speed.h"

#include <cmath>

namespace nekton {
namespace {

void Divide(Duration* time, double by) { *time = Duration(std::llround(static_cast<double>(time->count()) / by)); }

}  // namespace

Config AtSpeed(Config config, double speed) {
  for (Duration* time : {&config.period, &config.jitter, &config.suspect_after, &config.fail_after,
                         &config.acceptable_pause, &config.repeat_after, &config.recovery_hold, &config.tolerated_pause,
                         &config.hearer_margin, &config.forget_after, &config.gossip_interval, &config.broadcast_keep,
                         &config.join_backoff_min, &config.join_backoff_max, &config.seed_retry, &config.stream_timeout,
                         &config.leave_timeout, &config.isolation_after, &config.max_local_pause}) {
    Divide(time, speed);
  }
  return config;
}

LeaseTerms AtSpeed(LeaseTerms terms, double speed) {
  Divide(&terms.read, speed);
  Divide(&terms.write, speed);
  return terms;
}

}  // namespace nekton
