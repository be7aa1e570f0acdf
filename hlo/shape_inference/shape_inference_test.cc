// What shape inference answers where it is right: one row per rule. (What it refuses is in tests/bad_modules.)
#include "hlo/shape_inference/shape_inference.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

struct Row {
  std::vector<const char*> parameters;  // named a, b, c, …
  const char* op;                       // "shape opcode(operands), attributes"
  const char* want;
};

constexpr char kComputations[] = R"(
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
ge { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT c = pred[] compare(x, y), direction=GE }
two { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  ROOT t = (f32[], s32[]) tuple(a, j) }
less2 { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
count { x = f32[] parameter(0)  ROOT c = s32[] convert(x) }
)";

std::string Infer(const Row& row) {
  std::string text = absl::StrCat("HloModule m\n", kComputations, "ENTRY e {\n");
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    absl::StrAppend(&text, "  ", std::string(1, 'a' + i), " = ", row.parameters[i], " parameter(", i, ")\n");
  }
  absl::StrAppend(&text, "  ROOT r = ", row.op, "\n}\n");
  auto module = ParseModule(text);
  if (!module.ok()) return std::string(module.status().message());
  auto shape = InferShape(*(*module)->entry()->root());
  return shape.ok() ? shape->ToString() : std::string(shape.status().message());
}

void Check(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(Infer(row), row.want) << row.op;
}

TEST(ShapeInference, Elementwise) {
  Check({
      {{"f32[2,3]{0,1}", "f32[2,3]"}, "f32[2,3] add(a, b)", "f32[2,3]"},
      {{"f32[<=2,3]", "f32[2,3]"}, "f32[<=2,3] add(a, b)", "f32[<=2,3]"},
      {{"f32[?,3]", "f32[2,3]"}, "f32[2,3] add(a, b)", "f32[2,3]"},
      {{"c64[4]"}, "f32[4] abs(a)", "f32[4]"},
      {{"c128[4]"}, "f64[4] imag(a)", "f64[4]"},
      {{"f64[4]", "f64[4]"}, "c128[4] complex(a, b)", "c128[4]"},
      {{"bf16[4]"}, "pred[4] is-finite(a)", "pred[4]"},
      {{"s4[4]", "s4[4]"}, "pred[4] compare(a, b), direction=LT", "pred[4]"},
      {{"pred[]", "f32[4]", "f32[4]"}, "f32[4] select(a, b, c)", "f32[4]"},
      {{"f32[]", "f32[4]", "f32[4]"}, "f32[4] clamp(a, b, c)", "f32[4]"},
      {{"f32[<=4]"}, "s8[<=4] convert(a)", "s8[<=4]"},
      {{"f64[3]"}, "u16[3,4] bitcast-convert(a)", "u16[3,4]"},
      {{"u8[3,4]"}, "f32[3] bitcast-convert(a)", "f32[3]"},
      {{"u4[3,2]"}, "u8[3] bitcast-convert(a)", "u8[3]"},
      {{"f32[4]", "u32[4]"}, "s16[4] stochastic-convert(a, b)", "s16[4]"},
  });
}

TEST(ShapeInference, DataMovement) {
  Check({
      {{"f32[3]"}, "f32[2,3] broadcast(a), dimensions={1}", "f32[2,3]"},
      {{"f32[3,2]"}, "f32[2,3] broadcast(a), dimensions={1,0}", "f32[2,3]"},
      {{"f32[2,3]"}, "f32[3,2,1] reshape(a)", "f32[3,2,1]"},
      {{"f32[2,3]"}, "s32[6] bitcast(a)", "s32[6]"},
      {{"f32[2,<=3,4]"}, "f32[4,2,<=3] transpose(a), dimensions={2,0,1}", "f32[4,2,<=3]"},
      {{"f32[<=8,8]"}, "f32[<=8,3] slice(a), slice={[0:8],[1:7:2]}", "f32[<=8,3]"},
      {{"f32[8]"}, "f32[0] slice(a), slice={[3:3]}", "f32[0]"},
      {{"f32[8]", "f32[]"}, "f32[24] pad(a, b), padding=3_-1_2", "f32[24]"},
      {{"f32[0]", "f32[]"}, "f32[3] pad(a, b), padding=1_2_5", "f32[3]"},
      {{"f32[2,3]", "f32[2,<=4]"}, "f32[2,<=7] concatenate(a, b), dimensions={1}", "f32[2,<=7]"},
      {{"f32[8,8]", "s32[]", "s32[]"}, "f32[2,8] dynamic-slice(a, b, c), dynamic_slice_sizes={2,8}", "f32[2,8]"},
      {{"f32[8]", "f32[2]", "u8[]"}, "f32[8] dynamic-update-slice(a, b, c)", "f32[8]"},
      {{"f32[<=8]"}, "s32[] get-dimension-size(a), dimensions={0}", "s32[]"},
      {{"f32[8,8]", "s32[]"}, "f32[8,<=8] set-dimension-size(a, b), dimensions={1}", "f32[8,<=8]"},
  });
}

TEST(ShapeInference, GatherAndScatter) {
  Check({
      {{"f32[10,4]", "s32[5,1]"},
       "f32[5,4] gather(a, b), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
       "slice_sizes={1,4}",
       "f32[5,4]"},
      {{"f32[10,4,6]", "s64[2,3,7]"},
       "f32[3,5,7,2] gather(a, b), offset_dims={1,3}, collapsed_slice_dims={1}, start_index_map={2,0}, "
       "index_vector_dim=0, slice_sizes={5,1,2}",
       "f32[3,5,7,2]"},
      {{"f32[5,10]", "s32[5,3]"},
       "f32[5,3] gather(a, b), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
       "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}",
       "f32[5,3]"},
      {{"f32[10,4]", "s32[5]", "f32[5,4]"},
       "f32[10,4] scatter(a, b, c), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
       "f32[10,4]"},
  });
}

TEST(ShapeInference, Reductions) {
  Check({
      {{"f32[2,<=3,4]", "f32[]"}, "f32[<=3] reduce(a, b), dimensions={2,0}, to_apply=add", "f32[<=3]"},
      {{"f32[4]", "s32[4]", "f32[]", "s32[]"},
       "(f32[], s32[]) reduce(a, b, c, d), dimensions={0}, to_apply=two",
       "(f32[], s32[])"},
      {{"f32[8,8]", "f32[]"},
       "f32[4,9] reduce-window(a, b), window={size=2x3 stride=2x1 pad=0_0x2_1}, to_apply=add",
       "f32[4,9]"},
      {{"f32[8]", "f32[]"},
       "f32[11] reduce-window(a, b), window={size=3 lhs_dilate=2 rhs_dilate=2}, to_apply=add",
       "f32[11]"},
      {{"f32[3]", "f32[]"}, "f32[0] reduce-window(a, b), window={size=5}, to_apply=add", "f32[0]"},
      {{"f32[8]", "f32[4]", "f32[]"},
       "f32[8] select-and-scatter(a, b, c), window={size=2 stride=2}, select=ge, scatter=add",
       "f32[8]"},
      {{"f32[4,5]", "s32[4,5]"},
       "(f32[4,5], s32[4,5]) sort(a, b), dimensions={0}, to_apply=less2",
       "(f32[4,5], s32[4,5])"},
      {{"bf16[4,50]"}, "(bf16[4,3], s32[4,3]) topk(a), k=3, largest=true", "(bf16[4,3], s32[4,3])"},
      {{"f32[4,5]"}, "s32[4,5] map(a), dimensions={0,1}, to_apply=count", "s32[4,5]"},
  });
}

TEST(ShapeInference, LinearAlgebra) {
  Check({
      {{"f32[<=2,3]", "f32[3,4]"},
       "f32[<=2,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
       "f32[<=2,4]"},
      {{"s8[7,2,3]", "s8[3,7,4]"},
       "s32[7,2,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={0}",
       "s32[7,2,4]"},
      {{"f32[2]", "f32[3]"}, "f32[2,3] dot(a, b), lhs_contracting_dims={}, rhs_contracting_dims={}", "f32[2,3]"},
      {{"f32[1,8,9,4]", "f32[3,3,4,16]"},
       "f32[1,4,7,16] convolution(a, b), window={size=3x3 stride=2x1 pad=1_1x0_0}, dim_labels=b01f_01io->b01f",
       "f32[1,4,7,16]"},
      {{"f32[2,8,4,4]", "f32[6,4,3,3]"},
       "f32[2,6,7,7] convolution(a, b), window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2}, dim_labels=bf01_oi01->bf01, "
       "feature_group_count=2",
       "f32[2,6,7,7]"},
      {{"f32[4,8]", "f32[8,16]"}, "f32[4,16] convolution(a, b), dim_labels=bf_io->bf", "f32[4,16]"},
      {{"f64[5,3,3]"}, "f64[5,3,3] cholesky(a), lower=true", "f64[5,3,3]"},
      {{"f32[3,3]", "f32[2,3]"},
       "f32[2,3] triangular-solve(a, b), left_side=false, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE",
       "f32[2,3]"},
      {{"f32[4,6,8]"}, "c64[4,6,5] fft(a), fft_type=RFFT, fft_length={6,8}", "c64[4,6,5]"},
      {{"c128[5]"}, "f64[9] fft(a), fft_type=IRFFT, fft_length={9}", "f64[9]"},
      {{"c64[4,1]"}, "f32[4,0] fft(a), fft_type=IRFFT, fft_length={0}", "f32[4,0]"},
      {{"f32[2,4,3]", "f32[4]"},
       "(f32[2,4,3], f32[4], f32[4]) batch-norm-training(a, b, b), epsilon=0.001, feature_index=1",
       "(f32[2,4,3], f32[4], f32[4])"},
  });
}

TEST(ShapeInference, OtherDevicesAndHosts) {
  Check({
      {{"f32[4]"}, "f32[8] all-gather(a), replica_groups={{0,1}}, dimensions={0}", "f32[8]"},
      {{"f32[4]", "f32[5]"},
       "(f32[4], f32[5]) all-reduce(a, b), replica_groups={{0,1}}, to_apply=add",
       "(f32[4], f32[5])"},
      {{"f32[8]"}, "f32[2] reduce-scatter(a), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=add", "f32[2]"},
      {{"f32[8]"}, "(f32[8], f32[8], u32[]) copy-start(a)", "(f32[8], f32[8], u32[])"},
      {{"f32[8]", "token[]"}, "(f32[8], u32[], token[]) send(a, b), channel_id=1", "(f32[8], u32[], token[])"},
      {{"u64[2]"}, "(u64[2], u32[9]) rng-bit-generator(a), algorithm=rng_three_fry", "(u64[2], u32[9])"},
      {{"f32[6,4]", "f32[2,4,5]", "s32[2]"},
       "f32[6,5] ragged-dot(a, b, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
       "rhs_group_dims={0}",
       "f32[6,5]"},
  });
}

}  // namespace
}  // namespace xc
