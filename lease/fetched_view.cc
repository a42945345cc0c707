#include "lease/fetched_view.h"

#include <utility>

namespace nekton {
namespace {

constexpr std::byte kWhole{1};
constexpr std::byte kDelta{2};

}  // namespace

std::vector<std::byte> EncodeFetched(const FetchedView& fetched) {
  const View* whole = std::get_if<View>(&fetched);
  std::vector<std::byte> bytes = whole != nullptr ? EncodeView(*whole) : EncodeViewDelta(std::get<ViewDelta>(fetched));
  bytes.insert(bytes.begin(), whole != nullptr ? kWhole : kDelta);
  return bytes;
}

bool IsDelta(std::span<const std::byte> bytes) { return !bytes.empty() && bytes[0] == kDelta; }

absl::StatusOr<FetchedView> DecodeFetched(std::span<const std::byte> bytes) {
  if (IsDelta(bytes)) {
    absl::StatusOr<ViewDelta> delta = DecodeViewDelta(bytes.subspan(1));
    if (!delta.ok()) return delta.status();
    return FetchedView(*std::move(delta));
  }
  if (bytes.empty() || bytes[0] != kWhole) return absl::DataLossError("fetched view: of an unknown form");
  absl::StatusOr<View> view = DecodeView(bytes.subspan(1));
  if (!view.ok()) return view.status();
  return FetchedView(*std::move(view));
}

const ViewHead& HeadOf(const FetchedView& fetched) {
  return std::visit([](const auto& either) -> const ViewHead& { return either.head; }, fetched);
}

}  // namespace nekton
