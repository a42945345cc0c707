// Lines on standard output, for people or as JSON; each is flushed, for whoever reads them may be waiting.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lease/evidence.h"
#include "phi/time.h"
#include "swim/event.h"

namespace nekton {

using Json = nlohmann::ordered_json;

// One line; bytes that are no UTF-8 come out as U+FFFD.
std::string Dump(const Json& json);

// `text`, right-aligned seconds with three decimals, two blanks before what follows: "   1.234s  ".
std::string TimeColumn(Duration time);

// Thread-safe.
class Console {
 public:
  // Times of the lines for people count from now. JSON lines name `observer`.
  Console(bool json, std::string observer);
  bool json() const { return json_; }

  // `note` follows the words of the event; as JSON it is the key "note".
  void Print(const Event& event, std::string_view note = {});
  // `row`: Row(evidence); as JSON it is the key "row".
  void Print(const Evidence& evidence, std::string_view row);
  // What is no event: `text` for people, one line or several; else the members of `json`, an object.
  void Print(std::string_view text, const Json& json);
  // Standard output is closed, or full.
  bool failed() const;

 private:
  void Write(const std::string& line);
  void WriteObject(std::string_view members);

  bool json_;
  std::string observer_;
  Instant started_;
  mutable std::mutex mutex_;
  bool failed_ = false;
};

}  // namespace nekton
