// An IP address and port as a value: comparable, hashable, without any socket header.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace nekton {

// IPv4 is kept as its v4-mapped IPv6 form (::ffff:a.b.c.d), so one peer heard over a dual-stack socket has one
// identity.
struct Address {
  std::array<std::uint8_t, 16> ip{};  // network byte order
  std::uint32_t scope = 0;            // IPv6 zone index of a link-local address; else 0
  std::uint16_t port = 0;             // host byte order

  static Address V4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port);
  // "1.2.3.4:7946", "[2001:db8::1]:7946", "[fe80::1%2]:7946" (numeric zone). No names are resolved. A missing port
  // takes `default_port`, if that is not 0. InvalidArgument says what is wrong and quotes the text.
  static absl::StatusOr<Address> Parse(std::string_view text, std::uint16_t default_port = 0);

  bool is_v4() const;
  bool is_unspecified() const;   // 0.0.0.0 or ::
  std::uint64_t Hash() const;    // stable across machines and releases
  std::string ToString() const;  // the forms that Parse reads

  friend auto operator<=>(const Address&, const Address&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Address& a) {
    return H::combine(std::move(h), a.Hash());
  }
};

}  // namespace nekton
