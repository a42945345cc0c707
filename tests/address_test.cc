#include "swim/address.h"

#include <arpa/inet.h>
#include <xxhash.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/hash/hash_testing.h"
#include "swim/random.h"

namespace nekton {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t kDefaultPort = 7946;

Address Good(std::string_view text, std::uint16_t default_port = kDefaultPort) {
  const absl::StatusOr<Address> address = Address::Parse(text, default_port);
  EXPECT_TRUE(address.ok()) << address.status();
  return address.value_or(Address{});
}

// The message of the error, which quotes the text.
std::string Bad(std::string_view text, std::uint16_t default_port = kDefaultPort) {
  const absl::StatusOr<Address> address = Address::Parse(text, default_port);
  EXPECT_FALSE(address.ok()) << text << " is taken for " << address.value_or(Address{}).ToString();
  EXPECT_TRUE(absl::IsInvalidArgument(address.status()));
  const std::string message(address.status().message());
  EXPECT_THAT(message, HasSubstr("'" + std::string(text) + "'"));
  return message;
}

TEST(AddressTest, TheFormsOfTheHeader) {
  EXPECT_EQ(Good("1.2.3.4:7946"), Address::V4(1, 2, 3, 4, 7946));
  EXPECT_EQ(Good("1.2.3.4"), Address::V4(1, 2, 3, 4, kDefaultPort));
  const Address v6 = Good("[2001:db8::1]:7000");
  EXPECT_EQ(v6.ip, (std::array<std::uint8_t, 16>{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(v6.port, 7000);
  EXPECT_EQ(v6.scope, 0U);
  EXPECT_EQ(Good("[2001:db8::1]").port, kDefaultPort);
  EXPECT_EQ(Good("2001:db8::1"), Good("[2001:db8::1]:7946"));
  EXPECT_EQ(Good("::1"), Good("[::1]:7946"));
  EXPECT_EQ(Good("0.0.0.0:0").port, 0);
  EXPECT_EQ(Good("[::]:0").port, 0);
}

TEST(AddressTest, LinkLocalAddressesNeedANumericZone) {
  const Address scoped = Good("[fe80::1%2]:7000");
  EXPECT_EQ(scoped.scope, 2U);
  EXPECT_EQ(scoped.ToString(), "[fe80::1%2]:7000");
  EXPECT_EQ(Good("fe80::1%3").ToString(), "[fe80::1%3]:7946");
  EXPECT_EQ(Good("febf::1%4294967295").scope, 4294967295U);
  EXPECT_NE(Good("fe80::1%3"), Good("fe80::1%4"));
  EXPECT_THAT(Bad("fe80::1"), HasSubstr("needs its zone"));
  EXPECT_THAT(Bad("[fe80::1]:7000"), HasSubstr("needs its zone"));
  for (const char* text : {"fe80::1%lo", "[fe80::1%lo]:7000", "fe80::1%", "fe80::1%0", "fe80::1%01",
                           "fe80::1%4294967296", "fe80::1%-1", "fe80::1%+1", "fe80::1% 1", "fe80::1%1%1"}) {
    EXPECT_THAT(Bad(text), HasSubstr("a numeric zone is needed")) << text;
  }
  EXPECT_THAT(Bad("2001:db8::1%2"), HasSubstr("only a link-local address"));
  EXPECT_THAT(Bad("::ffff:1.2.3.4%2"), HasSubstr("only a link-local address"));
  EXPECT_EQ(Good("[fec0::1]:1").scope, 0U);  // just above fe80::/10
}

TEST(AddressTest, WhatIsWrongIsSaid) {
  EXPECT_THAT(Bad(""), HasSubstr("empty"));
  EXPECT_THAT(Bad("[::1"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(Bad("1.2.3.4:70000"), HasSubstr("the port must be a number from 0 to 65535"));
  for (const char* text : {"1.2.3.4:", "1.2.3.4:x", "1.2.3.4:-1", "1.2.3.4:65536", "1.2.3.4:08", "1.2.3.4: 8",
                           "1.2.3.4:99999999999999999999", "[::1]:", "[::1]:70000"}) {
    EXPECT_THAT(Bad(text), HasSubstr("the port must be")) << text;
  }
  EXPECT_THAT(Bad("[::1]7946"), HasSubstr("only ':' and a port may follow"));
  for (const char* text : {"[]:1",
                           "[1.2.3.4]:1",
                           "[::1",
                           "[[::1]]:1",
                           "::1]:1",
                           "1::2::3",
                           "[:::]:1",
                           "localhost",
                           "localhost:1",
                           "1.2.3:1",
                           "1.2.3.4.5:1",
                           "256.1.1.1:1",
                           "01.2.3.4:1",
                           "1.2.3.4 :1",
                           " 1.2.3.4:1",
                           ":1",
                           ":",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "12345::",
                           "::g",
                           "::1.2.3",
                           "::1.2.3.4:5"}) {
    Bad(text);
  }
}

TEST(AddressTest, AMissingPortWithoutADefaultIsAnError) {
  EXPECT_THAT(Bad("1.2.3.4", 0), HasSubstr("the port is missing"));
  EXPECT_THAT(Bad("2001:db8::1", 0), HasSubstr("write [address]:port"));
  EXPECT_THAT(Bad("[2001:db8::1]", 0), HasSubstr("the port is missing"));
  EXPECT_EQ(Good("1.2.3.4:1", 0).port, 1);
}

TEST(AddressTest, ErrorsQuoteNoControlBytesAndNoEndlessText) {
  const auto message = [](std::string_view text) { return std::string(Address::Parse(text).status().message()); };
  EXPECT_THAT(message("1.2\n.3.4:1"), HasSubstr("'1.2\\n.3.4:1'"));
  EXPECT_LT(message(std::string(100000, 'x')).size(), 300U);
  EXPECT_FALSE(Address::Parse(std::string_view("1.2.3.4:1\0", 10)).ok());
}

TEST(AddressTest, AMappedAddressIsTheIPv4One) {
  const Address plain = Good("192.0.2.5:7946");
  EXPECT_EQ(Good("[::ffff:192.0.2.5]:7946"), plain);
  EXPECT_EQ(Good("[::ffff:c000:205]:7946"), plain);
  EXPECT_EQ(Good("::FFFF:192.0.2.5"), plain);
  EXPECT_TRUE(plain.is_v4());
  EXPECT_EQ(plain.ToString(), "192.0.2.5:7946");
  EXPECT_FALSE(Good("::192.0.2.5").is_v4());
  EXPECT_FALSE(Good("[2001:db8::1]:1").is_v4());
}

TEST(AddressTest, Unspecified) {
  EXPECT_TRUE(Good("0.0.0.0:1").is_unspecified());
  EXPECT_TRUE(Good("[::]:1").is_unspecified());
  EXPECT_TRUE(Good("[::ffff:0.0.0.0]:1").is_unspecified());
  EXPECT_TRUE(Address{}.is_unspecified());
  EXPECT_FALSE(Good("0.0.0.1:1").is_unspecified());
  EXPECT_FALSE(Good("[::1]:1").is_unspecified());
  EXPECT_FALSE(Good("[::ffff:0:1]:1").is_unspecified());
}

TEST(AddressTest, HashesAreStable) {
  const Address address = Good("[fe80::1%258]:772");
  std::array<unsigned char, 22> bytes{};
  std::memcpy(bytes.data(), address.ip.data(), 16);
  bytes[16] = 0x02;  // 258
  bytes[17] = 0x01;
  bytes[20] = 0x04;  // 772
  bytes[21] = 0x03;
  EXPECT_EQ(address.Hash(), XXH3_64bits(bytes.data(), bytes.size()));
  EXPECT_TRUE(
      absl::VerifyTypeImplementsAbslHashCorrectly({Address{}, address, Good("[fe80::1%259]:772"),
                                                   Good("[fe80::1%258]:773"), Good("1.2.3.4:1"), Good("1.2.3.4:2")}));
}

// A text that is nearly an address, or one: random groups or parts, then up to three edits.
std::string Nearly(Random& random, bool v6) {
  const std::string_view digits = v6 ? "0123456789abcdefABCDEF" : "0123456789";
  std::string text;
  const std::uint32_t parts = v6 ? 1 + random.Below(9) : 3 + random.Below(3);
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (i != 0) text += v6 ? ':' : '.';
    if (v6 && random.Below(6) == 0) continue;  // an empty group: "::" here or there
    const bool tail = v6 && i + 1 == parts && random.Below(4) == 0;
    const std::uint32_t size = tail ? 0 : 1 + random.Below(v6 ? 4 : 3);
    for (std::uint32_t k = 0; k < size; ++k) text += digits[random.Below(static_cast<std::uint32_t>(digits.size()))];
    if (tail) text += Nearly(random, false);
  }
  constexpr std::string_view kEdits = "0123456789abcdefABCDEF:.g- %x";
  for (std::uint32_t edits = random.Below(6) > 2 ? 0 : random.Below(4); edits > 0; --edits) {
    const std::size_t at = random.Below(static_cast<std::uint32_t>(text.size()) + 1);
    const char c = kEdits[random.Below(static_cast<std::uint32_t>(kEdits.size()))];
    switch (random.Below(3)) {
      case 0:
        text.insert(at, 1, c);
        break;
      case 1:
        if (at < text.size()) text[at] = c;
        break;
      default:
        if (at < text.size()) text.erase(at, 1);
    }
  }
  return text;
}

bool IsLinkLocal(const std::array<std::uint8_t, 16>& ip) { return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80; }

TEST(AddressTest, ReadsIPv6AsTheSystemDoes) {
  Random random(1);
  int good = 0;
  constexpr int kTexts = 100000;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = Nearly(random, true);
    std::array<std::uint8_t, 16> ip{};
    const bool system = inet_pton(AF_INET6, text.c_str(), ip.data()) == 1;
    const absl::StatusOr<Address> ours = Address::Parse("[" + text + "]:1");
    const bool zone = text.find('%') != std::string::npos;  // the system's function knows no zones
    if (zone || (system && IsLinkLocal(ip))) continue;
    ASSERT_EQ(ours.ok(), system) << text << " " << ours.status();
    if (!system) continue;
    ++good;
    ASSERT_EQ(ours->ip, ip) << text;
  }
  EXPECT_GT(good, kTexts / 20);  // or the texts would test nothing
  EXPECT_LT(good, kTexts * 19 / 20);
}

TEST(AddressTest, ReadsIPv4AsTheSystemDoes) {
  Random random(2);
  int good = 0;
  constexpr int kTexts = 100000;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = Nearly(random, false);
    if (text.find(':') != std::string::npos) continue;
    std::array<std::uint8_t, 4> ip{};
    const bool system = inet_pton(AF_INET, text.c_str(), ip.data()) == 1;
    const absl::StatusOr<Address> ours = Address::Parse(text + ":1");
    ASSERT_EQ(ours.ok(), system) << text << " " << ours.status();
    if (!system) continue;
    ++good;
    ASSERT_EQ(*ours, Address::V4(ip[0], ip[1], ip[2], ip[3], 1)) << text;
  }
  EXPECT_GT(good, kTexts / 20);
  EXPECT_LT(good, kTexts * 19 / 20);
}

TEST(AddressTest, WritesAsTheSystemDoesAndReadsItBack) {
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    Address address;
    for (std::size_t group = 0; group < 8; ++group) {
      if (random.Below(2) == 0) continue;
      const std::uint32_t value = random.Below(3) == 0 ? random.Below(65536) : random.Below(16);
      address.ip[2 * group] = static_cast<std::uint8_t>(value >> 8);
      address.ip[2 * group + 1] = static_cast<std::uint8_t>(value);
    }
    if (random.Below(10) == 0) std::memcpy(address.ip.data(), Address::V4(0, 0, 0, 0, 0).ip.data(), 12);
    if (random.Below(10) == 0) {
      address.ip[0] = 0xfe;
      address.ip[1] = 0x80;
    }
    if (IsLinkLocal(address.ip)) address.scope = 1 + random.Below(1000);
    address.port = static_cast<std::uint16_t>(random.Below(65536));
    const absl::StatusOr<Address> back = Address::Parse(address.ToString());
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(*back, address) << address.ToString();

    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool v4 = address.is_v4();
    const void* from = v4 ? address.ip.data() + 12 : address.ip.data();
    ASSERT_NE(inet_ntop(v4 ? AF_INET : AF_INET6, from, text.data(), text.size()), nullptr);
    // RFC 5952 keeps the mixed form to known prefixes; the system also uses it for the old ::a.b.c.d.
    if (!v4 && std::strchr(text.data(), '.') != nullptr) continue;
    const std::string zone = address.scope == 0 ? "" : "%" + std::to_string(address.scope);
    const std::string port = ":" + std::to_string(address.port);
    ASSERT_EQ(address.ToString(), v4 ? text.data() + port : "[" + std::string(text.data()) + zone + "]" + port);
  }
}

TEST(AddressTest, AnyTextIsTakenOrRefused) {
  Random random(4);
  constexpr std::string_view kBytes = "[]:%.0123456789abcdefxyz";
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (std::uint32_t size = random.Below(24); size > 0; --size) {
      text += kBytes[random.Below(static_cast<std::uint32_t>(kBytes.size()))];
    }
    const absl::StatusOr<Address> address = Address::Parse(text, kDefaultPort);
    if (address.ok()) {
      ASSERT_EQ(Address::Parse(address->ToString()).value(), *address) << text;
    }
  }
}

}  // namespace
}  // namespace nekton
