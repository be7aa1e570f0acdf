// Every elementwise op on every type that it takes, and all conversions, against the interpreter, with masked vectors
// and without.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/compare.h"
#include "gtest/gtest.h"

namespace xc::cpu {
namespace {

const char* const kTargets[] = {"", "x86-64-v2"};
const std::vector<std::string> kFloats = {"f32",      "f64",    "bf16",          "f16",
                                          "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f4e2m1fn"};
const std::vector<std::string> kIntegers = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "s4", "u4", "s2"};

// One module with a result per op, all on operands of `type`, 37 elements long.
std::string Module(const std::string& type, const std::vector<std::string>& unary,
                   const std::vector<std::string>& binary, bool compare) {
  std::string body;
  std::vector<std::string> names, shapes;
  auto add = [&](const std::string& to, const std::string& call) {
    names.push_back(absl::StrCat("r", names.size()));
    shapes.push_back(absl::StrCat(to, "[37]"));
    absl::StrAppend(&body, "  ", names.back(), " = ", shapes.back(), " ", call, "\n");
  };
  for (const std::string& op : unary) add(type, absl::StrCat(op, "(x)"));
  for (const std::string& op : binary) add(type, absl::StrCat(op, "(x, y)"));
  for (const char* d : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
    if (compare) add("pred", absl::StrCat("compare(x, y), direction=", d));
  }
  add(type, "select(p, x, y)");
  return absl::StrCat("HloModule m\nENTRY e {\n  x = ", type, "[37] parameter(0)\n  y = ", type,
                      "[37] parameter(1)\n  p = pred[37] parameter(2)\n", body, "  ROOT t = (",
                      absl::StrJoin(shapes, ", "), ") tuple(", absl::StrJoin(names, ", "), ")\n}\n");
}

void Check(const std::string& hlo, double tolerance = -1) {
  for (const char* target : kTargets) {
    CompareOptions options;
    options.cpu = target;
    options.tolerance = tolerance;
    absl::Status status = CompareWithInterpreter(hlo, options, /*specials=*/true);
    EXPECT_TRUE(status.ok()) << target << ": " << status << "\n" << hlo;
  }
}

// Of scalars the C library computes what it is quicker at.
TEST(Elementwise, Scalars) {
  for (const std::string& type : kFloats) {
    std::string body, shapes, names;
    for (const char* op : {"exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "erf", "sine",
                           "cosine", "tanh", "cbrt", "power", "remainder", "atan2"}) {
      const bool binary =
          absl::string_view(op) == "power" || absl::string_view(op) == "remainder" || absl::string_view(op) == "atan2";
      const std::string name = absl::StrCat("r", names.size());
      absl::StrAppend(&body, "  ", name, " = ", type, "[] ", op, binary ? "(x, y)\n" : "(x)\n");
      absl::StrAppend(&shapes, shapes.empty() ? "" : ", ", type, "[]");
      absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    }
    Check(absl::StrCat("HloModule m\nENTRY e {\n  x = ", type, "[] parameter(0)\n  y = ", type, "[] parameter(1)\n",
                       body, "  ROOT t = (", shapes, ") tuple(", names, ")\n}\n"));
  }
}

TEST(Elementwise, ExtremesOfScalarsAndConstants) {
  const std::vector<std::string> numbers = {"nan", "0", "-0", "1.5", "-1.5", "inf", "-inf"};
  for (const char* type : {"f32", "f64", "f16", "bf16"}) {
    std::string body =
        absl::StrCat("  c = T[7] constant({", absl::StrJoin(numbers, ", "), "})\n  x = T[7] opt-barrier(c)\n");
    std::vector<std::string> names, shapes;
    for (size_t i = 0; i < numbers.size(); ++i) {
      absl::StrAppend(&body, "  s", i, " = T[1] slice(x), slice={[", i, ":", i + 1, "]} x", i, " = T[] reshape(s", i,
                      ") c", i, " = T[] constant(", numbers[i], ")\n");
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      for (size_t k = 0; k < numbers.size(); ++k) {
        for (const char* op : {"maximum", "minimum"}) {
          names.push_back(absl::StrCat("r", names.size()));
          shapes.push_back("T[]");
          absl::StrAppend(&body, "  ", names.back(), " = T[] ", op, k % 2 ? "(x" : "(c", i, k % 2 ? ", c" : ", x", k,
                          ")\n");
        }
      }
    }
    Check(
        absl::StrReplaceAll(absl::StrCat("HloModule m\nENTRY e {\n", body, "  ROOT t = (", absl::StrJoin(shapes, ", "),
                                         ") tuple(", absl::StrJoin(names, ", "), ")\n}\n"),
                            {{"T[", absl::StrCat(type, "[")}}),
        0);
  }
}

TEST(Elementwise, RealOpsOfEveryFloatType) {
  for (const std::string& type : kFloats) {
    Check(Module(type,
                 {"abs",
                  "negate",
                  "sign",
                  "floor",
                  "ceil",
                  "round-nearest-afz",
                  "round-nearest-even",
                  "exponential",
                  "exponential-minus-one",
                  "log",
                  "log-plus-one",
                  "sqrt",
                  "rsqrt",
                  "cbrt",
                  "tanh",
                  "logistic",
                  "erf",
                  "sine",
                  "cosine",
                  "tan"},
                 {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2"}, true));
  }
}

TEST(Elementwise, IntegerOpsOfEveryWidth) {
  for (const std::string& type : kIntegers) {
    Check(Module(type, {"abs", "negate", "sign", "not", "popcnt", "count-leading-zeros"},
                 {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor",
                  "shift-left", "shift-right-logical", "shift-right-arithmetic"},
                 true));
  }
}

TEST(Elementwise, Pred) { Check(Module("pred", {"not"}, {"and", "or", "xor", "maximum", "minimum"}, true)); }

TEST(Elementwise, Complex) {
  for (const char* type : {"c64", "c128"}) {
    Check(Module(type, {"negate", "exponential", "log", "sqrt", "tanh", "sine", "cosine"},
                 {"add", "subtract", "multiply", "divide"}, false),
          std::string(type) == "c64" ? 2e-5 : 1e-11);
  }
}

TEST(Elementwise, AbsOfComplexNumbersOfEverySize) {
  for (const char* type : {"c64", "c128"}) {
    const bool wide = type[1] == '1';
    const std::string shape = absl::StrCat(type, "[9]"), large = wide ? "1e308" : "2e38",
                      small = wide ? "4e-320" : "4e-44";
    Check(absl::StrCat("HloModule m\nENTRY e {\n p = pred[9] parameter(0)\n x = ", shape,
                       " constant({(inf, nan), (nan, 1), ", "(-inf, 2), (", large, ", ", large, "), (", small, ", -",
                       small, "), (0, -0), (nan, -inf), (3, 4), (", large, ", ", small, ")})\n y = ", shape,
                       " reverse(x), dimensions={0}\n z = ", shape,
                       " select(p, x, y)\n ROOT r = ", wide ? "f64" : "f32", "[9] abs(z)\n}\n"),
          1e-6);
  }
}

TEST(Elementwise, PowersWithLargeExponents) {
  for (const char* type : {"s8", "u8", "s16", "s32", "u32", "s64", "u64", "s4", "u4"}) {
    const std::string shape = absl::StrCat(type, "[37]");
    Check(absl::StrCat("HloModule m\nENTRY e {\n x = ", shape, " parameter(0)\n y = ", shape,
                       " parameter(1)\n e = ", shape, " multiply(y, y)\n f = ", shape, " multiply(e, y)\n g = ", shape,
                       " multiply(f, f)\n a = ", shape, " power(x, f)\n b = ", shape, " power(x, g)\n ROOT r = (",
                       shape, ", ", shape, ") tuple(a, b)\n}\n"));
  }
}

TEST(Elementwise, PowersWithOneExponent) {
  for (const std::string& type : kIntegers) {
    if (type == "s2") continue;
    const std::string shape = absl::StrCat(type, "[37]");
    std::string body = absl::StrCat("x = ", shape, " parameter(0)\n"), all, shapes;
    for (const int exponent : {0, 1, 2, 5, -1, -2}) {
      if (exponent < 0 && type[0] == 'u') continue;
      const std::string n = absl::StrCat(exponent < 0 ? "m" : "p", std::abs(exponent));
      absl::StrAppend(&body, " c", n, " = ", type, "[] constant(", exponent, ")\n e", n, " = ", shape, " broadcast(c",
                      n, "), dimensions={}\n y", n, " = ", shape, " power(x, e", n, ")\n");
      absl::StrAppend(&all, all.empty() ? "" : ", ", "y", n);
      absl::StrAppend(&shapes, shapes.empty() ? "" : ", ", shape);
    }
    Check(absl::StrCat("HloModule m\nENTRY e {\n ", body, " ROOT r = (", shapes, ") tuple(", all, ")\n}\n"));
  }
}

TEST(Elementwise, ConversionsBetweenAllTypes) {
  std::vector<std::string> types = kFloats;
  types.insert(types.end(), kIntegers.begin(), kIntegers.end());
  types.push_back("pred");
  for (const std::string& from : types) {
    std::string body;
    std::vector<std::string> names, shapes;
    for (const std::string& to : types) {
      names.push_back(absl::StrCat("r", names.size()));
      shapes.push_back(absl::StrCat(to, "[37]"));
      absl::StrAppend(&body, "  ", names.back(), " = ", shapes.back(), " convert(x)\n");
    }
    // Exact: conversion rounds once.
    Check(absl::StrCat("HloModule m\nENTRY e {\n  x = ", from, "[37] parameter(0)\n", body, "  ROOT t = (",
                       absl::StrJoin(shapes, ", "), ") tuple(", absl::StrJoin(names, ", "), ")\n}\n"),
          0);
  }
}

// Every sign, exponent and fraction of bf16 with what is to be rounded a half of its last place, which goes to the even
// neighbour, and a bit less and more; in vectors and by itself.
TEST(Elementwise, HalvesRoundToEvenBF16) {
  for (const int count : {196608, 1}) {
    const std::string number = count == 1 ? "parameter(0)" : "iota(), iota_dimension=0";
    Check(absl::StrReplaceAll(R"(HloModule m
ENTRY e {
  i = u32[N] NUMBER three = u32[] constant(3) threes = u32[N] broadcast(three), dimensions={}
  high = u32[N] divide(i, threes) low = u32[N] remainder(i, threes)
  sixteen = u32[] constant(16) shift = u32[N] broadcast(sixteen), dimensions={} top = u32[N] shift-left(high, shift)
  less = u32[] constant(32767) from = u32[N] broadcast(less), dimensions={} rest = u32[N] add(low, from)
  bits = u32[N] or(top, rest) x = f32[N] bitcast-convert(bits)
  ROOT r = bf16[N] convert(x)
})",
                              {{"[N]", absl::StrCat("[", count, "]")}, {"NUMBER", number}}),
          0);
  }
}

// Nine digits and a half of the last place, and a unit less and more, with up to 23 (53) digits behind them. As doubles
// they are also as small as the smallest numbers of narrow types.
TEST(Elementwise, HalvesOfIntegersRoundToEven) {
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const int most = type[1] == '3' ? 23 : 53;
    const std::string sign = type[0] == 'u' ? "copy" : "negate";
    Check(absl::StrReplaceAll(R"(HloModule m
ENTRY e {
  i = T[N] iota(), iota_dimension=0 c1 = T[] constant(1) one = T[N] broadcast(c1), dimensions={}
  c256 = T[] constant(256) top = T[N] broadcast(c256), dimensions={} low = T[N] remainder(i, top)
  digits = T[N] or(low, top) rest = T[N] divide(i, top) most = T[] constant(MOST)
  shifts = T[N] broadcast(most), dimensions={} less = T[N] remainder(rest, shifts)
  shift = T[N] add(less, one) high = T[N] shift-left(digits, shift) half = T[N] shift-left(one, less)
  by = T[N] divide(rest, shifts) near = T[N] add(half, by) sum = T[N] add(high, near)
  x = T[N] subtract(sum, one) y = T[N] SIGN(x)
  a = bf16[N] convert(y) b = f16[N] convert(y) c = f8e5m2[N] convert(y)
  n = T[] parameter(0) d = bf16[] convert(n)
  w = f64[N] convert(y) c40 = f64[] constant(9.094947017729282e-13) b40 = f64[N] broadcast(c40), dimensions={}
  c150 = f64[] constant(7.006492321624085e-46) b150 = f64[N] broadcast(c150), dimensions={}
  c180 = f64[] constant(6.525304467998525e-55) b180 = f64[N] broadcast(c180), dimensions={}
  w40 = f64[N] multiply(w, b40) w150 = f64[N] multiply(w, b150) w180 = f64[N] multiply(w, b180)
  d0 = bf16[N] convert(w) d40 = f16[N] convert(w40) d150 = bf16[N] convert(w150) d180 = bf16[N] convert(w180)
  e40 = f8e5m2[N] convert(w40)
  ROOT t = (bf16[N], f16[N], f8e5m2[N], bf16[], bf16[N], f16[N], bf16[N], bf16[N], f8e5m2[N])
    tuple(a, b, c, d, d0, d40, d150, d180, e40)
})",
                              {{"T[", absl::StrCat(type, "[")},
                               {"N]", absl::StrCat(256 * 3 * most, "]")},
                               {"MOST", absl::StrCat(most)},
                               {"SIGN", sign}}),
          0);
  }
}

// Bytes are counted in vectors, and shifted by an amount that all elements share.
TEST(Elementwise, BitsOfBytesAndSharedShifts) {
  for (const std::string& type : kIntegers) {
    std::string body =
        " i = u16[600] iota(), iota_dimension=0 x = T[600] convert(i) n = T[] parameter(0)\n"
        " y = T[600] count-leading-zeros(x) z = T[600] popcnt(x)\n";
    std::string names = "y, z", shapes = "T[600], T[600]";
    int count = 0;
    const int bits = type[1] == '4' || type[1] == '2' ? type[1] - '0' : std::stoi(type.substr(1));
    for (const char* op : {"shift-left", "shift-right-logical", "shift-right-arithmetic"}) {
      for (const char* amount : {"0", "1", "3", "BITS", "n"}) {
        if (amount[0] == 'B' && bits < 8) continue;
        if (amount[0] == '3' && type == "s2") continue;
        const std::string name = absl::StrCat(count++);
        const bool given = amount[0] == 'n';
        if (!given) absl::StrAppend(&body, " c", name, " = T[] constant(", amount, ")\n");
        absl::StrAppend(&body, " b", name, " = T[600] broadcast(", given ? "n" : absl::StrCat("c", name),
                        "), dimensions={}\n r", name, " = T[600] ", op, "(x, b", name, ")\n");
        absl::StrAppend(&names, ", r", name);
        absl::StrAppend(&shapes, ", T[600]");
      }
    }
    Check(absl::StrReplaceAll(
        absl::StrCat("HloModule m\nENTRY e {\n", body, " ROOT t = (", shapes, ") tuple(", names, ")\n}\n"),
        {{"T[", absl::StrCat(type, "[")}, {"BITS", absl::StrCat(bits)}}));
  }
}

// Products of as many whole numbers as a vector has.
TEST(Elementwise, ProductsOfOneVector) {
  for (const char* type : {"s64", "u64"}) {
    Check(absl::StrReplaceAll(R"(HloModule m
ENTRY e {
  x = T[8] parameter(0) y = T[8] parameter(1) c = T[] constant(4611686018427387905) k = T[8] broadcast(c), dimensions={}
  a = T[8] multiply(x, k) b = T[8] multiply(a, y) d = T[8] multiply(b, b) ROOT r = T[8] multiply(d, a)
})",
                              {{"T[", absl::StrCat(type, "[")}}));
  }
}

// What does not fit becomes the nearest integer, NaN becomes 0.
TEST(Elementwise, FloatsBeyondIntegers) {
  for (const std::string from : {"f32", "f64", "f16", "bf16"}) {
    const std::string most = from == "f16" ? "65504, -65504, 1000, -1000, 40000"
                                           : "2147483648, -2147483648, 4294967296, 9223372036854775808, 1e30";
    // Vectors, and one number that is not known.
    for (int count : {22, 1}) {
      const std::string x = count == 1 ? "dynamic-slice(b, i), dynamic_slice_sizes={1}" : "negate(n)";
      std::string body = absl::StrCat("  c = ", from, "[22] constant({nan, inf, -inf, 0.5, -0.5, -0, 1.5, 6.9, 7.9, ",
                                      "8.5, -8.9, 127.9, 128, -129, 255.9, 32768, -32769, ", most, "})\n  b = ", from,
                                      "[22] opt-barrier(c)\n  n = ", from, "[22] negate(b)\n  i = s32[] parameter(0)\n",
                                      "  x = ", from, "[", count, "] ", x, "\n");
      std::vector<std::string> names, shapes;
      for (const std::string& to : kIntegers) {
        names.push_back(absl::StrCat("r", names.size()));
        shapes.push_back(absl::StrCat(to, "[", count, "]"));
        absl::StrAppend(&body, "  ", names.back(), " = ", shapes.back(), " convert(x)\n");
      }
      Check(absl::StrCat("HloModule m\nENTRY e {\n", body, "  ROOT t = (", absl::StrJoin(shapes, ", "), ") tuple(",
                         absl::StrJoin(names, ", "), ")\n}\n"),
            0);
    }
  }
}

TEST(Elementwise, ClampBitcastTotalOrderAndPrecision) {
  Check(R"(HloModule m
ENTRY e {
  x = f32[37] parameter(0)
  y = f32[37] parameter(1)
  low = f32[] parameter(2)
  high = f32[37] parameter(3)
  a = f32[37] clamp(low, x, high)
  b = s32[37] bitcast-convert(x)
  c = pred[37] compare(x, y), direction=LT, type=TOTALORDER
  d = pred[37] compare(x, y), direction=GE, type=TOTALORDER
  f = f32[37] reduce-precision(x), exponent_bits=5, mantissa_bits=3
  g = pred[37] is-finite(x)
  h = c64[37] complex(x, y)
  i = f32[37] real(h)
  j = f32[37] imag(h)
  ROOT t = (f32[37], s32[37], pred[37], pred[37], f32[37], pred[37], f32[37], f32[37]) tuple(a, b, c, d, f, g, i, j)
})");
}

}  // namespace
}  // namespace xc::cpu
