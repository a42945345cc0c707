// The fewest messages that a failure detector needs.
//
// Source: Gupta, Chandra, Goldszmidt, "On scalable and efficient distributed failure detectors" (PODC 2001): to detect
// a crash within T and to mistake a live member within T with a probability of at most `mistake`, where each message is
// lost with the probability `loss`, a group of n sends at least n log(mistake) / log(loss) messages in T. It holds for
// mistakes that are much rarer than a loss.
#pragma once

namespace nekton::bench {

// Per member and T. It is at least 1, for who sends nothing cannot be told from the dead; without loss that is all there
// is. Both are probabilities below 1, `mistake` above 0.
double MessageFloor(double loss, double mistake);

}  // namespace nekton::bench
