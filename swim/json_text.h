// JSON, written piece by piece.
//
// Numbers are integers but for seconds, which have nine decimals, and levels, which have as many as tell them apart. Bytes that are no UTF-8 come out as U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "phi/time.h"

namespace nekton {

std::string JsonText(std::string_view text);
std::string JsonSeconds(Duration time);
std::string JsonReal(double value);  // finite; reads back as the same double
inline std::string JsonBool(bool value) { return value ? "true" : "false"; }

// `item` makes the JSON of one element.
template <typename List, typename Item>
std::string JsonArray(const List& list, Item item) {
  std::string out = "[";
  for (const auto& element : list) {
    if (out.size() > 1) out += ',';
    out += item(element);
  }
  return out + ']';
}

class JsonObject {
 public:
  // `value` is JSON already.
  void Add(std::string_view key, std::string_view value);
  void AddNumber(std::string_view key, std::uint64_t value) { Add(key, std::to_string(value)); }
  void AddText(std::string_view key, std::string_view value) { Add(key, JsonText(value)); }
  void AddBool(std::string_view key, bool value) { Add(key, JsonBool(value)); }
  std::string Done() const { return '{' + members_ + '}'; }

 private:
  std::string members_;
};

}  // namespace nekton
