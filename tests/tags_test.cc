#include "swim/tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/message.h"
#include "swim/random.h"

namespace nekton {
namespace {

using testing::HasSubstr;
using Tags = std::map<std::string, std::string>;
using namespace std::string_literals;

// AreTags and DecodeTags agree about every text.
bool IsGood(std::string_view bytes) {
  const absl::StatusOr<Tags> tags = DecodeTags(bytes);
  EXPECT_EQ(tags.ok(), AreTags(bytes));
  if (!tags.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(tags.status()));
  }
  return tags.ok();
}

TEST(TagsTest, BytesAreAsDescribed) {
  EXPECT_EQ(EncodeTags({}).value(), "");
  EXPECT_EQ(EncodeTags({{"role", "db"}, {"a", ""}}).value(),
            "\x01"
            "a"
            "\x00"
            "\x04"
            "role"
            "\x02"
            "db"s);
  EXPECT_EQ(EncodeTags({{"k", std::string(200, 'v')}}).value(), "\x01k\xc8\x01" + std::string(200, 'v'));
}

TEST(TagsTest, RoundTrip) {
  const Tags samples[] = {
      {}, {{"a", ""}}, {{"a", "1"}, {"b", "2"}, {"bb", "3"}, {"c", ""}}, {{"\xff\0x"s, "\n\0"s}, {"\x01", "d\u00e9"}}};
  for (const Tags& tags : samples) {
    const std::string bytes = EncodeTags(tags).value();
    EXPECT_EQ(DecodeTags(bytes).value(), tags);
    EXPECT_TRUE(IsGood(bytes));
  }
}

TEST(TagsTest, TheBoundCountsEncodedBytes) {
  const auto with_value = [](std::size_t size) { return Tags{{"k", std::string(size, 'v')}}; };
  EXPECT_EQ(EncodeTags(with_value(kTagsMax - 4)).value().size(), kTagsMax);
  const absl::Status status = EncodeTags(with_value(kTagsMax - 3)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("513"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("512"));
  // One byte more on the wire is refused there, too.
  std::string bytes = EncodeTags(with_value(kTagsMax - 4)).value();
  EXPECT_TRUE(IsGood(bytes));
  bytes[2] = static_cast<char>(bytes[2] + 1);
  EXPECT_FALSE(IsGood(bytes + "v"));
}

TEST(TagsTest, KeysAreNotEmpty) {
  EXPECT_TRUE(absl::IsInvalidArgument(EncodeTags({{"", "x"}}).status()));
  EXPECT_FALSE(IsGood("\x00\x01x"s));
}

TEST(TagsTest, OnlyTheOneFormIsTaken) {
  EXPECT_FALSE(
      IsGood("\x01"
             "b"
             "\x00"
             "\x01"
             "a"
             "\x00"s));  // not sorted
  EXPECT_FALSE(
      IsGood("\x01"
             "a"
             "\x00"
             "\x01"
             "a"
             "\x00"s));  // twice
  EXPECT_FALSE(
      IsGood("\x81\x00"
             "a"
             "\x00"s));  // a padded length
  EXPECT_FALSE(
      IsGood("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
             "a"));  // a huge one
  EXPECT_FALSE(
      IsGood("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"
             "a"));  // above 64 bits
}

TEST(TagsTest, EveryTruncationIsRefusedButBetweenTags) {
  const std::string bytes = EncodeTags({{"role", "db"}, {"zone", "west"}}).value();
  const std::string first = EncodeTags({{"role", "db"}}).value();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(IsGood(std::string_view(bytes).substr(0, size)), size == 0 || size == first.size()) << size;
  }
}

TEST(TagsTest, WhatIsTakenIsWhatIsMade) {
  Random random(5);
  int good = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string bytes(random.Below(12), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Below(random.Below(3) == 0 ? 256 : 4));
    if (!IsGood(bytes)) continue;
    ++good;
    ASSERT_EQ(EncodeTags(DecodeTags(bytes).value()).value(), bytes);
  }
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace nekton
