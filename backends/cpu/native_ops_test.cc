// Ops and element types that have no kernel of their own run natively all the same, as the interpreter says.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

constexpr char kAdd[] = "add { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }\n";

// The instructions of an entry computation, T standing for the element type.
void Same(absl::string_view body, absl::string_view type = "f32", absl::string_view computations = "",
          double tolerance = 0) {
  BothOptions options;
  options.tolerance = tolerance;
  options.low = -2;
  options.high = 3;
  const std::string text = absl::StrCat("HloModule m\n", computations, "ENTRY e {\n", body, "\n}\n");
  ExpectSame(absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}}), options);
}

// Windows that are put together from windows, with and without a rest, with padding on both sides and in any dimension.
TEST(NativeOps, LongWindows) {
  constexpr char kOp[] = "op { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] $0(a, b) }\n";
  for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
    const std::string computation = absl::Substitute(kOp, op);
    const char* init = op == std::string("multiply") ? "1" : "0";
    for (const char* type : {"f32", "f64", "bf16", "s32", "u8"}) {
      const double tolerance = type[0] == 'f' ? 1e-4 : type[0] == 'b' ? 1e-2 : 0;
      for (int size : {36, 41}) {
        const std::string start = absl::StrCat("z = T[] constant(", init, ")\n");
        Same(absl::StrCat("x = T[1500] parameter(0) ", start, "ROOT r = T[", 1500 + 9 - size + 1,
                          "] reduce-window(x, z), window={size=", size, " pad=4_5}, to_apply=op"),
             type, computation, tolerance);
        Same(absl::StrCat("x = T[130,17] parameter(0) ", start, "ROOT r = T[", 130 - size + 1 - 2,
                          ",17] reduce-window(x, z), window={size=", size, "x1 pad=-2_0x0_0}, to_apply=op"),
             type, computation, tolerance);
      }
    }
  }
}

TEST(NativeOps, Scan) {
  constexpr char kBody[] =
      "c { x = f32[4] parameter(0) k = f32[4] parameter(1) s = f32[4] add(x, k) n = f32[4] negate(s)\n"
      "ROOT t = (f32[4], f32[4]) tuple(n, s) }\n";
  for (const char* reverse : {"true", "false"}) {
    Same(absl::StrCat("x = f32[4,7] parameter(0) k = f32[4] parameter(1)\n"
                      "a = (f32[4,7], f32[4]) scan(x, k), dimensions={1}, is_reverse=",
                      reverse,
                      ", num_carries=1, to_apply=c\n"
                      "y = f32[4,7] get-tuple-element(a), index=0\n"
                      "ROOT r = (f32[4,7], f32[4]) scan(y, k), dimensions={1}, num_carries=1, to_apply=c"),
         "f32", kBody);
  }
  Same(
      "x = f32[4,0] parameter(0) k = f32[4] parameter(1)\n"
      "ROOT r = (f32[4,0], f32[4]) scan(x, k), dimensions={1}, num_carries=1, to_apply=c",
      "f32", kBody);
}

// Running sums and products of narrow floats are rounded where they are stored, not from step to step.
TEST(NativeOps, RunningSumsOfNarrowFloats) {
  for (const char* type : {"bf16", "f16", "f8e5m2"}) {
    SCOPED_TRACE(type);
    for (const char* pad : {"1999_0", "0_1999"}) {
      Same(absl::StrCat("x = T[2000] parameter(0) z = T[] constant(0) y = T[2000] multiply(x, x)\n"
                        "ROOT r = T[2000] reduce-window(y, z), window={size=2000 pad=",
                        pad, "}, to_apply=add"),
           type, kAdd, 1e-2);
    }
  }
}

TEST(NativeOps, RaggedDot) {
  for (const char* type : {"f32", "bf16", "f8e4m3fn", "s8", "c64"}) {
    SCOPED_TRACE(type);
    Same(
        "a = T[11,5] parameter(0) b = T[3,5,4] parameter(1) g = s32[3] constant({4,2,3})\n"
        "ROOT r = T[11,4] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}",
        type, "", 1e-2);
  }
  // Batches with groups of their own, and the ragged dimension before another free one.
  Same(
      "a = f32[2,11,3,5] parameter(0) b = f32[4,2,5,6] parameter(1) g = s64[2,4] constant({{4,2,5,0},{0,9,1,1}})\n"
      "ROOT r = f32[2,11,3,6] ragged-dot(a, b, g), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={3}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0}",
      "f32", "", 1e-5);
  // Groups of contracted elements.
  Same(
      "a = f32[2,3,7,11] parameter(0) b = f32[11,2,3,6] parameter(1) g = s32[2,4] constant({{4,2,5,0},{1,1,1,1}})\n"
      "ROOT r = f32[4,2,7,6] ragged-dot(a, b, g), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={1,3}, rhs_contracting_dims={2,0}, lhs_ragged_dims={3}",
      "f32", "", 1e-5);
}

TEST(NativeOps, ScaledDot) {
  Same(
      "a = f8e4m3fn[6,64] parameter(0) b = f8e4m3fn[5,64] parameter(1)\n"
      "s = bf16[6,2] parameter(2) t = bf16[5,2] parameter(3)\n"
      "ROOT r = f32[6,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
      "f32", "", 1e-5);
  Same(
      "a = f32[6,64] parameter(0) b = f32[5,64] parameter(1) s = f32[6,2] parameter(2) t = f32[] parameter(3)\n"
      "ROOT r = f32[6,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
      "f32", "", 1e-5);
}

TEST(NativeOps, ProductsOfWideIntegersWithFloats) {
  for (const char* type : {"f32", "f64", "c64"}) {
    Same(
        "a = s64[3,6] parameter(0) b = T[6,5] parameter(1)\n"
        "ROOT r = T[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        type, "", 1e-5);
  }
  Same(
      "a = s64[2,6,3] parameter(0) b = f32[2,3,4] parameter(1)\n"
      "ROOT r = f32[2,5,4] convolution(a, b), window={size=2}, dim_labels=b0f_0io->b0f",
      "f32", "", 1e-5);
}

TEST(NativeOps, DotWithSparsity) {
  for (const char* type : {"f32", "bf16", "s32"}) {
    SCOPED_TRACE(type);
    // Words that hold indices in every order, twice the same one too.
    Same(
        "a = T[3,16] parameter(0) b = T[32,5] parameter(1)\n"
        "m = u16[3,2] constant({{19524,61166},{0,65535},{7460,40003}})\n"
        "ROOT r = T[3,5] dot(a, b, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sparsity=L.1@2:4",
        type, "", 1e-2);
  }
  // Both sides, batches, a dimension that is not the last, words that are not full, and one of two.
  Same(
      "a = f32[2,6,3] parameter(0) b = f32[2,4,6] parameter(1) m = u16[2,1,3] parameter(2) n = u16[2,4,1] "
      "parameter(3)\n"
      "ROOT r = f32[2,3,4] dot(a, b, m, n), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
      "rhs_contracting_dims={2}, sparsity=L.1@1:2_R.2@2:4",
      "f32", "", 1e-5);
}

TEST(NativeOps, ApproximateTopK) {
  constexpr char kGreater[] =
      "gt { a = T[] parameter(0) b = T[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)\n"
      "ROOT r = pred[] compare(a, b), direction=GT }\n";
  constexpr char kCall[] =
      "x = T[3,50] parameter(0) i = s32[3,50] iota(), iota_dimension=1\n"
      "low = T[] constant(-100) none = s32[] constant(-1)\n"
      "ROOT r = (T[3,$0], s32[3,$0]) custom-call(x, i, low, none), custom_call_target=\"$1\",\n"
      "called_computations={gt}, backend_config=$2";
  for (const char* type : {"f32", "bf16", "s32"}) {
    SCOPED_TRACE(type);
    Same(absl::Substitute(kCall, "7", "PartialReduce",
                          R"({"log2_reduction": 2, "reduction_dim": 1, "to_apply_type": "comparator", "top_k": 5})"),
         type, kGreater);
    Same(absl::Substitute(kCall, "10", "ApproxTopK",
                          R"("{aggregate_to_topk = true, is_fallback = true, recall_target = 0.9 : f32, )"
                          R"(reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 10 : i64}")"),
         type, kGreater);
  }
  // Room for more than there is.
  Same(absl::Substitute(kCall, "60", "PartialReduce", R"({"reduction_dim": 1})"), "f32", kGreater);
}

TEST(NativeOps, CollectivePermuteOfSlices) {
  // The third slice starts outside and is moved inside.
  constexpr char kBody[] =
      "x = f32[6,5] parameter(0) y = f32[7,4] parameter(1)\n"
      "o = s32[] constant(1) t = s32[] constant(2) f = s32[] constant(9)\n"
      "a = (s32[], s32[]) tuple(o, t) b = (s32[], s32[]) tuple(t, o) c = (s32[], s32[]) tuple(f, o)\n"
      "i = ((s32[], s32[]), (s32[], s32[])) tuple(a, c) j = ((s32[], s32[]), (s32[], s32[])) tuple(b, a)\n";
  Same(absl::StrCat(kBody,
                    "ROOT r = f32[7,4] collective-permute(x, y, a, b), source_target_pairs={{0,0}}, "
                    "slice_sizes={{3,2}}"));
  Same(absl::StrCat(kBody,
                    "ROOT r = f32[7,4] collective-permute(x, y, i, j), source_target_pairs={{0,0}}, "
                    "slice_sizes={{3,2},{1,2}}"));
  Same(absl::StrCat(kBody,
                    "ROOT r = f32[7,4] collective-permute(x, y, i, j), source_target_pairs={{0,1}}, "
                    "slice_sizes={{3,2},{1,2}}"));
  Same(absl::StrCat(
      kBody,
      "p = (f32[6,5], f32[7,4]) tuple(x, y) q = (f32[6,5], f32[7,4]) tuple(x, y)\n"
      "k = (((s32[], s32[]), (s32[], s32[])), (s32[], s32[])) tuple(i, b)\n"
      "s = ((f32[6,5], f32[7,4]), (f32[6,5], f32[7,4]), u32[], u32[]) collective-permute-start(p, q, k, k), "
      "source_target_pairs={{0,0}}, slice_sizes={{3,2},{1,2},{2,2}}\n"
      "ROOT r = (f32[6,5], f32[7,4]) collective-permute-done(s)"));
}

TEST(NativeOps, RaggedAllToAll) {
  for (const char* type : {"s32", "s64"}) {
    Same(
        "x = f32[6,3] parameter(0) y = f32[8,3] parameter(1) f = T[3] constant({4,0,2}) n = T[3] constant({2,0,3})\n"
        "t = T[3] constant({0,8,5}) ROOT r = f32[8,3] ragged-all-to-all(x, y, f, n, t, n), replica_groups={{0}}",
        type);
  }
  constexpr char kOutside[] =
      "HloModule m\nENTRY e {\n"
      "x = f32[6,3] parameter(0) y = f32[8,3] parameter(1) f = s32[1] constant({4}) n = s32[1] constant({3})\n"
      "ROOT r = f32[8,3] ragged-all-to-all(x, y, f, n, f, n), replica_groups={{0}}\n}\n";
  EXPECT_EQ(RunOn(CpuBackend(), kOutside, {}).status.message(),
            "ragged-all-to-all: offsets or sizes lie outside of the arrays");
}

TEST(NativeOps, ScatterOfOneArrayTwice) {
  constexpr char kBoth[] =
      "f { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)\n"
      "s = f32[] add(a, d) t = f32[] multiply(b, c) ROOT r = (f32[], f32[]) tuple(s, t) }\n";
  Same(
      "x = f32[20,3] parameter(0) i = s32[20,1] parameter(1)\n"
      "ROOT r = (f32[20,3], f32[20,3]) scatter(x, x, i, x, x), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
      "f32", kBoth);
  Same(
      "x = s32[20,1] parameter(0)\n"
      "ROOT r = s32[20,1] scatter(x, x, x), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
      "s32", "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n");
}

// Many updates of one place, wide and narrow windows, and windows whose minor dimension is scattered.
TEST(NativeOps, LargeScatters) {
  constexpr char kAddition[] = "f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }\n";
  constexpr char kRows[] =
      "x = T[$0,$2] parameter(0) r = s32[$1,1] parameter(1) n = s32[] constant($3) m = s32[$1,1] broadcast(n), "
      "dimensions={}\n"
      "i = s32[$1,1] multiply(r, m) u = T[$1,$2] parameter(2)\n"
      "ROOT s = T[$0,$2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f";
  for (const char* type : {"f32", "bf16", "s8", "c64"}) {
    SCOPED_TRACE(type);
    Same(absl::Substitute(kRows, 40, 300, 701, 9), type, kAddition);
    Same(absl::Substitute(kRows, 5000, 3000, 24, 1700), type, kAddition);
    Same(absl::Substitute(kRows, 300, 200, 7, 100), type, kAddition);
  }
  Same(
      "x = f32[600,50] parameter(0) i = s32[200,1] parameter(1) u = f32[600,200] parameter(2)\n"
      "ROOT s = f32[600,50] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={1}, "
      "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=f",
      "f32", kAddition);
}

TEST(NativeOps, DirectionOfComplexNumbers) {
  for (const char* type : {"c64", "c128"}) {
    Same("x = T[30] parameter(0) y = T[30] parameter(1) ROOT r = T[30] atan2(x, y)", type, "", 1e-6);
  }
}

// Longer than expressions may nest, and than LLVM's optimizing code generator gets in one piece.
TEST(NativeOps, LongScalarComputations) {
  std::string body = "f { v0 = f32[] parameter(0) v1 = f32[] parameter(1)\n";
  constexpr int kLength = 3000;
  for (int i = 2; i < kLength; ++i) {
    absl::StrAppend(&body, "v", i, " = f32[] ", i % 3 == 0 ? "subtract" : "maximum", "(v", i - 1, ", v", i - 2, ")\n");
  }
  absl::StrAppend(&body, "ROOT r = f32[] add(v", kLength - 1, ", v1)\n}\n");
  Same(
      "x = f32[50] parameter(0) z = f32[] constant(0)\n"
      "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f",
      "f32", body);
}

TEST(NativeOps, BitcastConvertBetweenWidths) {
  struct Pair {
    const char *wide, *narrow;
    int parts;
  };
  for (const Pair& p : {Pair{"f32", "u8", 4},
                        {"u8", "s4", 2},
                        {"f64", "bf16", 4},
                        {"s16", "f8e5m2", 2},
                        {"u64", "u1", 64},
                        {"c128", "c64", 2},
                        {"s32", "pred", 4}}) {
    SCOPED_TRACE(absl::StrCat(p.wide, " ", p.narrow));
    Same(absl::StrCat("x = ", p.wide, "[3,2] parameter(0)\nROOT r = ", p.narrow, "[3,2,", p.parts,
                      "] bitcast-convert(x)"));
    Same(absl::StrCat("x = ", p.narrow, "[3,2,", p.parts, "] parameter(0)\nROOT r = ", p.wide,
                      "[3,2] bitcast-convert(x)"));
    // Between other ops: nothing is left to the interpreter.
    Same(absl::StrCat("x = ", p.wide, "[3,2] parameter(0)\ny = ", p.wide,
                      "[3,2] reverse(x), dimensions={0}\nb = ", p.narrow, "[3,2,", p.parts,
                      "] bitcast-convert(y)\nROOT r = ", p.narrow, "[3,2,", p.parts, "] reverse(b), dimensions={1}"));
  }
}

TEST(NativeOps, StochasticConvert) {
  for (const char* to : {"bf16", "f16", "f8e4m3fn", "f8e5m2", "s8", "s32", "f4e2m1fn", "f6e2m3fn", "f6e3m2fn"}) {
    SCOPED_TRACE(to);
    Same(
        absl::StrCat("x = f32[40] parameter(0) s = f32[] constant(300) t = f32[40] broadcast(s), dimensions={}\n"
                     "y = f32[40] multiply(x, t) i = u32[40] iota(), iota_dimension=0 m = u32[] constant(2654435769)\n"
                     "n = u32[40] broadcast(m), dimensions={} b = u32[40] multiply(i, n)\n"
                     "ROOT r = ",
                     to, "[40] stochastic-convert(y, b)"));
    Same(
        absl::StrCat("x = f16[200] parameter(0) b = u16[200] parameter(1) s = f16[] constant(9)\n"
                     "t = f16[200] broadcast(s), dimensions={} y = f16[200] multiply(x, t)\n"
                     "m = u16[] constant(13337) n = u16[200] broadcast(m), dimensions={} c = u16[200] multiply(b, n)\n"
                     "ROOT r = ",
                     to, "[200] stochastic-convert(y, c)"));
  }
}

TEST(NativeOps, ProductsOfNarrowTypes) {
  for (const char* type : {"f8e5m2", "f8e4m3fn", "f4e2m1fn", "s4", "u2", "s16", "f16"}) {
    SCOPED_TRACE(type);
    Same(
        "x = T[3,7] parameter(0) y = T[7,4] parameter(1)\n"
        "ROOT r = T[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        type, "", 0.1);
    Same(
        "x = T[2,6,6,4] parameter(0) k = T[3,3,2,6] parameter(1)\n"
        "ROOT r = T[2,3,3,6] convolution(x, k), window={size=3x3 stride=2x2 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f, feature_group_count=2",
        type, "", 0.1);
  }
  Same(
      "x = f8e4m3fn[3,7] parameter(0) y = f8e5m2[7,4] parameter(1)\n"
      "ROOT r = f32[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      "f32", "", 1e-6);
  Same(
      "x = u16[3,7] parameter(0) y = u16[7,4] parameter(1)\n"
      "ROOT r = u64[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
}

TEST(NativeOps, TopKOfEveryOrderedType) {
  for (const char* type : {"pred", "s4", "u1", "f8e5m2", "f6e2m3fn", "s16", "f64"}) {
    SCOPED_TRACE(type);
    Same("x = T[4,30] parameter(0)\nROOT r = (T[4,5], s32[4,5]) topk(x), k=5, largest=true", type);
    Same(
        "x = T[4,30] parameter(0)\n"
        "ROOT r = (T[4,5], s32[4,5]) custom-call(x), custom_call_target=\"TopK\"",
        type);
  }
}

TEST(NativeOps, ArithmeticOfNarrowTypes) {
  for (const char* type : {"s2", "u4", "s8", "u64"}) {
    SCOPED_TRACE(type);
    Same("x = T[5,9] parameter(0) y = T[5,9] parameter(1)\nROOT r = T[5,9] mulhi(x, y)", type);
    Same("x = T[5,9] parameter(0) y = T[5,9] parameter(1)\nROOT r = T[5,9] power(x, y)", type);
  }
  for (const char* type : {"f64", "f16", "bf16", "f8e4m3", "f8e3m4", "f8e4m3fn", "f4e2m1fn"}) {
    SCOPED_TRACE(type);
    Same("x = T[70] parameter(0)\nROOT r = T[70] reduce-precision(x), exponent_bits=4, mantissa_bits=2", type);
    Same("x = T[70] parameter(0)\nROOT r = T[70] reduce-precision(x), exponent_bits=3, mantissa_bits=1", type);
  }
  for (const char* type : {"f16", "f8e5m2"}) {
    SCOPED_TRACE(type);
    Same(
        "x = T[3,4,5] parameter(0) s = T[4] parameter(1) o = T[4] parameter(2)\n"
        "ROOT r = (T[3,4,5], T[4], T[4]) batch-norm-training(x, s, o), epsilon=0.01, feature_index=1",
        type, "", 0.02);
  }
}

TEST(NativeOps, OneDevice) {
  Same(
      "x = f32[4] parameter(0) t = token[] after-all()\n"
      "s = (f32[4], u32[], token[]) send(x, t), channel_id=1\n"
      "sd = token[] send-done(s), channel_id=1\n"
      "r = (f32[4], u32[], token[]) recv(sd), channel_id=1\n"
      "rd = (f32[4], token[]) recv-done(r), channel_id=1\n"
      "y = f32[4] get-tuple-element(rd), index=0\n"
      "ROOT n = f32[4] negate(y)");
  for (const char* op :
       {"all-gather(x), dimensions={0}", "all-to-all(x), dimensions={0}", "all-reduce(x), to_apply=add",
        "reduce-scatter(x), dimensions={0}, to_apply=add", "collective-broadcast(x)"}) {
    SCOPED_TRACE(op);
    Same(absl::StrCat("x = f32[4,3] parameter(0)\nROOT r = f32[4,3] ", op, ", replica_groups={{0}}"), "f32", kAdd);
  }
  Same(
      "x = f32[4] parameter(0)\n"
      "s = ((f32[4]), f32[4], s32[]) async-start(x), calls=f\n"
      "u = ((f32[4]), f32[4], s32[]) async-update(s)\n"
      "ROOT d = f32[4] async-done(u)",
      "f32", "f { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }\n");
}

// Between computations, where sends and recvs are not matched beforehand.
TEST(NativeOps, ChannelsAndHostTransfers) {
  const std::string text =
      "HloModule m\n"
      "give { x = f32[2] parameter(0) t = token[] after-all() y = f32[2] negate(x)\n"
      "s = (f32[2], u32[], token[]) send(y, t), channel_id=1 ROOT d = token[] send-done(s), channel_id=1 }\n"
      "keep { x = f32[2] parameter(0) ROOT t = token[] after-all() }\n"
      "ENTRY e { x = f32[2] parameter(0) i = s32[] parameter(1) z = s32[] multiply(i, i) m = s32[] minimum(z, i)\n"
      "n = s32[] subtract(m, m) k = token[] conditional(n, x, x), branch_computations={give, keep}\n"
      "r = (f32[2], u32[], token[]) recv(k), channel_id=1 rd = (f32[2], token[]) recv-done(r), channel_id=1\n"
      "y = f32[2] get-tuple-element(rd), index=0 t = token[] get-tuple-element(rd), index=1\n"
      "s = (f32[2], u32[], token[]) send(y, t), channel_id=2, is_host_transfer=true\n"
      "sd = token[] send-done(s), channel_id=2, is_host_transfer=true\n"
      "h = ((s32[2], f32[]), u32[], token[]) recv(sd), channel_id=3, is_host_transfer=true\n"
      "hd = ((s32[2], f32[]), token[]) recv-done(h), channel_id=3, is_host_transfer=true\n"
      "ht = token[] get-tuple-element(hd), index=1\n"
      "f = ((f32[2], s32[]), token[]) infeed(ht)\n"
      "fd = (f32[2], s32[]) get-tuple-element(f), index=0 hv = (s32[2], f32[]) get-tuple-element(hd), index=0\n"
      "ROOT o = (f32[2], (s32[2], f32[]), (f32[2], s32[])) tuple(y, hv, fd) }\n";
  BothOptions options;
  options.infeed = {"abcdefgh", "ijkl", "mnopqrst", "uvwx"};
  for (bool passes : {true, false}) {
    options.passes = passes;
    ExpectSame(text, options);
  }
  EXPECT_EQ(RunOn(CpuBackend(), text, options).outfeed.size(), 1);
  options.infeed.clear();
  const RunResult starved = RunOn(CpuBackend(), text, options);
  EXPECT_NE(starved.status.ToString().find("infeed: the queue is empty"), std::string::npos) << starved.status;
  const RunResult none = RunOn(CpuBackend(),
                               "HloModule m\nENTRY e { t = token[] after-all()\n"
                               "r = (f32[2], u32[], token[]) recv(t), channel_id=1\n"
                               "ROOT d = (f32[2], token[]) recv-done(r), channel_id=1 }\n",
                               options);
  EXPECT_NE(none.status.ToString().find("recv on channel 1: the queue is empty"), std::string::npos) << none.status;
}

TEST(NativeOps, RandomNumbersOfNarrowTypes) {
  for (const char* type : {"f8e5m2", "f8e4m3fn", "f8e3m4", "f6e2m3fn", "f4e2m1fn", "s4", "u2", "s2"}) {
    SCOPED_TRACE(type);
    Same("a = T[] constant(0) b = T[] constant(1)\nROOT r = T[99] rng(a, b), distribution=rng_uniform", type);
    if (type[0] != 'f') continue;
    Same("a = T[] constant(0) b = T[] constant(1)\nROOT r = T[99] rng(a, b), distribution=rng_normal", type);
  }
}

TEST(NativeOps, SumsAndProductsOfPred) {
  Same(
      "x = pred[9] parameter(0) y = pred[9] parameter(1) a = pred[9] add(x, y) b = pred[9] multiply(x, y)\n"
      "z = pred[] constant(false) s = pred[] reduce(b, z), dimensions={0}, to_apply=add\n"
      "ROOT r = (pred[9], pred[9], pred[]) tuple(a, b, s)",
      "pred", kAdd);
}

TEST(NativeOps, NothingToMultiply) {
  Same(
      "x = f32[2,5,5,0] parameter(0) k = f32[3,3,0,4] parameter(1)\n"
      "ROOT r = f32[2,3,3,4] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f");
  Same(
      "x = f32[3,0] parameter(0) y = f32[0,4] parameter(1)\n"
      "ROOT r = f32[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
}

// What lies outside of a pad's or concatenate's operand is read nowhere, though all lanes of a vector are there.
TEST(NativeOps, RowsGatheredUnderAPad) {
  Same(
      "x = f32[2,8,32] parameter(0)\n"
      "i = s32[7,2] constant({{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7}})\n"
      "g = f32[2,7,2,32] gather(x, i), offset_dims={0,3}, collapsed_slice_dims={1}, start_index_map={1}, "
      "index_vector_dim=2, slice_sizes={2,1,32}\n"
      "r = f32[2,7,64] reshape(g) s = f32[2,7,16] slice(r), slice={[0:2], [0:7], [0:16]}\n"
      "u = f32[2,7,16] slice(r), slice={[0:2], [0:7], [16:32]} v = f32[2,7,16] reverse(u), dimensions={2}\n"
      "c = f32[2,7,32] concatenate(v, s), dimensions={2} z = f32[] constant(0)\n"
      "ROOT p = f32[2,7,128] pad(c, z), padding=0_0x0_0x0_96");
}

// A place that is known while compiling, inside of what is padded or outside.
TEST(NativeOps, OneRowOfAPad) {
  for (int row = 0; row < 6; ++row) {
    for (const char* dims : {"dimensions={0,1}", "dimensions={1}"}) {
      Same(
          absl::StrCat("a = f32[2,4] parameter(0) b = f32[2,4] parameter(1) t = f32[2,4] negate(b)\n"
                       "c = f32[4,4] concatenate(a, t), dimensions={0} z = f32[] constant(7)\n"
                       "p = f32[6,4] pad(c, z), padding=1_1x0_0 s = f32[1,4] slice(p), slice={[",
                       row, ":", row + 1, "], [0:4]}\nROOT r = f32[1,4] reverse(s), ", dims));
    }
  }
}

// A constant right operand is cut into blocks of columns. Small integers, so that every order of a sum gives the same.
TEST(NativeOps, LargeConstantOperandsOfProducts) {
  std::string matrix;
  for (int i = 0; i < 640; ++i) {
    std::string row;
    for (int j = 0; j < 448; ++j) absl::StrAppend(&row, j > 0 ? "," : "", (7 * i + 3 * j + i * j / 50) % 9 - 4);
    absl::StrAppend(&matrix, i > 0 ? ",{" : "{", row, "}");
  }
  // Of rows and of columns, as it lies and the other way round.
  for (const auto& [shape, contracted, size] : {std::tuple("[11,640]", 0, 448), std::tuple("[11,448]", 1, 640)}) {
    ExpectSame(absl::StrCat("HloModule m\nENTRY e {\n  x = f32", shape, " parameter(0)\n  four = f32[] constant(4)\n",
                            "  fours = f32", shape, " broadcast(four), dimensions={}\n  y = f32", shape,
                            " multiply(x, fours)\n  z = f32", shape, " floor(y)\n  w = f32[640,448] constant({", matrix,
                            "})\n  ROOT d = f32[11,", size, "] dot(z, w), lhs_contracting_dims={1}, ",
                            "rhs_contracting_dims={", contracted, "}\n}\n"));
  }
}

}  // namespace
}  // namespace xc::cpu
