// Units, suggestions and standard input, as all commands have them.
#include <unistd.h>

#include "gtest/gtest.h"
#include "hlo/base/suggest.h"
#include "tools/flags.h"
#include "tools/stdin_file.h"
#include "tools/units.h"

namespace xc {
namespace {

TEST(UnitsTest, Bytes) {
  EXPECT_EQ(HumanBytes(1), "1 byte");
  EXPECT_EQ(HumanBytes(1023), "1023 bytes");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes((int64_t{1} << 20) - 1), "1.00 MiB");
  EXPECT_EQ(HumanBytes(int64_t{340} << 30), "340 GiB");
}

TEST(UnitsTest, Seconds) {
  EXPECT_EQ(HumanSeconds(0), "0.00 ns");
  EXPECT_EQ(HumanSeconds(12.34e-6), "12.3 µs");
  EXPECT_EQ(HumanSeconds(0.9996), "1.00 s");
  EXPECT_EQ(HumanSeconds(200), "3 min 20 s");
  EXPECT_EQ(HumanSeconds(7260), "2 h 1 min");
}

TEST(UnitsTest, Counts) {
  EXPECT_EQ(HumanCount(1, "output"), "1 output");
  EXPECT_EQ(HumanCount(1234567, "instruction"), "1,234,567 instructions");
  EXPECT_EQ(HumanCount(-1234, "byte"), "-1,234 bytes");
}

TEST(SuggestTest, FindsWhatIsMeant) {
  const std::vector<std::string> names = {"replay", "reduce", "threads", "memory_limit_mb"};
  EXPECT_EQ(Closest("repaly", names), "replay");
  EXPECT_EQ(Closest("thread", names), "threads");
  EXPECT_EQ(Closest("memory-limit-mb", names), "memory_limit_mb");
  EXPECT_EQ(Closest("xyzzy", names), "");
  EXPECT_EQ(Closest("", names), "");
}

TEST(FlagsTest, UnknownFlagsSuggestKnownOnes) {
  FlagSet flags("xla test", "");
  int64_t threads = 0;
  flags.Add("threads", &threads, "");
  EXPECT_EQ(flags.Parse({"--thread=2"}).message(),
            "unknown flag '--thread=2': --help lists those that there are; did you mean `--threads`?");
}

TEST(StdinTest, IsAFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  close(ends[1]);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  const absl::StatusOr<std::string> path = StdinFile();
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(NameStdin("cannot parse " + *path), "cannot parse standard input");
  EXPECT_EQ(*StdinFile(), *path);
  FILE* file = fopen(path->c_str(), "r");
  ASSERT_NE(file, nullptr);
  char text[8] = {};
  EXPECT_EQ(fread(text, 1, 7, file), 3u);
  EXPECT_STREQ(text, "abc");
  fclose(file);
}

}  // namespace
}  // namespace xc
