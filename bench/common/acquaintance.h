// A group in which everybody knows everybody, without the joining: a thousand joins cost more than what is measured.
#pragma once

#include "transport/simulator.h"

namespace nekton::bench {

// Starts all members, which were only added so far and have no seeds and tags, and hands each a sync that holds them
// all. Nothing is left to be passed on. False if one does not start, or the tables are not equal and full afterwards.
bool Acquaint(Simulator* sim);

}  // namespace nekton::bench
