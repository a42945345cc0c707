// Where lines for a log go. There is no global logger: who wants lines hands in a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace nekton {

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };
std::string_view Name(LogLevel level);  // "info", "warning", "error"

// A line in words, without a newline.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

}  // namespace nekton
