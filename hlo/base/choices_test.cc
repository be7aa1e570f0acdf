// What is taken down for one program and held to for others; what is given up where it does not fit them.
#include "hlo/base/choices.h"

#include <tuple>

#include "gtest/gtest.h"

namespace xc {
namespace {

// What succeeds of five attempts, as bits.
int AttemptsThatSucceed(Choices* choices, int possible) {
  const ChoicesScope scope(choices);
  Attempts attempts;
  int succeeded = 0;
  for (int n = 0; n < 5; ++n) {
    if (!attempts.Wanted(n)) continue;
    ChooseAny(n);  // belongs to the attempt
    const bool success = (possible >> n & 1) != 0;
    attempts.Attempted(success);
    succeeded |= static_cast<int>(success) << n;
  }
  attempts.Done();
  return succeeded;
}

TEST(Choices, AreTheSameForFurtherPrograms) {
  Choices choices;
  const ChoicesScope scope(&choices);
  const auto choose = [](int any, bool safe, bool chance) {
    const bool both[] = {ChooseSafe(safe), ChooseSafe(chance)};
    return std::tuple(both[0], both[1], ChooseAny(any));
  };
  EXPECT_EQ(choose(7, true, false), std::tuple(true, false, 7));
  choices.Replay();
  EXPECT_EQ(choose(9, true, true), std::tuple(true, false, 7));
  EXPECT_TRUE(choices.done());
}

// Programs that differ in more than numbers ask for other choices, and get none of them.
TEST(Choices, AreNotTakenForOthers) {
  Choices choices;
  const ChoicesScope scope(&choices);
  ChooseAny(1);
  choices.Replay();
  EXPECT_EQ(ChooseAny(2), 2);
  EXPECT_TRUE(choices.failed());
  EXPECT_FALSE(choices.may_give_up());
}

TEST(Choices, AreGivenUpWhereTheyAreWrong) {
  Choices choices;
  const auto choose = [&](bool natural) {
    const ChoicesScope scope(&choices);
    ChooseAny(3);
    return ChooseSafe(natural);
  };
  EXPECT_TRUE(choose(true));
  choices.Replay();
  choose(false);
  ASSERT_TRUE(choices.failed());
  ASSERT_TRUE(choices.may_give_up());
  choices.GiveUp();
  EXPECT_FALSE(choose(true));  // the first program again
  choices.Replay();
  EXPECT_FALSE(choose(false));
  EXPECT_TRUE(choices.done());
}

TEST(Choices, AnyValueIsNeverGivenUp) {
  Choices choices;
  choices.Replay();
  const ChoicesScope scope(&choices);
  ChooseAny(1);  // more than was taken down
  EXPECT_TRUE(choices.failed());
  EXPECT_FALSE(choices.may_give_up());
}

TEST(Attempts, AreMadeWhereTheySucceededFirst) {
  EXPECT_EQ(AttemptsThatSucceed(nullptr, 0b10110), 0b10110);
  Choices choices;
  EXPECT_EQ(AttemptsThatSucceed(&choices, 0b00110), 0b00110);
  choices.Replay();
  EXPECT_EQ(AttemptsThatSucceed(&choices, 0b11111), 0b00110);
  EXPECT_TRUE(choices.done());
}

TEST(Attempts, AreGivenUpWhereTheyDoNotSucceed) {
  Choices choices;
  EXPECT_EQ(AttemptsThatSucceed(&choices, 0b01110), 0b01110);
  choices.Replay();
  AttemptsThatSucceed(&choices, 0b11010);
  ASSERT_TRUE(choices.may_give_up());
  choices.GiveUp();
  EXPECT_EQ(AttemptsThatSucceed(&choices, 0b01110), 0b01010);
  choices.Replay();
  EXPECT_EQ(AttemptsThatSucceed(&choices, 0b11010), 0b01010);
  EXPECT_TRUE(choices.done());
}

// An attempt that changes something without success is made again, and must not succeed.
TEST(Attempts, LeaveTraces) {
  Choices choices;
  const auto attempt = [&](bool succeeds) {
    const ChoicesScope scope(&choices);
    Attempts attempts;
    const bool wanted = attempts.Wanted(0);
    if (wanted) attempts.Attempted(succeeds, /*left_trace=*/true);
    attempts.Done();
    return wanted;
  };
  EXPECT_TRUE(attempt(false));
  choices.Replay();
  EXPECT_TRUE(attempt(false));
  EXPECT_TRUE(choices.done());
  choices.Replay();
  EXPECT_TRUE(attempt(true));
  ASSERT_TRUE(choices.may_give_up());
  choices.GiveUp();
  EXPECT_FALSE(attempt(false));
}

}  // namespace
}  // namespace xc
