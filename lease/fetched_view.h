// The answer to a fetch (lease/lease_message.h): the whole view, or how it differs from the one that was asked with.
// Values; pure and thread-safe. Bytes: lease/FORMAT.md.
#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/view.h"
#include "lease/view_delta.h"

namespace nekton {

using FetchedView = std::variant<View, ViewDelta>;

std::vector<std::byte> EncodeFetched(const FetchedView& fetched);
// DataLoss: DecodeView's and DecodeViewDelta's, or neither of the two.
absl::StatusOr<FetchedView> DecodeFetched(std::span<const std::byte> bytes);
// Do these bytes say that they are a difference?
bool IsDelta(std::span<const std::byte> bytes);
const ViewHead& HeadOf(const FetchedView& fetched);

}  // namespace nekton
