#include "examples/objects/object_wire.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kNameMax = 128;
constexpr std::size_t kCapabilitySize = 16 + 32 + 1 + 8 + 64;

// Numbers travel with their lowest byte first; a text has its length before it.
class Writer {
 public:
  template <std::unsigned_integral T>
  void Number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
  }
  void Raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    Raw(std::as_bytes(std::span(text)));
  }
  std::vector<std::byte> Done() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The first read that finds too little fails it for good.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool Finished() const { return ok_ && rest_.empty(); }

  std::span<const std::byte> Take(std::size_t size) {
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return {};
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  template <std::unsigned_integral T>
  T Number() {
    T value = 0;
    std::size_t i = 0;
    for (const std::byte byte : Take(sizeof(T)))
      value |= static_cast<T>(std::to_integer<std::uint64_t>(byte) << (8 * i++));
    return value;
  }
  template <std::size_t kSize>
  void Raw(std::array<std::byte, kSize>* to) {
    const auto taken = Take(kSize);
    std::copy(taken.begin(), taken.end(), to->begin());
  }
  std::string Text(std::size_t max) {
    const auto size = Number<std::uint32_t>();
    ok_ = ok_ && size <= max;
    const auto taken = Take(size);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  void Require(bool right) { ok_ = ok_ && right; }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

void Write(Writer& out, const Capability& capability) {
  out.Raw(capability.id);
  out.Raw(capability.object.bytes);
  out.Number(capability.operations);
  out.Number(static_cast<std::uint64_t>(capability.expires.time_since_epoch().count()));
  out.Raw(capability.signature.bytes);
}

Capability ReadCapability(Reader& in) {
  Capability capability;
  in.Raw(&capability.id);
  in.Raw(&capability.object.bytes);
  capability.operations = in.Number<std::uint8_t>();
  capability.expires = WallTime(WallTime::duration(static_cast<std::int64_t>(in.Number<std::uint64_t>())));
  in.Raw(&capability.signature.bytes);
  return capability;
}

}  // namespace

std::vector<std::byte> Encode(const ObjectCall& call) {
  Writer out;
  out.Number(kVersion);
  out.Number(call.request.epoch);
  Write(out, call.request.capability);
  out.Number(call.request.request);
  out.Raw(call.request.object.bytes);
  out.Number(static_cast<std::uint8_t>(call.request.operation));
  out.Number(static_cast<std::uint8_t>(call.wants_value));
  out.Text(call.value);
  return out.Done();
}

std::optional<ObjectCall> DecodeCall(std::span<const std::byte> bytes) {
  Reader in(bytes);
  ObjectCall call;
  in.Require(in.Number<std::uint8_t>() == kVersion);
  call.request.epoch = in.Number<std::uint64_t>();
  call.request.capability = ReadCapability(in);
  call.request.request = in.Number<std::uint64_t>();
  in.Raw(&call.request.object.bytes);
  const auto operation = in.Number<std::uint8_t>();
  in.Require(operation <= static_cast<std::uint8_t>(Operation::kCommit));
  call.request.operation = static_cast<Operation>(operation);
  const auto wants = in.Number<std::uint8_t>();
  in.Require(wants <= 1);
  call.wants_value = wants == 1;
  call.value = in.Text(kValueMax);
  if (!in.Finished()) return std::nullopt;
  return call;
}

std::vector<std::byte> Encode(const ObjectAnswer& answer) {
  Writer out;
  out.Number(kVersion);
  out.Number(static_cast<std::uint8_t>(answer.verdict));
  out.Number(answer.epoch);
  out.Text(answer.moved_to);
  out.Number(answer.version);
  out.Text(answer.value);
  return out.Done();
}

std::optional<ObjectAnswer> DecodeAnswer(std::span<const std::byte> bytes) {
  Reader in(bytes);
  ObjectAnswer answer;
  in.Require(in.Number<std::uint8_t>() == kVersion);
  const auto verdict = in.Number<std::uint8_t>();
  in.Require(verdict <= static_cast<std::uint8_t>(Verdict::kBusy));
  answer.verdict = static_cast<Verdict>(verdict);
  answer.epoch = in.Number<std::uint64_t>();
  answer.moved_to = in.Text(kNameMax);
  answer.version = in.Number<std::uint64_t>();
  answer.value = in.Text(kValueMax);
  if (!in.Finished()) return std::nullopt;
  return answer;
}

std::string ToHex(const Capability& capability) {
  Writer out;
  Write(out, capability);
  const std::vector<std::byte> bytes = out.Done();
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

absl::StatusOr<Capability> ParseCapability(std::string_view hex) {
  const bool digits =
      std::all_of(hex.begin(), hex.end(), [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
  if (!digits || hex.size() != 2 * kCapabilitySize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a capability has ", 2 * kCapabilitySize, " hexadecimal digits, not ", hex.size(), " characters"));
  }
  const std::string bytes = absl::HexStringToBytes({hex.data(), hex.size()});
  Reader in(std::as_bytes(std::span(bytes)));
  return ReadCapability(in);
}

}  // namespace nekton
