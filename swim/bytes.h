// Little-endian integers, varints and texts in byte strings: what the codecs of this room are made of. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace nekton {

// A varint is an LEB128 number of up to 64 bits: seven bits a byte, lowest first, the top bit says that more follow.
inline constexpr std::size_t kVarintMax = 10;

constexpr std::size_t VarintSize(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Reads from the front. The first read that finds too little, or a bad varint, fails the reader for good: it and all
// further ones return zeros. So a codec reads on and asks ok() once.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  explicit ByteReader(std::string_view bytes) : ByteReader(std::as_bytes(std::span(bytes))) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  std::span<const std::byte> rest() const { return {at_, left()}; }

  template <std::unsigned_integral T>
  T Fixed() {
    std::array<std::byte, sizeof(T)> raw{};
    if (left() < sizeof(T)) {
      Fail();
    } else {
      std::memcpy(raw.data(), at_, sizeof(T));
      at_ += sizeof(T);
    }
    if constexpr (std::endian::native == std::endian::big) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }

  // Only the shortest form of a number is one: equal values have equal bytes.
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      const bool padded = byte == 0 && shift != 0;
      const bool too_wide = shift == 63 && byte > 1;
      if (padded || too_wide) break;
      return value;
    }
    Fail();
    return 0;
  }

  std::span<const std::byte> Take(std::size_t size) {
    if (left() < size) {
      Fail();
      return {};
    }
    const std::byte* from = at_;
    at_ += size;
    return {from, size};
  }

  std::string_view Text(std::size_t size) {
    const std::span<const std::byte> bytes = Take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  void Fail() {
    ok_ = false;
    at_ = end_;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

// Writes to memory that the caller has measured before; it checks nothing.
class ByteWriter {
 public:
  explicit ByteWriter(std::byte* at) : at_(at) {}

  const std::byte* at() const { return at_; }

  template <std::unsigned_integral T>
  void Fixed(T value) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    if constexpr (std::endian::native == std::endian::big) std::reverse(raw.begin(), raw.end());
    std::memcpy(at_, raw.data(), sizeof(T));
    at_ += sizeof(T);
  }

  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) Fixed(static_cast<std::uint8_t>(value | 0x80));
    Fixed(static_cast<std::uint8_t>(value));
  }

  void Bytes(const void* from, std::size_t size) {
    if (size != 0) std::memcpy(at_, from, size);
    at_ += size;
  }
  void Text(std::string_view text) { Bytes(text.data(), text.size()); }

 private:
  std::byte* at_;
};

}  // namespace nekton
