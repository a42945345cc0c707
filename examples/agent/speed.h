// A configuration whose every time is divided by one number: what would take a minute is watched in seconds.
#pragma once

#include "lease/lease_terms.h"
#include "swim/config.h"

namespace nekton {

inline constexpr double kSpeedMax = 8;  // beyond, the machine's own delays are no small part of it

// `speed`: 1 to kSpeedMax; all members of a group need the same.
Config AtSpeed(Config config, double speed);
LeaseTerms AtSpeed(LeaseTerms terms, double speed);

}  // namespace nekton
