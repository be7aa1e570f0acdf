// Tables of numbers: what is read back is what was written, in less space where columns follow from each other.
#include "backends/loader/number_rows.h"

#include <random>

#include "gtest/gtest.h"

namespace xc {
namespace {

using Rows = std::vector<std::vector<int64_t>>;

std::string Written(const NumberRows& rows) {
  FileWriter out;
  rows.Write(&out);
  return out.bytes();
}

// How many bytes the rows take; they must come back.
size_t Check(const Rows& rows, int64_t keys) {
  const std::string bytes = Written(NumberRows(rows, keys));
  FileReader in(bytes);
  const absl::StatusOr<NumberRows> read = NumberRows::Read(&in);
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok()) return 0;
  EXPECT_TRUE(in.empty());
  EXPECT_EQ(read->rows(), static_cast<int64_t>(rows.size()));
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto number = static_cast<int64_t>(r);
    EXPECT_EQ(read->Row(number), rows[r]);
    for (int64_t k = 0; k < keys; ++k) EXPECT_EQ(read->Key(number, k), rows[r][k]);
  }
  return bytes.size();
}

TEST(NumberRowsTest, KeepsAnyNumbers) {
  Check({{}}, 0);
  Check({{1, 2, 3}}, 3);
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const size_t count = 1 + random() % 9, length = 1 + random() % 6;
    Rows rows(count);
    static constexpr int64_t kNumbers[] = {0, 1, -1, 2, INT64_MAX, INT64_MIN, INT64_MAX - 1, 255, 256, -256};
    for (auto& row : rows) {
      for (size_t c = 0; c < length; ++c) {
        row.push_back(random() % 3 == 0 ? static_cast<int64_t>(random()) : kNumbers[random() % 10]);
      }
    }
    Check(rows, static_cast<int64_t>(random() % (length + 1)));
  }
}

// 4,096 rows of 100 numbers that follow from two sizes in the usual ways take little more than the sizes.
TEST(NumberRowsTest, WhatFollowsTakesNoSpace) {
  Rows rows;
  for (int64_t a = 1; a <= 64; ++a) {
    for (int64_t b = 1; b <= 64; ++b) {
      std::vector<int64_t> row = {a, 7, b, b};
      for (int64_t c = 0; c < 16; ++c) {
        row.insert(row.end(), {c, a * c + 3, 4 * a * b * c, a * a - c, 100 - b * b * a, a * c + ((b * c) << 32)});
      }
      rows.push_back(row);
    }
  }
  // The sums of a and b are stored, once for each of them.
  EXPECT_LT(Check(rows, 4), 4096u * (2 + 15 * 5) + 8192);
  for (auto& row : rows) {
    for (size_t c = 9; c < row.size(); c += 6) row[c] = 0;
  }
  EXPECT_LT(Check(rows, 4), 4096u * 2 + 8192);
}

TEST(NumberRowsTest, NonsenseIsRefusedOrHarmless) {
  const std::string bytes = Written(NumberRows(Rows{{1, 2, 3, 9}, {2, 2, 5, 8}, {3, 2, 1, 7}}, 2));
  std::mt19937_64 random(2);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string wrong = bytes;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % wrong.size();
      wrong[at] = static_cast<char>(random() % 2 == 0 ? random() : random() % 4);
    }
    FileReader in(wrong);
    const absl::StatusOr<NumberRows> rows = NumberRows::Read(&in);
    if (!rows.ok()) continue;
    ++read;
    for (int64_t r = 0; r < std::min<int64_t>(rows->rows(), 4); ++r) (void)rows->Row(r);
  }
  EXPECT_GT(read, 0);
}

// A count that is larger by as much as it takes itself.
TEST(NumberRowsTest, CountsEndWhereTheBytesDo) {
  FileWriter out;
  out.Number(1);
  EXPECT_FALSE(FileReader(out.bytes()).Text().ok());
  EXPECT_FALSE(FileReader(out.bytes()).Numbers().ok());
  EXPECT_FALSE(FileReader(out.bytes()).Count(1).ok());
  out.Number(7);
  EXPECT_EQ(*FileReader(out.bytes()).Numbers(7, "a number"), std::vector<int64_t>{7});
  EXPECT_FALSE(FileReader(out.bytes()).Numbers(6, "a number").ok());
}

}  // namespace
}  // namespace xc
