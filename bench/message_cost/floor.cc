#include "bench/message_cost/floor.h"

#include <algorithm>
#include <cmath>

namespace nekton::bench {

double MessageFloor(double loss, double mistake) {
  return loss > 0 ? std::max(1.0, std::log(mistake) / std::log(loss)) : 1.0;
}

}  // namespace nekton::bench
