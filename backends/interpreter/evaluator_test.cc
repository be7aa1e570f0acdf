// Modules made by hand through the evaluator: control flow, limits, in-place updates, single instructions.
#include "backends/interpreter/evaluator.h"

#include <gtest/gtest.h>

#include "hlo/builder/builder.h"

namespace xc {
namespace {

Literal Evaluate(HloBuilder& builder, Op root, std::vector<const Literal*> arguments = {},
                 EvaluatorOptions options = {}) {
  auto module = builder.Build(root);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  auto result = Evaluator(options).Evaluate(**module, arguments);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : Literal();
}

absl::Status Failure(HloBuilder& builder, Op root, EvaluatorOptions options = {}) {
  auto module = builder.Build(root);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return module.status();
  return Evaluator(options).Evaluate(**module, {}).status();
}

template <typename T>
std::vector<T> Values(const Literal& literal) {
  return {literal.data<T>().begin(), literal.data<T>().end()};
}

TEST(EvaluatorTest, ArithmeticBroadcastAndReduce) {
  HloBuilder b("m");
  Op x = b.R1<float>({1, 2, 3});
  Op grid = b.Broadcast(x, {2, 3}, {1});
  Op sum = b.Reduce(HloOpcode::kAdd, b.Mul(grid, grid), {1});
  EXPECT_EQ(Values<float>(Evaluate(b, sum)), (std::vector<float>{14, 14}));
}

TEST(EvaluatorTest, ArgumentsAreNotChanged) {
  HloBuilder b("m");
  Op x = b.Parameter(0, Shape(ElementType::kF32, {3}), "x");
  Op y = b.DynamicUpdateSlice(x, b.R1<float>({9}), {b.R0<int32_t>(1)});
  const Literal argument = Literal::FromValues<float>(Shape(ElementType::kF32, {3}), {1, 2, 3});
  EXPECT_EQ(Values<float>(Evaluate(b, y, {&argument})), (std::vector<float>{1, 9, 3}));
  EXPECT_EQ(Values<float>(argument), (std::vector<float>{1, 2, 3}));
}

// A loop that writes 0 … n-1 into a buffer, one element per step.
Op FillLoop(HloBuilder& b, int64_t n) {
  const Shape state = Shape::Tuple({Shape::Scalar(ElementType::kS32), Shape(ElementType::kF32, {n})});
  auto condition = b.SubBuilder("condition");
  Op s = condition->Parameter(0, state, "s");
  condition->Lt(condition->GetTupleElement(s, 0), condition->R0<int32_t>(static_cast<int32_t>(n)));
  auto body = b.SubBuilder("body");
  Op t = body->Parameter(0, state, "t");
  Op i = body->GetTupleElement(t, 0);
  Op value = body->Reshape(body->Convert(i, ElementType::kF32), {1});
  Op buffer = body->DynamicUpdateSlice(body->GetTupleElement(t, 1), value, {i});
  body->Tuple({body->Add(i, body->R0<int32_t>(1)), buffer});
  Op init = b.Tuple({b.R0<int32_t>(0), b.Full(ElementType::kF32, {n}, -1)});
  return b.GetTupleElement(b.While(*condition->BuildComputation(), *body->BuildComputation(), init), 1);
}

TEST(EvaluatorTest, WhileUpdatesItsBuffer) {
  HloBuilder b("m");
  const auto values = Values<float>(Evaluate(b, FillLoop(b, 1000)));
  ASSERT_EQ(values.size(), 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(values[i], i);
}

TEST(EvaluatorTest, MemoryLimit) {
  HloBuilder b("m");
  EvaluatorOptions options;
  options.max_bytes = 1000;
  const absl::Status status = Failure(b, b.Full(ElementType::kF32, {1000}, 0), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("needs 4000 bytes more than the 0 in use; the limit is 1000"), std::string::npos)
      << status;
}

TEST(EvaluatorTest, DeadlineAndCancellation) {
  EvaluatorOptions late;
  late.time_limit = absl::Nanoseconds(1);
  HloBuilder b("m");
  EXPECT_EQ(Failure(b, FillLoop(b, 1000), late).code(), absl::StatusCode::kDeadlineExceeded);
  std::atomic<bool> cancelled = true;
  EvaluatorOptions options;
  options.cancel = &cancelled;
  HloBuilder c("m");
  EXPECT_EQ(Failure(c, FillLoop(c, 1000), options).code(), absl::StatusCode::kCancelled);
}

TEST(EvaluatorTest, ElidedConstant) {
  HloBuilder b("m");
  Literal literal(Shape(ElementType::kF32, {2}));
  literal.set_elided(true);
  const absl::Status status = Failure(b, b.Neg(b.Constant(std::move(literal))));
  EXPECT_NE(status.message().find("its elements were left out of the text as {...}"), std::string::npos) << status;
}

TEST(EvaluatorTest, WrongArguments) {
  HloBuilder b("m");
  Op x = b.Parameter(0, Shape(ElementType::kF32, {3}), "x");
  auto module = b.Build(b.Neg(x));
  ASSERT_TRUE(module.ok());
  const Literal wrong(Shape(ElementType::kF32, {4}));
  EXPECT_NE(Evaluator().Evaluate(**module, {&wrong}).status().message().find("argument 0 is f32[4], the parameter is"),
            std::string::npos);
  EXPECT_NE(Evaluator().Evaluate(**module, {}).status().message().find("takes 1 arguments, 0 were given"),
            std::string::npos);
}

TEST(EvaluatorTest, MatrixProductRoundsOnce) {
  HloBuilder b("m");
  // 2^24 + 1 + … + 1 in f32 alone would lose the ones.
  std::vector<float> row(65, 1.0f);
  row[0] = 16777216.0f;
  Op x = b.Reshape(b.R1<float>(row), {1, 65});
  Op y = b.Reshape(b.R1<float>(std::vector<float>(65, 1.0f)), {65, 1});
  EXPECT_EQ(Values<float>(Evaluate(b, b.MatMul(x, y))), (std::vector<float>{16777280.0f}));
}

TEST(EvaluatorTest, InfeedAndOutfeed) {
  TransferQueue in, out;
  EvaluatorOptions options;
  options.infeed = &in;
  options.outfeed = &out;
  const float values[] = {1, 2};
  in.Push(std::string(reinterpret_cast<const char*>(values), sizeof(values)));
  HloModule module("m");
  HloComputation* entry = module.AddComputation("entry");
  const Shape shape(ElementType::kF32, {2});
  auto* token = entry->Add(HloOpcode::kAfterAll, Shape::Token(), {});
  auto* infeed = entry->Add(HloOpcode::kInfeed, Shape::Tuple({shape, Shape::Token()}), {token});
  auto* data = entry->Add(HloOpcode::kGetTupleElement, shape, {infeed});
  data->set_attr<AttrKind::kIndex>(0);
  auto* sent = entry->Add(HloOpcode::kNegate, shape, {data});
  entry->Add(HloOpcode::kOutfeed, Shape::Token(), {sent, token});
  entry->set_root(data);
  module.set_entry(entry);
  auto result = Evaluator(options).Evaluate(module, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values<float>(*result), (std::vector<float>{1, 2}));
  std::string bytes;
  ASSERT_TRUE(out.Pop(&bytes).ok());
  float got[2];
  ASSERT_EQ(bytes.size(), sizeof(got));
  std::memcpy(got, bytes.data(), sizeof(got));
  EXPECT_EQ(got[0], -1);
  EXPECT_EQ(got[1], -2);
  EXPECT_NE(Evaluator(options).Evaluate(module, {}).ok(), true);
}

}  // namespace
}  // namespace xc
