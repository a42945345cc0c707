#include "bench/hardship/variants.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton::bench {

std::vector<Variant> LeaveOneOut() {
  std::vector<Variant> variants = {{"nekton", Config::Lan()}};
  const std::pair<const char*, bool Rules::*> rules[] = {
      {"A void deaf rounds", &Rules::void_deaf_rounds},   {"B excuse deafness", &Rules::excuse_deafness},
      {"C confirm is a word", &Rules::confirm_is_a_word}, {"D refutation ends", &Rules::refutation_ends_round},
      {"E accusers go on", &Rules::accusers_go_on},       {"F answer stale news", &Rules::answer_stale_news},
      {"G gossip at once", &Rules::gossip_at_once},       {"H back off", &Rules::back_off},
      {"telling the suspect", &Rules::tell_the_suspect}};
  for (const auto& [name, rule] : rules) {
    Config config = Config::Lan();
    config.rules.*rule = false;
    variants.push_back({absl::StrCat("- ", name), config});
  }
  Config both = Config::Lan();
  both.rules.void_deaf_rounds = both.rules.excuse_deafness = false;
  variants.push_back({"- A and B", both});
  Config health = Config::Lan();
  health.local_health_max = 0;
  variants.push_back({"- local health", health});
  Config corroboration = Config::Lan();
  corroboration.corroborators = 0;
  variants.push_back({"- corroboration", corroboration});
  Config nacks = Config::Lan();
  nacks.nacks = false;
  variants.push_back({"- nacks", nacks});
  Config stream = Config::Lan();
  stream.stream_ping = false;
  variants.push_back({"- stream ping", stream});
  return variants;
}

}  // namespace nekton::bench
