#include "examples/agent/console.h"

#include <time.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/agent/words.h"
#include "swim/event_json.h"

namespace nekton {
namespace {

timespec Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now;
}

// The clock of Event::at.
Instant BootTime() {
  const timespec now = Now(CLOCK_BOOTTIME);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

// "2026-01-31T12:34:56.789012Z"
std::string WallTimeText() {
  const timespec now = Now(CLOCK_REALTIME);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                         utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1000);
}

}  // namespace

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string TimeColumn(Duration time) {
  return absl::StrFormat("%8.3fs  ", std::chrono::duration<double>(time).count());
}

Console::Console(bool json, std::string observer) : json_(json), observer_(std::move(observer)), started_(BootTime()) {}

void Console::Print(const Event& event, std::string_view note) {
  if (json_) {
    std::string members = ToJson(event);
    members = members.substr(1, members.size() - 2);
    if (!note.empty()) absl::StrAppend(&members, ",\"note\":", Dump(Json(note)));
    return WriteObject(members);
  }
  std::string text = absl::StrCat(TimeColumn(event.at - started_), Describe(event));
  if (!note.empty()) absl::StrAppend(&text, "; ", Absl(note));
  Write(text);
}

void Console::Print(const Evidence& evidence, std::string_view row) {
  if (!json_) return Write(absl::StrCat(TimeColumn(evidence.at - started_), Absl(row)));
  const std::string object = ToJson(evidence);
  WriteObject(absl::StrCat(object.substr(1, object.size() - 2), ",\"row\":", Dump(Json(row))));
}

void Console::Print(std::string_view text, const Json& json) {
  if (!json_) return Write(absl::StrCat(TimeColumn(BootTime() - started_), Absl(text)));
  const std::string object = Dump(json);
  WriteObject(std::string_view(object).substr(1, object.size() - 2));
}

void Console::WriteObject(std::string_view members) {
  Write(
      absl::StrCat("{\"time\":\"", WallTimeText(), "\",\"observer\":", Dump(Json(observer_)), ",", Absl(members), "}"));
}

void Console::Write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool written =
      std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) == '\n';
  if (std::fflush(stdout) != 0 || !written) failed_ = true;
}

bool Console::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

}  // namespace nekton
