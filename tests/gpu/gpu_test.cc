// Modules on the emulator, kernel by kernel of each form, beside the interpreter.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "hlo/text/parser.h"
#include "tests/gpu/testing.h"

namespace xc {
namespace {

// Kernels and copies that one run starts, what is in a loop's body once.
int64_t Starts(const std::string& text) {
  const DeviceStarts starts = CompileText("gpu", text)->device_starts().value();
  return starts.kernels + starts.copies + starts.evaluated;
}

TEST(Gpu, SmallKernelsStartTogether) {
  // Of the three sums two go beside each other, and the third, which needs one of them, beside the sine.
  const std::string text = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[7,40] parameter(0) y = f32[5000] parameter(1) z = f32[] constant(0)
  p = f32[7] reduce(x, z), dimensions={1}, to_apply=add q = f32[] reduce(y, z), dimensions={0}, to_apply=add
  t = f32[] reduce(p, z), dimensions={0}, to_apply=add s = f32[5000] sine(y)
  ROOT r = (f32[7], f32[], f32[], f32[5000]) tuple(p, q, t, s) })";
  ExpectSame(text);
  EXPECT_EQ(Starts(text), 2);
}

// On tensor cores: both orders of each operand, sizes that fill no tile, that no vector of 16 bytes divides, a batch.
TEST(Gpu, ProductsOfHalves) {
  struct Case {
    const char *lhs, *rhs, *result;
    int lhs_k, rhs_k;
  };
  const Case cases[] = {{"128,64", "64,128", "128,128", 1, 0}, {"64,128", "64,128", "128,128", 0, 0},
                        {"128,64", "128,64", "128,128", 1, 1}, {"40,100", "100,24", "40,24", 1, 0},
                        {"100,40", "24,100", "40,24", 0, 1},   {"17,19", "19,23", "17,23", 1, 0},
                        {"19,17", "23,19", "17,23", 0, 1},     {"72,16", "16,80", "72,80", 1, 0}};
  for (const char* type : {"bf16", "f16"}) {
    for (const Case& c : cases) {
      for (const char* to : {type, "f32"}) {
        ExpectSame(absl::StrCat("HloModule m\nENTRY e { x = ", type, "[", c.lhs, "] parameter(0) y = ", type, "[",
                                c.rhs, "] parameter(1) ROOT d = ", to, "[", c.result,
                                "] dot(x, y), lhs_contracting_dims={", c.lhs_k, "}, rhs_contracting_dims={", c.rhs_k,
                                "} }"));
      }
    }
  }
  ExpectSame(R"(HloModule m
ENTRY e { x = bf16[3,40,48] parameter(0) y = bf16[3,48,72] parameter(1)
  ROOT d = bf16[3,40,72] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })");
  // Tiles of 128: a block for each multiprocessor.
  ExpectSame(R"(HloModule m
ENTRY e { x = bf16[16,256,32] parameter(0) y = bf16[16,32,512] parameter(1)
  ROOT d = bf16[16,256,512] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })");
}

TEST(Gpu, ProductsTakeTheKernelsBehindThem) {
  struct Case {
    const char* body;
    int64_t starts;
  };
  const Case cases[] = {
      // Tiles, whole and not; a bias and a ramp.
      {R"(ENTRY e { x = f32[64,48] parameter(0) w = f32[48,32] parameter(1) b = f32[32] parameter(2)
  d = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[64,32] broadcast(b), dimensions={1} s = f32[64,32] add(d, c) z = f32[] constant(0)
  y = f32[64,32] broadcast(z), dimensions={} ROOT r = f32[64,32] maximum(s, y) })",
       1},
      {R"(ENTRY e { x = bf16[37,50] parameter(0) w = bf16[50,41] parameter(1)
  d = bf16[37,41] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT r = bf16[37,41] tanh(d) })",
       1},
      // A thread for each element; the product is a result, too.
      {R"(ENTRY e { x = f32[5,7] parameter(0) w = f32[7,3] parameter(1)
  d = f32[5,3] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} n = f32[5,3] negate(d)
  ROOT r = (f32[5,3], f32[5,3]) tuple(d, n) })",
       1},
      // Complex numbers, a batch, a reshape between.
      {R"(ENTRY e { x = c64[4,25,17] parameter(0) w = c64[4,17,23] parameter(1)
  d = c64[4,25,23] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  f = c64[100,23] reshape(d) ROOT r = c64[100,23] multiply(f, f) })",
       1},
      {R"(ENTRY e { x = f32[1,9,9,3] parameter(0) w = f32[3,3,3,5] parameter(1) y = f32[1,9,9,5] parameter(2)
  c = f32[1,9,9,5] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = f32[1,9,9,5] add(c, y) })",
       1},
      // Other places of the product are read.
      {R"(ENTRY e { x = f32[64,48] parameter(0) w = f32[48,64] parameter(1)
  d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,64] reverse(d), dimensions={0} ROOT r = f32[64,64] subtract(d, t) })",
       2},
  };
  for (const Case& c : cases) {
    const std::string text = std::string("HloModule m\n") + c.body;
    ExpectSame(text);
    EXPECT_EQ(Starts(text), c.starts) << text;
  }
}

TEST(Gpu, StateOfLoopsRotatesAtOnce) {
  // Each of the values goes where the next one lies; sizes have 16, 4 and 1 bytes to an access. The loop has too much
  // work for one block.
  for (const char* type : {"f32[300]", "f32[4]", "f32[3]", "u8[3]", "f32[]"}) {
    std::string text = R"(HloModule m
body { p = (s32[], T, T, T, f32[9000]) parameter(0) i = s32[] get-tuple-element(p), index=0 o = s32[] constant(1)
  n = s32[] add(i, o) a = T get-tuple-element(p), index=1 b = T get-tuple-element(p), index=2
  c = T get-tuple-element(p), index=3 d = f32[9000] get-tuple-element(p), index=4 s = f32[9000] sine(d)
  ROOT t = (s32[], T, T, T, f32[9000]) tuple(n, b, c, a, s) }
cond { p = (s32[], T, T, T, f32[9000]) parameter(0) i = s32[] get-tuple-element(p), index=0 o = s32[] constant(4)
  ROOT r = pred[] compare(i, o), direction=LT }
ENTRY e { i = s32[] constant(0) a = T parameter(0) b = T parameter(1) c = T parameter(2) d = f32[9000] parameter(3)
  t = (s32[], T, T, T, f32[9000]) tuple(i, a, b, c, d)
  ROOT w = (s32[], T, T, T, f32[9000]) while(t), condition=cond, body=body })";
    for (size_t at; (at = text.find(" T")) != std::string::npos;) text.replace(at, 2, std::string(" ") + type);
    for (size_t at; (at = text.find("(T")) != std::string::npos;) text.replace(at, 2, std::string("(") + type);
    ExpectSame(text);
    EXPECT_EQ(Starts(text), 3) << text;  // in front of the loop, its condition, its body
  }
}

// Steps that need each other, loops and branches: one block does them all, and the host waits for nothing.
TEST(Gpu, SmallStepsAreASequence) {
  const char* const programs[] = {
      // Rows, their sums, the largest of them, what is left.
      R"(add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
ENTRY e { x = f32[7,40] parameter(0) z = f32[] constant(0) p = f32[7] reduce(x, z), dimensions={1}, to_apply=add
  m = f32[] reduce(p, z), dimensions={0}, to_apply=max c = f32[7] broadcast(m), dimensions={}
  s = f32[7] subtract(p, c) w = f32[7,40] broadcast(s), dimensions={0} y = f32[7,40] multiply(x, w)
  ROOT t = (f32[7], f32[], f32[7,40]) tuple(p, m, y) })",
      // A loop in a loop, with a branch, more elements than threads, and values that rotate.
      R"(inner_body { p = (s32[], f32[600]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[600] get-tuple-element(p), index=1 o = s32[] constant(1) n = s32[] add(i, o)
  y = f32[600] reverse(x), dimensions={0} s = f32[600] add(x, y) h = f32[] constant(0.5)
  c = f32[600] broadcast(h), dimensions={} m = f32[600] multiply(s, c) f = f32[600] floor(m)
  g = f32[600] subtract(f, y) ROOT t = (s32[], f32[600]) tuple(n, g) }
inner_cond { p = (s32[], f32[600]) parameter(0) i = s32[] get-tuple-element(p), index=0 o = s32[] constant(3)
  ROOT r = pred[] compare(i, o), direction=LT }
left { x = f32[600] parameter(0) ROOT n = f32[600] negate(x) }
right { x = f32[600] parameter(0) ROOT n = f32[600] reverse(x), dimensions={0} }
outer_body { p = (s32[], f32[600], f32[600], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  a = f32[600] get-tuple-element(p), index=1 b = f32[600] get-tuple-element(p), index=2
  k = s32[] get-tuple-element(p), index=3 z = s32[] constant(0) q = (s32[], f32[600]) tuple(z, a)
  w = (s32[], f32[600]) while(q), condition=inner_cond, body=inner_body
  c = f32[600] get-tuple-element(w), index=1 two = s32[] constant(2) odd = s32[] remainder(i, two)
  yes = pred[] compare(odd, z), direction=EQ
  d = f32[600] conditional(yes, c, c), true_computation=left, false_computation=right
  e = f32[600] conditional(odd, d, d, d), branch_computations={left, right, left}
  o = s32[] constant(1) n = s32[] add(i, o) l = s32[] add(k, n)
  ROOT t = (s32[], f32[600], f32[600], s32[]) tuple(n, b, e, l) }
cond { p = (s32[], f32[600], f32[600], s32[]) parameter(0) k = s32[] get-tuple-element(p), index=3
  m = s32[] constant(17) ROOT r = pred[] compare(k, m), direction=LT }
ENTRY e { z = s32[] constant(0) a = f32[600] parameter(0) b = f32[600] parameter(1)
  t = (s32[], f32[600], f32[600], s32[]) tuple(z, a, b, z)
  ROOT w = (s32[], f32[600], f32[600], s32[]) while(t), condition=cond, body=outer_body })",
  };
  for (const char* program : programs) {
    const std::string text = std::string("HloModule m\n") + program;
    ExpectSame(text);
    EXPECT_EQ(Starts(text), 1) << text;
  }
}

TEST(Gpu, Elementwise) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[1000] parameter(0) y = f32[1000] parameter(1) s = f32[1000] sine(x) p = f32[1000] tanh(y)
  ROOT r = f32[1000] multiply(s, p) })");
}

TEST(Gpu, NarrowFloats) {
  for (const char* type : {"bf16", "f16", "f8e4m3fn", "f8e5m2"}) {
    std::string text = R"(HloModule m
ENTRY e { x = T[77] parameter(0) y = T[77] parameter(1) s = T[77] add(x, y) c = f32[77] convert(s)
  ROOT t = (T[77], f32[77]) tuple(s, c) })";
    for (size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at)) text.replace(at, 1, type);
    ExpectSame(text);
  }
}

// Enough elements for several in each thread.
TEST(Gpu, Vectors) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[512,1024] parameter(0) y = bf16[512,1024] parameter(1) c = f32[512,1024] convert(y)
  ROOT r = f32[512,1024] add(x, c) })");
}

TEST(Gpu, FunctionsOfDoubles) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f64[64] parameter(0) y = f64[64] parameter(1) big = f64[] constant(1e200) b = f64[64] broadcast(big), dimensions={}
  l = f64[64] multiply(x, b) s = f64[64] sine(l) c = f64[64] cosine(l) p = f64[64] power(y, x) m = f64[64] remainder(l, y)
  t = f64[64] tan(x) h = f64[64] erf(x)
  ROOT r = (f64[64], f64[64], f64[64], f64[64], f64[64], f64[64]) tuple(s, c, p, m, t, h) })");
}

TEST(Gpu, Complex) {
  ExpectSame(R"(HloModule m
ENTRY e { x = c64[40] parameter(0) y = c64[40] parameter(1) d = c64[40] divide(x, y) l = c64[40] log(x)
  w = c128[40] convert(x) t = c128[40] tanh(w) p = c64[40] power(x, y) q = c128[40] sqrt(w)
  ROOT r = (c64[40], c64[40], c128[40], c64[40], c128[40]) tuple(d, l, t, p, q) })");
}

TEST(Gpu, Reductions) {
  ExpectSame(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
ENTRY e { x = f32[33,100] parameter(0) z = f32[] constant(0)
  r = f32[33] reduce(x, z), dimensions={1}, to_apply=add c = f32[100] reduce(x, z), dimensions={0}, to_apply=add
  a = f32[] reduce(x, z), dimensions={0,1}, to_apply=most
  ROOT t = (f32[33], f32[100], f32[]) tuple(r, c, a) })");
}

constexpr char kSoftmax[] = R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
ENTRY e { x = f32[24,129] parameter(0) z = f32[] constant(0) low = f32[] constant(-inf)
  m = f32[24] reduce(x, low), dimensions={1}, to_apply=most b = f32[24,129] broadcast(m), dimensions={0}
  d = f32[24,129] subtract(x, b) ex = f32[24,129] exponential(d) s = f32[24] reduce(ex, z), dimensions={1}, to_apply=add
  sb = f32[24,129] broadcast(s), dimensions={0} ROOT r = f32[24,129] divide(ex, sb) })";

TEST(Gpu, Softmax) { ExpectSame(kSoftmax); }

TEST(Gpu, MovesData) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[12,34] parameter(0) y = f32[5,34] parameter(1) i = s32[] constant(4) z = s32[] constant(0)
  t = f32[34,12] transpose(x), dimensions={1,0} c = f32[17,34] concatenate(x, y), dimensions={0}
  u = f32[12,34] dynamic-update-slice(x, y, i, z) n = f32[] constant(7)
  p = f32[14,40] pad(x, n), padding=1_1x2_4 v = f32[12,34] reverse(x), dimensions={0,1}
  ROOT r = (f32[34,12], f32[17,34], f32[12,34], f32[14,40], f32[12,34]) tuple(t, c, u, p, v) })");
}

TEST(Gpu, Scatters) {
  ExpectSame(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ge { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = pred[] compare(p, q), direction=GE }
ENTRY e { x = f32[64,8] parameter(0) i = s32[5,1] parameter(1) v = f32[5,8] parameter(2) w = f32[4,10,10] parameter(3)
  g = f32[4,5,5] parameter(4) z = f32[] constant(0)
  s = f32[64,8] scatter(x, i, v), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add
  a = f32[4,10,10] select-and-scatter(w, g, z), window={size=1x2x2 stride=1x2x2}, select=ge, scatter=add
  ROOT r = (f32[64,8], f32[4,10,10]) tuple(s, a) })");
}

TEST(Gpu, Products) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[3,40,50] parameter(0) y = f32[3,50,30] parameter(1) b = bf16[40,50] parameter(2) c = bf16[50,20] parameter(3)
  k = f32[3,3,30,8] parameter(4)
  d = f32[3,40,30] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  h = bf16[40,20] dot(b, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  im = f32[1,3,40,30] reshape(d)
  f = f32[1,2,20,8] convolution(im, k), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = (f32[3,40,30], bf16[40,20], f32[1,2,20,8]) tuple(d, h, f) })");
}

TEST(Gpu, Sorts) {
  ExpectSame(R"(HloModule m
less { p = f32[] parameter(0) q = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT c = pred[] compare(p, q), direction=LT }
ENTRY e { x = f32[7,301] parameter(0) n = s32[7,301] iota(), iota_dimension=1
  s = (f32[7,301], s32[7,301]) sort(x, n), dimensions={1}, is_stable=true, to_apply=less
  a = f32[7,301] get-tuple-element(s), index=0 b = s32[7,301] get-tuple-element(s), index=1
  ROOT r = (f32[7,301], s32[7,301]) tuple(a, b) })");
}

TEST(Gpu, TopK) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[5,77] parameter(0) t = (f32[5,9], s32[5,9]) topk(x), k=9, largest=true
  a = f32[5,9] get-tuple-element(t), index=0 b = s32[5,9] get-tuple-element(t), index=1
  ROOT r = (f32[5,9], s32[5,9]) tuple(a, b) })");
}

TEST(Gpu, RandomBits) {
  for (const char* algorithm : {"rng_three_fry", "rng_philox"}) {
    ExpectSame(std::string(R"(HloModule m
ENTRY e { s = u64[2] parameter(0) g = (u64[2], u32[5,9]) rng-bit-generator(s), algorithm=)") +
               algorithm + R"( a = u64[2] get-tuple-element(g), index=0 b = u32[5,9] get-tuple-element(g), index=1
  ROOT r = (u64[2], u32[5,9]) tuple(a, b) })");
  }
}

TEST(Gpu, LinearAlgebra) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[2,6,6] parameter(0) y = f32[2,6,3] parameter(1) c = f32[] constant(4) b = f32[6,6] broadcast(c), dimensions={}
  i = s32[6,6] iota(), iota_dimension=0 j = s32[6,6] iota(), iota_dimension=1 d = pred[6,6] compare(i, j), direction=EQ
  z = f32[] constant(0) zs = f32[6,6] broadcast(z), dimensions={} u = f32[6,6] select(d, b, zs)
  ub = f32[2,6,6] broadcast(u), dimensions={1,2} a = f32[2,6,6] add(x, ub)
  s = f32[2,6,3] triangular-solve(a, y), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  xx = f32[2,6,6] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  p = f32[2,6,6] add(xx, ub) l = f32[2,6,6] cholesky(p), lower=true
  ROOT r = (f32[2,6,3], f32[2,6,6]) tuple(s, l) })");
}

TEST(Gpu, LoopsAndBranches) {
  ExpectSame(R"(HloModule m
yes { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }
no { p = f32[8] parameter(0) ROOT n = f32[8] cosine(p) }
cond { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1 one = s32[] constant(1) two = s32[] constant(2) j = s32[] add(i, one)
  r = s32[] remainder(i, two) z = s32[] constant(0) odd = pred[] compare(r, z), direction=NE
  y = f32[8] conditional(odd, x, x), true_computation=yes, false_computation=no
  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { x = f32[8] parameter(0) z = s32[] constant(0) init = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(init), condition=cond, body=body ROOT r = f32[8] get-tuple-element(w), index=1 })");
}

// An array inside of a reducer: no backend has code for it.
TEST(Gpu, EvaluatesWhatHasNoKernel) {
  ExpectSame(R"(HloModule m
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT m = f32[] maximum(p, q) }
spread { p = f32[] parameter(0) q = f32[] parameter(1) b = f32[2] broadcast(p), dimensions={}
  i = f32[2] iota(), iota_dimension=0 s = f32[2] multiply(b, i)
  ROOT m = f32[] reduce(s, q), dimensions={0}, to_apply=most }
ENTRY e { x = f32[8] parameter(0) y = f32[8] sine(x) z = f32[] constant(0)
  ROOT r = f32[] reduce(y, z), dimensions={0}, to_apply=spread })",
             1);
}

TEST(Gpu, CountsWhatARunStarts) {
  const auto starts = [&](const char* platform, const char* text) {
    return CompileText(platform, text)->device_starts();
  };
  // One product, one kernel after it: a transform of a large prime number of points is the host's.
  const char* kProduct = R"(HloModule m
ENTRY e {
  a = f32[64,64] parameter(0)
  d = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,64] tanh(d)
  c = c64[64,64] complex(b, d)
  r = c64[4096] reshape(c)
  z = c64[4099] pad(r, c64[] constant((0, 0))), padding=0_3
  ROOT f = c64[4099] fft(z), fft_type=FFT, fft_length={4099}
})";
  const std::optional<DeviceStarts> product = starts("gpu", kProduct);
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->kernels, 2);
  EXPECT_EQ(product->copies, 0);
  EXPECT_EQ(product->evaluated, 1);
  EXPECT_FALSE(starts("cpu", kProduct).has_value());
  // A softmax is one kernel, which reads its rows three times.
  EXPECT_EQ(starts("gpu", kSoftmax)->kernels, 1);
}

TEST(Gpu, SaysWhatIsMissing) {
  auto module = ParseModule("HloModule m ENTRY e { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) }");
  ASSERT_TRUE(module.ok());
  const auto executable = (*BackendByName("gpu"))->Compile(*std::move(module), {});
  if (executable.ok()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_NE(std::string(executable.status().message()).find("libcuda"), std::string::npos) << executable.status();
}

// Products by tiles, with edges that fill none; operands in each order, batches, types that are summed in others.
TEST(Gpu, TiledProducts) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[67,45] parameter(0) y = f32[45,83] parameter(1)
  ROOT d = f32[67,83] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[2,48,64] parameter(0) y = f32[2,32,48] parameter(1)
  ROOT d = f32[2,64,32] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={2} })");
  ExpectSame(R"(HloModule m
ENTRY e { x = bf16[40,33] parameter(0) y = bf16[33,24] parameter(1)
  ROOT d = bf16[40,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  ExpectSame(R"(HloModule m
ENTRY e { x = s8[40,33] parameter(0) y = s8[33,24] parameter(1)
  ROOT d = s32[40,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  ExpectSame(R"(HloModule m
ENTRY e { x = f64[17,16] parameter(0) y = f64[16,130] parameter(1)
  ROOT d = f64[17,130] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
}

// So many tiles that each thread computes four elements in both dimensions.
TEST(Gpu, ManyTiles) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[128,66,18] parameter(0) y = f32[128,18,65] parameter(1)
  ROOT d = f32[128,66,65] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })");
}

TEST(Gpu, TransposesByTiles) {
  ExpectSame(R"(HloModule m
ENTRY e { x = f32[70,45] parameter(0) ROOT t = f32[45,70] transpose(x), dimensions={1,0} })");
  ExpectSame(R"(HloModule m
ENTRY e { x = bf16[3,64,40] parameter(0) y = bf16[40,3,64] parameter(1) t = bf16[40,3,64] transpose(x), dimensions={2,0,1}
  s = bf16[40,3,64] multiply(t, y) ROOT r = bf16[40,3,64] add(s, t) })");
  ExpectSame(R"(HloModule m
ENTRY e { x = pred[33,32] parameter(0) y = f32[33,32] parameter(1) z = f32[32,33] parameter(2)
  p = pred[32,33] transpose(x), dimensions={1,0} t = f32[32,33] transpose(y), dimensions={1,0}
  ROOT r = f32[32,33] select(p, t, z) })");
}

// Rows that a block shares: sums, of complex numbers too, maxima, conjunctions; a softmax of few rows.
TEST(Gpu, LongRows) {
  for (const char* type : {"f32", "bf16", "c64", "s64"}) {
    std::string text = R"(HloModule m
add { p = T[] parameter(0) q = T[] parameter(1) ROOT s = T[] add(p, q) }
ENTRY e { x = T[3,5000] parameter(0) none = s32[] constant(0) zero = T[] convert(none) ROOT r = T[3] reduce(x, zero), dimensions={1}, to_apply=add })";
    for (size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at)) text.replace(at, 1, type);
    ExpectSame(text);
  }
  ExpectSame(R"(HloModule m
all { p = pred[] parameter(0) q = pred[] parameter(1) ROOT s = pred[] and(p, q) }
ENTRY e { x = pred[2,4099] parameter(0) t = pred[] constant(true) ROOT r = pred[2] reduce(x, t), dimensions={1}, to_apply=all })");
  ExpectSame(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
ENTRY e { x = f32[4,2500] parameter(0) zero = f32[] constant(0) low = f32[] constant(-inf)
  m = f32[4] reduce(x, low), dimensions={1}, to_apply=max mb = f32[4,2500] broadcast(m), dimensions={0}
  d = f32[4,2500] subtract(x, mb) y = f32[4,2500] exponential(d)
  s = f32[4] reduce(y, zero), dimensions={1}, to_apply=add sb = f32[4,2500] broadcast(s), dimensions={0}
  ROOT r = f32[4,2500] divide(y, sb) })");
}

TEST(Gpu, Columns) {
  ExpectSame(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e { x = f32[3,200,77] parameter(0) zero = f32[] constant(0) b = f32[3,77] parameter(1)
  r = f32[3,77] reduce(x, zero), dimensions={1}, to_apply=add ROOT m = f32[3,77] multiply(r, b) })");
  ExpectSame(R"(HloModule m
max { p = bf16[] parameter(0) q = bf16[] parameter(1) ROOT s = bf16[] maximum(p, q) }
ENTRY e { x = bf16[50,9000] parameter(0) low = bf16[] constant(-inf)
  ROOT r = bf16[9000] reduce(x, low), dimensions={0}, to_apply=max })");
}

}  // namespace
}  // namespace xc
