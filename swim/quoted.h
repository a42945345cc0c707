// Text of others in messages: in quotes, what cannot be printed escaped, and cut where it is longer than anything legal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nekton {

inline constexpr std::size_t kQuotedMax = 300;  // bytes, before they are escaped

inline std::string Quoted(std::string_view text) {
  const absl::string_view shown(text.data(), std::min(text.size(), kQuotedMax));
  const std::string quoted = absl::StrCat("\"", absl::CHexEscape(shown), "\"");
  return text.size() > kQuotedMax ? absl::StrCat(quoted, "... (", text.size(), " bytes)") : quoted;
}

}  // namespace nekton
