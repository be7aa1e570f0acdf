// Plans as text: which steps, of which form, where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "backends/plan/plan_test_support.h"

namespace xc::plan {
namespace {

// What only passes bytes on is no work; a result that is a parameter is copied.
TEST(Plan, Alias) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  r = f32[6] reshape(x)
  c = f32[6] copy(r)
  ROOT t = (f32[6], f32[2,3]) tuple(c, x)
}
)"),
            R"(entry e {
  x: alias
  r: alias
  c: copy output 0[24] <- parameter 0[24]
  copy: copy output 1[24] <- parameter 0[24]
  tuple: alias
}
)");
}

// The second kernel works in place.
TEST(Plan, Loop) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  s = f32[8] add(x, y)
  ROOT r = f32[8] tanh(s)
}
)"),
            R"(entry e {
  x: alias
  y: alias
  s: kernel 0, loop [8] s, reads parameter 0[32], reads parameter 1[32], writes output 0[32], cost 8
  r: kernel 1, loop [8] r, reads output 0[32], writes output 0[32] in place, cost 48
}
)");
}

// Equal expressions on other arrays are one kernel.
TEST(Plan, EqualFusions) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
f {
  p = f32[64,32] parameter(0)
  q = f32[64,32] parameter(1)
  s = f32[64,32] add(p, q)
  ROOT n = f32[64,32] negate(s)
}
g {
  p = f32[64,32] parameter(0)
  q = f32[64,32] parameter(1)
  s = f32[64,32] add(p, q)
  ROOT n = f32[64,32] negate(s)
}
ENTRY e {
  x = f32[64,32] parameter(0)
  y = f32[64,32] parameter(1)
  z = f32[64,32] parameter(2)
  a = f32[64,32] fusion(x, y), kind=kLoop, calls=f
  b = f32[64,32] fusion(y, z), kind=kLoop, calls=g
  ROOT t = (f32[64,32], f32[64,32]) tuple(a, b)
}
)"),
            R"(entry e {
  x: alias
  y: alias
  z: alias
  a: kernel 0, loop [64,32] n, reads parameter 0[8192], reads parameter 1[8192], writes output 0[8192], cost 4096
  b: kernel 0, loop [64,32] n.1, reads parameter 1[8192], reads parameter 2[8192], writes output 1[8192], cost 4096
  tuple: alias
}
)");
}

// Results of equal dimensions share a nest.
TEST(Plan, SeveralResults) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
f {
  p = f32[16,8] parameter(0)
  s = f32[16,8] negate(p)
  u = f32[16,8] abs(p)
  v = f32[8,16] transpose(p), dimensions={1,0}
  ROOT t = (f32[16,8], f32[16,8], f32[8,16]) tuple(s, u, v)
}
ENTRY e {
  x = f32[16,8] parameter(0)
  ROOT a = (f32[16,8], f32[16,8], f32[8,16]) fusion(x), kind=kLoop, calls=f
}
)"),
            R"(entry e {
  x: alias
  a: kernel 0, transpose [16,8] s, u [8,16] v, reads parameter 0[512], writes output 0[512], writes output 1[512], writes output 2[512], cost 768
  get-tuple-element: alias
  get-tuple-element.1: alias
  get-tuple-element.2: alias
  tuple: alias
}
)");
}

// Rows are reduced along vectors; of columns, whole rows are added.
TEST(Plan, Reductions) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  x = f32[64,256] parameter(0)
  z = f32[] constant(0)
  rows = f32[64] reduce(x, z), dimensions={1}, to_apply=add
  columns = f32[256] reduce(x, z), dimensions={0}, to_apply=add
  ROOT t = (f32[64], f32[256]) tuple(rows, columns)
}
)"),
            R"(entry e {
  x: alias
  z: alias
  rows: kernel 0, row reduce [64] rows, reads parameter 0[65536], writes output 0[256], cost 16384
  columns: kernel 1, column reduce [256] columns, adds rows [64] of columns [256], reads parameter 0[65536], writes output 1[1024], cost 16384
  tuple: alias
}
)");
}

// Each operand has a loop of its own.
TEST(Plan, Concatenate) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[4,64] parameter(0)
  y = f32[2,64] parameter(1)
  ROOT c = f32[6,64] concatenate(x, y), dimensions={0}
}
)"),
            R"(entry e {
  x: alias
  y: alias
  c: kernel 0, concatenate [4,64] x at [0,0] [2,64] y at [4,0], reads parameter 0[1024], reads parameter 1[512], writes output 0[1536], cost 768
}
)");
}

// Of an array that is updated in place, only the window is written.
TEST(Plan, Update) {
  EXPECT_EQ(PlanOf(R"(
HloModule m, input_output_alias={ {}: (0, {}) }
ENTRY e {
  x = f32[64] parameter(0)
  u = f32[8] parameter(1)
  i = s32[] parameter(2)
  ROOT d = f32[64] dynamic-update-slice(x, u, i)
}
)"),
            R"(entry e {
  x: alias
  u: alias
  i: alias
  d: kernel 0, update [8] u, reads parameter 0[256], reads parameter 1[32], reads parameter 2[4], writes parameter 0[256] in place, cost 16
}
)");
}

// An array that may not be overwritten is copied first.
TEST(Plan, Scatter) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  x = f32[64,8] parameter(0)
  i = s32[5,1] parameter(1)
  u = f32[5,8] parameter(2)
  ROOT d = f32[64,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
)"),
            R"(entry e {
  x: alias
  i: alias
  u: alias
  d: copy output 0[2048] <- parameter 0[2048]
  d: kernel 0, scatter, writes output 0[2048], reads parameter 1[20], reads parameter 2[160], cost 160
}
)");
}

TEST(Plan, Dot) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[7,4,5] parameter(0)
  y = f32[7,5,6] parameter(1)
  ROOT d = f32[7,4,6] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}
)"),
            R"(entry e {
  x: alias
  y: alias
  d: call xc_rt_matmul({a=f32 b=f32 c=f32 m=4 n=6 k=5 a_m=5 a_k=1 b_k=6 b_n=1 c_m=6 c_n=1 batch={7} a_batch={20} b_batch={30} c_batch={24}}, parameter 0[560], parameter 1[840], output 0[672])
}
)");
}

TEST(Plan, Convolution) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[2,8,8,3] parameter(0)
  w = f32[3,3,3,4] parameter(1)
  ROOT c = f32[2,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
)"),
            R"(entry e {
  x: alias
  w: alias
  c: call xc_rt_convolution({lhs=f32 rhs=f32 out=f32 batch=2 in_features=3 out_features=4 feature_groups=1 batch_groups=1 in={8,8} kernel={3,3} out={8,8} stride={1,1} base_dilation={1,1} window_dilation={1,1} pad_low={1,1} pad_high={1,1} reversed={0,0} lhs_strides={192,1,24,3} rhs_strides={4,1,36,12} out_strides={256,1,32,4}}, parameter 0[1536], parameter 1[432], output 0[2048])
}
)");
}

// A comparator that is an order of the type is a key; others are called.
TEST(Plan, Sorts) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT c = pred[] compare(p, q), direction=GT
}
by_size {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  a = f32[] abs(p)
  b = f32[] abs(q)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[4,100] parameter(0)
  a = f32[4,100] sort(x), dimensions={1}, to_apply=less
  b = f32[4,100] sort(x), dimensions={0}, to_apply=by_size
  ROOT t = (f32[4,100], f32[4,100]) tuple(a, b)
}
)"),
            R"(entry e {
  x: alias
  a.1: call xc_rt_sort({key=less key_array=0 descending=1 outer=4 n=100 inner=1 type=f32}, [parameter 0[1600]], [output 0[1600]], nothing, nothing)
  b.1: call xc_rt_sort({key=comparator outer=1 n=4 inner=100 type=f32}, [parameter 0[1600]], [output 1[1600]], by_size, nothing)
  tuple: alias
}
)");
}

// The state has one place for all rounds.
TEST(Plan, While) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8] multiply(x, x)
  ROOT t = (s32[], f32[8]) tuple(j, y)
}
ENTRY e {
  x = f32[8] parameter(0)
  z = s32[] constant(0)
  init = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(init), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}
)"),
            R"(cond {
  s: alias
  i: alias
  n: alias
  c: kernel 0, loop [] c, reads arena+0[4], writes arena+4[1], cost 1
}
body {
  s.1: alias
  i.1: alias
  x: alias
  one: alias
  j: kernel 1, loop [] j, reads arena+0[4], writes arena+0[4] in place, cost 1
  y: kernel 2, loop [8] y, reads output 0[32], writes output 0[32] in place, cost 8
  tuple: alias
}
entry e {
  x.1: alias
  z: alias
  copy.3: copy arena+0[4] <- constant 0[4]
  copy.4: copy output 0[32] <- parameter 0[32]
  tuple.1: alias
  w: loop while cond gives arena+4[1]: body
  r: alias
}
)");
}

// Both branches write the result.
TEST(Plan, Branch) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
yes {
  p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p)
}
no {
  p = f32[8] parameter(0)
  ROOT n = f32[8] abs(p)
}
ENTRY e {
  c = pred[] parameter(0)
  x = f32[8] parameter(1)
  ROOT r = f32[8] conditional(c, x, x), true_computation=yes, false_computation=no
}
)"),
            R"(yes {
  p: alias
  n: kernel 0, loop [8] n, reads parameter 1[32], writes output 0[32], cost 8
}
no {
  p.1: alias
  n.1: kernel 1, loop [8] n.1, reads parameter 1[32], writes output 0[32], cost 8
}
entry e {
  c: alias
  x: alias
  r: branch by parameter 0[1]: yes, no
}
)");
}

// What has no code says why.
TEST(Plan, Evaluated) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
longest {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  b = f32[2] broadcast(p), dimensions={}
  s = f32[1] slice(b), slice={[0:1]}
  o = f32[] reshape(s)
  ROOT m = f32[] maximum(o, q)
}
ENTRY e {
  x = f32[8] parameter(0)
  z = f32[] constant(0)
  r = f32[] reduce(x, z), dimensions={0}, to_apply=longest
  c = f32[8] custom-call(x), custom_call_target="nobody.knows"
  ROOT t = (f32[], f32[8]) tuple(r, c)
}
)"),
            R"(entry e {
  x: alias
  z: alias
  r: evaluate 0(parameter 0[32], constant 0[4]) -> (output 0[4]), in longest, b: it is not a scalar
  c: evaluate 1(parameter 0[32]) -> (output 1[32]), no function is registered for nobody.knows
  tuple: alias
}
)");
}

// Ops that are one call of a runtime function.
TEST(Plan, Library) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  s = u64[2] parameter(0)
  x = c64[16] parameter(1)
  r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
  f = c64[16] fft(x), fft_type=FFT, fft_length={16}
  p = u32[] partition-id()
  ROOT t = ((u64[2], u32[4]), c64[16], u32[]) tuple(r, f, p)
}
)"),
            R"(entry e {
  s: alias
  x: alias
  r: call xc_rt_rng_bit_generator({algorithm=1 element_bytes=4 state_words=2 dims={4}}, parameter 0[16], output 0[16], output 1[16])
  f: call xc_rt_fft({type=fft is_double=0 batch=1 length={16}}, parameter 1[128], output 2[128])
  p: call xc_rt_partition_id() -> output 3[4]
  get-tuple-element: alias
  get-tuple-element.1: alias
  tuple: alias
  tuple.1: alias
}
)");
}

// A function of the registry, by number.
TEST(Plan, CustomCall) {
  EXPECT_EQ(PlanOf(R"(
HloModule m
ENTRY e {
  x = f32[4,4] parameter(0)
  ROOT k = (f32[4,2], s32[4,2]) custom-call(x), custom_call_target="TopK", called_computations={}
}
)"),
            R"(entry e {
  x: alias
  k: custom call 0(parameter 0[64]) -> (output 0[32], output 1[32])
  get-tuple-element: alias
  get-tuple-element.1: alias
  tuple: alias
}
)");
}

// A large constant that many rows are multiplied by lies in blocks of columns, each a product of its own.
TEST(Plan, ConstantsInBlocksOfColumns) {
  TargetInfo target;
  target.direct_convolutions = true;
  const auto plan_of = [&](int rows, int columns) {
    const std::string row = absl::StrCat("{", absl::StrJoin(std::vector<int>(columns, 1), ","), "}");
    return PlanOf(
        absl::StrCat("HloModule m\nENTRY e {\n  x = f32[", rows, ",1024] parameter(0)\n  w = f32[1024,", columns,
                     "] constant({", absl::StrJoin(std::vector<std::string>(1024, row), ","), "})\n  ROOT d = f32[",
                     rows, ",", columns, "] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"),
        target);
  };
  EXPECT_THAT(plan_of(16, 384), testing::HasSubstr("n=128 k=1024 a_m=1024 a_k=1 b_k=128 b_n=1 c_m=384 c_n=1 batch={3} "
                                                   "a_batch={0} b_batch={131072} c_batch={128}}"));
  EXPECT_THAT(plan_of(16, 320), testing::HasSubstr("n=80 k=1024 "));
  for (const auto& whole : {plan_of(4, 384), plan_of(16, 128), plan_of(16, 389)}) {
    EXPECT_THAT(whole, testing::Not(testing::HasSubstr("batch")));
  }
}

}  // namespace
}  // namespace xc::plan
