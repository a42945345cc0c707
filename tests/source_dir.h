// Where the source tree is.
#pragma once

#include <string>

namespace nekton {

std::string SourceDir();  // absolute, no slash at the end

}  // namespace nekton
