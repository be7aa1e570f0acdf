// Programs on the CPU backend against the interpreter: data movement, reductions, products, control flow, in-place
// updates, scatter, sort, layouts; with and without the passes, on one thread and several.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/compare.h"
#include "backends/cpu/cpu_backend.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc::cpu {
namespace {

void Check(const std::string& hlo, double tolerance = 2e-5) {
  for (const char* target : {"", "x86-64-v2", "x86-64-v3"}) {
    for (bool passes : {false, true}) {
      CompareOptions options{target, tolerance, passes, passes ? 2 : 1};
      absl::Status status = CompareWithInterpreter(hlo, options);
      EXPECT_TRUE(status.ok()) << "target \"" << target << "\", passes " << passes << ": " << status;
    }
  }
}

TEST(Cpu, DataMovement) {
  Check(R"(HloModule m
ENTRY e {
  x = f32[5,6,7] parameter(0)
  y = f32[5,3,7] parameter(1)
  s = s32[] parameter(2)
  z = f32[] constant(9)
  a = f32[7,5,6] transpose(x), dimensions={2,0,1}
  b = f32[30,7] reshape(x)
  c = f32[2,3,7] slice(x), slice={[1:5:3], [0:6:2], [0:7]}
  d = f32[5,6,7] reverse(x), dimensions={0,2}
  f = f32[8,12,9] pad(x, z), padding=1_2x-1_2_1x2_0
  g = f32[5,9,7] concatenate(x, y), dimensions={1}
  h = f32[2,6,3] dynamic-slice(x, s, s, s), dynamic_slice_sizes={2,6,3}
  i = f32[5,4,6,7] broadcast(x), dimensions={0,2,3}
  j = s32[4,19] iota(), iota_dimension=1
  k = f32[5,6,7] dynamic-update-slice(x, y, s, s, s)
  ROOT t = (f32[7,5,6], f32[30,7], f32[2,3,7], f32[5,6,7], f32[8,12,9], f32[5,9,7], f32[2,6,3], f32[5,4,6,7], s32[4,19],
    f32[5,6,7]) tuple(a, b, c, d, f, g, h, i, j, k)
})");
}

TEST(Cpu, LargeTransposesAndRows) {
  Check(R"(HloModule m
ENTRY e {
  x = f32[130,77] parameter(0)
  y = bf16[3,70,66] parameter(1)
  a = f32[77,130] transpose(x), dimensions={1,0}
  b = f32[77,130] add(a, a)
  c = bf16[66,3,70] transpose(y), dimensions={2,0,1}
  d = f32[77,65,2] reshape(b)
  ROOT t = (f32[77,65,2], bf16[66,3,70]) tuple(d, c)
})");
}

TEST(Cpu, TransposesBesideWhatLiesInOrder) {
  Check(R"(HloModule m
ENTRY e {
  x = f32[130,77] parameter(0)
  y = f32[77,130] parameter(1)
  z = f32[130] parameter(2)
  w = bf16[66,3,70] parameter(3)
  v = bf16[3,70,66] parameter(4)
  q = f32[130,77] parameter(5)
  m = f32[] parameter(6)
  a = f32[77,130] transpose(x), dimensions={1,0}
  b = f32[77,130] transpose(q), dimensions={1,0}
  c = f32[77,130] add(a, y)
  d = f32[77,130] multiply(c, b)
  bias = f32[77,130] broadcast(z), dimensions={1}
  f = f32[77,130] subtract(d, bias)
  n = f32[77,130] broadcast(m), dimensions={}
  g = pred[77,130] compare(f, n), direction=LT
  h = f32[77,130] select(g, y, f)
  t = bf16[66,3,70] transpose(v), dimensions={2,0,1}
  u = bf16[66,3,70] maximum(w, t)
  ROOT r = (f32[77,130], bf16[66,3,70]) tuple(h, u)
})");
}

TEST(Cpu, StitchedRows) {
  constexpr char kSum[] = R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
max { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
)";
  // Softmax of rows of a length that is no multiple of a vector's, between dimensions of size 1.
  Check(absl::StrCat(kSum, R"(ENTRY e {
  x = f32[3,1,13,77] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[3,1,13] reduce(x, low), dimensions={3}, to_apply=max
  mb = f32[3,1,13,77] broadcast(m), dimensions={0,1,2}
  d = f32[3,1,13,77] subtract(x, mb)
  p = f32[3,1,13,77] exponential(d)
  s = f32[3,1,13] reduce(p, zero), dimensions={3}, to_apply=add
  sr = f32[3,13] reshape(s)
  sb = f32[3,1,13,77] broadcast(sr), dimensions={0,2}
  ROOT r = f32[3,1,13,77] divide(p, sb)
})"));
  // A normalization with weights, and another value of the row for each row; rows turned around are not the same rows.
  Check(absl::StrCat(kSum, R"(ENTRY e {
  x = f32[20,70] parameter(0)
  w = f32[70] parameter(1)
  zero = f32[] constant(0)
  n = f32[] constant(70)
  nb = f32[20] broadcast(n), dimensions={}
  s = f32[20] reduce(x, zero), dimensions={1}, to_apply=add
  mean = f32[20] divide(s, nb)
  meanb = f32[20,70] broadcast(mean), dimensions={0}
  d = f32[20,70] subtract(x, meanb)
  dd = f32[20,70] multiply(d, d)
  v = f32[20] reduce(dd, zero), dimensions={1}, to_apply=add
  one = f32[] constant(1)
  oneb = f32[20] broadcast(one), dimensions={}
  v1 = f32[20] add(v, oneb)
  rs = f32[20] rsqrt(v1)
  rsb = f32[20,70] broadcast(rs), dimensions={0}
  wb = f32[20,70] broadcast(w), dimensions={1}
  y = f32[20,70] multiply(d, rsb)
  yw = f32[20,70] multiply(y, wb)
  turned = f32[20] reverse(s), dimensions={0}
  turnedb = f32[20,70] broadcast(turned), dimensions={0}
  z = f32[20,70] add(yw, turnedb)
  a = f32[20,70] abs(d)
  last = f32[20] reduce(a, zero), dimensions={1}, to_apply=add
  ROOT t = (f32[20,70], f32[20]) tuple(z, last)
})"),
        1e-4);
}

TEST(Cpu, Bf16ResultsAreRoundedOnce) {
  // All exponents and many mantissas, denormals, infinities and NaN among them, against the same in f32; the last
  // result counts what differs.
  for (const char* op : {"divide", "add", "subtract", "multiply"}) {
    Check(absl::StrReplaceAll(R"(HloModule m
add { x = s32[] parameter(0) y = s32[] parameter(1) ROOT r = s32[] add(x, y) }
ENTRY e {
  unused = f32[2] parameter(0)
  i = s32[512,523] iota(), iota_dimension=1
  a = s32[] constant(251)
  ab = s32[512,523] broadcast(a), dimensions={}
  im = s32[512,523] multiply(i, ab)
  iu = u16[512,523] convert(im)
  x = bf16[512,523] bitcast-convert(iu)
  j = s32[512] iota(), iota_dimension=0
  c = s32[] constant(129)
  cb = s32[512] broadcast(c), dimensions={}
  jm = s32[512] multiply(j, cb)
  ju = u16[512] convert(jm)
  d = bf16[512] bitcast-convert(ju)
  db = bf16[512,523] broadcast(d), dimensions={0}
  q = bf16[512,523] OP(x, db)
  xf = f32[512,523] convert(x)
  df = f32[512] convert(d)
  dfb = f32[512,523] broadcast(df), dimensions={0}
  qf = f32[512,523] OP(xf, dfb)
  qr = bf16[512,523] convert(qf)
  ne = pred[512,523] compare(q, qr), direction=NE, type=TOTALORDER
  one = pred[512,523] compare(q, q), direction=EQ
  two = pred[512,523] compare(qr, qr), direction=EQ
  number = pred[512,523] or(one, two)
  bad = pred[512,523] and(ne, number)
  n = s32[512,523] convert(bad)
  zero = s32[] constant(0)
  count = s32[] reduce(n, zero), dimensions={0,1}, to_apply=add
  ROOT t = (s32[], bf16[512,523], f32[2]) tuple(count, q, unused)
})",
                              {{"OP(", absl::StrCat(op, "(")}}));
  }
}

TEST(Cpu, ConcatenationsByParts) {
  Check(R"(HloModule m
ENTRY e {
  x = f32[6,40] parameter(0)
  y = f32[6,17] parameter(1)
  z = f32[6,0] parameter(2)
  v = f32[33] parameter(3)
  i = s32[] parameter(4)
  n = f32[6,40] negate(x)
  s = f32[6,20] dynamic-slice(x, i, i), dynamic_slice_sizes={6,20}
  a = f32[6,134] concatenate(x, z, y, n, y, s), dimensions={1}
  ee = f32[33] exponential(v)
  sv = f32[16] slice(v), slice={[3:19]}
  b = f32[115] concatenate(v, ee, sv, v), dimensions={0}
  ROOT t = (f32[6,134], f32[115]) tuple(a, b)
})");
}

TEST(Cpu, FusedIndexMaps) {
  Check(R"(HloModule m
f {
  p = f32[12,10] parameter(0)
  q = f32[10] parameter(1)
  s = s32[] parameter(2)
  c = f32[3] constant({1, 2, 3})
  z = f32[] constant(0)
  b = f32[12,10] broadcast(q), dimensions={1}
  a = f32[12,10] multiply(p, b)
  r = f32[3,40] reshape(a)
  t = f32[40,3] transpose(r), dimensions={1,0}
  cb = f32[40,3] broadcast(c), dimensions={1}
  u = f32[40,3] add(t, cb)
  w = f32[42,5] pad(u, z), padding=1_1x1_1
  d = f32[8,5] dynamic-slice(w, s, s), dynamic_slice_sizes={8,5}
  ROOT o = f32[16,5] concatenate(d, d), dimensions={0}
}
ENTRY e {
  p = f32[12,10] parameter(0)
  q = f32[10] parameter(1)
  s = s32[] parameter(2)
  ROOT o = f32[16,5] fusion(p, q, s), kind=kLoop, calls=f
})");
}

TEST(Cpu, Reductions) {
  Check(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
max { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
min8 { x = s8[] parameter(0) y = s8[] parameter(1) ROOT r = s8[] minimum(x, y) }
arg {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(v, w), direction=GE
  a = f32[] select(g, v, w)
  b = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(a, b)
}
ENTRY e {
  x = f32[21,9,150] parameter(0)
  k = s8[40,33] parameter(1)
  z = f32[] constant(0)
  n = f32[] constant(-inf)
  m = s8[] constant(127)
  o = s32[] constant(0)
  io = s32[21,9,150] iota(), iota_dimension=2
  a = f32[21,9] reduce(x, z), dimensions={2}, to_apply=add
  b = f32[9,150] reduce(x, z), dimensions={0}, to_apply=add
  c = f32[] reduce(x, z), dimensions={0,1,2}, to_apply=add
  d = f32[9] reduce(x, n), dimensions={0,2}, to_apply=max
  f = s8[40] reduce(k, m), dimensions={1}, to_apply=min8
  g = (f32[21,9], s32[21,9]) reduce(x, io, n, o), dimensions={2}, to_apply=arg
  h = f32[21,9] get-tuple-element(g), index=0
  i = s32[21,9] get-tuple-element(g), index=1
  ROOT t = (f32[21,9], f32[9,150], f32[], f32[9], s8[40], f32[21,9], s32[21,9]) tuple(a, b, c, d, f, h, i)
})",
        1e-4);
}

TEST(Cpu, LargeReductionsDoNotDependOnThreads) {
  Check(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
ENTRY e {
  x = f32[3000,200] parameter(0)
  z = f32[] constant(0)
  a = f32[200] reduce(x, z), dimensions={0}, to_apply=add
  b = f32[] reduce(x, z), dimensions={0,1}, to_apply=add
  ROOT t = (f32[200], f32[]) tuple(a, b)
})",
        1e-3);
}

TEST(Cpu, ColumnReductionsWithPrologueAndEpilogue) {
  Check(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
f {
  x = bf16[2,300,9,77] parameter(0)
  c = f32[2,300,9,77] convert(x)
  q = f32[2,300,9,77] multiply(c, c)
  i = f32[] parameter(1)
  s = f32[2,9,77] reduce(q, i), dimensions={1}, to_apply=add
  b = f32[77] parameter(2)
  bb = f32[2,9,77] broadcast(b), dimensions={2}
  ROOT r = f32[2,9,77] divide(s, bb)
}
bmax { x = bf16[] parameter(0) y = bf16[] parameter(1) ROOT r = bf16[] maximum(x, y) }
ENTRY e {
  x = bf16[2,300,9,77] parameter(0)
  i = f32[] parameter(1)
  b = f32[77] parameter(2)
  n = bf16[] constant(-inf)
  m = bf16[9,77] reduce(x, n), dimensions={0,1}, to_apply=bmax
  r = f32[2,9,77] fusion(x, i, b), kind=kInput, calls=f
  ROOT t = (f32[2,9,77], bf16[9,77]) tuple(r, m)
})",
        1e-4);
}

TEST(Cpu, WindowsAndMap) {
  Check(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
max { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
twice { x = f32[] parameter(0) ROOT r = f32[] add(x, x) }
ENTRY e {
  x = f32[2,11,13] parameter(0)
  z = f32[] constant(0)
  n = f32[] constant(-inf)
  a = f32[2,6,7] reduce-window(x, n), window={size=1x3x3 stride=1x2x2 pad=0_0x1_1x1_1}, to_apply=max
  b = f32[2,11,13] reduce-window(x, z), window={size=1x1x13 pad=0_0x0_0x12_0}, to_apply=add
  c = f32[2,21,9] reduce-window(x, z), window={size=1x1x3 lhs_dilate=1x2x1 rhs_dilate=1x1x2}, to_apply=add
  d = f32[2,11,13] map(x), dimensions={0,1,2}, to_apply=twice
  ROOT t = (f32[2,6,7], f32[2,11,13], f32[2,21,9], f32[2,11,13]) tuple(a, b, c, d)
})");
}

TEST(Cpu, Products) {
  Check(R"(HloModule m
ENTRY e {
  a = f32[3,5,7] parameter(0)
  b = f32[3,7,6] parameter(1)
  c = f32[4,7] parameter(2)
  i = f32[2,9,9,3] parameter(3)
  k = f32[3,3,3,8] parameter(4)
  x = f32[3,5,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  y = f32[3,5,4] dot(a, c), lhs_contracting_dims={2}, rhs_contracting_dims={1}
  w = f32[5,6] dot(a, b), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}
  v = f32[2,5,5,8] convolution(i, k), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT t = (f32[3,5,6], f32[3,5,4], f32[5,6], f32[2,5,5,8]) tuple(x, y, w, v)
})",
        1e-4);
}

TEST(Cpu, ControlFlow) {
  Check(R"(HloModule m
cond { s = (s32[], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0 v = f32[40] get-tuple-element(s), index=1
  one = s32[] constant(1) j = s32[] add(i, one) half = f32[1] constant({0.5})
  w = f32[40] dynamic-update-slice(v, half, i) u = f32[40] add(w, v)
  ROOT t = (s32[], f32[40]) tuple(j, u) }
b0 { x = f32[40] parameter(0) ROOT r = f32[40] negate(x) }
b1 { x = f32[40] parameter(0) ROOT r = f32[40] tanh(x) }
b2 { x = f32[40] parameter(0) ROOT r = f32[40] copy(x) }
called { x = f32[40] parameter(0) ROOT r = f32[40] add(x, x) }
ENTRY e {
  v = f32[40] parameter(0)
  k = s32[] parameter(1)
  z = s32[] constant(0)
  s = (s32[], f32[40]) tuple(z, v)
  l = (s32[], f32[40]) while(s), condition=cond, body=body
  f = f32[40] get-tuple-element(l), index=1
  c = f32[40] conditional(k, f, v), branch_computations={b0, b1}
  p = f32[40] call(c), to_apply=called
  ROOT t = ((s32[], f32[40]), f32[40], f32[40]) tuple(l, p, v)
})");
}

TEST(Cpu, GatherScatterSort) {
  Check(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  ab = f32[] abs(a) bb = f32[] abs(b) ROOT l = pred[] compare(ab, bb), direction=LT }
ENTRY e {
  x = f32[10,20] parameter(0)
  i = s32[6,1] parameter(1)
  u = f32[6,20] parameter(2)
  v = f32[6,3] parameter(3)
  j = s32[6,2] parameter(4)
  k = s32[10,20] iota(), iota_dimension=1
  g = f32[6,20] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,
    slice_sizes={1,20}
  a = f32[10,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add
  b = f32[10,20] scatter(x, j, v), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1},
    index_vector_dim=1, to_apply=add
  s = (f32[10,20], s32[10,20]) sort(x, k), dimensions={1}, is_stable=true, to_apply=less
  ROOT t = (f32[6,20], f32[10,20], f32[10,20], (f32[10,20], s32[10,20])) tuple(g, a, b, s)
})");
}

TEST(Cpu, EntryLayoutsKeepTheirBytes) {
  Check(R"(HloModule m, entry_computation_layout={(f32[4,6]{0,1})->(f32[6,4]{0,1}, f32[24]{0})}
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  t = f32[6,4]{1,0} transpose(x), dimensions={1,0}
  c = f32[6,4]{0,1} copy(t)
  b = f32[24]{0} bitcast(c)
  ROOT r = (f32[6,4]{0,1}, f32[24]{0}) tuple(c, b)
})");
}

TEST(Cpu, ManyInstructionsAreCutIntoParts) {
  std::string body = "HloModule m\nENTRY e {\n  v0 = f32[3] parameter(0)\n";
  for (int i = 1; i <= 400; ++i)
    absl::StrAppend(&body, "  v", i, " = f32[3] ", i % 2 ? "negate" : "tanh", "(v", i - 1, ")\n");
  absl::StrAppend(&body, "  ROOT r = f32[3] copy(v400)\n}\n");
  Check(body);
}

TEST(Cpu, OpsWithoutCodeOrEvaluatorSaySo) {
  auto module = ParseModule(R"(HloModule m
ENTRY e { x = f32[4] parameter(0) ROOT c = f32[4] custom-call(x), custom_call_target="nobody_knows" })");
  ASSERT_TRUE(module.ok()) << module.status();
  xc::CompileOptions options;
  options.disabled_passes = {"all"};
  auto executable = CompileModule(*std::move(module), options, nullptr);
  ASSERT_TRUE(executable.ok()) << executable.status();
  float in[4] = {}, out[4] = {};
  const void* parameters[] = {in};
  void* results[] = {out};
  absl::Status status = (*executable)->Run(parameters, results, RunOptions{});
  EXPECT_NE(std::string(status.message()).find("no code for custom-call (instruction c)"), std::string::npos) << status;
  EXPECT_NE(std::string((*executable)->Run({}, results, RunOptions{}).message()).find("takes 1 buffers"),
            std::string::npos);
}

TEST(Cpu, ElidedConstantsAreRefused) {
  auto module = ParseModule(
      "HloModule m\nENTRY e { x = f32[100] parameter(0) c = f32[100] constant({...}) "
      "ROOT a = f32[100] add(x, c) }");
  ASSERT_TRUE(module.ok()) << module.status();
  xc::CompileOptions options;
  options.disabled_passes = {"all"};
  auto executable = CompileModule(*std::move(module), options, nullptr);
  ASSERT_FALSE(executable.ok());
  EXPECT_NE(std::string(executable.status().message()).find("has no elements"), std::string::npos)
      << executable.status();
}

}  // namespace
}  // namespace xc::cpu
