#include "swim/json_text.h"

#include <array>
#include <charconv>

#include "absl/strings/str_format.h"

namespace nekton {
namespace {

// The length of the UTF-8 sequence that `text` begins with; 0: it begins with none (Unicode, table 3-7).
std::size_t SequenceLength(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [at](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool too_large = first == 0xf4 && at(1) > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[0]};
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string JsonSeconds(Duration time) {
  const auto ns = static_cast<std::uint64_t>(time.count());
  const std::uint64_t size = time < Duration::zero() ? 0 - ns : ns;
  return absl::StrFormat("%s%d.%09d", time < Duration::zero() ? "-" : "", size / 1000000000, size % 1000000000);
}

std::string JsonReal(double value) {
  std::array<char, 32> text;  // the longest shortest form has 24
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

void JsonObject::Add(std::string_view key, std::string_view value) {
  if (!members_.empty()) members_ += ',';
  members_ += JsonText(key);
  members_ += ':';
  members_ += value;
}

}  // namespace nekton
