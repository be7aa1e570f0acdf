// The builder: inferred shapes, sticky errors, standard computations, constants at the ends of each type's range.
#include "hlo/builder/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace xc {
namespace {

using ::testing::HasSubstr;
using E = ElementType;

Shape F32(std::vector<int64_t> dims) { return Shape(E::kF32, std::move(dims)); }

TEST(Builder, InfersShapesAndBuildsAModule) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({2, 3}), "x");
  Op y = b.Parameter(1, F32({3, 4}), "y");
  Op z = b.Tanh(b.Add(b.MatMul(x, y), b.Scalar(E::kF32, 1)));
  EXPECT_EQ(z.shape().ToString(), "f32[2,4]");
  Op sum = b.Reduce(HloOpcode::kAdd, z, {1});
  EXPECT_EQ(sum.shape().ToString(), "f32[2]");
  auto module = b.Build(b.Tuple({z, sum}));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->entry()->root()->shape().ToString(), "(f32[2,4], f32[2])");
  EXPECT_EQ((*module)->computations().size(), 2);
}

TEST(Builder, FirstErrorSticks) {
  HloBuilder b("m");
  Metadata metadata;
  metadata.op_type = "MatMul";
  metadata.op_name = "layer/product";
  b.SetMetadata(metadata);
  Op x = b.Parameter(0, F32({2, 3}), "x");
  Op bad = b.Add(x, b.Parameter(1, F32({3, 2}), "y"));
  EXPECT_FALSE(bad);
  EXPECT_FALSE(b.ok());
  Op worse = b.Transpose(b.Mul(bad, x), {0, 0});
  EXPECT_FALSE(worse);
  auto module = b.Build(worse);
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr("add: operand 0 is f32[2,3] and operand 1 is f32[3,2]; both should have the same dimensions "
                        "(while lowering MatMul layer/product)"));
}

TEST(Builder, SubBuildersShareErrorsAndComputations) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({8}), "x");
  auto cond = b.SubBuilder("cond");
  cond->Compare(CompareDirection::kLt, cond->Parameter(0, Shape::Scalar(E::kS32), "i"), cond->ScalarInt(E::kS32, 3));
  auto body = b.SubBuilder("body");
  body->Add(body->Parameter(0, Shape::Scalar(E::kS32), "i"), body->One(E::kS32));
  Op loop = b.While(cond->Finish(), body->Finish(), b.Zero(E::kS32));
  EXPECT_EQ(loop.shape().ToString(), "s32[]");
  EXPECT_EQ(b.ScalarComputation(HloOpcode::kAdd, E::kF32), b.ScalarComputation(HloOpcode::kAdd, E::kF32));
  Op wrong = b.Reduce(x, b.Zero(E::kF64), b.ScalarComputation(HloOpcode::kAdd, E::kF32), {0});
  EXPECT_FALSE(wrong);
  EXPECT_FALSE(cond->ok());
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("reduce: initial value 0 is f64[], should be f32[]"));
}

TEST(Builder, RefusesValuesOfOtherComputations) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({8}), "x");
  auto sub = b.SubBuilder("sub");
  sub->Neg(x);
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("negate: operand 0, x, is not in computation sub"));
}

TEST(Builder, ExtremeValuesOfEveryType) {
  for (int t = 1; t < kElementTypeCount; ++t) {
    E type = static_cast<E>(t);
    if (!IsArrayType(type) || IsComplex(type)) continue;
    HloBuilder b("m");
    double least = b.MinFinite(type).instruction()->literal().GetDouble(0);
    double greatest = b.MaxFinite(type).instruction()->literal().GetDouble(0);
    EXPECT_TRUE(std::isfinite(least) && std::isfinite(greatest)) << ElementTypeName(type);
    EXPECT_LT(least, greatest) << ElementTypeName(type);
    if (IsFloating(type) && type != E::kF8E8M0FNU) {
      EXPECT_EQ(least, -greatest) << ElementTypeName(type);
    }
    double low = b.MinValue(type).instruction()->literal().GetDouble(0);
    EXPECT_LE(low, least) << ElementTypeName(type);
    EXPECT_FALSE(std::isnan(low)) << ElementTypeName(type);
    ASSERT_TRUE(b.ok()) << b.status();
  }
  HloBuilder b("m");
  EXPECT_EQ(b.MaxFinite(E::kF8E4M3FN).instruction()->literal().GetDouble(0), 448);
  EXPECT_EQ(b.MaxFinite(E::kF4E2M1FN).instruction()->literal().GetDouble(0), 6);
  EXPECT_EQ(b.MaxFinite(E::kF16).instruction()->literal().GetDouble(0), 65504);
  EXPECT_EQ(b.MinValue(E::kS4).instruction()->literal().GetInt(0), -8);
  EXPECT_EQ(b.MaxValue(E::kU16).instruction()->literal().GetInt(0), 65535);
}

TEST(Builder, NumpyBroadcasting) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({4, 1, 3}), "x");
  Op y = b.Parameter(1, F32({5, 3}), "y");
  auto [p, q] = b.BroadcastTogether(x, y);
  EXPECT_EQ(p.shape().ToString(), "f32[4,5,3]");
  EXPECT_EQ(b.Select(b.Gt(p, q), p, b.Zero(E::kF32)).shape().ToString(), "f32[4,5,3]");
  b.BroadcastTogether(x, b.Parameter(2, F32({5, 4}), "z"));
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("cannot be broadcast together: sizes 3 and 4"));
}

TEST(Builder, ConvolutionSortAndWindow) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({1, 8, 8, 3}), "x");
  Op k = b.Parameter(1, F32({3, 3, 3, 16}), "k");
  ConvDims labels{0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}};
  WindowAttr window{{{3, 2, 1, 1}, {3, 2, 1, 1}}};
  Op y = b.Conv(x, k, window, labels);
  EXPECT_EQ(y.shape().ToString(), "f32[1,4,4,16]");
  Op pooled = b.ReduceWindow(HloOpcode::kMaximum, y, WindowAttr{{{1}, {2, 2}, {2, 2}, {1}}});
  EXPECT_EQ(pooled.shape().ToString(), "f32[1,2,2,16]");
  Op index = b.Iota(E::kS32, y.dims(), 3);
  Op sorted = b.Sort({y, index}, 3, true, b.SortComparator({E::kF32, E::kS32}, CompareDirection::kLt));
  EXPECT_EQ(b.GetTupleElement(sorted, 1).shape().ToString(), "s32[1,4,4,16]");
  EXPECT_EQ(b.TopK(y, 5).shape().ToString(), "(f32[1,4,4,5], s32[1,4,4,5])");
  EXPECT_EQ(b.BitcastConvert(y, E::kU8).shape().ToString(), "u8[1,4,4,16,4]");
}

TEST(Builder, HugeSizesAreErrors) {
  HloBuilder b("m");
  Op x = b.Parameter(0, F32({int64_t{1} << 40}), "x");
  b.Broadcast(x, {int64_t{1} << 40, int64_t{1} << 40}, {0});
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("does not fit into 63 bits"));
}

}  // namespace
}  // namespace xc
