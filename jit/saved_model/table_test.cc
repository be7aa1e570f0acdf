// Tests of the table reader: entries as a writer lays them out, and damage of every kind.
#include "jit/saved_model/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/saved_model/crc32c.h"
#include "jit/saved_model/table_writer.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::string TableOf(const std::string& entries, char compression = 0) {
  TableWriter file;
  std::string block = file.Add(entries, compression);
  return file.Finish("z", block);
}

std::string Message(const std::string& file) { return std::string(ReadTable(file).status().message()); }

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xe3069283u);
}

TEST(TableTest, ReadsPrefixCompressedEntries) {
  auto table = ReadTable(TableOf(TableEntry(0, "", "header") + TableEntry(0, "layer/a", "1") + TableEntry(6, "b", "")));
  ASSERT_TRUE(table.ok()) << table.status();
  std::map<std::string, std::string> want = {{"", "header"}, {"layer/a", "1"}, {"layer/b", ""}};
  EXPECT_EQ(*table, want);
}

TEST(TableTest, RefusesDamage) {
  std::string good = TableOf(TableEntry(0, "a", "1"));
  EXPECT_THAT(Message(good.substr(0, 20)), HasSubstr("shorter than its footer"));
  EXPECT_THAT(Message(good.substr(0, good.size() - 1)), HasSubstr("is not a table"));
  std::string flipped = good;
  flipped[3] ^= 1;
  EXPECT_THAT(Message(flipped), HasSubstr("checksum is wrong"));
  EXPECT_THAT(Message(TableOf(TableEntry(0, "a", "1"), 1)), HasSubstr("is compressed"));
  EXPECT_THAT(Message(TableOf(TableEntry(0, "b", "1") + TableEntry(0, "a", "1"))), HasSubstr("not in order"));
  EXPECT_THAT(Message(TableOf(TableEntry(3, "b", "1"))), HasSubstr("does not fit its block"));
  EXPECT_THAT(Message(TableOf(Varint(0) + Varint(1u << 30) + Varint(0))), HasSubstr("does not fit its block"));
  TableWriter far;
  EXPECT_THAT(Message(far.Finish("z", Varint(1u << 30) + Varint(8))), HasSubstr("does not fit the file"));
}

TEST(TableTest, EveryTruncationAndBitIsAnErrorOrTheSame) {
  std::string good = TableOf(TableEntry(0, "", "head") + TableEntry(0, "key", "value"));
  auto want = ReadTable(good);
  ASSERT_TRUE(want.ok());
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(ReadTable(good.substr(0, i)).ok());
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] ^= static_cast<char>(1 << bit);
      auto table = ReadTable(bad);  // unused bytes of the footer may change nothing
      if (table.ok()) {
        EXPECT_EQ(*table, *want) << "byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace xc
