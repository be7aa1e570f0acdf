// Which call gets code, when it is made, and when the host is asked instead; with a compiler, a clock and results that
// are fakes.
#include <gmock/gmock.h>
#include <malloc.h>

#include "jit/launch/launcher_testing.h"

namespace xc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// The same, with the shape of x by value.
const std::string kReshape =
    Port("x", "_Arg", "DT_FLOAT", 0) + Port("n", "_Arg", "DT_INT32", 1) +
    "node { name: 'shaped' op: 'Reshape' input: 'x' input: 'n' " + kFloat +
    "attr { key: 'Tshape' value { type: DT_INT32 } } } node { name: 's' op: 'AddV2' input: 'shaped' input: 'shaped' " +
    kFloat + "} " + Port("r0", "_Retval", "DT_FLOAT", 0, "s");
// A gather, whose indices may be wrong.
const std::string kGather =
    Port("x", "_Arg", "DT_FLOAT", 0) + Port("i", "_Arg", "DT_INT32", 1) +
    "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { "
    "tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } } "
    "node { name: 'g' op: 'GatherV2' input: 'x' input: 'i' input: 'axis' attr { key: 'Tparams' value { type: DT_FLOAT "
    "} } attr { key: 'Tindices' value { type: DT_INT32 } } attr { key: 'Taxis' value { type: DT_INT32 } } } " +
    Port("r0", "_Retval", "DT_FLOAT", 0, "g");
// No lowering is given the shapes that it needs.
const std::string kMismatch = Port("x", "_Arg", "DT_FLOAT", 0) + Port("y", "_Arg", "DT_FLOAT", 1) +
                              "node { name: 's' op: 'AddV2' input: 'x' input: 'y' " + kFloat + "} " +
                              Port("r0", "_Retval", "DT_FLOAT", 0, "s");

TEST_F(LauncherTest, CodeIsMadeOncePerSignature) {
  Make(kDouble);
  for (int64_t size : {3, 3, 4, 3}) EXPECT_EQ(Launch(size), Outcome::kRan);
  EXPECT_EQ(results_->forwarded, (std::map<int, int>{{1, 0}}));
  EXPECT_EQ(results_->shared, (std::map<int, int>{{2, 0}}));
  EXPECT_EQ(compiler_->compiled, 2);
  EXPECT_EQ(compiling_, 2);
  EXPECT_EQ(counters_.compilations, 2);
  EXPECT_EQ(counters_.compile_ns, 2'000'000);
  EXPECT_EQ(counters_.hits, 2);
  EXPECT_EQ(counters_.launches, 4);
  EXPECT_EQ(counters_.arguments, 4);
  EXPECT_EQ(counters_.compiled_ns, 1300);
  EXPECT_EQ(counters_.launch_ns, 2'001'300);
  EXPECT_EQ(counters_.fallbacks, 0);
  EXPECT_THAT(States(), ElementsAre(Pair("float32[3]", "compiled"), Pair("float32[4]", "compiled")));
  EXPECT_EQ(launcher_->Report()[0].runs, 3);
  EXPECT_EQ(launcher_->Report()[0].best_ns, 300);
}

TEST_F(LauncherTest, TheNumberOfArgumentsIsChecked) {
  Make(kReshape);
  EXPECT_EQ(Launch(3), Outcome::kFailed);
  EXPECT_THAT(std::string(status_.message()), HasSubstr("takes 2 arguments, got 1"));
}

TEST_F(LauncherTest, LazilyCallsGoToTheHostFirst) {
  policy_.when = CompileWhen::kLazy;
  Make(kDouble);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Launch(3), Outcome::kNotYet);
  EXPECT_EQ(compiler_->compiled, 0);
  EXPECT_EQ(Launch(3), Outcome::kRan);
  EXPECT_EQ(Launch(4), Outcome::kNotYet);
  EXPECT_EQ(counters_.deferred, 4);
  EXPECT_EQ(counters_.fallbacks, 4);
}

TEST_F(LauncherTest, InTheBackgroundNoCallWaits) {
  policy_.when = CompileWhen::kBackground;
  Make(kDouble);
  EXPECT_EQ(Launch(3), Outcome::kNotYet);
  EXPECT_EQ(Launch(3), Outcome::kNotYet);
  EXPECT_EQ(tasks_.size(), 1);
  EXPECT_THAT(States(), ElementsAre(Pair("float32[3]", "not compiled yet")));
  RunTasks();
  EXPECT_EQ(Launch(3), Outcome::kRan);
  EXPECT_EQ(compiler_->compiled, 1);
  EXPECT_EQ(counters_.deferred, 2);
}

TEST_F(LauncherTest, AFullQueueIsAskedAgain) {
  policy_.when = CompileWhen::kBackground;
  Make(kDouble);
  full_ = true;
  EXPECT_EQ(Launch(3), Outcome::kNotYet);
  full_ = false;
  EXPECT_EQ(Launch(3), Outcome::kNotYet);
  RunTasks();
  EXPECT_EQ(Launch(3), Outcome::kRan);
}

TEST_F(LauncherTest, WithoutAThreadTheCallCompiles) {
  policy_.when = CompileWhen::kBackground;
  Make(kDouble, /*with_background=*/false);
  EXPECT_EQ(Launch(3), Outcome::kRan);
}

TEST_F(LauncherTest, SignaturesThatComeOnceGetNoCodeWhereCodeHasServedNobody) {
  policy_.when = CompileWhen::kBackground;
  policy_.batch_buckets = false;
  Make(kDouble);
  auto call = [&](int64_t size, int64_t host_ns = 1) {
    const Outcome outcome = LaunchOrHost(size, host_ns);
    RunTasks();
    return outcome;
  };
  for (int64_t size = 1; size <= 11; ++size) EXPECT_EQ(call(size), Outcome::kNotYet);
  EXPECT_EQ(compiler_->compiled, 4);
  // Nor do those that come more often, while the host's kernels have taken less for them than compiling would.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(11), Outcome::kNotYet);
  EXPECT_EQ(compiler_->compiled, 4);
  EXPECT_EQ(call(12, 1'000'000), Outcome::kNotYet);
  EXPECT_EQ(call(12, 1'000'000), Outcome::kNotYet)
      << "the second call asks for code, the first took as long as compiling does";
  EXPECT_EQ(compiler_->compiled, 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(12), Outcome::kRan);
  EXPECT_EQ(call(20), Outcome::kNotYet);
  EXPECT_EQ(call(20), Outcome::kRan) << "code that is used speaks for more of it";
}

TEST_F(LauncherTest, FurtherSignaturesFallBack) {
  policy_.max_signatures = 2;
  policy_.batch_buckets = false;
  Make(kDouble);
  for (int64_t size : {1, 2}) EXPECT_EQ(Launch(size), Outcome::kRan);
  EXPECT_EQ(launcher_->LimitReached(), "");
  for (int64_t size : {3, 3, 4}) EXPECT_EQ(Launch(size), Outcome::kFallsBack);
  EXPECT_EQ(Launch(1), Outcome::kRan);
  EXPECT_THAT(too_many_, ElementsAre(2, 2));
  EXPECT_EQ(launcher_->LimitReached(), "compiled for 2 signatures already");
  EXPECT_EQ(States()["float32[3]"], "compiled for 2 signatures already");
  EXPECT_EQ(counters_.unprofitable, 3);
  EXPECT_EQ(counters_.failures, 0);
  // The host may have no other way.
  EXPECT_EQ(Launch(3, {}, /*required=*/true), Outcome::kRan);
  EXPECT_EQ(Launch(5, {}, /*required=*/true), Outcome::kRan);
}

TEST_F(LauncherTest, CodeThatIsUsedGetsMoreSignatures) {
  policy_.max_signatures = 2;
  policy_.runs_for_more = 3;
  policy_.batch_buckets = false;
  Make(kDouble);
  for (int64_t size : {1, 2, 1, 2, 1}) EXPECT_EQ(Launch(size), Outcome::kRan);
  EXPECT_EQ(Launch(3), Outcome::kFallsBack) << "5 calls of 2 codes";
  EXPECT_EQ(Launch(1), Outcome::kRan);
  EXPECT_EQ(Launch(4), Outcome::kRan);
  EXPECT_EQ(Launch(5), Outcome::kFallsBack) << "7 calls of 3 codes";
}

TEST_F(LauncherTest, CodeThatIsRequiredIsForgottenAndNotRefused) {
  Make(kDouble);
  policy_.batch_buckets = false;
  for (int64_t size = 1; size <= 600; ++size) EXPECT_EQ(Launch(size, {}, /*required=*/true), Outcome::kRan);
  EXPECT_EQ(launcher_->Report().size(), 600 - 2 * 256);
}

// Calls of ever other shapes: what is remembered, and what memory that takes, has an end.
TEST_F(LauncherTest, AMillionShapesTakeBoundedMemory) {
  policy_.when = CompileWhen::kBackground;
  Make(kDouble);
  FakeResults results(false);
  const auto call = [&](std::vector<int64_t> dims) {
    auto ran = launcher_->Run({{{DT_FLOAT, dims, nullptr, 0}}, policy_, results, RunOptions()});
    ASSERT_TRUE(ran.ok()) << ran.status();
    ASSERT_NE(ran->outcome, Outcome::kRan);
    if (ran->entry != nullptr) launcher_->HostRan(*ran->entry, 100, policy_);
    full_ = tasks_.size() >= 100;
  };
  size_t first = 0;
  for (int64_t i = 0; i < 1'000'000; ++i) {
    call({2 + i % 100, 2 + i / 100 % 100, 2 + i / 10'000});
    if (i == 50'000) first = mallinfo2().uordblks;
  }
  EXPECT_LE(launcher_->Report().size(), 2048);
  EXPECT_LT(mallinfo2().uordblks, first + (1 << 20));
  // What came last is known, what came first is not.
  const auto states = States();
  EXPECT_EQ(states.count("float32[101,101,101]"), 1);
  EXPECT_EQ(states.count("float32[50,3,2]"), 0);
}

TEST_F(LauncherTest, CodeThatIsCalledIsNotForgotten) {
  Make(kDouble);
  policy_.batch_buckets = false;
  policy_.max_signatures = 2;
  EXPECT_EQ(Launch(1), Outcome::kRan);
  EXPECT_EQ(Launch(2), Outcome::kRan);
  for (int64_t size = 3; size <= 2000; ++size) {
    ASSERT_EQ(Launch(1), Outcome::kRan);
    ASSERT_EQ(Launch(size), Outcome::kFallsBack) << size;
  }
  EXPECT_EQ(compiler_->compiled, 2);
  for (int64_t size = 2001; size <= 2100; ++size) Launch(size);
  EXPECT_EQ(compiler_->compiled, 3) << "code that was forgotten makes room for other code";
  EXPECT_EQ(Launch(1), Outcome::kRan);
  EXPECT_EQ(compiler_->compiled, 3);
  EXPECT_EQ(Launch(2), Outcome::kFallsBack);
}

TEST_F(LauncherTest, ValuesThatMustBeConstantJoinTheSignature) {
  Make(kReshape);
  EXPECT_EQ(Launch(6, {{2, 3}}), Outcome::kRan);
  EXPECT_EQ(Launch(6, {{2, 3}}), Outcome::kRan);
  EXPECT_EQ(Launch(6, {{3, 2}}), Outcome::kRan);
  EXPECT_EQ(compiler_->compiled, 2);
  EXPECT_EQ(counters_.failures, 0);
  EXPECT_EQ(States().size(), 2) << "what was found before is outdated";
  EXPECT_EQ(Launch(6, {{4, 2}}), Outcome::kFallsBack);
  EXPECT_THAT(launcher_->WhyFallsBack(*last_.entry).why.ToString(), HasSubstr("cannot reshape"));
  EXPECT_EQ(counters_.failures, 1);
}

TEST_F(LauncherTest, ValuesJoinTheSignatureInTheBackground) {
  policy_.when = CompileWhen::kBackground;
  Make(kReshape);
  EXPECT_EQ(Launch(6, {{2, 3}}), Outcome::kNotYet);
  EXPECT_EQ(Launch(6, {{3, 2}}), Outcome::kNotYet);
  const auto before = last_.entry;
  RunTasks();
  launcher_->HostRan(*before, 1, policy_);  // a call that began with the old signature
  EXPECT_EQ(Launch(6, {{2, 3}}), Outcome::kNotYet);
  RunTasks();
  EXPECT_EQ(Launch(6, {{2, 3}}), Outcome::kRan);
}

TEST_F(LauncherTest, DataDoesNotJoinTheSignature) {
  Make(kReshape);
  std::vector<int32_t> many(1025, 1);
  EXPECT_EQ(Launch(1, {many}), Outcome::kFallsBack);
  EXPECT_THAT(fell_back_, ElementsAre("shaped: the value of argument 1 (int32[1025]) would have to be known while "
                                      "compiling"));
  const Launcher::Reason reason = launcher_->WhyFallsBack(*last_.entry);
  EXPECT_EQ(reason.failed_node, "shaped");
  EXPECT_EQ(reason.why.code(), absl::StatusCode::kUnimplemented);
  // Small values do, and then large ones are too large.
  EXPECT_EQ(Launch(1, {{1}}), Outcome::kRan);
  EXPECT_EQ(Launch(1, {std::vector<int32_t>(20'000, 1)}), Outcome::kFallsBack);
  EXPECT_EQ(last_.entry, nullptr);
  EXPECT_THAT(last_.why.ToString(), HasSubstr("must be constant is too large"));
}

TEST_F(LauncherTest, WhatDoesNotCompileFallsBackWithTheReason) {
  Make(kMismatch);
  integer_type_ = DT_FLOAT;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Launch(3, {{1, 1}}), Outcome::kFallsBack);
  EXPECT_EQ(compiling_, 1);
  EXPECT_EQ(counters_.failures, 1);
  EXPECT_EQ(counters_.unprofitable, 0);
  ASSERT_EQ(fell_back_.size(), 1);
  EXPECT_THAT(fell_back_[0], HasSubstr("do not broadcast"));
  EXPECT_THAT(States()["float32[3], float32[2]"], HasSubstr("do not broadcast"));
  EXPECT_EQ(Launch(3, {{1, 1}}, /*required=*/true), Outcome::kFallsBack);
}

TEST_F(LauncherTest, AFailingCheckShowsNothing) {
  Make(kGather);
  EXPECT_EQ(Launch(3, {{0, 1, 2}}), Outcome::kRan);
  EXPECT_TRUE(results_->committed);
  behaviour_.check_fails = true;
  EXPECT_EQ(Launch(3, {{0, 1, 2}}), Outcome::kCheckFailed);
  EXPECT_EQ(last_.entry, nullptr);
  behaviour_.check_fails = false;
  EXPECT_EQ(Launch(3, {{0, 1, 2}}), Outcome::kRan);
}

TEST_F(LauncherTest, ErrorsOfCodeAreTheCallsUnlessResultsCanBeDropped) {
  Make(kDouble);
  behaviour_.error = absl::InternalError("no luck");
  EXPECT_EQ(Launch(3), Outcome::kFailed);
  EXPECT_EQ(status_, behaviour_.error);
  discards_ = true;
  EXPECT_EQ(Launch(3), Outcome::kFailed);
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(last_.why, behaviour_.error);
  behaviour_.error = absl::OkStatus();
  EXPECT_EQ(Launch(3), Outcome::kRan);
}

}  // namespace
}  // namespace xc
