// Zeros of either sign, and NaN, among the elements of extremes and sorts; denormal numbers on threads that flush them;
// quotients of integers of all sizes, and by one divisor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// The instructions of an entry computation, T standing for the element type.
void Same(absl::string_view body, absl::string_view type, absl::string_view computations) {
  const std::string text = absl::StrCat("HloModule m\n", computations, "ENTRY e {\n", body, "\n}\n");
  ExpectSame(absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}}), {});
}

// NaN and zeros of either sign among the elements, for windows that are written out, go in steps, or are padded.
TEST(SpecialNumbers, Extremes) {
  constexpr char kNumbers[] =
      "x = T[11,150] parameter(0) z = T[] constant(0) m = T[] constant(-0) n = T[] constant(nan)\n"
      "i = T[] constant($2) hi = T[] constant(0.95) lo = T[] constant(-0.9)\n"
      "zs = T[11,150] broadcast(z), dimensions={} ms = T[11,150] broadcast(m), dimensions={}\n"
      "ns = T[11,150] broadcast(n), dimensions={} his = T[11,150] broadcast(hi), dimensions={}\n"
      "los = T[11,150] broadcast(lo), dimensions={} p = pred[11,150] compare(x, zs), direction=LT\n"
      "q = pred[11,150] compare(x, his), direction=GT r = pred[11,150] compare(x, los), direction=LT\n"
      "a = T[11,150] select(p, ms, zs) b = T[11,150] select(q, ns, a) y = T[11,150] select(r, x, b)\n"
      "v = T[11,150] reverse(y), dimensions={1} e = T[11,150] $0(y, v) f = T[11,150] $0(y, zs) g = T[11,150] $0(ms, "
      "y)\n"
      "w = T[$3] reduce-window(y, i), window={$1}, to_apply=o\n"
      "c = T[11] reduce(y, i), dimensions={1}, to_apply=o d = T[150] reduce(y, i), dimensions={0}, to_apply=o\n"
      "ROOT t = (T[11,150], T[11,150], T[11,150], T[$3], T[11], T[150]) tuple(e, f, g, w, c, d)";
  constexpr char kOp[] = "o { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] $0(a, b) }\n";
  for (const char* type : {"f32", "f64", "bf16"}) {
    for (const char* op : {"maximum", "minimum"}) {
      SCOPED_TRACE(absl::StrCat(op, " of ", type));
      const char* first = op[1] == 'a' ? "-inf" : "inf";
      for (auto [window, dims] : {std::pair{"size=1x3", "11,148"},
                                  {"size=1x16", "11,135"},
                                  {"size=1x13 stride=1x3 pad=0_0x6_6", "11,50"},
                                  {"size=3x3 pad=1_1x1_1", "11,150"},
                                  {"size=2x1", "10,150"}}) {
        Same(absl::Substitute(kNumbers, op, window, first, dims), type, absl::Substitute(kOp, op));
      }
    }
  }
}

// Zeros of either sign are equal by the plain order: they keep the order of their places, and their signs.
TEST(SpecialNumbers, FirstOfASortByThePlainOrder) {
  constexpr char kSorted[] =
      "x = T[$0] parameter(0) z = T[] constant(0) m = T[] constant(-0) h = T[] constant(0.9)\n"
      "zs = T[$0] broadcast(z), dimensions={} ms = T[$0] broadcast(m), dimensions={}\n"
      "hs = T[$0] broadcast(h), dimensions={} p = pred[$0] compare(x, zs), direction=LT\n"
      "q = pred[$0] compare(x, hs), direction=LT a = T[$0] select(p, ms, zs) y = T[$0] select(q, a, x)\n"
      "i = s32[$0] iota(), iota_dimension=$2 s = (T[$0], s32[$0]) sort(y, i), dimensions={$2}, to_apply=gt\n"
      "v = T[$0] get-tuple-element(s), index=0 n = s32[$0] get-tuple-element(s), index=1\n"
      "b = T[$1] slice(v), slice={$3} c = s32[$1] slice(n), slice={$3} ROOT t = (T[$1], s32[$1]) tuple(b, c)";
  constexpr char kGreater[] =
      "gt { a = T[] parameter(0) b = T[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)\n"
      "ROOT r = pred[] compare(a, b), direction=GT }\n";
  for (const char* type : {"f32", "f64", "bf16"}) {
    SCOPED_TRACE(type);
    Same(absl::Substitute(kSorted, "6,200", "6,25", 1, "[0:6], [0:25]"), type, kGreater);
    Same(absl::Substitute(kSorted, "300", "30", 0, "[0:30]"), type, kGreater);
  }
}

// Comparisons in total order of numbers with one zero and one NaN.
TEST(SpecialNumbers, CanonicalNumbersInTotalOrder) {
  constexpr char kCompared[] =
      "x = T[90] parameter(0) z = T[] constant(0) m = T[] constant(-0) n = T[] constant(nan)\n"
      "zs = T[90] broadcast(z), dimensions={} ms = T[90] broadcast(m), dimensions={}\n"
      "ns = T[90] broadcast(n), dimensions={} h = T[] constant(0.4) hs = T[90] broadcast(h), dimensions={}\n"
      "p = pred[90] compare(x, zs), direction=LT q = pred[90] compare(x, hs), direction=GT\n"
      "a = T[90] select(p, ms, zs) b = T[90] select(q, ns, a) v = T[90] reverse(x), dimensions={0}\n"
      "u0 = pred[90] compare(v, zs), direction=GT y = T[90] select(u0, b, x) w = T[90] reverse(y), dimensions={0}\n"
      "yn = pred[90] compare(y, y), direction=NE yz = pred[90] compare(y, zs), direction=EQ\n"
      "y0 = T[90] select(yz, zs, y) c = T[90] select(yn, ns, y0)\n"
      "wn = pred[90] compare(w, w), direction=NE wz = pred[90] compare(w, zs), direction=EQ\n"
      "w0 = T[90] select(wz, zs, w) d = T[90] select(wn, ns, w0)\n"
      "lt = pred[90] compare(c, d), direction=LT, type=TOTALORDER gt = pred[90] compare(c, d), direction=GT, "
      "type=TOTALORDER\n"
      "le = pred[90] compare(c, d), direction=LE, type=TOTALORDER ge = pred[90] compare(c, d), direction=GE, "
      "type=TOTALORDER\n"
      "ROOT t = (pred[90], pred[90], pred[90], pred[90]) tuple(lt, gt, le, ge)";
  for (const char* type : {"f32", "f64", "bf16"}) {
    SCOPED_TRACE(type);
    Same(kCompared, type, "");
  }
}

// All pairs of bytes; of wider types, numbers of all sizes, and multiples of the divisor with what is beside them.
TEST(SpecialNumbers, QuotientsOfIntegers) {
  constexpr char kPairs[] = R"(  i = u32[65536] iota(), iota_dimension=0 eight = u32[] constant(8)
  eights = u32[65536] broadcast(eight), dimensions={} j = u32[65536] shift-right-logical(i, eights)
  x = T[65536] convert(i) y = T[65536] convert(j)
  q = T[65536] divide(x, y) r = T[65536] remainder(x, y)
  ROOT t = (T[65536], T[65536]) tuple(q, r))";
  for (const char* type : {"s8", "u8"}) Same(kPairs, type, "");
  constexpr char kBeside[] = R"(  a = T[20,1000] parameter(0) b = T[20,1000] parameter(1) d = T[1000] parameter(2)
  s = T[20,1000] iota(), iota_dimension=0 ds = T[20,1000] broadcast(d), dimensions={1}
  one = T[] constant(1) ones = T[20,1000] broadcast(one), dimensions={} two = T[20,1000] add(ones, ones)
  side = T[20,1000] remainder(ds, two)
  y = T[20,1000] shift-right-arithmetic(a, s) k = T[20,1000] shift-right-arithmetic(b, s)
  p = T[20,1000] multiply(y, k) x = T[20,1000] add(p, side)
  q = T[20,1000] divide(x, y) r = T[20,1000] remainder(x, y) u = T[20,1000] divide(b, y)
  ROOT t = (T[20,1000], T[20,1000], T[20,1000]) tuple(q, r, u))";
  for (const char* type : {"s16", "u16", "s32", "u32", "s64", "u64"}) {
    for (const char* cpu : {"", "x86-64-v3", "x86-64-v2"}) {
      BothOptions options;
      options.cpu = cpu;
      options.low = std::numeric_limits<int32_t>::min();
      options.high = std::numeric_limits<int32_t>::max();
      const std::string text = absl::StrCat("HloModule m\nENTRY e {\n", kBeside, "\n}\n");
      ExpectSame(absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}}), options);
    }
  }
}

#if defined(__x86_64__)
// What a thread does with denormal numbers decides results only where RunOptions say so, on all threads alike.
TEST(SpecialNumbers, DenormalNumbersOnThreadsThatFlushThem) {
  constexpr int kElements = 1 << 20;
  const std::string text = absl::StrCat("HloModule m\nENTRY e { x = f32[", kElements, "] parameter(0) ROOT y = f32[",
                                        kElements, "] multiply(x, x) }\n");
  auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  auto executable = CpuBackend()->Compile(*std::move(module), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::vector<float> x(kElements, 0x1p-70f);
  std::vector<float> y(kElements);
  const void* const parameters[] = {x.data()};
  void* const results[] = {y.data()};
  const std::unique_ptr<Executor> pool = NewThreadPoolExecutor(3);
  const uint32_t before = _mm_getcsr();
  for (const uint32_t own : {before & ~0x8040u, before | 0x8040u}) {
    for (const bool as_caller : {false, true}) {
      RunOptions options;
      options.executor = pool.get();
      options.denormals_as_caller = as_caller;
      _mm_setcsr(own);
      const absl::Status status = (*executable)->Run(parameters, results, options);
      const uint32_t after = _mm_getcsr();
      _mm_setcsr(before);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(after & 0xffc0, own & 0xffc0);
      const float want = as_caller && (own & 0x8000) != 0 ? 0 : 0x1p-140f;
      EXPECT_EQ(std::count(y.begin(), y.end(), want), kElements) << as_caller << (own & 0x8000);
    }
  }
}
#endif

// Lanes behind the end of a row are not looked at: zeros there would take a call each. Zeros before it are zeros.
TEST(SpecialNumbers, ComplexNumbersBehindTheEnd) {
  constexpr char kBody[] =
      "x = T[5,13] parameter(0) y = T[13] parameter(1) b = T[5,13] broadcast(y), dimensions={1}\n"
      "z = T[] constant((0, 0)) p = T[6,15] pad(x, z), padding=0_1x1_1 q = T[6,15] sign(p) e = T[6,15] sqrt(p)\n"
      "d = T[5,13] divide(x, b) l = T[5,13] log(d) w = T[5,13] power(b, x)\n"
      "ROOT t = (T[6,15], T[6,15], T[5,13], T[5,13], T[5,13]) tuple(q, e, d, l, w)";
  for (const char* type : {"c64", "c128"}) {
    BothOptions options;
    options.tolerance = type[1] == '6' ? 1e-5 : 1e-13;
    ExpectSame(absl::StrReplaceAll(absl::StrCat("HloModule m\nENTRY e {\n", kBody, "\n}\n"),
                                   {{"T[", absl::StrCat(type, "[")}}),
               options);
  }
  const absl::StatusOr<std::string> code = TextForV4(
      "HloModule m\nENTRY e { x = c128[5,13] parameter(0) y = c128[13] parameter(1)\n"
      "b = c128[5,13] broadcast(y), dimensions={1} ROOT d = c128[5,13] divide(x, b) }",
      "llvm_ir_optimized");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_NE(code->find("double 1.000000e+00, double 1.000000e+00, double 1.000000e+00>"), std::string::npos) << *code;
}

// A flag for all elements, on either side of a condition that takes quotients, which are left out where it is not set.
TEST(SpecialNumbers, QuotientsUnderAFlag) {
  constexpr char kBody[] =
      "x = T[70] parameter(0) y = T[] parameter(1) f = T[] parameter(2) yb = T[70] broadcast(y), dimensions={}\n"
      "z = T[] constant(0) zb = T[70] broadcast(z), dimensions={} r = T[70] remainder(x, yb)\n"
      "c = pred[70] compare(r, zb), direction=EQ q = T[70] divide(x, yb) d = pred[70] compare(q, zb), direction=GT\n"
      "p = pred[] compare(f, z), direction=$0 pb = pred[70] broadcast(p), dimensions={}\n"
      "a = pred[70] and(pb, c) b = pred[70] and(d, pb) e = pred[70] and(a, b) u = T[70] convert(e)\n"
      "ROOT t = (pred[70], T[70]) tuple(e, u)";
  for (const char* type : {"s32", "u8", "s64", "f32", "f64"}) {
    for (const char* flag : {"NE", "EQ"}) Same(absl::Substitute(kBody, flag), type, "");
  }
}

// Doubles by a divisor that all lanes share, and wide integers by a constant: as a division gives them, whatever the
// numbers' size is.
TEST(SpecialNumbers, QuotientsByOneDivisor) {
  for (const char* divisor : {"3", "-7", "1.9999999999999998", "1.9999999999999996", "1.0000000000000002", "1e-300",
                              "1e300", "5e-324", "1e-310", "inf", "nan", "0", "-0"}) {
    ExpectSame(absl::StrReplaceAll(R"(HloModule m
ENTRY e { x = f64[3,61] parameter(0) one = f64[] parameter(1) column = f64[3] parameter(2) c = f64[] constant(D)
  d = f64[3,61] broadcast(c), dimensions={} ones = f64[3,61] broadcast(one), dimensions={}
  columns = f64[3,61] broadcast(column), dimensions={0} zero = f64[] constant(0) zeros = f64[3,61] broadcast(zero), dimensions={}
  top = f64[] constant(1e308) tops = f64[3,61] broadcast(top), dimensions={} low = f64[] constant(4e-310)
  lows = f64[3,61] broadcast(low), dimensions={} end = f64[] constant(1.9999999999999998)
  ends = f64[3,61] broadcast(end), dimensions={} half = f64[] constant(2.220446049250313e-16)
  halves = f64[3,61] broadcast(half), dimensions={} near = f64[3,61] multiply(x, halves)
  large = f64[3,61] multiply(x, tops) small = f64[3,61] multiply(x, lows) none = f64[3,61] multiply(x, zeros)
  infinite = f64[3,61] divide(x, none) last = f64[3,61] subtract(ends, near)
  q0 = f64[3,61] divide(x, d) q1 = f64[3,61] divide(large, d) q2 = f64[3,61] divide(small, d)
  q3 = f64[3,61] divide(none, d) q4 = f64[3,61] divide(infinite, d) q5 = f64[3,61] divide(last, d)
  q6 = f64[3,61] divide(x, ones) q7 = f64[3,61] divide(large, columns)
  ROOT r = (f64[3,61], f64[3,61], f64[3,61], f64[3,61], f64[3,61], f64[3,61], f64[3,61], f64[3,61])
    tuple(q0, q1, q2, q3, q4, q5, q6, q7) })",
                                   {{"D)", absl::StrCat(divisor, ")")}}));
  }
  for (const char* divisor : {"7681", "-3", "1", "-1", "0", "1099511627776", "-9223372036854775808"}) {
    BothOptions options;
    options.low = -(int64_t{1} << 50);
    options.high = int64_t{1} << 50;
    ExpectSame(absl::StrReplaceAll(R"(HloModule m
ENTRY e { x = s64[61] parameter(0) c = s64[] constant(D) d = s64[61] broadcast(c), dimensions={}
  q = s64[61] divide(x, d) r = s64[61] remainder(x, d) y = s64[61] multiply(d, q) t = s64[61] divide(y, d)
  wide = s64[61] multiply(x, x) u = s64[61] divide(wide, d)
  ROOT all = (s64[61], s64[61], s64[61], s64[61]) tuple(q, r, t, u) })",
                                   {{"D)", absl::StrCat(divisor, ")")}}),
               options);
  }
}

}  // namespace
}  // namespace xc::cpu
