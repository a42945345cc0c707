// Views and what is signed of them.
#include "lease/view.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lease/signature.h"

namespace nekton {
namespace {

SigningKey Key(int n) {
  std::array<std::byte, 32> seed{};
  seed[0] = static_cast<std::byte>(n);
  return SigningKey(seed);
}

std::vector<ViewMember> Members() {
  return {{"beta", 20, Address::V4(10, 0, 0, 2, 7946)}, {"alpha", 10, Address::V4(10, 0, 0, 1, 7946)}};
}

TEST(SignatureTest, HoldsForItsKeyKindAndMessageAlone) {
  const std::string text = "a message";
  const auto message = std::as_bytes(std::span(text));
  const Signature signature = Key(1).Sign("kind", message);
  EXPECT_TRUE(Verify(Key(1).public_key(), "kind", message, signature));
  EXPECT_FALSE(Verify(Key(2).public_key(), "kind", message, signature));
  EXPECT_FALSE(Verify(Key(1).public_key(), "other", message, signature));
  EXPECT_FALSE(Verify(Key(1).public_key(), "kind", message.subspan(1), signature));
  for (std::size_t i = 0; i < signature.bytes.size(); ++i) {
    Signature broken = signature;
    broken.bytes[i] ^= std::byte{1};
    EXPECT_FALSE(Verify(Key(1).public_key(), "kind", message, broken)) << i;
  }
}

// RFC 8032, section 7.1, test 1: the key of this seed.
TEST(SignatureTest, TheKeyOfAPublishedSeed) {
  const char* const hex = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  const PublicKey raw = *ParsePublicKey(hex);
  EXPECT_EQ(ToHex(SigningKey(raw.bytes).public_key()),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST(SignatureTest, AKeyInTextIsReadBackAndABadOneNamed) {
  const PublicKey key = Key(3).public_key();
  EXPECT_EQ(*ParsePublicKey(ToHex(key)), key);
  EXPECT_NE(ParsePublicKey("12").status().message().find("64 hexadecimal digits"), absl::string_view::npos);
  EXPECT_NE(ParsePublicKey(std::string(64, 'g')).status().message().find("hexadecimal"), absl::string_view::npos);
}

TEST(ViewTest, TheOrderOfTheMembersDoesNotMatter) {
  std::vector<ViewMember> turned = Members();
  std::swap(turned[0], turned[1]);
  const View a = SignView(Key(1), "group", 7, Members());
  const View b = SignView(Key(1), "group", 7, turned);
  EXPECT_EQ(a.head, b.head);
  EXPECT_EQ(a.members.front().name, "alpha");
  ASSERT_NE(a.Find("beta"), nullptr);
  EXPECT_EQ(a.Find("beta")->generation, 20u);
  EXPECT_EQ(a.Find("gamma"), nullptr);
}

TEST(ViewTest, TheHeadIsTheWordOfOneAuthorityAboutOneGroupAndEpoch) {
  const View view = SignView(Key(1), "group", 7, Members());
  EXPECT_TRUE(VerifyHead(Key(1).public_key(), "group", view.head));
  EXPECT_FALSE(VerifyHead(Key(2).public_key(), "group", view.head));
  EXPECT_FALSE(VerifyHead(Key(1).public_key(), "other", view.head));
  ViewHead head = view.head;
  head.epoch = 8;
  EXPECT_FALSE(VerifyHead(Key(1).public_key(), "group", head));
  head = view.head;
  head.digest.bytes[0] ^= std::byte{1};
  EXPECT_FALSE(VerifyHead(Key(1).public_key(), "group", head));
}

TEST(ViewTest, EverythingInItChangesTheDigest) {
  const ViewDigest digest = DigestOf(7, Members());
  EXPECT_NE(DigestOf(8, Members()), digest);
  EXPECT_NE(DigestOf(7, Members(), true), digest);
  std::vector<ViewMember> other = Members();
  other[0].generation = 21;
  EXPECT_NE(DigestOf(7, other), digest);
  other = Members();
  other[0].address.port = 1;
  EXPECT_NE(DigestOf(7, other), digest);
  other = Members();
  other[0].name = "betb";
  EXPECT_NE(DigestOf(7, other), digest);
  EXPECT_EQ(ToHex(digest).size(), 32u);
}

TEST(ViewTest, ItsBytesAreReadBack) {
  for (const bool ends : {false, true}) {
    const View view = SignView(Key(1), "group", 7, Members(), ends);
    const absl::StatusOr<View> read = DecodeView(EncodeView(view));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->head, view.head);
    EXPECT_EQ(read->members, view.members);
    EXPECT_EQ(read->ends_moves, ends);
    EXPECT_EQ(*DecodeViewHead(EncodeViewHead(view.head)), view.head);
  }
}

TEST(ViewTest, NoBrokenBytesAreTaken) {
  const std::vector<std::byte> good = EncodeView(SignView(Key(1), "group", 7, Members()));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeView(std::span(good).first(size)).ok()) << size;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{0x41};
    const absl::StatusOr<View> read = DecodeView(bad);
    // The signature alone is for VerifyHead.
    EXPECT_FALSE(read.ok() && VerifyHead(Key(1).public_key(), "group", read->head)) << i;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(DecodeView(longer).ok());
  EXPECT_FALSE(DecodeViewHead(std::span(good).first(kViewHeadSize - 1)).ok());
}

TEST(ViewTest, NamesOutOfOrderOrTwiceAreNoView) {
  View view = SignView(Key(1), "group", 7, Members());
  std::swap(view.members[0], view.members[1]);
  view.head.digest = DigestOf(7, view.members);
  EXPECT_FALSE(DecodeView(EncodeView(view)).ok());
  view.members[1] = view.members[0];
  view.head.digest = DigestOf(7, view.members);
  EXPECT_FALSE(DecodeView(EncodeView(view)).ok());
}

// A count that no bytes stand behind must not make memory be taken for it.
TEST(ViewTest, ACountThatIsALieIsRefused) {
  std::vector<std::byte> bytes(kViewHeadSize + 1);
  for (int i = 0; i < 4; ++i) bytes.push_back(std::byte{0xff});
  bytes.push_back(std::byte{0x01});
  const absl::StatusOr<View> read = DecodeView(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("at most 10000"), absl::string_view::npos);
}

}  // namespace
}  // namespace nekton
