// Rewrite rows of arithmetic, logic and conversions: before and after.
#include "compiler/pass_test_support.h"
#include "compiler/simplify/simplify.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

// `instructions` over parameters x, y: f32[8], i, j: s32[8], u: u32[8], p, q: pred[8], z: c64[8]; the last is the root.
std::string Check(const std::string& instructions) {
  return Simplified({SimplifyAlgebra}, R"(
    x = f32[8] parameter(0)
    y = f32[8] parameter(1)
    i = s32[8] parameter(2)
    j = s32[8] parameter(3)
    u = u32[8] parameter(4)
    p = pred[8] parameter(5)
    q = pred[8] parameter(6)
    z = c64[8] parameter(7)
    b = bf16[8] parameter(8)
)" + instructions);
}

// `root` computed from `c`, the constant `value` of type `type` repeated 8 times.
std::string With(const std::string& type, const std::string& value, const std::string& root) {
  return Check("s = " + type + "[] constant(" + value + ")\n c = " + type +
               "[8] broadcast(s), dimensions={}\n ROOT r = " + root);
}

constexpr char kUnchanged[] = "t0 = ";

#define EXPECT_SAME(text) EXPECT_EQ((text).substr(0, 5), kUnchanged) << (text)

TEST(Arithmetic, AddZeroOnlyWhereTheSignOfZeroStays) {
  EXPECT_EQ(With("s32", "0", "s32[8] add(i, c)"), "root = p2\n");
  EXPECT_EQ(With("s32", "0", "s32[8] add(c, i)"), "root = p2\n");
  EXPECT_EQ(With("f32", "-0", "f32[8] add(x, c)"), "root = p0\n");
  EXPECT_SAME(With("f32", "0", "f32[8] add(x, c)"));
}

TEST(Arithmetic, SubtractZero) {
  EXPECT_EQ(With("f32", "0", "f32[8] subtract(x, c)"), "root = p0\n");
  EXPECT_SAME(With("f32", "-0", "f32[8] subtract(x, c)"));
  EXPECT_EQ(With("s32", "0", "s32[8] subtract(i, c)"), "root = p2\n");
}

// In 32 bits what is known to have no more, and to be no negative number.
TEST(Arithmetic, SmallDivisionsOf64Bits) {
  const auto divides_in_32_bits = [](const std::string& x, const std::string& op, const std::string& by) {
    const std::string text =
        Check("k = s64[8] iota(), iota_dimension=0\n w = s64[8] convert(u)\n l = s64[8] convert(i)\n" +
              std::string(" s = s64[] constant(") + by +
              ")\n c = s64[8] broadcast(s), dimensions={}\n ROOT r = s64[8] " + op + "(" + x + ", c)");
    const bool wide = text.find("s64[8] " + op) != std::string::npos;
    EXPECT_EQ(wide, text.find("u32[8] " + op) == std::string::npos) << text;
    return !wide;
  };
  EXPECT_TRUE(divides_in_32_bits("k", "divide", "7"));
  EXPECT_TRUE(divides_in_32_bits("k", "remainder", "7"));
  EXPECT_TRUE(divides_in_32_bits("w", "divide", "4294967295"));
  EXPECT_FALSE(divides_in_32_bits("w", "divide", "4294967296"));
  EXPECT_FALSE(divides_in_32_bits("l", "divide", "7"));  // may be negative
  EXPECT_FALSE(divides_in_32_bits("k", "divide", "-7"));
  EXPECT_FALSE(divides_in_32_bits("k", "remainder", "0"));
  // What is made of such numbers.
  const std::string more =
      "k = s64[8] iota(), iota_dimension=0\n s = s64[] constant(3)\n"
      " c = s64[8] broadcast(s), dimensions={}\n d = s64[8] divide(k, c)\n"
      " e = s64[8] add(d, k)\n f = s64[8] select(p, e, c)\n ROOT r = s64[8] remainder(f, c)";
  EXPECT_EQ(Check(more).find("s64[8] remainder"), std::string::npos) << Check(more);
}

TEST(Arithmetic, SubtractSelfOfIntegersOnly) {
  EXPECT_EQ(Check("ROOT r = s32[8] subtract(i, i)"),
            "t0 = s32[] constant(0)\nroot = s32[8] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check("ROOT r = f32[8] subtract(x, x)"), "root = f32[8] subtract(p0, p0)\n");
}

TEST(Arithmetic, NegationsJoinTheirOperation) {
  EXPECT_EQ(Check("n = f32[8] negate(y)\n ROOT r = f32[8] add(x, n)"), "root = f32[8] subtract(p0, p1)\n");
  EXPECT_EQ(Check("n = f32[8] negate(y)\n ROOT r = f32[8] subtract(x, n)"), "root = f32[8] add(p0, p1)\n");
  EXPECT_EQ(Check("n = f32[8] negate(y)\n ROOT r = f32[8] negate(n)"), "root = p1\n");
  EXPECT_EQ(Check("n = f32[8] negate(y)\n ROOT r = f32[8] abs(n)"), "root = f32[8] abs(p1)\n");
  EXPECT_EQ(Check("n = f32[8] abs(y)\n ROOT r = f32[8] abs(n)"), "root = f32[8] abs(p1)\n");
}

TEST(Arithmetic, MultiplyByConstants) {
  EXPECT_EQ(With("f32", "1", "f32[8] multiply(x, c)"), "root = p0\n");
  EXPECT_EQ(With("f32", "-1", "f32[8] multiply(c, x)"), "root = f32[8] negate(p0)\n");
  EXPECT_EQ(With("s32", "0", "s32[8] multiply(i, c)"),
            "t0 = s32[] constant(0)\nroot = s32[8] broadcast(t0), dimensions={}\n");
  EXPECT_SAME(With("f32", "0", "f32[8] multiply(x, c)"));  // NaN, infinity, -0
  EXPECT_SAME(With("c64", "(1, 0)", "c64[8] multiply(z, c)"));
}

TEST(Arithmetic, DivideByConstants) {
  EXPECT_EQ(With("f32", "1", "f32[8] divide(x, c)"), "root = p0\n");
  EXPECT_EQ(With("f32", "8", "f32[8] divide(x, c)"),
            "t0 = f32[] constant(0.125)\nt1 = f32[8] broadcast(t0), dimensions={}\nroot = f32[8] multiply(p0, t1)\n");
  EXPECT_EQ(With("f32", "-0.5", "f32[8] divide(x, c)"),
            "t0 = f32[] constant(-2)\nt1 = f32[8] broadcast(t0), dimensions={}\nroot = f32[8] multiply(p0, t1)\n");
  EXPECT_EQ(With("f32", "3", "f32[8] divide(x, c)"),
            "t0 = f32[] constant(3)\nt1 = f32[8] broadcast(t0), dimensions={}\nroot = f32[8] divide(p0, t1)\n");
  EXPECT_EQ(With("u32", "16", "u32[8] divide(u, c)"),
            "t0 = u32[] constant(4)\nt1 = u32[8] broadcast(t0), dimensions={}\n"
            "root = u32[8] shift-right-logical(p4, t1)\n");
  EXPECT_EQ(With("u32", "16", "u32[8] remainder(u, c)"),
            "t0 = u32[] constant(15)\nt1 = u32[8] broadcast(t0), dimensions={}\nroot = u32[8] and(p4, t1)\n");
  EXPECT_SAME(With("s32", "16", "s32[8] divide(i, c)"));  // rounds towards zero
}

TEST(Arithmetic, Powers) {
  EXPECT_EQ(With("f32", "1", "f32[8] power(x, c)"), "root = p0\n");
  EXPECT_EQ(With("f32", "2", "f32[8] power(x, c)"), "root = f32[8] multiply(p0, p0)\n");
  EXPECT_EQ(With("f32", "-1", "f32[8] power(x, c)"),
            "t0 = f32[] constant(1)\nt1 = f32[8] broadcast(t0), dimensions={}\nroot = f32[8] divide(t1, p0)\n");
  EXPECT_SAME(With("f32", "0.5", "f32[8] power(x, c)"));  // sqrt(-0) and sqrt(-inf) differ
}

TEST(Arithmetic, SameOperandsAndRepeatedRounding) {
  EXPECT_EQ(Check("ROOT r = f32[8] maximum(x, x)"), "root = p0\n");
  EXPECT_EQ(Check("ROOT r = f32[8] minimum(x, x)"), "root = p0\n");
  EXPECT_EQ(Check("ROOT r = pred[8] and(p, p)"), "root = p5\n");
  EXPECT_EQ(Check("ROOT r = pred[8] or(p, p)"), "root = p5\n");
  EXPECT_EQ(Check("f = f32[8] floor(x)\n ROOT r = f32[8] floor(f)"), "root = f32[8] floor(p0)\n");
  EXPECT_EQ(Check("f = f32[8] ceil(x)\n ROOT r = f32[8] ceil(f)"), "root = f32[8] ceil(p0)\n");
  EXPECT_EQ(Check("f = f32[8] round-nearest-even(x)\n ROOT r = f32[8] round-nearest-even(f)"),
            "root = f32[8] round-nearest-even(p0)\n");
}

TEST(Arithmetic, ShiftsByZero) {
  EXPECT_EQ(With("s32", "0", "s32[8] shift-left(i, c)"), "root = p2\n");
  EXPECT_EQ(With("s32", "0", "s32[8] shift-right-arithmetic(i, c)"), "root = p2\n");
  EXPECT_EQ(With("s32", "0", "s32[8] shift-right-logical(i, c)"), "root = p2\n");
}

TEST(Arithmetic, PartsOfComplexNumbers) {
  EXPECT_EQ(Check("w = c64[8] complex(x, y)\n ROOT r = f32[8] real(w)"), "root = p0\n");
  EXPECT_EQ(Check("w = c64[8] complex(x, y)\n ROOT r = f32[8] imag(w)"), "root = p1\n");
  EXPECT_EQ(Check("a = f32[8] real(z)\n d = f32[8] imag(z)\n ROOT r = c64[8] complex(a, d)"), "root = p7\n");
}

TEST(Logic, BitsWithConstants) {
  EXPECT_EQ(With("pred", "true", "pred[8] and(p, c)"), "root = p5\n");
  EXPECT_EQ(With("pred", "false", "pred[8] or(p, c)"), "root = p5\n");
  EXPECT_EQ(With("pred", "false", "pred[8] xor(p, c)"), "root = p5\n");
  EXPECT_EQ(With("pred", "true", "pred[8] xor(p, c)"), "root = pred[8] not(p5)\n");
  EXPECT_EQ(With("s32", "-1", "s32[8] and(i, c)"), "root = p2\n");
  EXPECT_EQ(Check("ROOT r = s32[8] xor(i, i)"), "t0 = s32[] constant(0)\nroot = s32[8] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check("n = pred[8] not(p)\n ROOT r = pred[8] not(n)"), "root = p5\n");
}

TEST(Logic, Comparisons) {
  EXPECT_EQ(Check("ROOT r = pred[8] compare(i, i), direction=GE"),
            "t0 = pred[] constant(true)\nroot = pred[8] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check("ROOT r = pred[8] compare(x, x), direction=EQ"), "root = pred[8] compare(p0, p0), direction=EQ\n");
  EXPECT_EQ(With("pred", "true", "pred[8] compare(p, c), direction=EQ"), "root = p5\n");
  EXPECT_EQ(With("pred", "false", "pred[8] compare(p, c), direction=EQ"), "root = pred[8] not(p5)\n");
  EXPECT_EQ(With("u32", "0", "pred[8] compare(u, c), direction=LT"),
            "t0 = pred[] constant(false)\nroot = pred[8] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check("n = pred[8] compare(i, j), direction=LT\n ROOT r = pred[8] not(n)"),
            "root = pred[8] compare(p2, p3), direction=GE\n");
  EXPECT_SAME(Check("n = pred[8] compare(x, y), direction=LT\n ROOT r = pred[8] not(n)"));
  EXPECT_EQ(Check("n = pred[8] compare(x, y), direction=EQ\n ROOT r = pred[8] not(n)"),
            "root = pred[8] compare(p0, p1), direction=NE\n");
}

TEST(Logic, ComparisonOfIotaWithItsRange) {
  EXPECT_EQ(With("s32", "8", "pred[8] compare(k, c), direction=LT").substr(0, 6), "error:");  // k is not defined
  const std::string k = "k = s32[8] iota(), iota_dimension=0\n s = s32[] constant(";
  const std::string end = ")\n c = s32[8] broadcast(s), dimensions={}\n ROOT r = pred[8] compare(k, c), direction=";
  EXPECT_EQ(Check(k + "8" + end + "LT"), "t0 = pred[] constant(true)\nroot = pred[8] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check(k + "-1" + end + "LE"), "t0 = pred[] constant(false)\nroot = pred[8] broadcast(t0), dimensions={}\n");
  EXPECT_SAME(Check(k + "7" + end + "LT"));
}

TEST(Logic, Selections) {
  EXPECT_EQ(Check("ROOT r = f32[8] select(p, x, x)"), "root = p0\n");
  EXPECT_EQ(With("pred", "true", "f32[8] select(c, x, y)"), "root = p0\n");
  EXPECT_EQ(With("pred", "false", "f32[8] select(c, x, y)"), "root = p1\n");
  EXPECT_EQ(Check("n = pred[8] not(p)\n ROOT r = f32[8] select(n, x, y)"), "root = f32[8] select(p5, p1, p0)\n");
  EXPECT_EQ(Check("a = pred[] constant(true)\n d = pred[] constant(false)\n c = pred[8] broadcast(a), dimensions={}\n"
                  " e = pred[8] broadcast(d), dimensions={}\n ROOT r = pred[8] select(p, c, e)"),
            "root = p5\n");
}

TEST(Convert, Chains) {
  EXPECT_EQ(Check("c = f32[8] convert(x)\n ROOT r = f32[8] negate(c)"), "root = f32[8] negate(p0)\n");
  EXPECT_EQ(Check("c = f32[8] convert(b)\n ROOT r = bf16[8] convert(c)"), "root = p8\n");
  EXPECT_EQ(Check("c = s32[8] convert(p)\n ROOT r = f32[8] convert(c)"), "root = f32[8] convert(p5)\n");
  EXPECT_SAME(Check("c = bf16[8] convert(x)\n ROOT r = f32[8] convert(c)"));                             // rounds
  EXPECT_SAME(Check("c = f8e8m0fnu[8] convert(p)\n ROOT r = pred[8] convert(c)"));                       // has no zero
  EXPECT_SAME(Check("t = s2[8] convert(i)\n c = f8e8m0fnu[8] convert(t)\n ROOT r = s2[8] convert(c)"));  // nor signs
  EXPECT_SAME(Check("c = f64[8] convert(i)\n ROOT r = s8[8] convert(c)"));                               // saturates
  EXPECT_SAME(Check("c = f32[8] convert(i)\n ROOT r = f64[8] convert(c)"));                              // rounds
  EXPECT_EQ(Check("c = s64[8] convert(i)\n ROOT r = s8[8] convert(c)"), "root = s8[8] convert(p2)\n");
}

TEST(Convert, BitcastConvert) {
  EXPECT_EQ(Check("c = u32[8] bitcast-convert(x)\n ROOT r = f32[8] bitcast-convert(c)"), "root = p0\n");
  EXPECT_EQ(Check("c = u32[8] bitcast-convert(x)\n ROOT r = s32[8] bitcast-convert(c)"),
            "root = s32[8] bitcast-convert(p0)\n");
}

TEST(Convert, ReducePrecisionToTheSame) {
  EXPECT_EQ(Check("ROOT r = f32[8] reduce-precision(x), exponent_bits=8, mantissa_bits=23"), "root = p0\n");
  EXPECT_EQ(Check("ROOT r = f32[8] reduce-precision(x), exponent_bits=8, mantissa_bits=7"),
            "root = f32[8] reduce-precision(p0), exponent_bits=8, mantissa_bits=7\n");
}

TEST(Broadcasts, ScalarsAreComputedBeforeTheyAreSpread) {
  EXPECT_EQ(Simplified({SimplifyAlgebra}, R"(
              x = f32[] parameter(0)
              y = f32[4] parameter(1)
              a = f32[4,8] broadcast(x), dimensions={}
              b = f32[4,8] broadcast(y), dimensions={0}
              ROOT r = f32[4,8] add(a, b))"),
            "t0 = f32[4] broadcast(p0), dimensions={}\nt1 = f32[4] add(t0, p1)\n"
            "root = f32[4,8] broadcast(t1), dimensions={0}\n");
}

}  // namespace
}  // namespace xc
