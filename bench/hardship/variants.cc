#include "bench/hardship/variants.h"

#include <array>
#include <chrono>

#include "bench/common/protocols.h"

namespace nekton::bench {
namespace {

struct Part {
  const char* name;
  void (*leave_out)(Config& config);
};

constexpr std::array kParts = {
    Part{"- A void deaf rounds", [](Config& c) { c.rules.void_deaf_rounds = false; }},
    Part{"- B excuse deafness", [](Config& c) { c.rules.excuse_deafness = false; }},
    Part{"- C confirm is a word", [](Config& c) { c.rules.confirm_is_a_word = false; }},
    Part{"- D refutation ends", [](Config& c) { c.rules.refutation_ends_round = false; }},
    Part{"- E accusers go on", [](Config& c) { c.rules.accusers_go_on = false; }},
    Part{"- F answer stale news", [](Config& c) { c.rules.answer_stale_news = false; }},
    Part{"- G gossip at once", [](Config& c) { c.rules.gossip_at_once = false; }},
    Part{"- H back off", [](Config& c) { c.rules.back_off = false; }},
    Part{"- I earn the return", [](Config& c) { c.rules.earn_the_return = false; }},
    Part{"- J await answers", [](Config& c) { c.rules.await_answers = false; }},
    Part{"- telling the suspect", [](Config& c) { c.rules.tell_the_suspect = false; }},
    Part{"- A and B", [](Config& c) { c.rules.void_deaf_rounds = c.rules.excuse_deafness = false; }},
    Part{"- local health", [](Config& c) { c.local_health_max = 0; }},
    Part{"- corroboration", [](Config& c) { c.corroborators = 0; }},
    Part{"- nacks", [](Config& c) { c.nacks = false; }},
    Part{"- stream ping", [](Config& c) { c.stream_ping = false; }},
    Part{"- hearer margin", [](Config& c) { c.hearer_margin = std::chrono::seconds(0); }},
    Part{"- late relays", [](Config& c) { c.relay_after = 0; }},
};

}  // namespace

std::vector<Variant> LeaveOneOut() {
  std::vector<Variant> variants = {{"nekton", *ProtocolConfig("nekton")}};
  for (const Part& part : kParts) {
    variants.push_back({part.name, variants.front().config});
    part.leave_out(variants.back().config);
  }
  return variants;
}

}  // namespace nekton::bench
