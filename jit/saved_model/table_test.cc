// Tests of the table reader: entries as a writer lays them out, and damage of every kind.
#include "jit/saved_model/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "jit/saved_model/crc32c.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::string Varint(uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7) out.push_back(static_cast<char>(v | 128));
  out.push_back(static_cast<char>(v));
  return out;
}

template <typename T>
std::string Fixed(T v) {
  return std::string(reinterpret_cast<const char*>(&v), sizeof(v));
}

std::string Entry(int shared, const std::string& rest, const std::string& value) {
  return Varint(shared) + Varint(rest.size()) + Varint(value.size()) + rest + value;
}

// A table of one block of entries, as a writer would lay it out.
struct File {
  std::string bytes;

  std::string Add(std::string entries, char compression = 0) {
    std::string block = entries + Fixed<uint32_t>(0) + Fixed<uint32_t>(1);
    std::string handle = Varint(bytes.size()) + Varint(block.size());
    block.push_back(compression);
    bytes += block + Fixed<uint32_t>(MaskedCrc32c(Crc32c(block)));
    return handle;
  }
  std::string Finish(const std::string& last_key, const std::string& block) {
    std::string meta = Add("");
    std::string index = Add(Entry(0, last_key, block));
    std::string footer = meta + index;
    footer.resize(40);
    return bytes + footer + Fixed<uint64_t>(0xdb4775248b80fb57u);
  }
};

std::string TableOf(const std::string& entries, char compression = 0) {
  File file;
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
  auto table = ReadTable(TableOf(Entry(0, "", "header") + Entry(0, "layer/a", "1") + Entry(6, "b", "")));
  ASSERT_TRUE(table.ok()) << table.status();
  std::map<std::string, std::string> want = {{"", "header"}, {"layer/a", "1"}, {"layer/b", ""}};
  EXPECT_EQ(*table, want);
}

TEST(TableTest, RefusesDamage) {
  std::string good = TableOf(Entry(0, "a", "1"));
  EXPECT_THAT(Message(good.substr(0, 20)), HasSubstr("shorter than its footer"));
  EXPECT_THAT(Message(good.substr(0, good.size() - 1)), HasSubstr("is not a table"));
  std::string flipped = good;
  flipped[3] ^= 1;
  EXPECT_THAT(Message(flipped), HasSubstr("checksum is wrong"));
  EXPECT_THAT(Message(TableOf(Entry(0, "a", "1"), 1)), HasSubstr("is compressed"));
  EXPECT_THAT(Message(TableOf(Entry(0, "b", "1") + Entry(0, "a", "1"))), HasSubstr("not in order"));
  EXPECT_THAT(Message(TableOf(Entry(3, "b", "1"))), HasSubstr("does not fit its block"));
  EXPECT_THAT(Message(TableOf(Varint(0) + Varint(1u << 30) + Varint(0))), HasSubstr("does not fit its block"));
  File far;
  EXPECT_THAT(Message(far.Finish("z", Varint(1u << 30) + Varint(8))), HasSubstr("does not fit the file"));
}

TEST(TableTest, EveryTruncationAndBitIsAnErrorOrTheSame) {
  std::string good = TableOf(Entry(0, "", "head") + Entry(0, "key", "value"));
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
