// Command-line arguments: "--name value", "--name=value", and flags without a value.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phi/time.h"

namespace nekton {

// "1.5s", "200ms", "2m", "1h"; a number alone means seconds. From 0 to 1e9 s.
absl::StatusOr<Duration> ParseDuration(std::string_view text);
absl::StatusOr<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max);

class Arguments {
 public:
  using Take = std::function<absl::Status(std::string_view value)>;

  // Each may be given once, but for Each. `name` is without the dashes.
  void Flag(std::string_view name, bool* out);
  void Text(std::string_view name, std::string* out);
  void Count(std::string_view name, std::uint64_t min, std::uint64_t max, std::uint64_t* out);
  void Time(std::string_view name, Duration* out);
  void One(std::string_view name, Take take);
  void Each(std::string_view name, Take take);

  // InvalidArgument says in one line what is wrong with which argument.
  absl::Status Parse(std::span<const char* const> arguments);
  bool given(std::string_view name) const;
  bool help() const { return help_; }  // "--help" or "-h" was among them; what else was there has not been looked at

 private:
  struct Option {
    std::string name;
    bool* flag = nullptr;
    Take take;
    bool repeats = false;
    bool given = false;
  };
  absl::Status ParseOne(std::span<const char* const> arguments, std::size_t* next);

  std::vector<Option> options_;
  bool help_ = false;
};

}  // namespace nekton
