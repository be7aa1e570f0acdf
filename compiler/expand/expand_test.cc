// Expansions: text in, text out.
#include "compiler/expand/expand.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/pass_test_support.h"
#include "compiler/simplify/simplify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Layouts, EntryArraysKeepTheirBytes) {
  EXPECT_EQ(RunPasses({AssignLayouts}, R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
ENTRY e { a = f32[2,3]{0,1} parameter(0)
  ROOT r = f32[2,3]{0,1} negate(a) })"),
            "ENTRY {\nt0 = f32[2,3] transpose(p0), dimensions={1,0}\nt1 = f32[2,3] negate(t0)\n"
            "root = f32[3,2] transpose(t1), dimensions={1,0}\n}\n");
}

TEST(Layouts, BitcastsKeepBytes) {
  EXPECT_EQ(RunPasses({AssignLayouts}, R"(HloModule m
ENTRY e { a = f32[2,3]{1,0} parameter(0)
  b = f32[3,2]{0,1} bitcast(a)
  ROOT r = f32[3,2]{1,0} copy(b) })"),
            "ENTRY {\nt0 = f32[3,2] transpose(p0), dimensions={1,0}\nroot = f32[3,2] copy(t0)\n}\n");
}

// Arrays reach the call in its layouts and leave it so; a second run has nothing to do.
TEST(Layouts, CustomCallsKeepTheirs) {
  const std::string wanted =
      "ENTRY {\nt0 = f32[3,2] transpose(p0), dimensions={1,0}\nt1 = f32[2,3] bitcast(t0)\n"
      "t2 = (f32[2,3], f32[6]) custom-call(t1), custom_call_target=\"f\", "
      "operand_layout_constraints={f32[2,3]{0,1}}\n"
      "t3 = f32[2,3] get-tuple-element(t2), index=0\nt4 = f32[3,2] bitcast(t3)\n"
      "t5 = f32[2,3] transpose(t4), dimensions={1,0}\n"
      "t6 = f32[6] get-tuple-element(t2), index=1\nt7 = (f32[2,3], f32[6]) tuple(t5, t6)\n"
      "t8 = f32[2,3] get-tuple-element(t7), index=0\nroot = f32[2,3] negate(t8)\n}\n";
  const std::string text = R"(HloModule m
ENTRY e { a = f32[2,3] parameter(0)
  c = (f32[2,3]{0,1}, f32[6]) custom-call(a), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}}
  x = f32[2,3]{0,1} get-tuple-element(c), index=0
  ROOT r = f32[2,3]{1,0} negate(x) })";
  EXPECT_EQ(RunPasses({AssignLayouts}, text), wanted);
  EXPECT_EQ(RunPasses({AssignLayouts, AssignLayouts}, text), wanted);
}

// Two calls that share an operand share its bitcast, once common subexpressions are merged.
TEST(Layouts, CustomCallsThatShareAnOperandAreWrappedOnce) {
  const std::string text = R"(HloModule m
ENTRY e { a = f32[2,3] parameter(0)
  c = f32[6] custom-call(a), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}}
  d = f32[6] custom-call(a), custom_call_target="g", operand_layout_constraints={f32[2,3]{0,1}}
  ROOT r = f32[6] add(c, d) })";
  const std::string once = RunPasses({AssignLayouts, EliminateCommonSubexpressions}, text);
  EXPECT_THAT(once, HasSubstr("custom-call(t1), custom_call_target=\"g\""));
  EXPECT_EQ(RunPasses({AssignLayouts, EliminateCommonSubexpressions, AssignLayouts}, text), once);
}

// Off unless asked for. Chains of arithmetic have one rounding, at their end; comparisons and explicit roundings stay.
TEST(ExcessPrecision, RoundsWhereValuesAreStored) {
  const std::string text = R"(
    a = bf16[4] parameter(0)
    b = bf16[4] parameter(1)
    s = bf16[4] add(a, b)
    m = bf16[4] multiply(s, s)
    w = f32[4] convert(m)
    p = pred[4] compare(s, a), direction=LT
    r = bf16[4] reduce-precision(b), exponent_bits=4, mantissa_bits=3
    ROOT t = (bf16[4], f32[4], pred[4], bf16[4]) tuple(m, w, p, r))";
  EXPECT_THAT(Simplified({KeepExcessPrecision}, text), HasSubstr("bf16[4] add(p0, p1)"));
  PassContext context;
  context.options.excess_precision = true;
  EXPECT_EQ(Simplified({KeepExcessPrecision}, text, "", &context),
            "t0 = f32[4] convert(p0)\nt1 = f32[4] convert(p1)\nt2 = f32[4] add(t0, t1)\n"
            "t3 = bf16[4] convert(t2)\nt4 = pred[4] compare(t3, p0), direction=LT\n"
            "t5 = bf16[4] reduce-precision(p1), exponent_bits=4, mantissa_bits=3\n"
            "t6 = f32[4] multiply(t2, t2)\nt7 = bf16[4] convert(t6)\n"
            "root = (bf16[4], f32[4], pred[4], bf16[4]) tuple(t7, t6, t4, t5)\n");
}

TEST(BatchNorm, InferenceIsElementwise) {
  const std::string out = Simplified({ExpandBatchNorm}, R"(
    x = f32[4,8] parameter(0)
    s = f32[8] parameter(1)
    o = f32[8] parameter(2)
    m = f32[8] parameter(3)
    v = f32[8] parameter(4)
    ROOT r = f32[4,8] batch-norm-inference(x, s, o, m, v), epsilon=0.5, feature_index=1)");
  EXPECT_THAT(out, HasSubstr("rsqrt("));
  EXPECT_THAT(out, HasSubstr("broadcast(p2), dimensions={1}"));
  EXPECT_THAT(out, Not(HasSubstr("batch-norm")));
}

TEST(BatchNorm, TrainingAndGradientReduceOverAllButTheFeature) {
  const std::string training = Simplified({ExpandBatchNorm}, R"(
    x = f32[4,8,5] parameter(0)
    s = f32[8] parameter(1)
    o = f32[8] parameter(2)
    ROOT r = (f32[4,8,5], f32[8], f32[8]) batch-norm-training(x, s, o), epsilon=0.5, feature_index=1)");
  EXPECT_THAT(training, HasSubstr("dimensions={0,2}, to_apply=add_f32"));
  EXPECT_THAT(training, HasSubstr("constant(20)"));
  const std::string gradient = Simplified({ExpandBatchNorm}, R"(
    x = f32[4,8] parameter(0)
    s = f32[8] parameter(1)
    m = f32[8] parameter(2)
    v = f32[8] parameter(3)
    d = f32[4,8] parameter(4)
    ROOT r = (f32[4,8], f32[8], f32[8]) batch-norm-grad(x, s, m, v, d), epsilon=0.5, feature_index=1)");
  EXPECT_THAT(gradient, HasSubstr("reduce(p4"));
  EXPECT_THAT(gradient, Not(HasSubstr("batch-norm")));
}

constexpr char kCombiners[] = R"(
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
less_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] subtract(a, b) })";

TEST(RunningWindows, AreScans) {
  const std::string out = Simplified({ExpandRunningWindows}, R"(
    x = f32[64,100] parameter(0)
    zero = f32[] constant(0)
    ROOT r = f32[64,100] reduce-window(x, zero), window={size=1x100 pad=0_0x99_0}, to_apply=add_f32)",
                                     kCombiners);
  EXPECT_THAT(out, Not(HasSubstr("reduce-window")));
  // Over rows of memory, not over columns.
  EXPECT_THAT(out, HasSubstr("f32[100,64] transpose(p0), dimensions={1,0}"));
  EXPECT_THAT(out, HasSubstr("dimensions={0}"));
  EXPECT_THAT(out, HasSubstr("root = f32[64,100] transpose("));
}

// The carried sum has the digits of f32; each element of the result is rounded.
TEST(RunningWindows, OfNarrowFloatsCarryF32) {
  const auto of = [](const char* combiner) {
    return Simplified({ExpandRunningWindows},
                      absl::StrCat("x = bf16[100] parameter(0)\n i = bf16[] constant(0)\n ROOT r = bf16[100] "
                                   "reduce-window(x, i), window={size=100 pad=99_0}, to_apply=",
                                   combiner),
                      "add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }\n"
                      "max { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] maximum(a, b) }");
  };
  EXPECT_THAT(of("add"), HasSubstr("(bf16[100], f32[]) scan("));
  EXPECT_THAT(of("max"), HasSubstr("(bf16[100], bf16[]) scan("));
}

TEST(RunningWindows, AnyCombinerFromTheStartKnownOnesFromTheEnd) {
  const auto from_end = [](const char* type, const char* combiner) {
    return Simplified({ExpandRunningWindows},
                      absl::StrCat("x = ", type, "[100] parameter(0)\n i = ", type, "[] constant(0)\n ROOT r = ", type,
                                   "[100] reduce-window(x, i), window={size=100 pad=0_99}, to_apply=", combiner),
                      kCombiners);
  };
  EXPECT_THAT(from_end("f32", "add_f32"), HasSubstr("is_reverse=true"));
  EXPECT_THAT(from_end("f32", "max_f32"), HasSubstr("is_reverse=true"));
  EXPECT_THAT(from_end("f32", "less_f32"), HasSubstr("reduce-window"));
  const std::string from_start = Simplified({ExpandRunningWindows}, R"(
    x = f32[3,100] parameter(0)
    i = f32[] constant(0)
    ROOT r = f32[3,100] reduce-window(x, i), window={size=1x100 pad=0_0x99_0}, to_apply=less_f32)",
                                            kCombiners);
  EXPECT_THAT(from_start, HasSubstr("scan(p0, "));
  EXPECT_THAT(from_start, Not(HasSubstr("reduce-window")));
}

TEST(RunningWindows, OtherWindowsStay) {
  for (const char* window : {"size=100 pad=98_1", "size=100 pad=99_0 rhs_reversal=1", "size=99 pad=98_1"}) {
    EXPECT_THAT(Simplified({ExpandRunningWindows},
                           absl::StrCat("x = f32[100] parameter(0)\n zero = f32[] constant(0)\n", "ROOT r = f32[",
                                        window[5] == '9' ? 101 : 100, "] reduce-window(x, zero), window={", window,
                                        "}, to_apply=add_f32"),
                           kCombiners),
                HasSubstr("reduce-window"));
  }
}

std::string WindowOf(int size, const char* combiner, const char* type = "f32", int init = 0) {
  return Simplified(
      {ExpandLongWindows},
      absl::StrCat("x = ", type, "[3000] parameter(0)\n i = ", type, "[] constant(", init, ")\n ROOT r = ", type, "[",
                   3001 - size, "] reduce-window(x, i), window={size=", size, "}, to_apply=", combiner),
      absl::StrReplaceAll(R"(
add { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }
max { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] maximum(a, b) }
sub { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] subtract(a, b) })",
                          {{"T[", absl::StrCat(type, "[")}}));
}

TEST(LongWindows, AreWindowsOfWindows) {
  const std::string out = WindowOf(256, "add");
  EXPECT_THAT(out, HasSubstr("f32[2985] reduce-window(p0, "));
  EXPECT_THAT(out, HasSubstr("window={size=16}"));
  EXPECT_THAT(out, HasSubstr("f32[2745] reduce-window("));
  EXPECT_THAT(out, HasSubstr("window={size=16 rhs_dilate=16}"));
  // Ten of ten, and of the 101st element alone, or as many that end there.
  EXPECT_THAT(WindowOf(101, "add"), HasSubstr("window={size=1}"));
  const std::string largest = WindowOf(101, "max");
  EXPECT_THAT(largest, Not(HasSubstr("window={size=1}")));
  EXPECT_THAT(largest, HasSubstr("[1:2901]"));
  EXPECT_THAT(WindowOf(64, "add", "bf16"), HasSubstr("f32[2993] reduce-window("));
}

TEST(LongWindows, OthersStay) {
  for (const std::string& out :
       {WindowOf(31, "add"), WindowOf(64, "sub"), WindowOf(64, "add", "f32", 1), WindowOf(2500, "add")}) {
    EXPECT_THAT(out, HasSubstr("reduce-window(p0"));
    EXPECT_THAT(out, Not(HasSubstr("rhs_dilate"))) << out;
  }
}

TEST(ElementTypes, ConvolutionsOfF16RunInF32) {
  EXPECT_EQ(Simplified({WidenElementTypes}, R"(
    a = f16[1,9,3] parameter(0)
    b = f16[2,3,4] parameter(1)
    ROOT r = f16[1,8,4] convolution(a, b), window={size=2}, dim_labels=b0f_0io->b0f)"),
            "t0 = f32[1,9,3] convert(p0)\nt1 = f32[2,3,4] convert(p1)\n"
            "t2 = f32[1,8,4] convolution(t0, t1), window={size=2}, dim_labels=b0f_0io->b0f\n"
            "root = f16[1,8,4] convert(t2)\n");
}

TEST(Dots, ContractedDimensionsGetOneStride) {
  // Contracted dimensions 0 and 2 of the left operand lie apart: it is transposed.
  const std::string out = Simplified({CanonicalizeDots}, R"(
    a = f32[3,4,5] parameter(0)
    b = f32[3,5,7] parameter(1)
    ROOT r = f32[4,7] dot(a, b), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1})");
  EXPECT_EQ(out,
            "t0 = f32[4,3,5] transpose(p0), dimensions={1,0,2}\n"
            "root = f32[4,7] dot(t0, p1), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}\n");
  // In another order of the pairs both are walked with one stride.
  EXPECT_EQ(Simplified({CanonicalizeDots}, R"(
    a = f32[4,3,5] parameter(0)
    b = f32[3,5,7] parameter(1)
    ROOT r = f32[4,7] dot(a, b), lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0})"),
            "root = f32[4,7] dot(p0, p1), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}\n");
}

TEST(Dots, SmallOnesAreSumsOfProducts) {
  EXPECT_EQ(Simplified({ExpandSmallDots, SimplifyAlgebra}, R"(
    a = f64[7] parameter(0)
    b = f64[7] parameter(1)
    ROOT r = f64[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0})"),
            "t0 = f64[] constant(0)\nt1 = f64[7] multiply(p0, p1)\n"
            "root = f64[] reduce(t1, t0), dimensions={0}, to_apply=add_f64\n");
  // Batch dimensions first; sums of bf16 are f32.
  EXPECT_EQ(Simplified({ExpandSmallDots}, R"(
    a = bf16[2,3,2] parameter(0)
    b = bf16[3,2,4] parameter(1)
    ROOT r = bf16[2,2,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1},
      rhs_contracting_dims={0})"),
            "t0 = f32[2,3,2] convert(p0)\nt1 = f32[2,2,3] transpose(t0), dimensions={0,2,1}\n"
            "t2 = f32[2,2,4,3] broadcast(t1), dimensions={0,1,3}\nt3 = f32[3,2,4] convert(p1)\n"
            "t4 = f32[2,4,3] transpose(t3), dimensions={1,2,0}\nt5 = f32[2,2,4,3] broadcast(t4), dimensions={0,2,3}\n"
            "t6 = f32[] constant(0)\nt7 = f32[2,2,4,3] multiply(t2, t5)\n"
            "t8 = f32[2,2,4] reduce(t7, t6), dimensions={3}, to_apply=add_f32\n"
            "root = bf16[2,2,4] convert(t8)\n");
  EXPECT_THAT(Simplified({ExpandSmallDots}, R"(
    a = f32[8,9] parameter(0)
    b = f32[9] parameter(1)
    ROOT r = f32[8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})"),
              ::testing::HasSubstr("dot("));
}

TEST(Dots, InnerProductsAreSumsOfProducts) {
  const auto inner = [](absl::string_view type, int size) {
    return Simplified(
        {ExpandSmallDots, SimplifyAlgebra},
        absl::StrReplaceAll(R"(
    a = T[N] parameter(0)
    b = T[N] parameter(1)
    ROOT r = T[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0})",
                            {{"T[N]", absl::StrCat(type, "[", size, "]")}, {"T[]", absl::StrCat(type, "[]")}}));
  };
  EXPECT_EQ(inner("f32", 4000),
            "t0 = f32[] constant(0)\nt1 = f32[4000] multiply(p0, p1)\n"
            "root = f32[] reduce(t1, t0), dimensions={0}, to_apply=add_f32\n");
  EXPECT_THAT(inner("f32", 5000), ::testing::HasSubstr("dot("));
  EXPECT_EQ(inner("s32", 5000),
            "t0 = s32[5000] multiply(p0, p1)\nt1 = s32[] constant(0)\n"
            "root = s32[] reduce(t0, t1), dimensions={0}, to_apply=add_s32\n");
}

// Of integers and complex numbers, with the matrix as it lies.
TEST(Dots, ProductsWithVectorsAreSumsOfProducts) {
  const std::string out = Simplified({ExpandSmallDots, SimplifyAlgebra}, R"(
    a = s8[3,40] parameter(0)
    b = s8[40,3,50] parameter(1)
    ROOT r = s32[3,50] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1},
      rhs_contracting_dims={0})");
  EXPECT_THAT(out, HasSubstr("= s32[40,3] transpose("));
  EXPECT_THAT(out, HasSubstr("= s32[40,3,50] convert(p1)"));
  EXPECT_THAT(out, HasSubstr("root = s32[3,50] reduce("));
  EXPECT_THAT(Simplified({ExpandSmallDots}, R"(
    a = c64[40,50] parameter(0)
    b = c64[50,2] parameter(1)
    ROOT r = c64[40,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})"),
              HasSubstr("dot("));
  // Of a few complex terms: a gate of two qubits on a state.
  EXPECT_THAT(Simplified({ExpandSmallDots}, R"(
    a = c64[2,2,2,2] parameter(0)
    b = c64[16,2,2,16] parameter(1)
    ROOT r = c64[2,2,16,16] dot(a, b), lhs_contracting_dims={2,3}, rhs_contracting_dims={1,2})"),
              Not(HasSubstr("dot(")));
}

// Points turned by a matrix, and gates: with neighbouring dimensions as one.
TEST(Dots, ProductsByAFewNumbersAreSumsOfProducts) {
  const auto expanded = [](absl::string_view type, absl::string_view text) {
    return Simplified({ExpandSmallDots, SimplifyAlgebra}, absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}}));
  };
  constexpr char kPoints[] = R"(
    a = T[100,3] parameter(0)
    b = T[3,4] parameter(1)
    ROOT r = T[100,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})";
  EXPECT_THAT(expanded("f32", kPoints), HasSubstr("root = f32[100,4] reduce("));
  constexpr char kGate[] = R"(
    a = T[2,2] parameter(0)
    b = T[2,2,2,2,2,2,2] parameter(1)
    ROOT r = T[2,2,2,2,2,2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={3})";
  EXPECT_THAT(expanded("c64", kGate), HasSubstr("= c64[2,8,8] reduce("));
  EXPECT_THAT(expanded("f32", kGate), HasSubstr("dot("));
  EXPECT_THAT(expanded("c128", R"(
    a = T[2,2,3,20] parameter(0)
    b = T[3,20,2] parameter(1)
    ROOT r = T[2,2,2] dot(a, b), lhs_contracting_dims={2,3}, rhs_contracting_dims={0,1})"),
              HasSubstr("= c128[4,2] reduce("));
}

TEST(Dots, VectorsOfSeveralBatchesAreSumsOfProducts) {
  EXPECT_EQ(Simplified({ExpandSmallDots, SimplifyAlgebra}, R"(
    a = f32[9,32,24] parameter(0)
    b = f32[9,24] parameter(1)
    ROOT r = f32[9,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1})"),
            "t0 = f32[9,32,24] broadcast(p1), dimensions={0,2}\nt1 = f32[] constant(0)\n"
            "t2 = f32[9,32,24] multiply(p0, t0)\n"
            "root = f32[9,32] reduce(t2, t1), dimensions={2}, to_apply=add_f32\n");
  // Sums of one term.
  EXPECT_THAT(Simplified({ExpandSmallDots}, R"(
    a = f16[300,1] parameter(0)
    b = f16[1,500] parameter(1)
    ROOT r = f16[300,500] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})"),
              Not(HasSubstr("dot(")));
  // One batch, rows that do not lie in memory, and matrices.
  const auto kept = [](const char* text) {
    EXPECT_THAT(Simplified({ExpandSmallDots}, text), ::testing::HasSubstr("dot("));
  };
  kept(R"(
    a = f32[1,32,24] parameter(0)
    b = f32[1,24] parameter(1)
    ROOT r = f32[1,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1})");
  kept(R"(
    a = f32[9,24,32] parameter(0)
    b = f32[9,24] parameter(1)
    ROOT r = f32[9,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1},
      rhs_contracting_dims={1})");
  kept(R"(
    a = f32[9,32,24] parameter(0)
    b = f32[9,2,24] parameter(1)
    ROOT r = f32[9,32,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={2})");
}

TEST(ElementTypes, ProductsOfF16AreWiderButThoseOfAFewRows) {
  const auto product = [](int rows) {
    return Simplified({WidenElementTypes}, absl::StrReplaceAll(R"(
    a = f16[N,24] parameter(0)
    b = f16[24,70] parameter(1)
    ROOT r = f16[N,70] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
                                                               {{"N", absl::StrCat(rows)}}));
  };
  EXPECT_THAT(product(5), HasSubstr("f32[5,70] dot("));
  EXPECT_THAT(product(4), HasSubstr("f16[4,70] dot("));
}

TEST(Transposes, KeepTheirLastDimensionsAsOne) {
  EXPECT_EQ(Simplified({JoinTransposedRows}, R"(
    x = s8[4,6,2,8,16] parameter(0)
    ROOT r = s8[4,2,6,8,16] transpose(x), dimensions={0,2,1,3,4})"),
            "t0 = s8[4,6,2,128] reshape(p0)\nt1 = s8[4,2,6,128] transpose(t0), dimensions={0,2,1,3}\n"
            "root = s8[4,2,6,8,16] reshape(t1)\n");
  EXPECT_THAT(Simplified({JoinTransposedRows}, R"(
    x = f32[4,6,2,64] parameter(0)
    ROOT r = f32[6,4,2,64] transpose(x), dimensions={1,0,2,3})"),
              Not(HasSubstr("reshape(")));
}

TEST(TopK, OnlyForBackendsThatHaveIt) {
  const char* text = R"(
    x = s32[1000] parameter(0)
    i = s32[1000] iota(), iota_dimension=0
    s = (s32[1000], s32[1000]) sort(x, i), dimensions={0}, is_stable=true, to_apply=greater
    v = s32[1000] get-tuple-element(s), index=0
    n = s32[1000] get-tuple-element(s), index=1
    a = s32[10] slice(v), slice={[0:10]}
    b = s32[10] slice(n), slice={[0:10]}
    ROOT r = (s32[10], s32[10]) tuple(a, b))";
  const char* greater = R"(
greater { a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT })";
  EXPECT_THAT(Simplified({RecognizeTopK}, text, greater), HasSubstr("topk(p0), k=10, largest=true"));
  // By the plain order of floats zeros are equal: they are made equal, and the results taken from the array itself.
  const auto of_floats = [](std::string all) {
    return absl::StrReplaceAll(all, {{"s32[1000] p", "f32[1000] p"},
                                     {"(s32", "(f32"},
                                     {"v = s32", "v = f32"},
                                     {"a = s32", "a = f32"},
                                     {"b = s32[] p", "b = f32[] p"}});
  };
  const std::string floats = Simplified({RecognizeTopK}, of_floats(text), of_floats(greater));
  EXPECT_THAT(floats, HasSubstr("topk(t"));
  EXPECT_THAT(floats, HasSubstr("gather(p0, "));
}

TEST(Barriers, AreRemoved) {
  EXPECT_EQ(Simplified({ExpandBarriers}, R"(
    x = f32[4] parameter(0)
    a = f32[4] negate(x)
    b = f32[4] opt-barrier(a)
    ROOT r = f32[4] tanh(b))"),
            "t0 = f32[4] negate(p0)\nroot = f32[4] tanh(t0)\n");
}

TEST(DynamicDimensions, StandBesideArraysOfBounds) {
  const char* text = R"(HloModule m
ENTRY e { x = f32[4] parameter(0) n = s32[] parameter(1) ROOT y = f32[<=4] set-dimension-size(x, n), dimensions={0} })";
  const std::string out = RunPasses({ExpandDynamicDimensions}, text);
  EXPECT_THAT(out, HasSubstr("root = (f32[4], s32[]) tuple("));
  EXPECT_THAT(out, Not(HasSubstr("<=")));
  PassContext late;
  late.options.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_THAT(RunPasses({ExpandDynamicDimensions}, text, &late), HasSubstr("longer than its deadline allows"));
}

// Inner products of many pairs, of which one array has its vectors across rows: sums over the array as it lies.
TEST(SmallDots, ManyInnerProductsAcrossRows) {
  EXPECT_EQ(Simplified({ExpandSmallDots, SimplifyAlgebra}, R"(
  a = f32[32,16,64] parameter(0)
  b = f32[16,64,32] parameter(1)
  ROOT d = f32[16,64] dot(a, b), lhs_batch_dims={1,2}, lhs_contracting_dims={0}, rhs_batch_dims={0,1}, rhs_contracting_dims={2}
)"),
            "t0 = f32[16,64,32] transpose(p0), dimensions={1,2,0}\nt1 = f32[16,64,32] multiply(t0, p1)\n"
            "t2 = f32[] constant(0)\nroot = f32[16,64] reduce(t1, t2), dimensions={2}, to_apply=add_f32\n");
}

// What jax.numpy.searchsorted compares: NaN above all numbers, zeros alike.
TEST(TotalOrder, ComparisonsOfCanonicalNumbersAreTheMachines) {
  const auto compared = [](absl::string_view direction, absl::string_view nan) {
    return RunPasses({ExpandTotalOrder, EliminateCommonSubexpressions}, absl::StrCat(R"(HloModule m
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  zero = f32[] constant(0)
  nan = f32[] constant()",
                                                                                     nan, R"()
  zeros = f32[8] broadcast(zero), dimensions={}
  nans = f32[8] broadcast(nan), dimensions={}
  a_nan = pred[8] compare(a, a), direction=NE
  a_zero = pred[8] compare(a, zeros), direction=EQ
  a_same = f32[8] select(a_zero, zeros, a)
  x = f32[8] select(a_nan, nans, a_same)
  b_nan = pred[8] compare(b, b), direction=NE
  b_zero = pred[8] compare(b, zeros), direction=EQ
  b_same = f32[8] select(b_zero, zeros, b)
  y = f32[8] select(b_nan, nans, b_same)
  c = pred[8] compare(x, y), direction=)",
                                                                                     direction, R"(, type=TOTALORDER
  ROOT r = s32[8] convert(c)
})"));
  };
  EXPECT_EQ(compared("LT", "nan"),
            "ENTRY {\nt0 = pred[8] compare(p0, p0), direction=EQ\nt1 = pred[8] compare(p0, p1), direction=GE\n"
            "t2 = pred[8] not(t1)\nt3 = pred[8] and(t0, t2)\nroot = s32[8] convert(t3)\n}\n");
  EXPECT_EQ(compared("LE", "nan"),
            "ENTRY {\nt0 = pred[8] compare(p1, p1), direction=NE\nt1 = pred[8] compare(p1, p0), direction=GE\n"
            "t2 = pred[8] or(t0, t1)\nroot = s32[8] convert(t2)\n}\n");
  EXPECT_THAT(compared("LT", "-nan"), HasSubstr("TOTALORDER"));
}

}  // namespace
}  // namespace xc
