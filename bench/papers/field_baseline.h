// What the failures that users of memberlist met in the field are shown with.
#pragma once

#include "swim/config.h"

namespace nekton::bench {

// The protocol "memberlist" (bench/common/protocols.h), and what it lacks beside nekton: tables are made equal every 30 s
// (in larger groups theirs even more seldom), and who is dead, or was a seed, is never tried again.
Config FieldBaseline();

}  // namespace nekton::bench
