// JSON as we write it.
#include "hlo/base/json.h"

#include <cmath>

#include "gtest/gtest.h"

namespace xc {
namespace {

TEST(JsonTest, TextIsQuotedAndUtf8) {
  EXPECT_EQ(JsonText("a\"b\\c\n\t\x01"), "\"a\\\"b\\\\c\\n\\t\\u0001\"");
  EXPECT_EQ(JsonText("µ … 😀"), "\"µ … 😀\"");
  EXPECT_EQ(JsonText("\xff"
                     "a\xc3"),
            "\"\\ufffda\\ufffd\"");
  EXPECT_EQ(JsonText("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // a surrogate
}

TEST(JsonTest, NumbersThatJsonDoesNotHaveAreNull) {
  EXPECT_EQ(JsonNumber(0.25), "0.25");
  EXPECT_EQ(JsonNumber(std::nan("")), "null");
  EXPECT_EQ(JsonNumber(-HUGE_VAL), "null");
}

TEST(JsonTest, ObjectsAndLists) {
  JsonList list;
  list.Add(JsonObject().Add("n", int64_t{3}).Add("ok", true).ToString());
  list.Add("[]");
  EXPECT_EQ(JsonObject().Add("name", "x").AddJson("list", list.ToString()).ToString(),
            "{\"name\": \"x\", \"list\": [{\"n\": 3, \"ok\": true}, []]}");
}

}  // namespace
}  // namespace xc
