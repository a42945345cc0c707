// What stands in the register under the authority's view: the view, and the token of the candidate that wrote it there.
//
//   nekton-view 1 <token> <epoch>\n   and the bytes of EncodeView
//
// The line is text, so that people can read it there. Epoch 0, and no bytes: no view was written yet.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lease/fencing_token.h"
#include "lease/view.h"

namespace nekton {

struct ViewRecord {
  FencingToken token;
  View view;
};

std::string Encode(const ViewRecord& record);
// InvalidArgument says what is wrong. The signature is not looked at.
absl::StatusOr<ViewRecord> DecodeViewRecord(std::string_view text);

}  // namespace nekton
