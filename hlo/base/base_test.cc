// What the check and status macros promise.
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "hlo/base/check.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/format.h"
#include "hlo/base/per_thread.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int n) {
  if (n % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(n / 2);
}

absl::StatusOr<int> Quarter(int n) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<int> half, Half(n));
  XC_ASSIGN_OR_RETURN(half, Half(*half));
  return *half;
}

absl::Status Both(int a, int b, int* calls) {
  auto check = [&](int n) {
    ++*calls;
    return Quarter(n).status();
  };
  XC_RETURN_IF_ERROR(check(a));
  XC_RETURN_IF_ERROR(check(b));
  return absl::OkStatus();
}

TEST(Status, AssignsOrReturns) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

TEST(Status, ReturnsTheFirstErrorAndEvaluatesOnce) {
  int calls = 0;
  EXPECT_EQ(Both(4, 3, &calls).message(), "odd");
  EXPECT_EQ(calls, 2);
  calls = 0;
  EXPECT_EQ(Both(5, 4, &calls).message(), "odd");
  EXPECT_EQ(calls, 1);
}

TEST(Exceptions, BecomeStatuses) {
  const auto fail = [](auto error) -> absl::StatusOr<int> {
    return CatchExceptions([&]() -> absl::StatusOr<int> { throw error; });
  };
  EXPECT_EQ(*CatchExceptions([] { return absl::StatusOr<int>(3); }), 3);
  EXPECT_EQ(fail(std::bad_alloc()).status(), absl::ResourceExhaustedError("out of memory"));
  EXPECT_EQ(fail(std::length_error("too long")).status(), absl::InternalError("unexpected exception: too long"));
  EXPECT_EQ(fail(1).status(), absl::InternalError("unexpected exception of an unknown type"));
}

TEST(Format, AsPrintfHasIt) {
  EXPECT_EQ(Format("%s has %d of %03d, %.2f%%", std::string("a"), 5, 7, 1.5), "a has 5 of 007, 1.50%");
  EXPECT_EQ(Format(""), "");
  EXPECT_EQ(Format("%s", std::string(5000, 'x')), std::string(5000, 'x'));
  std::string text = "a";
  AppendFormat(&text, "%c%s", 'b', "");
  EXPECT_EQ(text, "ab");
}

TEST(Check, PassesSilentlyAndSkipsTheMessage) {
  int evaluated = 0;
  XC_CHECK(evaluated == 0) << ++evaluated;
  XC_CHECK_EQ(std::string("a"), "a") << ++evaluated;
  XC_CHECK_LT(1, 2) << ++evaluated;
  XC_DCHECK(true) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

TEST(Check, WorksInUnbracedBranches) {
  if (true)
    XC_CHECK(true);
  else
    FAIL();
  if (false)
    XC_CHECK_EQ(1, 2);
  else
    SUCCEED();
}

TEST(CheckDeathTest, AbortsWithPlaceAndMessage) {
  EXPECT_DEATH(XC_CHECK(1 > 2) << "more " << 5, "base_test.cc:.*internal error, check failed: 1 > 2 more 5");
  EXPECT_DEATH(XC_CHECK_EQ(1 + 1, 3) << "sum", "check failed: .1 \\+ 1. == .3. sum");
}

struct Counted {
  static inline int live = 0;
  int value = 0;
  Counted() { ++live; }
  ~Counted() { --live; }
};

TEST(PerThread, HasOneObjectForEachThreadAndDeletesItAtTheEnd) {
  static PerThread<Counted> objects;
  objects.Get().value = 3;
  std::thread([&] {
    EXPECT_EQ(objects.Get().value, 0);
    EXPECT_EQ(objects.TryGet(), &objects.Get());
    EXPECT_EQ(Counted::live, 2);
  }).join();
  EXPECT_EQ(Counted::live, 1);
  EXPECT_EQ(objects.Get().value, 3);
}

}  // namespace
}  // namespace xc
