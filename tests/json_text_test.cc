// JSON, written piece by piece, read by another library.
#include "swim/json_text.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nekton {
namespace {

using Json = nlohmann::json;

TEST(JsonTextTest, ObjectsKeepTheirOrderAndTypes) {
  JsonObject inner;
  inner.AddBool("yes", true);
  JsonObject object;
  EXPECT_EQ(object.Done(), "{}");
  object.AddText("name", "a \"quoted\" \\ name");
  object.AddNumber("most", ~std::uint64_t{0});
  object.Add("inner", inner.Done());
  object.Add("list", JsonArray(std::vector<int>{1, 2, 3}, [](int i) { return std::to_string(i); }));
  object.Add("empty", JsonArray(std::vector<int>{}, [](int) { return std::string(); }));
  EXPECT_EQ(object.Done(), R"({"name":"a \"quoted\" \\ name","most":18446744073709551615,"inner":{"yes":true},)"
                           R"("list":[1,2,3],"empty":[]})");
}

TEST(JsonTextTest, EveryByteComesOutReadable) {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x61, 0x80, 0xbf, 0xc3, 0xff}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const Json parsed = Json::parse(JsonText(text), nullptr, false);
      ASSERT_FALSE(parsed.is_discarded()) << first << ' ' << second;
      if (first < 0x80 && second < 0x80) {
        EXPECT_EQ(parsed.get<std::string>(), text);
      }
    }
  }
  EXPECT_EQ(JsonText("\xff"), "\"\\ufffd\"");
  EXPECT_EQ(JsonText("\xc3\xa4"), "\"\xc3\xa4\"");
}

TEST(JsonTextTest, SecondsHaveNineDecimalsAndASign) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(JsonSeconds(nanoseconds(0)), "0.000000000");
  EXPECT_EQ(JsonSeconds(nanoseconds(1'500'000'001)), "1.500000001");
  EXPECT_EQ(JsonSeconds(nanoseconds(-1)), "-0.000000001");
  EXPECT_EQ(JsonSeconds(Duration::min()), "-9223372036.854775808");
}

TEST(JsonTextTest, RealsReadBackAsTheSame) {
  EXPECT_EQ(JsonReal(0), "0");
  EXPECT_EQ(JsonReal(0.1), "0.1");
  EXPECT_EQ(JsonReal(-2.5), "-2.5");
  for (const double value : {1.0 / 3, 8.000000000000002, 5e-324, 1.7976931348623157e308, 1e22, 123456.789}) {
    EXPECT_EQ(Json::parse(JsonReal(value)).get<double>(), value) << JsonReal(value);
  }
}

}  // namespace
}  // namespace nekton
