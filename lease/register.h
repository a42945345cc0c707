// A durable register with compare-and-set: all that named leases need of a store.
//
// Linearizable: every answer is that of one instant between request and answer, and these instants are in one order that
// all see. Every write gets a version above all before it, of any key; no version is given twice, also when a key was
// deleted in between. A write that was answered with kYes outlives the death of its store at any instant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"

namespace nekton {

inline constexpr std::size_t kRegisterKeyMax = 512;
inline constexpr std::size_t kRegisterValueMax = 1'048'576;  // a view of 10,000 members; etcd takes 1.5 MiB
inline constexpr std::uint64_t kAbsent = 0;                  // the version of what is not there

enum class RegisterVerdict : std::uint8_t {
  kYes,
  kNo,
  kUnknown,  // the request may have been done, may yet be done, or never
};
std::string_view Name(RegisterVerdict verdict);

struct RegisterRequest {
  std::uint64_t id = 0;  // the asker's own
  bool write = false;
  std::string key;
  std::uint64_t expected = kAbsent;  // of a write
  std::optional<std::string> value;  // of a write; nothing: delete
};

struct RegisterAnswer {
  RegisterVerdict verdict = RegisterVerdict::kUnknown;
  // A read's kYes and a write's kNo: what is there. A write's kYes: the new version (kAbsent after a delete), no value.
  std::uint64_t version = kAbsent;
  std::string value;
  std::string why;  // of kUnknown, for people
};

// The register as a service. Thread-safe. Calls never block; what cannot be taken on (too many wait, a key or value that
// is empty or too long) is answered with kUnknown and says why. The callbacks come one at a time on a thread of the
// register's own, and must not block it; they may call the register.
class Register {
 public:
  using Done = absl::AnyInvocable<void(RegisterAnswer)>;
  using Changed = std::function<void(const RegisterAnswer&)>;

  Register() = default;
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;
  virtual ~Register() = default;  // answers what is open with kUnknown, and then calls nothing any more

  virtual void Read(std::string key, Done done) = 0;
  // `expected`: the version that must be there, or kAbsent. No value: deletes.
  virtual void CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value, Done done) = 0;

  // Tells with kYes what is there, at first and after changes: perhaps late, twice, or only the last of several changes.
  // A number for Unwatch; 0: this register cannot, or the watches are too many. Unwatch does not wait: one call may
  // still be under way when it returns.
  virtual std::uint64_t Watch(std::string /*key*/, Changed /*changed*/) { return 0; }
  virtual void Unwatch(std::uint64_t /*watch*/) {}
};

// Why this request cannot be taken on; empty if it can.
std::string ProblemOf(const RegisterRequest& request);

}  // namespace nekton
