// Elementwise ops at the edges of their types: the rules at the head of hlo/opcode.def, one by one.
#include <algorithm>

#include "backends/interpreter/op_test_util.h"

namespace xc::interp {
namespace {

// How many elements a list has; complex ones stand in parentheses.
int64_t Count(const std::string& list) {
  const int64_t pairs = std::count(list.begin(), list.end(), '(');
  return pairs > 0 ? pairs : 1 + std::count(list.begin(), list.end(), ',');
}

// One op on constants: `type`[n] results, operands given as elements.
void Unary(const std::string& op, const std::string& type, const std::string& x, const std::string& expected,
           const std::string& result_type = "") {
  const auto shape = [&](const std::string& t) { return absl::StrCat(t, "[", Count(x), "]"); };
  const std::string out = result_type.empty() ? type : result_type;
  Expect(absl::StrCat("x = ", shape(type), " constant({", x, "})\nROOT r = ", shape(out), " ", op),
         "{" + expected + "}");
}
void Binary(const std::string& op, const std::string& type, const std::string& x, const std::string& y,
            const std::string& expected, const std::string& result_type = "") {
  const std::string dims = absl::StrCat("[", Count(x), "]");
  const std::string out = result_type.empty() ? type : result_type;
  Expect(absl::StrCat("x = ", type, dims, " constant({", x, "})\ny = ", type, dims, " constant({", y,
                      "})\nROOT r = ", out, dims, " ", op),
         "{" + expected + "}");
}

TEST(ElementwiseTest, IntegersWrap) {
  Binary("add(x, y)", "s8", "127, -128, 100", "1, -1, 100", "-128, 127, -56");
  Binary("multiply(x, y)", "u8", "16, 255", "16, 255", "0, 1");
  Binary("subtract(x, y)", "s4", "-8, 7", "1, -8", "7, -1");
  Binary("multiply(x, y)", "s64", "9223372036854775807", "2", "-2");
  Unary("negate(x)", "s8", "-128, 5", "-128, -5");
  Unary("abs(x)", "s32", "-2147483648, -5", "-2147483648, 5");
}

TEST(ElementwiseTest, IntegerDivision) {
  Binary("divide(x, y)", "s32", "7, -7, 7, -2147483648, 0", "2, 2, 0, -1, 0", "3, -3, -1, -2147483648, -1");
  Binary("remainder(x, y)", "s32", "7, -7, 7, -2147483648", "2, 2, 0, -1", "1, -1, 7, 0");
  Binary("divide(x, y)", "u8", "7, 200", "0, 3", "255, 66");
  Binary("remainder(x, y)", "u8", "7, 200", "0, 3", "7, 2");
  Binary("divide(x, y)", "s64", "-9223372036854775808", "-1", "-9223372036854775808");
}

TEST(ElementwiseTest, Shifts) {
  Binary("shift-left(x, y)", "s8", "1, 1, 1, -1", "7, 8, -1, 1", "-128, 0, 0, -2");
  Binary("shift-right-logical(x, y)", "s8", "-1, -1, -1", "1, 7, 8", "127, 1, 0");
  Binary("shift-right-arithmetic(x, y)", "s8", "-128, -128, 64", "1, 100, 100", "-64, -1, 0");
  Binary("shift-right-arithmetic(x, y)", "u8", "128, 64", "1, 100", "192, 0");
  Binary("shift-left(x, y)", "u64", "1, 1", "63, 64", "9223372036854775808, 0");
}

TEST(ElementwiseTest, Bits) {
  Unary("popcnt(x)", "s8", "-1, 0, 5", "8, 0, 2");
  Unary("count-leading-zeros(x)", "u16", "0, 1, 65535", "16, 15, 0");
  Unary("count-leading-zeros(x)", "s8", "-1, 1", "0, 7");
  Unary("not(x)", "pred", "true, false", "false, true");
  Unary("not(x)", "u8", "0, 255", "255, 0");
  Binary("mulhi(x, y)", "s32", "65536, -65536", "65536, 65536", "1, -1");
  Binary("mulhi(x, y)", "u64", "18446744073709551615", "18446744073709551615", "18446744073709551614");
  Binary("xor(x, y)", "pred", "true, true", "true, false", "false, true");
}

TEST(ElementwiseTest, Power) {
  Binary("power(x, y)", "s32", "2, -1, -1, 1, 5, 0, 3", "10, -3, -2, -7, -1, 0, 40", "1024, -1, 1, 1, 0, 1, 689956897");
  Binary("power(x, y)", "f32", "0, 2, -8", "0, 0.5, 2", "1, 1.41421354, 64");
}

TEST(ElementwiseTest, MaximumAndMinimum) {
  Binary("maximum(x, y)", "f32", "-0, 0, 1", "0, -0, 2", "0, 0, 2");
  Binary("minimum(x, y)", "f32", "-0, 0, 1", "0, -0, 2", "-0, -0, 1");
  Binary("compare(x, y), direction=NE", "f32", "nan, 1", "1, 1", "true, false", "pred");
  Expect(R"(x = f32[2] constant({nan, 1})
            y = f32[2] constant({1, nan})
            m = f32[2] maximum(x, y)
            n = f32[2] minimum(x, y)
            a = pred[2] compare(m, m), direction=NE
            b = pred[2] compare(n, n), direction=NE
            ROOT r = pred[2] and(a, b))",
         "{true, true}");
}

TEST(ElementwiseTest, Comparisons) {
  Binary("compare(x, y), direction=LT", "f32", "nan, -0, 1", "1, 0, inf", "false, false, true", "pred");
  Binary("compare(x, y), direction=LT, type=TOTALORDER", "f32", "inf, -0, -nan, 0, -1", "nan, 0, -inf, -0, -2",
         "true, true, true, false, false", "pred");
  Binary("compare(x, y), direction=GE, type=TOTALORDER", "bf16", "nan, -inf", "inf, -1", "true, false", "pred");
  Binary("compare(x, y), direction=GT", "u64", "18446744073709551615", "1", "true", "pred");
  Binary("compare(x, y), direction=EQ", "c64", "(1, 2), (1, 2)", "(1, 2), (1, 3)", "true, false", "pred");
}

TEST(ElementwiseTest, ConversionsSaturateAndRoundOnce) {
  Unary("convert(x)", "f32", "nan, inf, -inf, -1.9, 3e9", "0, 2147483647, -2147483648, -1, 2147483647", "s32");
  Unary("convert(x)", "f32", "-1, 255.9, 300", "0, 255, 255", "u8");
  Unary("convert(x)", "f32", "9, -9, 3.7", "7, -8, 3", "s4");
  Unary("convert(x)", "f64", "1e30, -1", "18446744073709551615, 0", "u64");
  Unary("convert(x)", "s32", "300, -1", "44, -1", "s8");
  Unary("convert(x)", "f32", "0.1, 0, nan", "true, false, true", "pred");
  Unary("convert(x)", "s32", "2, 0", "true, false", "pred");
  // 2^24 + 1 is a tie in f32; 2^54 + 2^30 + 1 is above one only before it is rounded to f64.
  Unary("convert(x)", "s64", "16777217, 16777219", "16777216, 16777220", "f32");
  Unary("convert(x)", "s64", "4503599627370497", "4503599627370496", "bf16");
  Unary("convert(x)", "s64", "18084767253659649", "18155135997837312", "bf16");
  Unary("convert(x)", "f32", "1e30, -1e30, 448, 464", "nan, -nan, 448, 448", "f8e4m3fn");
  Unary("convert(x)", "f32", "1e30, 57344", "inf, 57344", "f8e5m2");
  Unary("convert(x)", "f32", "5, 0.2, 100", "4, 0, 6", "f4e2m1fn");
  Unary("convert(x)", "f32", "2049, 2051", "2048, 2052", "f16");
}

TEST(ElementwiseTest, Rounding) {
  Unary("round-nearest-afz(x)", "f32", "0.5, 1.5, -2.5", "1, 2, -3");
  Unary("round-nearest-even(x)", "f32", "0.5, 1.5, -2.5", "0, 2, -2");
  Unary("floor(x)", "f64", "-0.5, 2.5", "-1, 2");
  Unary("ceil(x)", "bf16", "-0.5, 2.5", "-0, 3");
  Unary("sign(x)", "f32", "-3, 0, -0, 9", "-1, 0, -0, 1");
  Unary("reduce-precision(x), exponent_bits=5, mantissa_bits=10", "f32", "65536, 2049, 1e-9", "inf, 2048, 0");
  Unary("reduce-precision(x), exponent_bits=8, mantissa_bits=7", "f32", "1.01171875", "1.015625");
}

TEST(ElementwiseTest, NarrowFloatsRoundAfterEveryOp) {
  Binary("add(x, y)", "bf16", "256, 1", "1, 0.00390625", "256, 1");
  Binary("multiply(x, y)", "f16", "300", "300", "inf");
  Binary("add(x, y)", "f8e4m3fn", "16, 240", "1, 240", "16, nan");
}

TEST(ElementwiseTest, Transcendentals) {
  Unary("exponential(x)", "f32", "0, 1, -inf", "1, 2.71828175, 0");
  Unary("log(x)", "f32", "1, 0", "0, -inf");
  Unary("log-plus-one(x)", "f32", "1e-20, 0", "1e-20, 0");
  Unary("exponential-minus-one(x)", "f32", "1e-20, -inf", "1e-20, -1");
  Unary("logistic(x)", "f32", "0, 200, -200", "0.5, 1, 0");
  Unary("rsqrt(x)", "f32", "4, 0, inf", "0.5, inf, 0");
  Unary("cbrt(x)", "f32", "-27, 8", "-3, 2");
  Unary("tanh(x)", "bf16", "0, 100", "0, 1");
  Unary("erf(x)", "f32", "0, 10", "0, 1");
  Binary("atan2(x, y)", "f32", "0, 1", "-1, 0", "3.14159274, 1.57079637");
  Binary("remainder(x, y)", "f32", "5.5, -5.5", "2, 2", "1.5, -1.5");
}

TEST(ElementwiseTest, Complex) {
  Binary("multiply(x, y)", "c64", "(1, 2)", "(3, -1)", "(5, 5)");
  Binary("divide(x, y)", "c64", "(5, 5)", "(3, -1)", "(1, 2)");
  Unary("abs(x)", "c64", "(3, 4), (inf, nan)", "5, inf", "f32");
  Unary("imag(x)", "c64", "(3, 4)", "4", "f32");
  Unary("imag(x)", "f32", "3", "0", "f32");
  Unary("sqrt(x)", "c64", "(-4, 0), (-4, -0)", "(0, 2), (0, -2)");
  Unary("exponential-minus-one(x)", "c128", "(1e-30, 0)", "(1e-30, 0)");
  Unary("log-plus-one(x)", "c128", "(1e-30, 0)", "(1e-30, 0)");
  Binary("complex(x, y)", "f32", "1, 2", "3, 4", "(1, 3), (2, 4)", "c64");
  Unary("is-finite(x)", "f16", "1, inf, nan", "true, false, false", "pred");
  Binary("power(x, y)", "c64", "(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (inf, 0)",
         "(1, 1), (-1, 0), (0, 0), (2, 0), (nan, inf), (-1, 0)",
         "(nan, nan), (nan, nan), (1, 0), (0, 0), (1, 0), (0, 0)");
}

TEST(ElementwiseTest, SelectAndClamp) {
  Expect(R"(p = pred[] constant(false)
            x = s32[2] constant({1, 2})
            y = s32[2] constant({3, 4})
            ROOT r = s32[2] select(p, x, y))",
         "{3, 4}");
  Expect(R"(l = f32[] constant(-1)
            x = f32[3] constant({-5, 0.5, 5})
            h = f32[] constant(1)
            ROOT r = f32[3] clamp(l, x, h))",
         "{-1, 0.5, 1}");
  Expect(R"(l = u8[2] constant({3, 3})
            x = u8[2] constant({0, 255})
            h = u8[2] constant({9, 9})
            ROOT r = u8[2] clamp(l, x, h))",
         "{3, 9}");
}

TEST(ElementwiseTest, StochasticConvert) {
  Expect(R"(x = f32[4] constant({1.25, 1.25, -1.25, 1e20})
            b = u32[4] constant({0, 2147483648, 0, 0})
            ROOT r = s32[4] stochastic-convert(x, b))",
         "{2, 1, -2, 2147483647}");
  Expect(R"(x = f32[3] constant({1.001953125, 1.001953125, inf})
            b = u32[3] constant({0, 4294967295, 0})
            ROOT r = bf16[3] stochastic-convert(x, b))",
         "{1.0078125, 1, inf}");
}

TEST(ElementwiseTest, BitcastConvert) {
  Unary("bitcast-convert(x)", "f32", "1, -0", "1065353216, 2147483648", "u32");
  Expect(R"(x = u16[2] constant({513, 1027})
            ROOT r = u8[2,2] bitcast-convert(x))",
         "{{1, 2}, {3, 4}}");
  Expect(R"(x = u8[2,4] constant({{0, 0, 128, 63}, {0, 0, 0, 64}})
            ROOT r = f32[2] bitcast-convert(x))",
         "{1, 2}");
  Expect(R"(x = u8[2] constant({33, 248})
            ROOT r = s4[2,2] bitcast-convert(x))",
         "{{1, 2}, {-8, -1}}");
  Expect(R"(x = s4[2] constant({-1, 7})
            ROOT r = u4[2] bitcast-convert(x))",
         "{15, 7}");
}

TEST(ElementwiseTest, TypesThatDoNotGoTogether) {
  const Shape shape(ElementType::kPred, {1});
  auto x = HloInstruction::CreateParameter(0, shape, "x");
  auto tanh = HloInstruction::Create(HloOpcode::kTanh, shape, {x.get()});
  const Literal value(shape);
  const absl::Status status = Evaluator().EvaluateInstruction(*tanh, {&value}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("tanh of (pred) to pred is not supported"), std::string::npos) << status;
}

}  // namespace
}  // namespace xc::interp
