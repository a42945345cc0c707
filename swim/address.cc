#include "swim/address.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "swim/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kGroups = 8;  // of 16 bits in an IPv6 address
constexpr std::size_t kQuoteMax = 120;

absl::Status Wrong(std::string_view text, std::string_view what) {
  std::string quoted = absl::CHexEscape({text.data(), std::min(text.size(), kQuoteMax)});
  if (text.size() > kQuoteMax) quoted += "...";
  return absl::InvalidArgumentError(
      absl::StrCat("address '", quoted, "': ", absl::string_view(what.data(), what.size())));
}

// A decimal number as people write it: no sign, no leading zero, at most `max`.
std::optional<std::uint32_t> Decimal(std::string_view text, std::uint32_t max) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value > max) return std::nullopt;
  if (text[0] == '0' && text.size() > 1) return std::nullopt;
  return value;
}

// Four decimal parts, nothing else: no octal, no hexadecimal, no shorter forms.
bool ParseV4(std::string_view text, std::uint8_t* four) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const std::optional<std::uint32_t> part = Decimal(text.substr(0, dot), 255);
    if (!part.has_value()) return false;
    four[i] = static_cast<std::uint8_t>(*part);
    text.remove_prefix(i < 3 ? dot + 1 : dot);
  }
  return true;
}

// One group of 1 to 4 hexadecimal digits.
bool ParseGroup(std::string_view text, std::uint8_t* two) {
  std::uint16_t value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text.size() > 4) return false;
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) return false;
  two[0] = static_cast<std::uint8_t>(value >> 8);
  two[1] = static_cast<std::uint8_t>(value & 0xff);
  return true;
}

// Groups between single colons, the last perhaps an IPv4 address if `tail`. Appends to `ip`; false if it is no such
// list or has more than 16 bytes.
bool ParseGroups(std::string_view text, bool tail, std::array<std::uint8_t, 16>& ip, std::size_t& size) {
  while (true) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    if (last && tail && group.find('.') != std::string_view::npos) {
      if (size + 4 > ip.size() || !ParseV4(group, ip.data() + size)) return false;
      size += 4;
      return true;
    }
    if (size + 2 > ip.size() || !ParseGroup(group, ip.data() + size)) return false;
    size += 2;
    if (last) return true;
    text.remove_prefix(colon + 1);
  }
}

// RFC 4291, section 2.2: all three forms. "::" stands for at least one group of zeros.
bool ParseV6(std::string_view text, std::array<std::uint8_t, 16>& ip) {
  const std::size_t gap = text.find("::");
  std::array<std::uint8_t, 16> head{};
  std::size_t head_size = 0;
  if (gap == std::string_view::npos) {
    if (!ParseGroups(text, true, head, head_size) || head_size != ip.size()) return false;
    ip = head;
    return true;
  }
  std::array<std::uint8_t, 16> rest{};
  std::size_t rest_size = 0;
  const std::string_view before = text.substr(0, gap);
  const std::string_view after = text.substr(gap + 2);
  if (!before.empty() && !ParseGroups(before, false, head, head_size)) return false;
  if (!after.empty() && !ParseGroups(after, true, rest, rest_size)) return false;
  if (head_size + rest_size > ip.size() - 2) return false;
  ip = head;
  std::copy_n(rest.begin(), rest_size, ip.end() - static_cast<std::ptrdiff_t>(rest_size));
  return true;
}

bool IsLinkLocal(const Address& address) { return address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80; }

// The numeric part of an IPv6 address with its zone. `whole` is what the user wrote.
absl::Status ParseV6WithZone(std::string_view text, std::string_view whole, Address& address) {
  const std::size_t percent = text.find('%');
  if (!ParseV6(text.substr(0, percent), address.ip)) return Wrong(whole, "not a numeric IPv6 address");
  if (percent == std::string_view::npos) {
    if (!IsLinkLocal(address)) return absl::OkStatus();
    return Wrong(whole, "a link-local address needs its zone, as in fe80::1%2");
  }
  if (!IsLinkLocal(address)) return Wrong(whole, "only a link-local address (fe80::/10) has a zone");
  const std::optional<std::uint32_t> zone = Decimal(text.substr(percent + 1), 0xffffffff);
  if (!zone.has_value() || *zone == 0) {
    return Wrong(whole, "a numeric zone is needed, the index of the interface from 1; only the system knows names");
  }
  address.scope = *zone;
  return absl::OkStatus();
}

// Split into host and port; no value: no port was written.
struct Parts {
  std::string_view host;
  std::optional<std::string_view> port;
  bool v6 = false;
};

absl::StatusOr<Parts> Split(std::string_view text) {
  if (text.empty()) return Wrong(text, "empty");
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return Wrong(text, "'[' without ']'");
    const std::string_view rest = text.substr(close + 1);
    Parts parts{.host = text.substr(1, close - 1), .port = std::nullopt, .v6 = true};
    if (rest.empty()) return parts;
    if (rest.front() != ':') return Wrong(text, "only ':' and a port may follow ']'");
    parts.port = rest.substr(1);
    return parts;
  }
  const std::size_t colon = text.find(':');
  // Two colons without brackets are an IPv6 address without a port; any other reading would guess.
  if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
    return Parts{.host = text, .port = std::nullopt, .v6 = true};
  }
  if (colon == std::string_view::npos) return Parts{.host = text, .port = std::nullopt};
  return Parts{.host = text.substr(0, colon), .port = text.substr(colon + 1)};
}

// RFC 5952, section 4: lower case, no leading zeros, the first longest run of two or more zero groups as "::".
std::string FormatV6(const std::array<std::uint8_t, 16>& ip) {
  std::array<std::uint16_t, kGroups> groups{};
  for (std::size_t i = 0; i < kGroups; ++i) groups[i] = static_cast<std::uint16_t>(ip[2 * i] << 8 | ip[2 * i + 1]);
  std::size_t gap = kGroups;
  std::size_t gap_size = 1;
  for (std::size_t i = 0; i < kGroups; ++i) {
    std::size_t run = 0;
    while (i + run < kGroups && groups[i + run] == 0) ++run;
    if (run > gap_size) {
      gap = i;
      gap_size = run;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < kGroups;) {
    if (i == gap) {
      text += "::";
      i += gap_size;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    absl::StrAppend(&text, absl::Hex(groups[i++]));
  }
  return text;
}

}  // namespace

Address Address::V4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port) {
  Address address{.port = port};
  std::copy(kMapped.begin(), kMapped.end(), address.ip.begin());
  address.ip[12] = a;
  address.ip[13] = b;
  address.ip[14] = c;
  address.ip[15] = d;
  return address;
}

absl::StatusOr<Address> Address::Parse(std::string_view text, std::uint16_t default_port) {
  const absl::StatusOr<Parts> parts = Split(text);
  if (!parts.ok()) return parts.status();
  Address address;
  if (parts->v6) {
    if (absl::Status status = ParseV6WithZone(parts->host, text, address); !status.ok()) return status;
  } else {
    std::array<std::uint8_t, 4> four{};
    if (!ParseV4(parts->host, four.data())) return Wrong(text, "not a numeric IPv4 or IPv6 address");
    address = V4(four[0], four[1], four[2], four[3], 0);
  }
  if (!parts->port.has_value()) {
    if (default_port == 0) {
      return Wrong(text, parts->v6 ? "the port is missing; write [address]:port" : "the port is missing");
    }
    address.port = default_port;
    return address;
  }
  const std::optional<std::uint32_t> port = Decimal(*parts->port, 65535);
  if (!port.has_value()) return Wrong(text, "the port must be a number from 0 to 65535");
  address.port = static_cast<std::uint16_t>(*port);
  return address;
}

bool Address::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), ip.begin()); }

bool Address::is_unspecified() const {
  const auto zero = [](std::uint8_t byte) { return byte == 0; };
  return std::all_of(ip.begin() + (is_v4() ? kMapped.size() : 0), ip.end(), zero);
}

std::uint64_t Address::Hash() const {
  std::array<std::byte, 22> bytes{};
  ByteWriter writer(bytes.data());
  writer.Bytes(ip.data(), ip.size());
  writer.Fixed(scope);
  writer.Fixed(port);
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string Address::ToString() const {
  if (is_v4()) return absl::StrCat(ip[12], ".", ip[13], ".", ip[14], ".", ip[15], ":", port);
  std::string text = absl::StrCat("[", FormatV6(ip));
  if (scope != 0) absl::StrAppend(&text, "%", scope);
  absl::StrAppend(&text, "]:", port);
  return text;
}

}  // namespace nekton
