// Damaged MLIR bytecode is refused with a message or read as another program; what is read and valid prints as HLO text
// that reads back as the same.
#include <cstdlib>

#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "importers/stablehlo/stablehlo.h"
#include "tests/fuzz/mutants.h"
#include "tests/fuzz/open_size_seeds.h"

namespace xc {
namespace {

absl::StatusOr<std::unique_ptr<HloModule>> Read(const std::string& bytes) {
  const ParseOptions options = MutantOptions(1 << 20);
  return LooksLikeExportedStableHlo(bytes) ? ParseExportedStableHlo(bytes, options) : ParseStableHlo(bytes, options);
}

struct Counts {
  int64_t valid = 0, refused = 0;
};

void Check(const std::string& bytes, Counts* counts) {
  auto module = Read(bytes);
  if (!module.ok()) {
    ++counts->refused;
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_GT(module.status().message().size(), 10u);
    return;
  }
  if (!VerifyModule(**module).ok()) return;
  ++counts->valid;
  const std::string printed = PrintModule(**module);
  auto again = ParseModule(printed);
  ASSERT_TRUE(again.ok()) << again.status() << "\nprinted as:\n" << printed;
  const absl::Status equal = DeepEqual(**module, **again, {.config = false});
  EXPECT_TRUE(equal.ok()) << equal << "\nprinted as:\n" << printed;
}

TEST(BytecodeMutants, SeedsAreTheProgramsThatTheTextIs) {
  // By the number of the text; the last one is no text.
  const std::vector<int> texts = {0, 1, 1, 2, 2, 3};
  ASSERT_EQ(BytecodeSeeds().size(), texts.size() + 1);
  for (size_t i = 0; i < BytecodeSeeds().size(); ++i) {
    auto module = Read(BytecodeSeeds()[i]);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(VerifyModule(**module).ok()) << VerifyModule(**module);
    if (i == texts.size()) break;
    auto text = ParseStableHlo(StableHloSeeds()[texts[i]], MutantOptions(0));
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::Status equal = DeepEqual(**text, **module);
    EXPECT_TRUE(equal.ok()) << i << ": " << equal << "\nread as:\n" << PrintModule(**module);
  }
}

TEST(BytecodeMutants, BeginningsAreRefused) {
  for (const std::string& seed : BytecodeSeeds()) {
    Counts counts;
    for (size_t size = 0; size < seed.size(); ++size) Check(seed.substr(0, size), &counts);
    // Of an exported program, what follows the module is not needed to run it.
    EXPECT_GT(counts.refused, static_cast<int64_t>(seed.size() / 2));
  }
}

TEST(BytecodeMutants, EveryByteChanged) {
  Counts counts;
  for (const std::string& seed : BytecodeSeeds()) {
    for (size_t at = 0; at < seed.size(); ++at) {
      for (int change : {0x01, 0x02, 0x04, 0x10, 0x40, 0x80, 0xff}) {
        std::string bytes = seed;
        bytes[at] = static_cast<char>(bytes[at] ^ change);
        Check(bytes, &counts);
      }
    }
  }
  EXPECT_GT(counts.refused, 10'000);
  EXPECT_GT(counts.valid, 1'000);
}

// XC_MUTANTS says how many of each seed.
TEST(BytecodeMutants, BytesChangedRemovedAndRepeated) {
  const char* wanted = std::getenv("XC_MUTANTS");
  const int64_t mutants = wanted != nullptr ? std::atoll(wanted) : 4'000;
  Counts counts;
  for (size_t s = 0; s < BytecodeSeeds().size(); ++s) {
    Random random(s);
    for (int64_t n = 0; n < mutants; ++n) {
      std::string bytes = BytecodeSeeds()[s];
      for (int64_t edits = 1 + random.Below(4); edits > 0; --edits) {
        const int64_t at = random.Below(bytes.size());
        switch (random.Below(5)) {
          case 0:
            bytes[at] = static_cast<char>(random.Next());
            break;
          case 1:  // another number of one byte
            bytes[at] = static_cast<char>(2 * random.Below(40) + 1);
            break;
          case 2:
            bytes.erase(at, 1 + random.Below(4));
            break;
          case 3:  // a number as large as they come
            bytes.replace(at, 1, std::string(1, '\0') + std::string(8, static_cast<char>(random.Next())));
            break;
          default:
            bytes.insert(at, bytes.substr(random.Below(bytes.size()), 1 + random.Below(16)));
        }
        if (bytes.empty()) bytes = "x";
      }
      Check(bytes, &counts);
    }
  }
  EXPECT_GT(counts.refused, mutants);
}

}  // namespace
}  // namespace xc
