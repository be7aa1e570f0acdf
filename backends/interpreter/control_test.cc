// Control flow, communication with oneself, random numbers, factorizations and custom calls.
#include "backends/interpreter/op_test_util.h"

namespace xc::interp {
namespace {

TEST(ControlTest, ConditionalTakesTheLastBranchWhenOutOfRange) {
  const std::string branches = R"(
zero { x = s32[] parameter(0) ROOT r = s32[] constant(100) }
one { x = s32[] parameter(0) ROOT r = s32[] negate(x) }
two { x = s32[] parameter(0) ROOT r = s32[] add(x, x) })";
  for (const auto& [index, expected] :
       std::vector<std::pair<int, std::string>>{{0, "100"}, {1, "-7"}, {2, "14"}, {3, "14"}, {-1, "14"}}) {
    Expect(absl::StrCat("i = s32[] constant(", index, R"()
            x = s32[] constant(7)
            ROOT r = s32[] conditional(i, x, x, x), branch_computations={zero, one, two})"),
           expected, branches);
  }
}

// Values that do not depend on the loop are kept between its steps, and are still right.
TEST(ControlTest, InvariantsOfLoops) {
  Expect(R"(zero = s32[] constant(0)
            init = (s32[], s32[]) tuple(zero, zero)
            w = (s32[], s32[]) while(init), condition=condition, body=body
            ROOT r = s32[] get-tuple-element(w), index=1)",
         "450", R"(
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
condition { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(10) ROOT r = pred[] compare(i, n), direction=LT }
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[] get-tuple-element(s), index=1
  line = s32[10] iota(), iota_dimension=0
  nothing = s32[] constant(0)
  sum = s32[] reduce(line, nothing), dimensions={0}, to_apply=add
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = s32[] add(x, sum)
  ROOT r = (s32[], s32[]) tuple(next, y)
})");
}

TEST(ControlTest, CollectivesOfOne) {
  Expect(R"(x = f32[2] constant({1, 2})
            a = f32[2] all-reduce(x), replica_groups={}, to_apply=add
            b = f32[2] all-gather(a), replica_groups={}, dimensions={0}
            c = f32[2] collective-permute(b), source_target_pairs={{0,0}}
            d = f32[2] collective-permute(b), source_target_pairs={}
            p = u32[] partition-id()
            ROOT r = (f32[2], f32[2], u32[]) tuple(c, d, p))",
         {"{1, 2}", "{0, 0}", "0"}, "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }");
  ExpectError(R"(x = f32[2] constant({1, 2})
                 ROOT b = f32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0})",
              "needs several devices: there is one here");
  // Also where the result has the operand's shape.
  for (const char* groups : {"{{0,1}}", "{{0},{1,2}}", "[1,2]<=[2]"}) {
    ExpectError(absl::StrCat("x = f32[2] constant({1, 2})\nROOT b = f32[2] all-reduce(x), replica_groups=", groups,
                             ", to_apply=add"),
                "needs several devices: there is one here",
                "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }");
  }
}

TEST(ControlTest, AsyncCallsAndCopies) {
  Expect(R"(x = f32[2] constant({1, 2})
            s = ((f32[2]), f32[2], u32[]) async-start(x), calls=work
            u = ((f32[2]), f32[2], u32[]) async-update(s)
            d = f32[2] async-done(u)
            c = (f32[2], f32[2], u32[]) copy-start(d)
            ROOT r = f32[2] copy-done(c))",
         "{-1, -2}", "work { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }");
}

TEST(ControlTest, SendToSelf) {
  Expect(R"(x = f32[2] constant({1, 2})
            t = token[] after-all()
            s = (f32[2], u32[], token[]) send(x, t), channel_id=3
            d = token[] send-done(s), channel_id=3
            v = (f32[2], u32[], token[]) recv(d), channel_id=3
            w = (f32[2], token[]) recv-done(v), channel_id=3
            ROOT r = f32[2] get-tuple-element(w), index=0)",
         "{1, 2}");
  // What is sent while a recv waits arrives.
  Expect(R"(x = f32[2] constant({1, 2})
            t = token[] after-all()
            v = (f32[2], u32[], token[]) recv(t), channel_id=3
            s = (f32[2], u32[], token[]) send(x, t), channel_id=3
            d = token[] send-done(s), channel_id=3
            w = (f32[2], token[]) recv-done(v), channel_id=3, control-predecessors={d}
            ROOT r = f32[2] get-tuple-element(w), index=0)",
         "{1, 2}");
  ExpectError(R"(t = token[] after-all()
                 v = (f32[2], u32[], token[]) recv(t), channel_id=3
                 w = (f32[2], token[]) recv-done(v), channel_id=3
                 ROOT r = f32[2] get-tuple-element(w), index=0)",
              "nothing was sent on its channel before");
}

TEST(ControlTest, CustomCalls) {
  Expect(R"(x = f32[2] constant({1, 2})
            ROOT r = f32[2] custom-call(x), custom_call_target="Sharding", sharding={replicated})",
         "{1, 2}");
  Expect(R"(x = f32[1,3] constant({{1, 3, 2}})
            ROOT r = (f32[1,2], s32[1,2]) custom-call(x), custom_call_target="TopK")",
         {"{{3, 2}}", "{{1, 2}}"});
  ExpectError(R"(x = f32[2] constant({1, 2})
                 ROOT r = f32[2] custom-call(x), custom_call_target="frobnicate")",
              "custom-call r: custom call target \"frobnicate\" is not known");
  ExpectError(R"(x = f32[2] constant({1, 2})
                 ROOT r = f32[2] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback")",
              "it calls back into the Python process that made the module, and this run was given no callbacks");
}

// LAPACK, with the matrix in column-major memory.
TEST(ControlTest, RegisteredCalls) {
  Expect(R"(a = f32[2,2]{0,1} constant({{4, 2}, {2, 10}})
            c = (f32[2,2]{0,1}, s32[]) custom-call(a), custom_call_target="lapack_spotrf_ffi",
              operand_layout_constraints={f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI,
              backend_config={uplo = 76 : ui8}
            l = f32[2,2]{0,1} get-tuple-element(c), index=0
            info = s32[] get-tuple-element(c), index=1
            d = f32[1,2]{0,1} slice(l), slice={[1:2], [0:2]}
            ROOT r = (f32[1,2], s32[]) tuple(d, info))",
         {"{{1, 3}}", "0"});
}

TEST(ControlTest, RandomBits) {
  // The first block of ThreeFry2x32 with key 0 and count 0: the published vector 6b200159 99ba4efe.
  Expect(R"(s = u64[2] constant({0, 0})
            ROOT r = (u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_three_fry)",
         {"{0, 1}", "{1797259609, 2579123966}"});
}

TEST(ControlTest, RandomBitsNeedAStateOfTheirOwn) {
  ExpectError(R"(s = u64[4] constant({0, 0, 0, 0})
                 ROOT r = (u64[4], u32[2]) rng-bit-generator(s), algorithm=rng_philox)",
              "rng-bit-generator r: the state is u64[4], should be u64[2] or u64[3] (or u32[4], u32[6])");
}

TEST(ControlTest, RandomNumbersStayInside) {
  Expect(R"(a = s32[] constant(-2)
            b = s32[] constant(3)
            x = s32[100] rng(a, b), distribution=rng_uniform
            la = s32[100] broadcast(a), dimensions={}
            lb = s32[100] broadcast(b), dimensions={}
            low = pred[100] compare(x, la), direction=GE
            high = pred[100] compare(x, lb), direction=LT
            both = pred[100] and(low, high)
            t = pred[] constant(true)
            ROOT r = pred[] reduce(both, t), dimensions={0}, to_apply=all)",
         "true", "all { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] and(a, b) }");
}

TEST(ControlTest, Factorizations) {
  Expect(R"(a = f32[2,2] constant({{4, 99}, {2, 10}})
            l = f32[2,2] cholesky(a), lower=true
            b = f32[2,1] constant({{4}, {8}})
            x = f32[2,1] triangular-solve(l, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
            y = f32[2,1] triangular-solve(l, b), left_side=true, lower=true, transpose_a=TRANSPOSE
            c = f32[1,2] constant({{4, 6}})
            z = f32[1,2] triangular-solve(l, c), left_side=false, lower=true, transpose_a=NO_TRANSPOSE
            ROOT r = (f32[2,2], f32[2,1], f32[2,1], f32[1,2]) tuple(l, x, y, z))",
         {"{{2, 0}, {1, 3}}", "{{2}, {2}}", "{{0.666666687}, {2.66666675}}", "{{1, 2}}"});
}

TEST(ControlTest, FourierTransforms) {
  Expect(R"(x = f32[4] constant({1, 0, 0, 0})
            f = c64[3] fft(x), fft_type=RFFT, fft_length={4}
            ROOT r = f32[4] fft(f), fft_type=IRFFT, fft_length={4})",
         "{1, 0, 0, 0}");
}

TEST(ControlTest, BatchNorm) {
  Expect(R"(x = f32[2,2] constant({{1, 10}, {3, 12}})
            s = f32[2] constant({2, 1})
            o = f32[2] constant({1, 5})
            ROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0, feature_index=1)",
         {"{{-1, 4}, {3, 6}}", "{2, 11}", "{1, 1}"});
}

}  // namespace
}  // namespace xc::interp
