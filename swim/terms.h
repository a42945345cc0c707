// What all members of a group must agree on: how its members are observed, when one is suspected and declared dead, how
// long the dead are remembered. Two configurations that differ in it would accuse each other's members for good reasons
// of their own, so who joins tells its terms, and is refused where they differ. The detector may differ.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "swim/config.h"

namespace nekton {

// At most kTermsMax bytes (swim/message.h). `period_before`: another period that we take for ours (swim/reconfigure.h); 0:
// there is none.
std::vector<std::byte> EncodeTerms(const Config& config, Duration period_before = Duration::zero());
// Empty if they are the same, as far as both know them; else all differences in words, at most kRefusalTextMax bytes:
// "period: 1s here, 5s there".
std::string DifferentTerms(std::span<const std::byte> theirs, std::span<const std::byte> ours);

}  // namespace nekton
