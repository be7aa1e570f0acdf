// Each family of operations: StableHLO in, HLO out.
#include "importers/stablehlo/test_support.h"

namespace xc {
namespace {

TEST(StableHlo, Detection) {
  EXPECT_TRUE(LooksLikeStableHlo("// comment\nmodule @jit_f attributes {a = 1 : i32} {\n}"));
  EXPECT_TRUE(LooksLikeStableHlo("module {}"));
  EXPECT_TRUE(LooksLikeStableHlo("func.func @main() {}"));
  EXPECT_TRUE(LooksLikeStableHlo("#loc1 = loc(unknown)\nmodule {}"));
  EXPECT_TRUE(LooksLikeStableHlo("\"builtin.module\"() ({}) : () -> ()"));
  EXPECT_FALSE(LooksLikeStableHlo("HloModule module"));
  EXPECT_FALSE(LooksLikeStableHlo("module = f32[] parameter(0)"));
  EXPECT_FALSE(LooksLikeStableHlo("# a comment of protobuf text\nname: \"m\""));
  EXPECT_FALSE(LooksLikeStableHlo(""));
}

TEST(StableHlo, Elementwise) {
  ExpectOps("%a: tensor<2x3xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
            R"(%0 = stablehlo.add %a, %b : tensor<2x3xf32>
               %1 = "stablehlo.atan2"(%0, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
               %2 = stablehlo.exponential %1 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2x3xf32>
               %3 = stablehlo.reduce_precision %2, format = e5m10 : tensor<2x3xf32>
               return %3 : tensor<2x3xf32>)",
            R"(a = f32[2,3] parameter(0)
               b = f32[2,3] parameter(1)
               c = f32[2,3] add(a, b)
               d = f32[2,3] atan2(c, b)
               e = f32[2,3] exponential(d)
               ROOT f = f32[2,3] reduce-precision(e), exponent_bits=5, mantissa_bits=10)");
}

TEST(StableHlo, ComparisonsAndSelection) {
  ExpectOps("%a: tensor<3xf32>, %b: tensor<3xf32>, %p: tensor<i1>, %l: tensor<f32>", "tensor<3xf32>",
            R"(%0 = stablehlo.compare  LT, %a, %b,  TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
               %1 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
               %2 = stablehlo.and %0, %1 : tensor<3xi1>
               %3 = stablehlo.select %2, %a, %b : tensor<3xi1>, tensor<3xf32>
               %4 = stablehlo.select %p, %3, %b : tensor<i1>, tensor<3xf32>
               %5 = stablehlo.clamp %l, %4, %b : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
               return %5 : tensor<3xf32>)",
            R"(a = f32[3] parameter(0)
               b = f32[3] parameter(1)
               p = pred[] parameter(2)
               l = f32[] parameter(3)
               lt = pred[3] compare(a, b), direction=LT, type=TOTALORDER
               ne = pred[3] compare(a, b), direction=NE
               both = pred[3] and(lt, ne)
               s = f32[3] select(both, a, b)
               ps = pred[3] broadcast(p), dimensions={}
               t = f32[3] select(ps, s, b)
               ls = f32[3] broadcast(l), dimensions={}
               ROOT c = f32[3] clamp(ls, t, b))");
}

TEST(StableHlo, Types) {
  ExpectOps("%a: tensor<2xi4>, %b: tensor<2xui8>, %c: tensor<2xbf16>, %d: tensor<2xf8E4M3FN>, %e: tensor<2xi1>",
            "tensor<2xcomplex<f64>>",
            R"(%0 = stablehlo.convert %a : (tensor<2xi4>) -> tensor<2xui8>
               %1 = stablehlo.add %0, %b : tensor<2xui8>
               %2 = stablehlo.convert %1 : (tensor<2xui8>) -> tensor<2xf64>
               %3 = stablehlo.convert %c : (tensor<2xbf16>) -> tensor<2xf64>
               %4 = stablehlo.complex %2, %3 : tensor<2xcomplex<f64>>
               return %4 : tensor<2xcomplex<f64>>)",
            R"(a = s4[2] parameter(0)
               b = u8[2] parameter(1)
               c = bf16[2] parameter(2)
               d = f8e4m3fn[2] parameter(3)
               e = pred[2] parameter(4)
               f = u8[2] convert(a)
               g = u8[2] add(f, b)
               h = f64[2] convert(g)
               i = f64[2] convert(c)
               ROOT j = c128[2] complex(h, i))");
}

TEST(StableHlo, Constants) {
  ExpectOps("", "(tensor<2x2xf32>, tensor<3xi1>, tensor<2xcomplex<f32>>, tensor<2xbf16>, tensor<9xi1>, tensor<2xi8>)",
            R"(%0 = stablehlo.constant dense<[[1.0, -2.5e-1], [0x7F800000, 0xFFC00000]]> : tensor<2x2xf32>
               %1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
               %2 = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.5)]> : tensor<2xcomplex<f32>>
               %3 = "stablehlo.constant"() <{value = dense<"0x803F0040"> : tensor<2xbf16>}> : () -> tensor<2xbf16>
               %4 = stablehlo.constant dense<"0x0501"> : tensor<9xi1>
               %5 = stablehlo.constant dense<[0xFF, -128]> : tensor<2xi8>
               return %0, %1, %2, %3, %4, %5 : tensor<2x2xf32>, tensor<3xi1>, tensor<2xcomplex<f32>>, tensor<2xbf16>, tensor<9xi1>, tensor<2xi8>)",
            R"(a = f32[2,2] constant({ { 1, -0.25 }, { inf, -nan } })
               b = pred[3] constant({ true, false, true })
               c = c64[2] constant({ (1, 2), (-3, 0.5) })
               d = bf16[2] constant({ 1, 2 })
               e = pred[9] constant({ true, false, true, false, false, false, false, false, true })
               f = s8[2] constant({ -1, -128 })
               ROOT t = (f32[2,2], pred[3], c64[2], bf16[2], pred[9], s8[2]) tuple(a, b, c, d, e, f))");
}

// One value for all elements stays one value, however large the array is.
TEST(StableHlo, SplatConstants) {
  ExpectOps("", "(tensor<100000x100000xf32>, tensor<4xi1>, tensor<0xi32>)",
            R"(%0 = stablehlo.constant dense<1.5> : tensor<100000x100000xf32>
               %1 = stablehlo.constant dense<true> : tensor<4xi1>
               %2 = stablehlo.constant dense<> : tensor<0xi32>
               return %0, %1, %2 : tensor<100000x100000xf32>, tensor<4xi1>, tensor<0xi32>)",
            R"(a = f32[] constant(1.5)
               b = f32[100000,100000] broadcast(a), dimensions={}
               c = pred[] constant(true)
               d = pred[4] broadcast(c), dimensions={}
               e = s32[0] constant({})
               ROOT t = (f32[100000,100000], pred[4], s32[0]) tuple(b, d, e))");
}

TEST(StableHlo, Movement) {
  ExpectOps("%x: tensor<2x6xf32>, %v: tensor<f32>, %i: tensor<i32>",
            "(tensor<4x5xf32>, tensor<2x6xf32>, tensor<3xi32>)",
            R"(%0 = stablehlo.slice %x [0:2, 1:6:2] : (tensor<2x6xf32>) -> tensor<2x3xf32>
               %1 = stablehlo.pad %0, %v, low = [1, 0], high = [1, -1], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>
               %2 = stablehlo.dynamic_slice %1, %i, %i, sizes = [4, 1] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x1xf32>
               %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
               %4 = stablehlo.reverse %3, dims = [0] : tensor<4x5xf32>
               %5 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
               %6 = stablehlo.reshape %5 : (tensor<6x2xf32>) -> tensor<2x6xf32>
               %7 = stablehlo.dynamic_update_slice %6, %x, %i, %i : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
               %8 = stablehlo.iota dim = 0 : tensor<3xi32>
               return %4, %7, %8 : tensor<4x5xf32>, tensor<2x6xf32>, tensor<3xi32>)",
            R"(x = f32[2,6] parameter(0)
               v = f32[] parameter(1)
               i = s32[] parameter(2)
               s = f32[2,3] slice(x), slice={[0:2], [1:6:2]}
               p = f32[4,4] pad(s, v), padding=1_1x0_-1_1
               d = f32[4,1] dynamic-slice(p, i, i), dynamic_slice_sizes={4,1}
               c = f32[4,5] concatenate(p, d), dimensions={1}
               r = f32[4,5] reverse(c), dimensions={0}
               t = f32[6,2] transpose(x), dimensions={1,0}
               q = f32[2,6] reshape(t)
               u = f32[2,6] dynamic-update-slice(q, x, i, i)
               o = s32[3] iota(), iota_dimension=0
               ROOT out = (f32[4,5], f32[2,6], s32[3]) tuple(r, u, o))");
}

TEST(StableHlo, Broadcasts) {
  ExpectOps("%x: tensor<1x3xf32>, %y: tensor<3xf32>", "(tensor<2x3xf32>, tensor<4x3xf32>)",
            R"(%0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>
               %1 = stablehlo.broadcast %y, sizes = [4] : (tensor<3xf32>) -> tensor<4x3xf32>
               return %0, %1 : tensor<2x3xf32>, tensor<4x3xf32>)",
            R"(x = f32[1,3] parameter(0)
               y = f32[3] parameter(1)
               r = f32[3] reshape(x)
               a = f32[2,3] broadcast(r), dimensions={1}
               b = f32[4,3] broadcast(y), dimensions={1}
               ROOT t = (f32[2,3], f32[4,3]) tuple(a, b))");
}

TEST(StableHlo, GatherAndScatter) {
  ExpectHlo(R"(func.func @main(%t: tensor<5x3xf32>, %i: tensor<4x1xi32>) -> tensor<5x3xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  %1 = "stablehlo.scatter"(%t, %i, %0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
})",
            R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  t = f32[5,3] parameter(0)
  i = s32[4,1] parameter(1)
  g = f32[4,3] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, indices_are_sorted=true
  ROOT s = f32[5,3] scatter(t, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add
})");
}

TEST(StableHlo, Reductions) {
  ExpectHlo(
      R"(func.func @main(%x: tensor<4x6xf32>, %k: tensor<4x6xi32>) -> (tensor<4xf32>, tensor<6xi32>, tensor<2x3xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = stablehlo.reduce(%x init: %c), (%k init: %z) across dimensions = [0] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>)  {
    %3 = stablehlo.maximum %a, %b : tensor<f32>
    %4 = stablehlo.minimum %m, %n : tensor<i32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
  }
  %2 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1#1, %2 : tensor<4xf32>, tensor<6xi32>, tensor<2x3xf32>
})",
      R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
pair {
  a = f32[] parameter(0)
  m = s32[] parameter(1)
  b = f32[] parameter(2)
  n = s32[] parameter(3)
  c = f32[] maximum(a, b)
  o = s32[] minimum(m, n)
  ROOT t = (f32[], s32[]) tuple(c, o)
}
add.2 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4,6] parameter(0)
  k = s32[4,6] parameter(1)
  c = f32[] constant(0)
  z = s32[] constant(0)
  r = f32[4] reduce(x, c), dimensions={1}, to_apply=add
  q = (f32[6], s32[6]) reduce(x, k, c, z), dimensions={0}, to_apply=pair
  q0 = f32[6] get-tuple-element(q), index=0
  q1 = s32[6] get-tuple-element(q), index=1
  w = f32[2,3] reduce-window(x, c), window={size=2x2 stride=2x2}, to_apply=add.2
  ROOT t = (f32[4], s32[6], f32[2,3]) tuple(r, q1, w)
})");
}

TEST(StableHlo, SortAndSelectAndScatter) {
  ExpectHlo(R"(func.func @main(%k: tensor<6xf32>, %s: tensor<3xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.sort"(%k) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = "stablehlo.select_and_scatter"(%k, %s, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<6xf32>
})",
            R"(HloModule m
lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  k = f32[6] parameter(0)
  s = f32[3] parameter(1)
  c = f32[] constant(0)
  o = f32[6] sort(k), dimensions={0}, is_stable=true, to_apply=lt
  p = f32[6] select-and-scatter(k, s, c), window={size=2 stride=2}, select=ge, scatter=add
  ROOT t = (f32[6], f32[6]) tuple(o, p)
})");
}

TEST(StableHlo, RaggedProducts) {
  ExpectOps(
      "%a: tensor<6x4xf32>, %b: tensor<3x4x5xf32>, %g: tensor<3xi32>", "tensor<6x5xf32>",
      R"(%0 = "chlo.ragged_dot"(%a, %b, %g) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<6x5xf32>
               return %0 : tensor<6x5xf32>)",
      R"(a = f32[6,4] parameter(0)
               b = f32[3,4,5] parameter(1)
               g = s32[3] parameter(2)
               ROOT d = f32[6,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}, operand_precision={highest,default})");
}

TEST(StableHlo, Products) {
  ExpectOps(
      "%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %i: tensor<1x6x6x2xbf16>, %k: tensor<3x3x2x4xbf16>",
      "(tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<1x6x3x4xf32>)",
      R"(%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
               %1 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
               %2 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x6x2xbf16>, tensor<3x3x2x4xbf16>) -> tensor<1x6x3x4xf32>
               return %0, %1, %2 : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<1x6x3x4xf32>)",
      R"(a = f32[2,3,4] parameter(0)
               b = f32[2,4,5] parameter(1)
               i = bf16[1,6,6,2] parameter(2)
               k = bf16[3,3,2,4] parameter(3)
               d = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3
               e = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
               c = f32[1,6,3,4] convolution(i, k), window={size=3x3 stride=1x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
               ROOT t = (f32[2,3,5], f32[2,3,5], f32[1,6,3,4]) tuple(d, e, c))");
}

TEST(StableHlo, ProductsOfComplexNumbersWithRealResults) {
  ExpectOps(
      "%a: tensor<3x4xcomplex<f32>>, %b: tensor<4x5xcomplex<f32>>", "(tensor<3x5xf32>, tensor<3x5xf64>)",
      R"(%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<3x5xf32>
               %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<3x5xf64>
               return %0, %1 : tensor<3x5xf32>, tensor<3x5xf64>)",
      R"(a = c64[3,4] parameter(0)
               b = c64[4,5] parameter(1)
               d = c64[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
               r = f32[3,5] real(d)
               e = c128[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
               s = f64[3,5] real(e)
               ROOT t = (f32[3,5], f64[3,5]) tuple(r, s))");
  ExpectOps(
      "%a: tensor<3x4xf32>, %b: tensor<4x5xf32>", "tensor<3x5xcomplex<f32>>",
      R"(%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xcomplex<f32>>
               return %0 : tensor<3x5xcomplex<f32>>)",
      R"(a = f32[3,4] parameter(0)
               b = f32[4,5] parameter(1)
               c = c64[3,4] convert(a)
               d = c64[4,5] convert(b)
               ROOT e = c64[3,5] dot(c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
}

TEST(StableHlo, LinearAlgebra) {
  ExpectOps("%a: tensor<4x4xf32>, %b: tensor<4x2xf32>, %x: tensor<8xf32>", "(tensor<4x2xf32>, tensor<5xcomplex<f32>>)",
            R"(%0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
               %1 = "stablehlo.triangular_solve"(%0, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
               %2 = stablehlo.fft %x, type =  RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
               return %1, %2 : tensor<4x2xf32>, tensor<5xcomplex<f32>>)",
            R"(a = f32[4,4] parameter(0)
               b = f32[4,2] parameter(1)
               x = f32[8] parameter(2)
               c = f32[4,4] cholesky(a), lower=true
               s = f32[4,2] triangular-solve(c, b), left_side=true, lower=true, transpose_a=TRANSPOSE
               f = c64[5] fft(x), fft_type=RFFT, fft_length={8}
               ROOT t = (f32[4,2], c64[5]) tuple(s, f))");
}

}  // namespace
}  // namespace xc
