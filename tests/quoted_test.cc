// Text of others, as messages show it.
#include "swim/quoted.h"

#include <string>

#include <gtest/gtest.h>

namespace nekton {
namespace {

TEST(Quoted, EscapesWhatCannotBePrinted) {
  EXPECT_EQ(Quoted("beta"), "\"beta\"");
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a\nb\"c\x1b"), "\"a\\nb\\\"c\\x1b\"");
}

TEST(Quoted, CutsWhatIsLongerThanAnythingLegal) {
  const std::string most(kQuotedMax, 'n');
  EXPECT_EQ(Quoted(most), "\"" + most + "\"");
  EXPECT_EQ(Quoted(most + "x"), "\"" + most + "\"... (301 bytes)");
  EXPECT_LT(Quoted(std::string(100'000, '\0')).size(), 2000u);
}

}  // namespace
}  // namespace nekton
