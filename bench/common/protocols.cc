#include "bench/common/protocols.h"

#include <array>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 5> kNames = {"nekton", "staggered", "swim", "lifeguard", "memberlist"};

constexpr Rules kNoRules = {.void_deaf_rounds = false,
                            .excuse_deafness = false,
                            .confirm_is_a_word = false,
                            .refutation_ends_round = false,
                            .accusers_go_on = false,
                            .answer_stale_news = false,
                            .gossip_at_once = false,
                            .doubt_the_doubted = false,
                            .back_off = false,
                            .earn_the_return = false,
                            .await_answers = false,
                            .tell_the_suspect = false};

Config Nekton() {
  Config config = Config::Lan();
  config.retransmit = 4;
  config.gossip_fanout = 3;
  config.gossip_interval = 200ms;
  return config;
}

Config Staggered() {
  Config config = Nekton();
  config.probing = Probing::kStaggered;
  return config;
}

Config Swim() {
  Config config = Nekton();
  config.attempts = 1;
  config.relays = 3;
  config.relay_after = 0.5;
  config.stream_ping = false;
  config.nacks = false;
  config.local_health_max = 0;
  config.corroborators = 0;
  config.rules = kNoRules;
  config.promote_threshold = 1;
  config.rumour_weight = config.attempts;
  config.tolerated_pause = 0s;
  config.hold_alpha = 5;
  config.hold_beta = 1;
  config.confirmers = 0;
  config.hearer_margin = 0s;
  // The longest hold that members_max allows is 5 * 4 * 6 = 120 s; the tombstone has to outlive it.
  config.members_max = 10'000;
  config.forget_after = 180s;
  return config;
}

Config Lifeguard() {
  Config config = Swim();
  config.nacks = true;
  config.local_health_max = 8;
  config.confirmers = 3;
  config.hold_beta = 6;
  config.rules.tell_the_suspect = true;
  return config;
}

Config Memberlist() {
  Config config = Lifeguard();
  config.stream_ping = true;
  config.hold_alpha = 4;
  config.hold_beta = 6;
  return config;
}

}  // namespace

std::span<const std::string_view> ProtocolNames() { return kNames; }

absl::StatusOr<Config> ProtocolConfig(std::string_view name) {
  if (name == "nekton") return Nekton();
  if (name == "staggered") return Staggered();
  if (name == "swim") return Swim();
  if (name == "lifeguard") return Lifeguard();
  if (name == "memberlist") return Memberlist();
  return absl::InvalidArgumentError(absl::StrCat("no protocol \"", absl::string_view(name.data(), name.size()),
                                                 "\"; there are nekton, staggered, swim, lifeguard and memberlist"));
}

absl::StatusOr<DetectorKind> DetectorNamed(std::string_view name) {
  if (name == "fixed") return DetectorKind::kFixed;
  if (name == "phi") return DetectorKind::kPhi;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::string_view(name.data(), name.size()), "\" is neither fixed nor phi"));
}

absl::StatusOr<Probing> ProbingNamed(std::string_view name) {
  if (name == "random") return Probing::kRandom;
  if (name == "staggered") return Probing::kStaggered;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::string_view(name.data(), name.size()), "\" is neither random nor staggered"));
}

}  // namespace nekton::bench
