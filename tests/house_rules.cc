#include "tests/house_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <regex>
#include <sstream>

namespace nekton::house {
namespace {

constexpr std::array<std::string_view, 5> kRooms = {"phi", "stm", "swim", "lease", "transport"};
constexpr int kTransport = 4;
constexpr int kShell = 5;  // the part of transport that needs libuv: a library above the rest of the room
constexpr int kNone = -1;

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

// How high a file lives: 0 for phi to 5 for the shell; kNone for what is no room's.
int LevelOf(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return kNone;
  const auto* room = std::find(kRooms.begin(), kRooms.end(), path.substr(0, slash));
  if (room == kRooms.end()) return kNone;
  const std::string_view file = path.substr(slash + 1);
  if (*room == "transport" && (StartsWith(file, "uv_") || StartsWith(file, "node"))) return kShell;
  return static_cast<int>(room - kRooms.begin());
}

bool IsGuest(std::string_view include) {
  return StartsWith(include, "tests/") || StartsWith(include, "bench/") || StartsWith(include, "examples/");
}

// Headers of threads, locks, chance, sockets and clocks.
bool TouchesTheWorld(const std::string& include) {
  static const std::regex kForbidden(
      "thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|random|pthread\\.h|"
      "unistd\\.h|poll\\.h|netdb\\.h|ifaddrs\\.h|(sys|net|netinet|arpa|linux)/.*|"
      "absl/(random|synchronization)/.*|absl/time/clock\\.h");
  return std::regex_match(include, kForbidden);
}

std::string IncludeTrespass(int level, const std::string& include) {
  if (include.find("..") != std::string::npos) return "includes are written from the root of the project";
  if (IsGuest(include)) return "a room does not know its guests";
  if (LevelOf(include) > level) return "an include goes downward only";
  if (include == "uv.h" && level < kShell) return "libuv belongs to transport/uv_* and transport/node*";
  if (level < kTransport && TouchesTheWorld(include)) return "a pure room has no threads, locks, chance or sockets";
  return "";
}

std::string CallTrespass(const std::string& line) {
  struct Call {
    std::regex pattern;
    std::string_view why;
  };
  static const std::array<Call, 5> kForbidden = {{
      {std::regex("::\\s*now\\s*\\("), "a pure room is told the time"},
      {std::regex("\\b(gettimeofday|clock_gettime|timespec_get)\\b|std::(time|clock)\\s*\\("),
       "a pure room is told the time"},
      {std::regex("(^|[^\\w.>])time\\s*\\(\\s*(nullptr|NULL|0|&)"), "a pure room is told the time"},
      {std::regex("\\brandom_device\\b|(^|[^\\w.>])s?rand\\s*\\("), "a pure room is given its seed"},
      {std::regex("\\b(secure_)?getenv\\b"), "a pure room is given its configuration"},
  }};
  for (const Call& call : kForbidden) {
    if (std::regex_search(line, call.pattern)) return std::string(call.why);
  }
  return "";
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Where the literal that opens at `begin` ends (one past), or the end of the text.
std::size_t EndOfLiteral(std::string_view code, std::size_t begin) {
  const char quote = code[begin];
  if (quote == '"' && begin > 0 && code[begin - 1] == 'R') {
    const std::size_t open = code.find('(', begin);
    if (open == std::string_view::npos) return code.size();
    const std::string close = ")" + std::string(code.substr(begin + 1, open - begin - 1)) + "\"";
    const std::size_t end = code.find(close, open);
    return end == std::string_view::npos ? code.size() : end + close.size();
  }
  for (std::size_t i = begin + 1; i < code.size() && code[i] != '\n'; ++i) {
    if (code[i] == '\\') {
      ++i;
    } else if (code[i] == quote) {
      return i + 1;
    }
  }
  return code.size();
}

bool OpensLiteral(std::string_view code, std::size_t at) {
  if (code[at] == '"') return true;
  // A quote after a digit or a letter separates digits: 1'000.
  return code[at] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(code[at - 1])) == 0);
}

std::string Blanked(std::string_view text) {
  std::string blank(text);
  for (char& c : blank) {
    if (c != '\n') c = ' ';
  }
  return blank;
}

}  // namespace

std::string StripComments(std::string_view code, bool keep_strings) {
  std::string out;
  std::size_t at = 0;
  while (at < code.size()) {
    std::size_t end = at + 1;
    bool keep = true;
    if (code.substr(at, 2) == "//") {
      end = std::min(code.find('\n', at), code.size());
      keep = false;
    } else if (code.substr(at, 2) == "/*") {
      const std::size_t close = code.find("*/", at + 2);
      end = close == std::string_view::npos ? code.size() : close + 2;
      keep = false;
    } else if (OpensLiteral(code, at)) {
      end = EndOfLiteral(code, at);
      keep = keep_strings;
    }
    const std::string_view piece = code.substr(at, end - at);
    out += keep ? std::string(piece) : Blanked(piece);
    at = end;
  }
  return out;
}

std::vector<std::string> Trespasses(std::string_view path, std::string_view text) {
  std::vector<std::string> found;
  const int level = LevelOf(path);
  if (level == kNone) return found;
  const auto add = [&](std::size_t line, const std::string& why, const std::string& what) {
    if (!why.empty()) found.push_back(std::string(path) + ":" + std::to_string(line) + ": " + why + ": " + what);
  };

  static const std::regex kInclude("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  const std::vector<std::string> with_names = Lines(StripComments(text, true));
  for (std::size_t i = 0; i < with_names.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(with_names[i], match, kInclude)) continue;
    add(i + 1, IncludeTrespass(level, match[1]), match[1]);
    const bool boost = match[1].str().starts_with("boost/") && path != "phi/boost_math.cc";
    add(i + 1, boost ? "only phi/boost_math.cc includes Boost, which is slow to compile" : "", match[1]);
  }
  if (level >= kTransport) return found;
  const std::vector<std::string> calls = Lines(StripComments(text, false));
  for (std::size_t i = 0; i < calls.size(); ++i) add(i + 1, CallTrespass(calls[i]), with_names[i]);
  return found;
}

std::vector<std::string> IgnoredNames(std::string_view gitignore) {
  std::vector<std::string> names;
  for (std::string& line : Lines(std::string(gitignore))) {
    if (line.size() < 2 || line.front() != '/') continue;
    line.erase(0, 1);
    if (line.back() == '/') line.pop_back();
    names.push_back(line);
  }
  return names;
}

std::vector<std::string> UnknownNames(const std::vector<std::string>& names, std::string_view gitignore) {
  static constexpr std::array<std::string_view, 17> kAgreed = {
      "CMakeLists.txt", "CMakePresets.json", "README.md", "ARCHITECTURE.md", "swim",  "phi", "transport", "stm",
      "lease",          "examples",          "tests",     "bench",           "cmake", ".ci", ".git",      ".gitignore",
      ".clang-format"};
  const std::vector<std::string> ignored = IgnoredNames(gitignore);
  std::vector<std::string> unknown;
  std::copy_if(names.begin(), names.end(), std::back_inserter(unknown), [&](const std::string& name) {
    return std::find(kAgreed.begin(), kAgreed.end(), name) == kAgreed.end() &&
           std::find(ignored.begin(), ignored.end(), name) == ignored.end();
  });
  return unknown;
}

std::vector<std::string> WorkplaceWords(std::string_view text) {
  // Each in two pieces: this file is searched as well.
  static const std::array<std::string, 3> kWords = {std::string("/wo") + "rk/", std::string("sub") + "agent",
                                                    std::string("../sh") + "ared"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string> found;
  for (const std::string& word : kWords) {
    if (lower.find(word) != std::string::npos) found.push_back(word);
  }
  return found;
}

std::size_t CountLines(std::string_view text) {
  const auto breaks = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return breaks + (text.empty() || text.back() == '\n' ? 0U : 1U);
}

}  // namespace nekton::house
