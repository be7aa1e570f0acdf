// Sort, top-k, scatter, random numbers, transforms, factorizations and transfers against the interpreter.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// A module that sorts arrays of `types` along dimension `d` with the comparator's `body` over p0, p1, p2, ….
std::string SortModule(const std::vector<std::string>& types, absl::string_view dims, int d, absl::string_view body) {
  std::string parameters, arrays, names, shapes;
  for (size_t i = 0; i < types.size(); ++i) {
    absl::StrAppend(&parameters, "  p", 2 * i, " = ", types[i], "[] parameter(", 2 * i, ")\n  p", 2 * i + 1, " = ",
                    types[i], "[] parameter(", 2 * i + 1, ")\n");
    absl::StrAppend(&arrays, "  a", i, " = ", types[i], dims, " parameter(", i, ")\n");
    absl::StrAppend(&names, i > 0 ? ", a" : "a", i);
    absl::StrAppend(&shapes, i > 0 ? ", " : "", types[i], dims);
  }
  if (types.size() > 1) shapes = absl::StrCat("(", shapes, ")");
  return absl::StrCat("HloModule m\nless {\n", parameters, body, "}\nENTRY e {\n", arrays, "  ROOT s = ", shapes,
                      " sort(", names, "), dimensions={", d, "}, is_stable=true, to_apply=less\n}\n");
}

TEST(SortTest, OneComparisonOfEveryType) {
  for (const char* type : {"pred", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64"}) {
    for (const char* direction : {"LT", "GT"}) {
      ExpectSame(SortModule({type}, "[3,70]", 1,
                            absl::Substitute("  ROOT r = pred[] compare(p0, p1), direction=$0\n", direction)));
    }
  }
}

TEST(SortTest, TypesWithoutAKeyAreCompared) {
  for (const char* type : {"s4", "u4", "f8e4m3fn", "f8e5m2"}) {
    ExpectSame(SortModule({type, "s32"}, "[70]", 0, "  ROOT r = pred[] compare(p0, p1), direction=LT\n"));
  }
}

TEST(SortTest, SwappedParametersSortTheOtherWay) {
  ExpectSame(SortModule({"s32", "f32"}, "[200]", 0, "  ROOT r = pred[] compare(p1, p0), direction=LT\n"));
}

TEST(SortTest, SecondArrayIsTheKey) {
  ExpectSame(SortModule({"s32", "f32"}, "[5,33]", 0, "  ROOT r = pred[] compare(p2, p3), direction=GT\n"));
}

TEST(SortTest, MiddleDimension) {
  ExpectSame(SortModule({"f32", "u8"}, "[2,31,3]", 1, "  ROOT r = pred[] compare(p0, p1), direction=LT\n"));
}

// What jax.numpy.sort and argsort compare: NaN last, zeros of both signs equal.
constexpr char kCanonical[] = R"(  nan = $0[] constant(nan)
  zero = $0[] constant(0)
  x0 = pred[] compare(p0, p0), direction=NE
  y0 = pred[] compare(p1, p1), direction=NE
  x1 = pred[] compare(p0, zero), direction=EQ
  y1 = pred[] compare(p1, zero), direction=EQ
  x2 = $0[] select(x1, zero, p0)
  y2 = $0[] select(y1, zero, p1)
  x3 = $0[] select(x0, nan, x2)
  y3 = $0[] select(y0, nan, y2)
  ROOT r = pred[] compare(x3, y3), direction=$1, type=TOTALORDER
)";

TEST(SortTest, CanonicalFloats) {
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    for (const char* direction : {"LT", "GT"}) {
      const std::string body = absl::Substitute(kCanonical, type, direction);
      ExpectSame(SortModule({type, "s32"}, "[300]", 0, body));
      ExpectSame(SortModule({type, "s32"}, "[300]", 0, body), {.passes = false});
    }
  }
}

TEST(SortTest, CanonicalFloatsWithZerosAndNan) {
  ExpectSame(absl::StrCat("HloModule m\nless {\n",
                          "  p0 = f32[] parameter(0)\n  p1 = f32[] parameter(1)\n"
                          "  p2 = s32[] parameter(2)\n  p3 = s32[] parameter(3)\n",
                          absl::Substitute(kCanonical, "f32", "LT"), R"(}
ENTRY e {
  a = f32[9] constant({0, -0, nan, -1, inf, -nan, -inf, 0, -0})
  b = s32[9] iota(), iota_dimension=0
  ROOT s = (f32[9], s32[9]) sort(a, b), dimensions={0}, is_stable=true, to_apply=less
}
)"),
             {.passes = false});
}

TEST(SortTest, TwoKeys) {
  const std::string body = R"(  l = pred[] compare(p0, p1), direction=LT
  q = pred[] compare(p0, p1), direction=EQ
  m = pred[] compare(p2, p3), direction=GT
  a = pred[] and(q, m)
  ROOT r = pred[] or(l, a)
)";
  ExpectSame(SortModule({"s32", "f32", "u8"}, "[4,300]", 1, body));
  ExpectSame(SortModule({"s32", "f32", "u8"}, "[4,300]", 1, body), {.cpu = "x86-64-v2"});
}

// Which keys the steps of the sort go by, such as "less 0, less 1".
std::string KeysOf(const std::string& text) {
  auto module = ParseModule(text);
  if (!module.ok()) return std::string(module.status().message());
  CompileOptions options;
  options.keep_texts = true;
  const auto executable = CpuBackend()->Compile(*std::move(module), options);
  if (!executable.ok()) return std::string(executable.status().message());
  std::string keys;
  for (absl::string_view step : absl::StrSplit((*executable)->Text("plan"), "xc_rt_sort({key=", absl::SkipEmpty())) {
    std::vector<absl::string_view> words = absl::StrSplit(step, ' ');
    if (words[0] == "entry") continue;
    absl::StrAppend(&keys, keys.empty() ? "" : ", ", words[0]);
    if (absl::ConsumePrefix(&words[1], "key_array=")) absl::StrAppend(&keys, " ", words[1]);
  }
  return keys;
}

// Comparators of several keys are sorts by one key each, the last first.
TEST(SortTest, EachKeyIsASortOfItsOwn) {
  // Those of jax.lax.sort, whose canonical floats have zeros and NaN among them.
  constexpr char kLess[] = R"($0  eq = pred[] compare(x3, y3), direction=EQ, type=TOTALORDER
  lt1 = pred[] compare(p2, p3), direction=GT
  both = pred[] and(eq, lt1)
  ROOT or = pred[] or(r, both)
)";
  for (const char* type : {"f32", "f64", "bf16"}) {
    const std::string canonical = absl::StrReplaceAll(absl::Substitute(kCanonical, type, "LT"), {{"ROOT ", ""}});
    const std::string less = absl::Substitute(kLess, canonical);
    EXPECT_EQ(KeysOf(SortModule({type, "s32"}, "[300]", 0, less)), "less 1, nan_last 0");
    const std::string text = absl::StrReplaceAll(R"(HloModule m
less {
  p0 = T[] parameter(0)
  p1 = T[] parameter(1)
  p2 = s32[] parameter(2)
  p3 = s32[] parameter(3)
LESS}
ENTRY e {
  c = T[9] constant({0, -0, nan, -1, inf, -nan, -inf, 0, -1})
  a = T[9,100] broadcast(c), dimensions={0}
  b = s32[9,100] parameter(0)
  ROOT s = (T[9,100], s32[9,100]) sort(a, b), dimensions={0}, is_stable=true, to_apply=less
}
)",
                                                 {{"LESS", less}, {"T[", absl::StrCat(type, "[")}});
    for (bool passes : {false, true}) ExpectSame(text, {.passes = passes, .low = 0, .high = 3});
  }
  const std::string nested = R"(  l = pred[] compare(p0, p1), direction=GT
  q = pred[] compare(p0, p1), direction=EQ
  l1 = pred[] compare(p2, p3), direction=LT
  q1 = pred[] compare(p3, p2), direction=EQ
  l2 = pred[] compare(p5, p4), direction=LT
  rest = pred[] select(q1, l2, l1)
  both = pred[] and(rest, q)
  ROOT r = pred[] or(both, l)
)";
  EXPECT_EQ(KeysOf(SortModule({"u8", "s32", "f32"}, "[4,300]", 1, nested)), "less 2, less 1, less 0");
  ExpectSame(SortModule({"u8", "s32", "f32"}, "[4,300]", 1, nested), {.low = 0, .high = 3});
  // Equal by another array than the one compared: no order of keys.
  const std::string other = R"(  l = pred[] compare(p0, p1), direction=LT
  q = pred[] compare(p2, p3), direction=EQ
  l1 = pred[] compare(p2, p3), direction=LT
  both = pred[] and(q, l1)
  ROOT r = pred[] or(both, l)
)";
  EXPECT_EQ(KeysOf(SortModule({"s32", "s32"}, "[300]", 0, other)), "comparator");
}

TEST(SortTest, ComplexByAbsoluteValue) {
  ExpectSame(SortModule({"c64"}, "[70]", 0, R"(  x = f32[] abs(p0)
  y = f32[] abs(p1)
  ROOT r = pred[] compare(x, y), direction=LT
)"));
}

TEST(TopKTest, TypesAndBothEnds) {
  for (const char* type : {"f32", "bf16", "f16", "f64", "s32", "u8"}) {
    for (const char* largest : {"true", "false"}) {
      ExpectSame(absl::Substitute(R"(HloModule m
ENTRY e {
  a = $0[3,400] parameter(0)
  ROOT t = ($0[3,7], s32[3,7]) topk(a), k=7, largest=$1
}
)",
                                  type, largest));
    }
  }
}

TEST(RngTest, Bits) {
  for (const char* type : {"u8", "u16", "u32", "u64", "s32", "f8e4m3fn", "bf16", "f32", "f64"}) {
    for (const char* algorithm : {"rng_three_fry", "rng_philox", "rng_default"}) {
      ExpectSame(absl::Substitute(R"(HloModule m
ENTRY e {
  s = u64[2] parameter(0)
  ROOT r = (u64[2], $0[5,77]) rng-bit-generator(s), algorithm=$1
}
)",
                                  type, algorithm));
    }
  }
}

// The verifier admits any state, as XLA's does: the bits are an error only where they are used.
TEST(RngTest, StatesThatNoGeneratorHas) {
  const auto run = [](absl::string_view root) {
    return RunOn(CpuBackend(),
                 absl::Substitute(R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  r = (f32[4], f32[4]) rng-bit-generator(a), algorithm=rng_default
  n = f32[4] negate(a)
  t = ((f32[4], f32[4]), f32[4]) tuple(r, n)
  bits = f32[4] get-tuple-element(r), index=1
  m = f32[4] get-tuple-element(t), index=1
  $0
}
)",
                                  root),
                 {})
        .status;
  };
  EXPECT_EQ(run("ROOT s = f32[4] add(m, a)"), absl::OkStatus());
  const std::string error(run("ROOT s = f32[4] add(m, bits)").message());
  EXPECT_NE(error.find("rng-bit-generator r: the state is f32[4], should be u64[2] or u64[3]"), error.npos) << error;
}

TEST(RngTest, UniformAndNormalOnceEach) {
  for (const char* distribution : {"rng_uniform", "rng_normal"}) {
    ExpectSame(absl::Substitute(R"(HloModule m
ENTRY e {
  a = f32[] constant(1)
  b = f32[] constant(3)
  ROOT r = f32[100] rng(a, b), distribution=$0
}
)",
                                distribution));
  }
}

TEST(RngTest, TheStateMovesOn) {
  ExpectSame(R"(HloModule m
ENTRY e {
  a = u64[2] rng-get-and-update-state(), delta=5
  b = u64[2] rng-get-and-update-state(), delta=2, control-predecessors={a}
  ROOT t = (u64[2], u64[2]) tuple(a, b)
}
)");
}

TEST(FftTest, Kinds) {
  ExpectSame(
      "HloModule m\nENTRY e {\n  a = c64[3,30] parameter(0)\n"
      "  ROOT f = c64[3,30] fft(a), fft_type=FFT, fft_length={30}\n}\n",
      {.tolerance = 1e-5});
  ExpectSame(
      "HloModule m\nENTRY e {\n  a = c128[4,8] parameter(0)\n"
      "  ROOT f = c128[4,8] fft(a), fft_type=IFFT, fft_length={4,8}\n}\n",
      {.tolerance = 1e-12});
  ExpectSame(
      "HloModule m\nENTRY e {\n  a = f32[2,16] parameter(0)\n"
      "  ROOT f = c64[2,9] fft(a), fft_type=RFFT, fft_length={16}\n}\n",
      {.tolerance = 1e-5});
  ExpectSame(
      "HloModule m\nENTRY e {\n  a = c64[2,9] parameter(0)\n"
      "  ROOT f = f32[2,16] fft(a), fft_type=IRFFT, fft_length={16}\n}\n",
      {.tolerance = 1e-5});
}

TEST(LinalgTest, CholeskyOfAProduct) {
  for (const char* type : {"f32", "f64"}) {
    for (const char* lower : {"true", "false"}) {
      ExpectSame(absl::Substitute(R"(HloModule m
ENTRY e {
  a = $0[2,20,40] parameter(0)
  p = $0[2,20,20] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  ROOT c = $0[2,20,20] cholesky(p), lower=$1
}
)",
                                  type, lower),
                 {.tolerance = 1e-3});
    }
  }
}

TEST(LinalgTest, TriangularSolve) {
  for (const char* left : {"true", "false"}) {
    for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE"}) {
      ExpectSame(absl::Substitute(R"(HloModule m
ENTRY e {
  a = f64[2,6,6] parameter(0)
  i = s32[6,6] iota(), iota_dimension=0
  j = s32[6,6] iota(), iota_dimension=1
  d = pred[6,6] compare(i, j), direction=EQ
  f = f64[6,6] convert(d)
  four = f64[] constant(4)
  s = f64[6,6] broadcast(four), dimensions={}
  g = f64[6,6] multiply(f, s)
  h = f64[2,6,6] broadcast(g), dimensions={1,2}
  k = f64[2,6,6] add(a, h)
  b = f64[2,6,6] parameter(1)
  ROOT x = f64[2,6,6] triangular-solve(k, b), left_side=$0, lower=true, transpose_a=$1, unit_diagonal=false
}
)",
                                  left, transpose),
                 {.tolerance = 1e-9});
    }
  }
}

TEST(TransferTest, InfeedAndOutfeed) {
  std::string in(12, '\0');
  for (int i = 0; i < 12; ++i) in[i] = static_cast<char>(i * 7);
  ExpectSame(R"(HloModule m
ENTRY e {
  t = token[] after-all()
  i = (s32[3], token[]) infeed(t)
  x = s32[3] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1
  y = s32[3] add(x, x)
  o = token[] outfeed(y, u), outfeed_shape=s32[3]
  ROOT r = s32[3] negate(y)
}
)",
             {.infeed = {in}});
}

TEST(TransferTest, EmptyInfeedIsAnError) {
  RunResult result = RunOn(CpuBackend(), R"(HloModule m
ENTRY e {
  t = token[] after-all()
  i = (s32[3], token[]) infeed(t)
  ROOT x = s32[3] get-tuple-element(i), index=0
}
)",
                           {});
  EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition) << result.status;
}

// Windows over [batch, height, width, feature]; the second is padded, overlaps and starts at a value other than zero.
constexpr char kPoolGradient[] = R"(HloModule m
ge {
  x = $0[] parameter(0)
  y = $0[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GE
}
add {
  x = $0[] parameter(0)
  y = $0[] parameter(1)
  ROOT r = $0[] add(x, y)
}
ENTRY e {
  a = $0[$1] parameter(0)
  s = $0[$2] parameter(1)
  z = $0[] constant($3)
  ROOT r = $0[$1] select-and-scatter(a, s, z), window={$4}, select=ge, scatter=add
}
)";

TEST(SelectAndScatterTest, PoolingGradients) {
  for (const char* type : {"f32", "f64", "s32", "u8"}) {
    ExpectSame(absl::Substitute(kPoolGradient, type, "3,8,8,20", "3,4,4,20", "0", "size=1x2x2x1 stride=1x2x2x1"),
               {.tolerance = 1e-6});
    ExpectSame(absl::Substitute(kPoolGradient, type, "2,7,9,3", "2,4,5,3", "2",
                                "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0"),
               {.tolerance = 1e-6});
  }
}

TEST(SelectAndScatterTest, DividedAmongThreads) {
  ExpectSame(absl::Substitute(kPoolGradient, "f32", "16,32,32,8", "16,16,16,8", "0", "size=1x2x2x1 stride=1x2x2x1"),
             {.tolerance = 1e-6});
}

// Neighbouring windows are searched together, and what is left of a row one by one: windows along the rows, that reach
// out of the array, or with few elements in a row.
TEST(SelectAndScatterTest, WindowsAlongRows) {
  for (const char* type : {"f32", "f64", "bf16", "s32", "u8"}) {
    SCOPED_TRACE(type);
    const auto expect = [&](const char* array, const char* source, const char* window) {
      ExpectSame(absl::Substitute(kPoolGradient, type, array, source, "0", window),
                 {.tolerance = type[0] == 'b' ? 0.05 : 1e-6});
    };
    expect("5,77", "5,62", "size=1x16");
    expect("5,77", "5,39", "size=1x5 stride=1x2 pad=0_0x2_2");
    expect("200", "99", "size=3 stride=2");
    expect("3,6,70", "3,6,70", "size=1x3x3 pad=0_0x1_1x1_1");
    expect("4,9,5", "4,8,4", "size=1x2x2");
    expect("40,3", "38,3", "size=3x1");
  }
}

TEST(SelectAndScatterTest, EveryDimensionHasAWindow) {
  ExpectSame(absl::Substitute(kPoolGradient, "f32", "9,10", "4,3", "0", "size=3x4 stride=2x3"), {.tolerance = 1e-6});
}

TEST(OneDeviceTest, CollectivesAndAsynchronousPairs) {
  ExpectSame(R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}
work {
  x = f32[4] parameter(0)
  ROOT y = f32[4] negate(x)
}
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] all-reduce(a), replica_groups={}, to_apply=add
  c = ((f32[4]), f32[4], u32[]) async-start(b), calls=work
  d = f32[4] async-done(c)
  f = (f32[4], f32[4], u32[]) copy-start(d)
  ROOT g = f32[4] copy-done(f)
}
)");
}

TEST(PlaceTest, ReplicaAndPartitionAreZero) {
  ExpectSame(R"(HloModule m
ENTRY e {
  a = u32[] replica-id()
  b = u32[] partition-id()
  ROOT t = (u32[], u32[]) tuple(a, b)
}
)");
}

// Products by a few numbers and of a few complex rows, with free and contracted dimensions on all sides of each other.
TEST(LibraryOps, ProductsByAFewNumbers) {
  BothOptions options;
  options.tolerance = 1e-5;
  ExpectSame(R"(HloModule m
ENTRY e { a = c64[2,2,3,20] parameter(0) b = c64[3,20,2] parameter(1)
  r = c64[2,2,2] dot(a, b), lhs_contracting_dims={2,3}, rhs_contracting_dims={0,1}
  c = c64[2,2] parameter(2) s = c64[2,2,2,5] parameter(3)
  t = c64[2,2,2,5] dot(c, s), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  u = c64[2,2,5,2] dot(s, c), lhs_contracting_dims={2}, rhs_contracting_dims={1}
  p = f32[50,7,3] parameter(4) q = f32[3,3] parameter(5)
  v = f32[50,7,3] dot(p, q), lhs_contracting_dims={2}, rhs_contracting_dims={1}
  w = f32[3,50,7] dot(q, p), lhs_contracting_dims={0}, rhs_contracting_dims={2}
  g = c64[4,4] parameter(6) gg = c64[2,2,2,2] reshape(g)
  x = c64[2,2,2,5] dot(gg, s), lhs_contracting_dims={2,3}, rhs_contracting_dims={0,2}
  ROOT o = (c64[2,2,2], c64[2,2,2,5], c64[2,2,5,2], f32[50,7,3], f32[3,50,7], c64[2,2,2,5]) tuple(r, t, u, v, w, x) })",
             options);
}

}  // namespace
}  // namespace xc::cpu
