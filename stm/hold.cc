#include "stm/hold.h"

#include <cmath>

namespace nekton {

Duration HoldLength(const HoldTerms& terms, std::uint32_t confirmations) {
  if (terms.confirmers == 0 || confirmations == 0) return terms.max;
  if (confirmations >= terms.confirmers) return terms.min;
  const double share = std::log(confirmations + 1.0) / std::log(terms.confirmers + 1.0);
  return terms.max - Duration(std::llround(share * static_cast<double>((terms.max - terms.min).count())));
}

}  // namespace nekton
