#include "lease/view_record.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nekton {
namespace {

constexpr absl::string_view kFormat = "nekton-view";

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("view record: ", what)); }

}  // namespace

std::string Encode(const ViewRecord& record) {
  std::string text = absl::StrCat(kFormat, " 1 ", record.token.value, " ", record.view.epoch(), "\n");
  if (record.view.epoch() == 0) return text;
  const std::vector<std::byte> bytes = EncodeView(record.view);
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

absl::StatusOr<ViewRecord> DecodeViewRecord(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return Bad("its first line has no end");
  const std::vector<absl::string_view> words = absl::StrSplit(absl::string_view(text.data(), end), ' ');
  if (words.size() != 4 || words[0] != kFormat) return Bad("it is none");
  if (words[1] != "1") return Bad(absl::StrCat("of version ", words[1]));
  ViewRecord record;
  std::uint64_t epoch = 0;
  if (!absl::SimpleAtoi(words[2], &record.token.value) || !absl::SimpleAtoi(words[3], &epoch)) {
    return Bad("token or epoch is no number");
  }
  const std::string_view rest = text.substr(end + 1);
  if (epoch == 0) {
    if (!rest.empty()) return Bad("there is a view, of epoch 0");
    return record;
  }
  absl::StatusOr<View> view = DecodeView(std::as_bytes(std::span(rest)));
  if (!view.ok()) return Bad(view.status().message());
  if (view->epoch() != epoch) return Bad("the view is of another epoch");
  record.view = *std::move(view);
  return record;
}

}  // namespace nekton
