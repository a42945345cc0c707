// Whether a recorded history of a register with versions is linearizable. Versions make it easy: a write that took effect
// has a version of its own, so the order is known, and only three things are left to check: that the writes form one chain
// (each expected the version before it), that everybody saw what stood there, and that nothing that had ended before
// another began comes after it in that order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/register.h"

namespace nekton {

struct RegisterOperation {
  std::int64_t began = 0;  // by one clock for all
  std::int64_t ended = 0;
  bool write = false;
  std::uint64_t expected = kAbsent;
  std::string value;  // of a write; every write's is another one
  RegisterAnswer answer;
};

// Thread-safe.
class RegisterHistory {
 public:
  void Add(RegisterOperation operation) {
    const std::lock_guard lock(mutex_);
    operations_.push_back(std::move(operation));
  }
  std::vector<RegisterOperation> Take() {
    const std::lock_guard lock(mutex_);
    return std::move(operations_);
  }

 private:
  std::mutex mutex_;
  std::vector<RegisterOperation> operations_;
};

// For one key that was never deleted. Empty if it is, or what is wrong.
inline std::string NotLinearizable(std::vector<RegisterOperation> operations) {
  struct Write {
    std::uint64_t expected = 0;
    std::string value;
  };
  std::map<std::uint64_t, Write> writes;          // by version
  std::map<std::string, RegisterOperation> open;  // that may have been done, by value
  for (const RegisterOperation& o : operations) {
    if (!o.write) continue;
    if (o.answer.verdict == RegisterVerdict::kUnknown) open[o.value] = o;
    if (o.answer.verdict != RegisterVerdict::kYes) continue;
    if (!writes.emplace(o.answer.version, Write{o.expected, o.value}).second) {
      return absl::StrCat("version ", o.answer.version, " was given twice");
    }
  }
  // What others saw of writes whose answers were lost makes these done.
  for (RegisterOperation& o : operations) {
    const bool saw = o.write ? o.answer.verdict == RegisterVerdict::kNo : o.answer.verdict == RegisterVerdict::kYes;
    if (!saw || o.answer.version == kAbsent || writes.contains(o.answer.version)) continue;
    const auto done = open.find(o.answer.value);
    if (done == open.end()) return absl::StrCat("\"", o.answer.value, "\" was never written");
    writes[o.answer.version] = {done->second.expected, done->first};
  }
  std::uint64_t before = kAbsent;
  std::set<std::uint64_t> expected;
  for (const auto& [version, write] : writes) {
    if (!expected.insert(write.expected).second) return absl::StrCat("two writes replaced version ", write.expected);
    if (write.expected >= version) return absl::StrCat("version ", version, " replaced a later one");
    // A hole is a write whose answer was lost and that nobody saw.
    if (write.expected != before && open.empty())
      return absl::StrCat("version ", version, " did not replace the one before it");
    before = version;
  }
  struct Point {
    std::int64_t began, ended;
    std::uint64_t version;
    bool write;
  };
  std::vector<Point> points;
  for (const RegisterOperation& o : operations) {
    if (o.answer.verdict == RegisterVerdict::kUnknown) continue;
    const bool wrote = o.write && o.answer.verdict == RegisterVerdict::kYes;
    if (!wrote && o.answer.version != kAbsent && writes[o.answer.version].value != o.answer.value) {
      return absl::StrCat("version ", o.answer.version, " was seen with another value than was written");
    }
    if (o.write && !wrote && o.answer.version == o.expected)
      return "a write was refused though it expected what was there";
    points.push_back({o.began, o.ended, o.answer.version, wrote});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.began < b.began; });
  std::vector<Point> by_end = points;
  std::sort(by_end.begin(), by_end.end(), [](const Point& a, const Point& b) { return a.ended < b.ended; });
  std::uint64_t newest = 0;
  std::size_t next = 0;
  for (const Point& p : points) {
    for (; next < by_end.size() && by_end[next].ended < p.began; ++next)
      newest = std::max(newest, by_end[next].version);
    if (p.version < newest) return absl::StrCat("version ", p.version, " was seen after ", newest);
    if (p.write && p.version == newest) return absl::StrCat("version ", p.version, " was seen before it was written");
  }
  return "";
}

}  // namespace nekton
