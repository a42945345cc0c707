// Traces of one's own.
#pragma once

#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "bench/detector_quality/trace.h"

namespace nekton::quality {

// Lines "SEQUENCE ARRIVAL_NS", in the order of arrival: the number of the beat (what is missing was lost) and the
// receiver's clock in nanoseconds, below 2^63. Empty lines and lines that begin with # are passed over; so is a beat
// that arrives after a later one or twice. The trace counts from its first arrival. When a beat was sent is not known:
// it counts as sent when it arrived. The interval is the mean one.
// InvalidArgument names the line, and what is wrong with it; also if fewer than two beats are left, and
// if there are 100 days between the first and the last.
absl::StatusOr<Trace> ParseTrace(std::istream& in, const std::string& name);
// Of this file. Also NotFound, if it cannot be opened, and DataLoss, if it cannot be read.
absl::StatusOr<Trace> ReadTrace(const std::string& path);

}  // namespace nekton::quality
