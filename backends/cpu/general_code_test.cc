// Code for several sizes against the interpreter, at sizes that it was not made for.
#include <gtest/gtest.h>

#include "backends/cpu/testing/run_both.h"
#include "hlo/symbolic.h"

namespace xc::cpu {
namespace {

struct Outcome {
  absl::Status status;
  std::vector<Literal> leaves;
};

Outcome RunIt(const Executable& executable) {
  Outcome outcome;
  std::vector<Literal> inputs;
  std::vector<const void*> in;
  for (const Shape& shape : executable.parameter_leaves()) inputs.push_back(MadeUp(inputs.size(), shape, {}));
  for (const Literal& input : inputs) in.push_back(input.bytes());
  std::vector<void*> out;
  for (const Shape& shape : executable.result_leaves())
    outcome.leaves.push_back(Literal(Shape(shape.type(), shape.dims())));
  for (Literal& leaf : outcome.leaves) out.push_back(leaf.mutable_bytes());
  RunOptions run;
  run.executor = DefaultExecutor();
  run.guard_pages = true;
  outcome.status = executable.Run(in, out, run);
  return outcome;
}

// One compilation must serve all of `bindings` ("b=2,n=5"), and give what the interpreter gives.
void ExpectGeneral(const std::string& text, const std::vector<std::string>& bindings, double tolerance = 1e-5,
                   const std::string& cpu = "") {
  SCOPED_TRACE(text.substr(0, 200));
  auto symbolic = SymbolicText::Parse(text);
  ASSERT_TRUE(symbolic.ok()) << symbolic.status();
  xc::CompileOptions options;
  options.cpu = cpu;
  options.compile_threads = 1;
  std::vector<std::unique_ptr<HloModule>> samples;
  for (int which : {0, 1, 2, 3}) {
    auto sample = symbolic->BindModule(*symbolic->Sample(which));
    ASSERT_TRUE(sample.ok()) << sample.status();
    samples.push_back(*std::move(sample));
  }
  auto general = CpuBackend()->CompileGeneral(std::move(samples), options);
  ASSERT_TRUE(general.ok()) << general.status();
  for (const std::string& binding : bindings) {
    SCOPED_TRACE(binding);
    auto module = symbolic->BindModule(*ParseSymbolValues(binding));
    ASSERT_TRUE(module.ok()) << module.status();
    auto reference = InterpreterBackend()->Compile((*module)->Clone(), options);
    ASSERT_TRUE(reference.ok()) << reference.status();
    auto executable = (*general)->For(*std::move(module), options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    if (!executable.ok()) continue;
    const Outcome expected = RunIt(**reference), actual = RunIt(**executable);
    ASSERT_TRUE(expected.status.ok()) << expected.status;
    ASSERT_TRUE(actual.status.ok()) << actual.status;
    for (size_t i = 0; i < expected.leaves.size(); ++i) {
      EXPECT_EQ(Difference(actual.leaves[i], expected.leaves[i], tolerance), "") << "leaf " << i;
    }
  }
}

const std::vector<std::string> kBoth = {"b=2,n=2", "b=3,n=5", "b=2,n=64", "b=16,n=16", "b=7,n=129", "b=40,n=300"};

TEST(GeneralCodeTest, Elementwise) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = f32[$b,$n] parameter(0)
  y = f32[$n] parameter(1)
  w = f32[$b,$n] broadcast(y), dimensions={1}
  s = f32[$b,$n] add(x, w)
  t = f32[$b,$n] tanh(s)
  u = f32[$b,$n] multiply(t, x)
  ROOT r = (f32[$b,$n], f32[$b,$n]) tuple(u, s)
})",
                kBoth);
}

constexpr char kSoftmax[] = R"(
HloModule m, symbols={b, n}
max { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] maximum(a, c) }
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[$b,$n] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[$b] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[$b,$n] broadcast(m), dimensions={0}
  d = f32[$b,$n] subtract(x, mb)
  p = f32[$b,$n] exponential(d)
  s = f32[$b] reduce(p, zero), dimensions={1}, to_apply=add
  sb = f32[$b,$n] broadcast(s), dimensions={0}
  ROOT q = f32[$b,$n] divide(p, sb)
})";

TEST(GeneralCodeTest, Softmax) {
  ExpectGeneral(kSoftmax, kBoth);
  ExpectGeneral(kSoftmax, kBoth, 1e-5, "x86-64-v3");
  ExpectGeneral(kSoftmax, kBoth, 1e-5, "x86-64-v2");
}

TEST(GeneralCodeTest, LayerNormOfKnownWidth) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[$b,$n,96] parameter(0)
  g = f32[96] parameter(1)
  zero = f32[] constant(0)
  k = f32[] constant(0.010416667)
  kb = f32[$b,$n] broadcast(k), dimensions={}
  s = f32[$b,$n] reduce(x, zero), dimensions={2}, to_apply=add
  m = f32[$b,$n] multiply(s, kb)
  mb = f32[$b,$n,96] broadcast(m), dimensions={0,1}
  d = f32[$b,$n,96] subtract(x, mb)
  q = f32[$b,$n,96] multiply(d, d)
  v = f32[$b,$n] reduce(q, zero), dimensions={2}, to_apply=add
  w = f32[$b,$n] multiply(v, kb)
  r = f32[$b,$n] rsqrt(w)
  rb = f32[$b,$n,96] broadcast(r), dimensions={0,1}
  gb = f32[$b,$n,96] broadcast(g), dimensions={2}
  y = f32[$b,$n,96] multiply(d, rb)
  ROOT z = f32[$b,$n,96] multiply(y, gb)
})",
                kBoth, 1e-4);
}

TEST(GeneralCodeTest, Attention) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
max { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] maximum(a, c) }
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[$b,$n,64] parameter(0)
  w = f32[64,192] parameter(1)
  f = f32[$(b*n),64] reshape(x)
  h = f32[$(b*n),192] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h4 = f32[$b,$n,3,4,16] reshape(h)
  ht = f32[3,$b,4,$n,16] transpose(h4), dimensions={2,0,3,1,4}
  qs = f32[1,$b,4,$n,16] slice(ht), slice={[0:1],[0:$b],[0:4],[0:$n],[0:16]}
  ks = f32[1,$b,4,$n,16] slice(ht), slice={[1:2],[0:$b],[0:4],[0:$n],[0:16]}
  vs = f32[1,$b,4,$n,16] slice(ht), slice={[2:3],[0:$b],[0:4],[0:$n],[0:16]}
  q = f32[$b,4,$n,16] reshape(qs)
  k = f32[$b,4,$n,16] reshape(ks)
  v = f32[$b,4,$n,16] reshape(vs)
  a = f32[$b,4,$n,$n] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[$b,4,$n] reduce(a, low), dimensions={3}, to_apply=max
  mb = f32[$b,4,$n,$n] broadcast(m), dimensions={0,1,2}
  d = f32[$b,4,$n,$n] subtract(a, mb)
  p = f32[$b,4,$n,$n] exponential(d)
  s = f32[$b,4,$n] reduce(p, zero), dimensions={3}, to_apply=add
  sb = f32[$b,4,$n,$n] broadcast(s), dimensions={0,1,2}
  o = f32[$b,4,$n,$n] divide(p, sb)
  c = f32[$b,4,$n,16] dot(o, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}
  t = f32[$b,$n,4,16] transpose(c), dimensions={0,2,1,3}
  ROOT y = f32[$b,$n,64] reshape(t)
})",
                {"b=2,n=2", "b=3,n=5", "b=2,n=64", "b=4,n=16", "b=4,n=4", "b=2,n=129"}, 1e-4);
}

TEST(GeneralCodeTest, ColumnSums) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[$b,$n] parameter(0)
  y = f32[$n,48] parameter(1)
  zero = f32[] constant(0)
  s = f32[$n] reduce(x, zero), dimensions={0}, to_apply=add
  t = f32[48] reduce(y, zero), dimensions={0}, to_apply=add
  ROOT r = (f32[$n], f32[48]) tuple(s, t)
})",
                {"b=2,n=3", "b=3,n=5", "b=2,n=64", "b=7,n=129", "b=40,n=300", "b=300,n=900"}, 1e-4);
}

TEST(GeneralCodeTest, Movement) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = f32[$b,$n] parameter(0)
  y = f32[$b,3] parameter(1)
  i = s32[$n] parameter(2)
  zero = f32[] constant(0)
  t = f32[$n,$b] transpose(x), dimensions={1,0}
  c = f32[$b,$(n+3)] concatenate(x, y), dimensions={1}
  p = f32[$(b+2),$(n+3)] pad(c, zero), padding=1_1x0_0
  s = f32[$b,$(n-1)] slice(x), slice={[0:$b],[1:$n]}
  v = f32[$b,$n] reverse(x), dimensions={1}
  g = f32[$n,$b] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,$b}
  k = s32[$b,$n] iota(), iota_dimension=1
  ROOT r = (f32[$n,$b], f32[$(b+2),$(n+3)], f32[$b,$(n-1)], f32[$b,$n], f32[$n,$b], s32[$b,$n]) tuple(t, p, s, v, g, k)
})",
                kBoth, 0);
}

// What is read at positions that are computed from sizes: by chance these are multiples of a vector, or equal.
TEST(GeneralCodeTest, ReshapesAndConcatenates) {
  const std::vector<std::string> bindings = {"b=2,n=2",  "b=3,n=5",  "b=2,n=64", "b=16,n=16",
                                             "b=8,n=12", "b=4,n=32", "b=12,n=8", "b=7,n=129"};
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = f32[$b,$n] parameter(0)
  y = f32[$(2*n),$b] parameter(1)
  t = f32[$b,$n] tanh(x)
  f = f32[$(b*n)] reshape(t)
  g = f32[$(2*n*b)] reshape(y)
  c = f32[$(3*b*n)] concatenate(f, g), dimensions={0}
  r = f32[$n,$(3*b)] reshape(c)
  e = f32[$n,$(3*b)] exponential(r)
  p = f32[$n,$b] slice(r), slice={[0:$n],[$b:$(2*b)]}
  z = f32[$n,$(4*b)] concatenate(e, p), dimensions={1}
  ROOT s = (f32[$n,$(4*b)], f32[$(3*b*n)]) tuple(z, c)
})",
                bindings);
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = f32[$b,$n,6] parameter(0)
  y = f32[$b,6,$n] parameter(1)
  u = f32[$(b*n),6] reshape(x)
  v = f32[$(b*6),$n] reshape(y)
  w = f32[$b,$n,6] reshape(v)
  q = f32[$(b*n),6] reshape(w)
  a = f32[$(b*n),6] add(u, q)
  ROOT c = f32[$(b*n),12] concatenate(a, u), dimensions={1}
})",
                bindings);
}

// Sizes that are powers of two, or as large as another dimension, by chance: what is simpler for these is not taken.
TEST(GeneralCodeTest, MeansOverSizes) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[$b,$n,16] parameter(0)
  k = u32[$b,$n] parameter(1)
  zero = f32[] constant(0)
  count = f32[] constant($n)
  s = f32[$b,16] reduce(x, zero), dimensions={1}, to_apply=add
  counts = f32[$b,16] broadcast(count), dimensions={}
  m = f32[$b,16] divide(s, counts)
  mb = f32[$b,$n,16] broadcast(m), dimensions={0,2}
  d = f32[$b,$n,16] subtract(x, mb)
  size = u32[] constant($n)
  sizes = u32[$b,$n] broadcast(size), dimensions={}
  q = u32[$b,$n] divide(k, sizes)
  r = u32[$b,$n] remainder(k, sizes)
  ROOT t = (f32[$b,$n,16], u32[$b,$n], u32[$b,$n]) tuple(d, q, r)
})",
                {"b=3,n=16", "b=16,n=16", "b=2,n=64", "b=48,n=16", "b=7,n=129"});
}

// Rows of few elements, of which there are few or many.
TEST(GeneralCodeTest, ShortRows) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = f32[$b,$n,4] parameter(0)
  y = f32[$n,$b,4] parameter(1)
  t = f32[$b,$n,4] transpose(y), dimensions={1,0,2}
  p = f32[$b,$n,4] exponential(t)
  a = f32[$b,$n,4] add(x, p)
  u = f32[4,$n,$b] transpose(a), dimensions={2,1,0}
  ROOT r = (f32[$b,$n,4], f32[4,$n,$b]) tuple(a, u)
})",
                {"b=2,n=3", "b=3,n=2", "b=4,n=4", "b=2,n=64", "b=40,n=2", "b=7,n=129"});
}

// Large transposes go by tiles, what these leave by rows; there may be no whole tile, or nothing left.
TEST(GeneralCodeTest, TransposesInTiles) {
  for (const char* cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    for (const char* type : {"f32", "u8", "f64"}) {
      std::string text = R"(
HloModule m, symbols={b, n}
ENTRY e {
  x = TYPE[$b,$n] parameter(0)
  y = TYPE[$n,$b] parameter(1)
  t = TYPE[$n,$b] transpose(x), dimensions={1,0}
  ROOT a = TYPE[$n,$b] add(t, y)
})";
      for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
      ExpectGeneral(text,
                    {"b=2,n=3", "b=5,n=300", "b=300,n=5", "b=131,n=137", "b=128,n=192", "b=517,n=300", "b=80,n=95"}, 0,
                    cpu);
    }
  }
}

// A loop that goes over the rows, with a trip count that is a size.
TEST(GeneralCodeTest, Loop) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
body {
  s = (s32[], f32[$b,$n], f32[$n]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[$b,$n] get-tuple-element(s), index=1
  h = f32[$n] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  row = f32[1,$n] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,$n}
  flat = f32[$n] reshape(row)
  t = f32[$n] tanh(h)
  g = f32[$n] add(t, flat)
  back = f32[1,$n] reshape(g)
  y = f32[$b,$n] dynamic-update-slice(x, back, i, zero)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[$b,$n], f32[$n]) tuple(j, y, g)
}
condition {
  s = (s32[], f32[$b,$n], f32[$n]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant($b)
  ROOT r = pred[] compare(i, end), direction=LT
}
ENTRY e {
  x = f32[$b,$n] parameter(0)
  h = f32[$n] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[$b,$n], f32[$n]) tuple(zero, x, h)
  w = (s32[], f32[$b,$n], f32[$n]) while(s), condition=condition, body=body
  y = f32[$b,$n] get-tuple-element(w), index=1
  z = f32[$n] get-tuple-element(w), index=2
  ROOT r = (f32[$b,$n], f32[$n]) tuple(y, z)
})",
                kBoth);
}

TEST(GeneralCodeTest, LibraryCalls) {
  ExpectGeneral(R"(
HloModule m, symbols={b, n}
less { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT r = pred[] compare(a, c), direction=LT }
ENTRY e {
  x = f32[$b,$n] parameter(0)
  i = f32[$b,$(n+5),12,3] parameter(1)
  f = f32[3,3,3,8] parameter(2)
  s = f32[$b,$n] sort(x), dimensions={1}, to_apply=less
  c = f32[$b,$(n+5),12,8] convolution(i, f), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = (f32[$b,$n], f32[$b,$(n+5),12,8]) tuple(s, c)
})",
                {"b=2,n=2", "b=3,n=5", "b=2,n=64", "b=5,n=33"}, 1e-4);
}

// A program that is another one for these sizes is refused, with what differs.
TEST(GeneralCodeTest, RefusesOtherPrograms) {
  auto symbolic = SymbolicText::Parse(kSoftmax);
  ASSERT_TRUE(symbolic.ok());
  std::vector<std::unique_ptr<HloModule>> samples;
  for (int which : {0, 1}) samples.push_back(*symbolic->BindModule(*symbolic->Sample(which)));
  auto general = CpuBackend()->CompileGeneral(std::move(samples), {});
  ASSERT_TRUE(general.ok()) << general.status();
  auto other = ParseModule("HloModule m\nENTRY e { x = f32[3,4] parameter(0)  ROOT y = f32[3,4] cosine(x) }");
  ASSERT_TRUE(other.ok());
  auto refused = (*general)->For(*std::move(other), {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented) << refused.status();
}

}  // namespace
}  // namespace xc::cpu
