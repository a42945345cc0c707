// The membership view: who may own something, by the word of the one authority, with a number that only rises.
//
// Liveness (Members()) says who answers; it changes by itself and differs between members for a while. A view is signed,
// the same everywhere, and changes by the authority alone; who is ACTIVE and in no view owns nothing.
//
// Pure values, thread-safe as such.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/signature.h"
#include "swim/address.h"

namespace nekton {

inline constexpr std::size_t kViewMembersMax = 10'000;

struct ViewMember {
  std::string name;
  std::uint64_t generation = 0;
  Address address;
  friend bool operator==(const ViewMember&, const ViewMember&) = default;
};

struct ViewDigest {
  std::array<std::byte, 16> bytes{};
  friend auto operator<=>(const ViewDigest&, const ViewDigest&) = default;
};
std::string ToHex(const ViewDigest& digest);  // 32 hexadecimal digits

// What is signed and gossiped of a view: 88 bytes. Its body is fetched by who lacks it.
struct ViewHead {
  std::uint64_t epoch = 0;  // 0: no view yet
  ViewDigest digest;        // of the epoch and the body
  Signature signature;      // the authority's, over the group's label, epoch and digest
  friend bool operator==(const ViewHead&, const ViewHead&) = default;
};

struct View {
  ViewHead head;
  std::vector<ViewMember> members;  // in ascending order of their names, each name once
  bool ends_moves = false;          // in the view before it objects had been moved (lease/lease_move.h)

  std::uint64_t epoch() const { return head.epoch; }
  const ViewMember* Find(std::string_view name) const;
};

// BLAKE2b (16 bytes) over the epoch and the body as EncodeView writes it.
ViewDigest DigestOf(std::uint64_t epoch, std::span<const ViewMember> members, bool ends_moves = false);
// A view of these members, in any order, signed for the group `label`.
View SignView(const SigningKey& authority, std::string_view label, std::uint64_t epoch, std::vector<ViewMember> members,
              bool ends_moves = false);
// Is the head the word of this authority about this group?
bool VerifyHead(const PublicKey& authority, std::string_view label, const ViewHead& head);

// The bytes of a whole view, and back. DataLoss says what is wrong with them: too short, too long, names out of order or
// twice, an empty name, more than kViewMembersMax members, or a digest that is not the members'. The signature is not
// looked at.
std::vector<std::byte> EncodeView(const View& view);
absl::StatusOr<View> DecodeView(std::span<const std::byte> bytes);

// The 88 bytes of a head, and back from the front of `bytes`; DataLoss: too short.
inline constexpr std::size_t kViewHeadSize = 88;
std::array<std::byte, kViewHeadSize> EncodeViewHead(const ViewHead& head);
absl::StatusOr<ViewHead> DecodeViewHead(std::span<const std::byte> bytes);

}  // namespace nekton
