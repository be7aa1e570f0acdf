// The driver: order, dumps, stopping, disabling, errors that name the pass.
#include "compiler/driver.h"

#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/base/choices.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse() {
  auto module = ParseModule("HloModule m\nENTRY e {\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}\n");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

absl::StatusOr<bool> Nothing(HloModule*, PassContext& context) {
  context.Count("nothing");
  return false;
}
absl::StatusOr<bool> Wrap(HloModule* module, PassContext& context) {
  context.Count("wrap");
  HloComputation* e = module->entry();
  if (e->instruction_count() > 4) return false;
  e->set_root(e->Add(HloOpcode::kNegate, e->root()->shape(), {e->root()}));
  return true;
}
absl::StatusOr<bool> Fails(HloModule*, PassContext&) { return absl::UnimplementedError("no way"); }

TEST(Driver, GroupRunsUntilNothingChanges) {
  auto module = Parse();
  PassContext context;
  const PipelineRow rows[] = {
      {"p", "nothing", Nothing, 1, ""}, {"p", "wrap", Wrap, 1, ""}, {"p", "once", Nothing, 0, ""}};
  std::vector<std::string> dumps;
  DriverCallbacks callbacks;
  callbacks.dump = [&](int number, absl::string_view pass, const HloModule&) {
    dumps.push_back(absl::StrCat(number, " ", pass));
  };
  auto report = RunPipeline(module.get(), context, callbacks, rows);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(module->entry()->instruction_count(), 5);
  EXPECT_EQ(context.counters["wrap"], 4);
  EXPECT_EQ(context.counters["nothing"], 5);
  EXPECT_THAT(dumps, ::testing::ElementsAre("0 before", "2 wrap", "4 wrap", "6 wrap"));
  EXPECT_THAT(report->ToString(context), HasSubstr("wrap"));
}

TEST(Driver, StopsAfterAPassByNameOrNumber) {
  const PipelineRow rows[] = {{"p", "first", Wrap, 0, ""}, {"p", "second", Wrap, 0, ""}};
  for (const char* stop : {"first", "1"}) {
    auto module = Parse();
    PassContext context;
    context.options.stop_after = stop;
    ASSERT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
    EXPECT_EQ(context.counters["wrap"], 1) << stop;
  }
}

TEST(Driver, DisabledPassesDoNotRun) {
  const PipelineRow rows[] = {{"p", "first", Wrap, 0, ""}, {"p", "second", Fails, 0, ""}};
  auto module = Parse();
  PassContext context;
  context.options.disabled_passes = {"second"};
  EXPECT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
  context.options.disabled_passes = {"third"};
  EXPECT_THAT(std::string(RunPipeline(module.get(), context, {}, rows).status().message()),
              HasSubstr("there is no pass 'third' to disable"));
}

TEST(Driver, RowsRunForTargetsThatTheyAreMeantFor) {
  const PipelineRow rows[] = {{"p", "first", Wrap, 0, "", &TargetInfo::topk}, {"p", "second", Wrap, 0, ""}};
  auto module = Parse();
  PassContext context;
  context.target.topk = false;
  ASSERT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
  EXPECT_EQ(context.counters["wrap"], 1);
  context.target.passes = false;
  ASSERT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
  EXPECT_EQ(context.counters["wrap"], 1);
}

TEST(Driver, RequiredRowsRunWhateverIsLeftOut) {
  const PipelineRow rows[] = {
      {"p", "first", Wrap, 0, ""}, {"p", "second", Wrap, 0, ""}, {"p", "third", Wrap, 0, "", nullptr, true}};
  for (const bool required : {false, true}) {
    auto module = Parse();
    PassContext context;
    context.options.run_required = required;
    context.options.disabled_passes = {"all"};
    ASSERT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
    EXPECT_EQ(context.counters["wrap"], required ? 1 : 0);
    context.options.disabled_passes = {};
    context.options.stop_after = "first";
    ASSERT_TRUE(RunPipeline(module.get(), context, {}, rows).ok());
    EXPECT_EQ(context.counters["wrap"], required ? 3 : 1);
  }
}

// Adds one to a module of two instructions.
absl::StatusOr<bool> WrapSmall(HloModule* module, PassContext& context) {
  return module->entry()->instruction_count() > 2 ? Nothing(module, context) : Wrap(module, context);
}

TEST(Driver, WhatDidNothingForAProgramIsNotDoneForOthersOfItsForm) {
  const PipelineRow rows[] = {
      {"p", "idle", WrapSmall, 1, ""}, {"p", "wrap", Wrap, 1, ""}, {"p", "required", Nothing, 0, "", nullptr, true}};
  auto run = [&](HloModule* module, Choices* choices) {
    const ChoicesScope scope(choices);
    PassContext context;
    EXPECT_TRUE(RunPipeline(module, context, {}, rows).ok());
    return context.counters;
  };
  Choices choices;
  auto first = Parse();
  HloComputation* e = first->entry();
  e->set_root(e->Add(HloOpcode::kNegate, e->root()->shape(), {e->root()}));
  // Two rounds with a change by `wrap`, one without any; then the required row.
  auto counters = run(first.get(), &choices);
  EXPECT_EQ(counters["wrap"], 3);
  EXPECT_EQ(counters["nothing"], 4);
  choices.Replay();
  auto other = Parse();
  counters = run(other.get(), &choices);
  EXPECT_TRUE(choices.done());
  EXPECT_EQ(counters["wrap"], 2);
  EXPECT_EQ(counters["nothing"], 1) << "of the required row";
  EXPECT_EQ(other->entry()->instruction_count(), 4) << "`idle` would have added one";
}

TEST(Driver, ErrorsNameThePass) {
  const PipelineRow fails[] = {{"p", "first", Nothing, 0, ""}, {"p", "second", Fails, 0, ""}};
  auto module = Parse();
  PassContext context;
  const absl::Status status = RunPipeline(module.get(), context, {}, fails).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in pass 2 (second): no way"));

  const PipelineRow wraps[] = {{"p", "wrap", Wrap, 0, ""}};
  DriverCallbacks callbacks;
  callbacks.verify = [](const HloModule& m) {
    return m.entry()->instruction_count() > 2 ? absl::InvalidArgumentError("broken") : absl::OkStatus();
  };
  EXPECT_THAT(std::string(RunPipeline(module.get(), context, callbacks, wraps).status().message()),
              HasSubstr("after pass 1 (wrap): broken"));
}

// Adds a scalar to an array, which no rule allows, and takes that back or not.
template <bool kTakeBack>
absl::StatusOr<bool> AddMismatched(HloModule* module, PassContext&) {
  HloComputation* entry = module->entry();
  HloInstruction* scalar = make::Scalar(entry, ElementType::kF32, 1);
  HloInstruction* array = make::Full(entry, ElementType::kF32, {2}, 1);
  HloInstruction* sum = make::Binary(HloOpcode::kAdd, array, make::Compare(CompareDirection::kEq, scalar, scalar));
  if (kTakeBack) entry->Remove(sum);
  return true;
}

TEST(Driver, SuspectModulesAreVerified) {
  DriverCallbacks callbacks;
  callbacks.verify_all = false;
  callbacks.verify = [](const HloModule& m) { return VerifyModule(m); };
  PassContext context;
  auto module = Parse();
  const PipelineRow fails[] = {{"p", "mismatch", AddMismatched<false>, 0, ""}};
  EXPECT_THAT(std::string(RunPipeline(module.get(), context, callbacks, fails).status().message()),
              HasSubstr("after pass 1 (mismatch)"));
  module = Parse();
  const PipelineRow passes[] = {{"p", "mismatch", AddMismatched<true>, 0, ""}};
  EXPECT_TRUE(RunPipeline(module.get(), context, callbacks, passes).ok());
}

TEST(Driver, DeadlineIsKept) {
  const PipelineRow rows[] = {{"p", "first", Nothing, 0, ""}};
  auto module = Parse();
  PassContext context;
  context.options.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(RunPipeline(module.get(), context, {}, rows).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Pipeline, EveryRowHasAReasonAndItsOwnName) {
  for (const PipelineRow& row : Pipeline()) {
    EXPECT_GT(std::string(row.why).size(), 20u) << row.pass;
    EXPECT_EQ(FindPass(row.pass), &row);
  }
  EXPECT_EQ(FindPass("no such pass"), nullptr);
}

}  // namespace
}  // namespace xc
