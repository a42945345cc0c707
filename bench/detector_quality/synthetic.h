// Made-up traces: the same seed gives the same trace. Their descriptions say what is in them and where it comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/detector_quality/trace.h"

namespace nekton::quality {

// In all of them the path is first in, first out, as a queue is: a beat that is held up holds up those behind it.

// A twin of the trace between Japan and Switzerland on which the literature compares detectors. Published: sending
// intervals of 103.501 ms, deviation 0.189 ms, at least 101.674 ms; of 5,845,713 beats 0.399 % lost, in 814 bursts of up
// to 1093; round trips of 283.338 ms, deviation 27.342 ms, from 270.201 to 717.832 ms. Halved for one way (the deviation
// by the square root of two). Assumed, since only the moments are published: lengths of bursts are Pareto, with
// the exponent that gives the published mean; the delay is that of a queue (exponential, 2 ms) and of spikes that
// arise at once, on average every 88 s, and fade within seconds, of the size that gives the published moments. As few
// bursts hold most of the loss, that of one trace of some 100,000 beats may be half or twice as much.
// Source: Hayashibara et al., "The phi accrual failure detector" (SRDS 2004), section 5.
Trace WanTrace(std::uint64_t seed, std::uint64_t beats);

// A quiet local network; figures assumed: 100 ms, sent up to 0.5 ms late; delay 0.1 ms and an exponential 0.05 ms; one
// beat in 2000 is held up by 1 to 20 ms (a scheduler); one in 10,000 is lost, each on its own.
Trace LanTrace(std::uint64_t seed, std::uint64_t beats);

// That network, and a sender that stands still as under a garbage collector; figures assumed: a pause on average every
// 60 s, of 200 ms to 4 s (its logarithm is uniform).
enum class AfterPause {
  kBurst,  // the beats that were due are sent at once at its end
  kSkip,   // they are left out; the next one is sent when it is due. Sequence numbers count what was due
};
Trace GcTrace(std::uint64_t seed, std::uint64_t beats, AfterPause after);

// All of them.
std::vector<Trace> SyntheticTraces(std::uint64_t seed, std::uint64_t beats);

}  // namespace nekton::quality
