// What speaks for more code: its being among the first, code that is used, calls that have waited long enough.
#include "jit/launch/policy/code_worth.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

constexpr int64_t kFirst = 4;

// With the first codes, each of which took a millisecond.
void MakeFirst(CodeWorth* worth) {
  for (int i = 0; i < kFirst; ++i) {
    EXPECT_TRUE(worth->Pays(kFirst, 0, 1)) << i;
    worth->Begun();
    worth->Made(1'000'000);
  }
}

TEST(CodeWorth, TheFirstAreMadeForWhateverComes) {
  CodeWorth worth;
  MakeFirst(&worth);
  EXPECT_FALSE(worth.Pays(kFirst, 0, 1'000'000'000));
}

TEST(CodeWorth, CallsOnTheHostMustTakeAsLongAsMakingCode) {
  CodeWorth worth;
  MakeFirst(&worth);
  EXPECT_FALSE(worth.Pays(kFirst, 9, 100'000));
  EXPECT_TRUE(worth.Pays(kFirst, 10, 100'000));
  EXPECT_FALSE(worth.Pays(kFirst, 1, 999'999));
  EXPECT_TRUE(worth.Pays(kFirst, 1, INT64_MAX)) << "no overflow";
  EXPECT_TRUE(worth.Pays(kFirst, INT64_MAX, INT64_MAX));
  // Later code took longer.
  worth.Begun();
  worth.Made(6'000'000);
  EXPECT_FALSE(worth.Pays(kFirst, 19, 100'000));
  EXPECT_TRUE(worth.Pays(kFirst, 20, 100'000));
}

TEST(CodeWorth, CodeThatIsUsedSpeaksForMore) {
  CodeWorth worth;
  MakeFirst(&worth);
  for (int i = 1; i < kFirst; ++i) worth.Served();
  EXPECT_FALSE(worth.Pays(kFirst, 0, 0));
  worth.Served();
  EXPECT_TRUE(worth.Pays(kFirst, 0, 0));
  worth.Begun();
  EXPECT_FALSE(worth.Pays(kFirst, 0, 0)) << "one more code, which has to serve a call";
}

TEST(CodeWorth, NothingIsKnownWhileTheFirstAreBeingMade) {
  CodeWorth worth;
  for (int i = 0; i < kFirst; ++i) worth.Begun();
  EXPECT_FALSE(worth.Pays(kFirst, 1000, INT64_MAX));
}

}  // namespace
}  // namespace xc
