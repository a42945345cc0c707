// The bytes of heads and members of views (lease/FORMAT.md), as whole views and differences of views have them. Internal.
#pragma once

#include <cstddef>

#include "lease/view.h"
#include "swim/bytes.h"

namespace nekton {

std::size_t SizeOf(const ViewMember& member);
void WriteHead(ByteWriter& writer, const ViewHead& head);
void WriteMember(ByteWriter& writer, const ViewMember& member);

// What is too short fails the reader.
ViewHead ReadHead(ByteReader& reader);
ViewMember ReadMember(ByteReader& reader);

}  // namespace nekton
