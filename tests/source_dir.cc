#include "tests/source_dir.h"

namespace nekton {

// The one file that knows the path: so a compiler cache serves every other one in any checkout.
std::string SourceDir() { return NEKTON_SOURCE_DIR; }

}  // namespace nekton
