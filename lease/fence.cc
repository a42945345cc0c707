#include "lease/fence.h"

namespace nekton {

std::string_view Name(FenceReason reason) { return reason == FenceReason::kLeftView ? "left-view" : "lease-left-view"; }

}  // namespace nekton
