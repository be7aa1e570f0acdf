// Inlining, tuples, dead code, common subexpressions, folding, loops and conditionals: text in, text out.
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "compiler/pass_test_support.h"
#include "compiler/simplify/simplify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(InlineCalls, CallsOfCallsAndFusions) {
  EXPECT_EQ(RunPasses({InlineCalls}, R"(HloModule m
f { a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a) }
g { a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=f
  ROOT n = f32[4] tanh(b) }
h { a = f32[4] parameter(0)
  ROOT n = f32[4] abs(a) }
ENTRY e { x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=g
  ROOT z = f32[4] fusion(y), kind=kLoop, calls=h })"),
            "ENTRY {\nt0 = f32[4] negate(p0)\nt1 = f32[4] tanh(t0)\nroot = f32[4] abs(t1)\n}\n");
}

TEST(InlineCalls, ControlDependenciesStay) {
  EXPECT_THAT(RunPasses({InlineCalls}, R"(HloModule m
f { a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a) }
ENTRY e { x = f32[4] parameter(0)
  first = f32[4] abs(x)
  y = f32[4] call(x), to_apply=f, control-predecessors={first}
  ROOT z = (f32[4], f32[4]) tuple(first, y) })"),
              HasSubstr("negate(p0), control-predecessors={t0}"));
}

TEST(Tuples, ElementsAndWholes) {
  EXPECT_EQ(Simplified({SimplifyTuples}, R"(
    a = f32[2] parameter(0)
    b = f32[3] parameter(1)
    t = (f32[2], f32[3]) tuple(a, b)
    ROOT r = f32[3] get-tuple-element(t), index=1)"),
            "root = p1\n");
  EXPECT_EQ(Simplified({SimplifyTuples}, R"(
    t = (f32[2], f32[3]) parameter(0)
    a = f32[2] get-tuple-element(t), index=0
    b = f32[3] get-tuple-element(t), index=1
    ROOT r = (f32[2], f32[3]) tuple(a, b))"),
            "root = p0\n");
  // The other order is another tuple.
  EXPECT_THAT(Simplified({SimplifyTuples}, R"(
    t = (f32[2], f32[2]) parameter(0)
    a = f32[2] get-tuple-element(t), index=0
    b = f32[2] get-tuple-element(t), index=1
    ROOT r = (f32[2], f32[2]) tuple(b, a))"),
              HasSubstr("tuple(t1, t0)"));
}

TEST(DeadCode, KeepsSideEffects) {
  EXPECT_EQ(Simplified({EliminateDeadCode}, R"(
    a = f32[2] parameter(0)
    d = f32[2] tanh(a)
    k = token[] after-all()
    o = token[] outfeed(a, k), outfeed_shape=f32[2]
    ROOT r = f32[2] negate(a))"),
            "t0 = token[] after-all()\nt1 = token[] outfeed(p0, t0), outfeed_shape=f32[2]\nroot = f32[2] negate(p0)\n");
}

TEST(CommonSubexpressions, EqualTermsBecomeOne) {
  EXPECT_EQ(Simplified({EliminateCommonSubexpressions}, R"(
    a = f32[2] parameter(0)
    b = f32[2] parameter(1)
    c = f32[2] add(a, b)
    d = f32[2] add(b, a)
    ROOT r = f32[2] multiply(c, d))"),
            "t0 = f32[2] add(p0, p1)\nroot = f32[2] multiply(t0, t0)\n");
  EXPECT_THAT(Simplified({EliminateCommonSubexpressions}, R"(
    a = f32[2] parameter(0)
    b = f32[2] parameter(1)
    c = f32[2] subtract(a, b)
    d = f32[2] subtract(b, a)
    ROOT r = f32[2] multiply(c, d))"),
              HasSubstr("multiply(t0, t1)"));
}

TEST(CommonSubexpressions, ReductionsWithEqualCombiners) {
  EXPECT_EQ(Simplified({EliminateCommonSubexpressions}, R"(
    a = f32[2,3] parameter(0)
    z = f32[] constant(0)
    c = f32[2] reduce(a, z), dimensions={1}, to_apply=f
    d = f32[2] reduce(a, z), dimensions={1}, to_apply=g
    h = f32[2] reduce(a, z), dimensions={1}, to_apply=k
    ROOT r = (f32[2], f32[2], f32[2]) tuple(c, d, h))",
                       R"(
f { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
g { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
k { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] maximum(x, y) })"),
            "t0 = f32[] constant(0)\nt1 = f32[2] reduce(p0, t0), dimensions={1}, to_apply=f\n"
            "t2 = f32[2] reduce(p0, t0), dimensions={1}, to_apply=k\n"
            "root = (f32[2], f32[2], f32[2]) tuple(t1, t1, t2)\n");
}

TEST(CommonSubexpressions, EqualLoopsOfEqualStatesAreOne) {
  const auto merged = [](const char* last_step) {
    const std::string loop = R"(
cond# { s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100)
  ROOT l = pred[] compare(i, n), direction=LT }
body# { s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2] get-tuple-element(s), index=1
  one = s32[] constant($)
  y = f32[2] cosine(x)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[2]) tuple(j, y) }
)";
    const auto numbered = [&](const char* number, const char* step) {
      return absl::StrReplaceAll(loop, {{"#", number}, {"$", step}});
    };
    const std::string text = Simplified({EliminateCommonSubexpressions}, R"(
    t = (s32[], f32[2]) parameter(0)
    a = (s32[], f32[2]) while(t), condition=cond1, body=body1
    b = (s32[], f32[2]) while(t), condition=cond2, body=body2
    x = f32[2] get-tuple-element(a), index=1
    y = f32[2] get-tuple-element(b), index=1
    ROOT r = f32[2] multiply(x, y))",
                                        numbered("1", "1") + numbered("2", last_step));
    int loops = 0;
    for (size_t at = 0; (at = text.find("while(", at)) != std::string::npos; ++at) ++loops;
    return loops;
  };
  EXPECT_EQ(merged("1"), 1);
  EXPECT_EQ(merged("2"), 2);  // another step
}

// Factorizations of the same matrix; what other custom calls do is not known.
TEST(CommonSubexpressions, EqualFactorizationsAreOne) {
  const auto both = [](absl::string_view target, absl::string_view second) {
    return Simplified({EliminateCommonSubexpressions}, absl::StrReplaceAll(R"(
  x = f64[8,8]{0,1} parameter(0)
  a = (f64[8,8]{0,1}, s32[8]{0}, s32[]) custom-call(x), custom_call_target="TARGET", operand_layout_constraints={f64[8,8]{0,1}}
  b = (f64[8,8]{0,1}, s32[8]{0}, s32[]) custom-call(x), custom_call_target="SECOND", operand_layout_constraints={f64[8,8]{0,1}}
  u = f64[8,8]{0,1} get-tuple-element(a), index=0
  v = f64[8,8]{0,1} get-tuple-element(b), index=0
  ROOT r = f64[8,8]{0,1} add(u, v))",
                                                                           {{"TARGET", target}, {"SECOND", second}}));
  };
  const auto count = [](const std::string& text) {
    return std::vector<std::string>(absl::StrSplit(text, " custom-call(")).size() - 1;
  };
  EXPECT_EQ(count(both("lapack_dgetrf_ffi", "lapack_dgetrf_ffi")), 1);
  EXPECT_EQ(count(both("lapack_dgetrf_ffi", "lapack_dgeqrf_ffi")), 2);
  EXPECT_EQ(count(both("some_function", "some_function")), 2);
}

TEST(CommonSubexpressions, BranchesWithSideEffectsStayApart) {
  EXPECT_THAT(Simplified({EliminateCommonSubexpressions}, R"(
    p = pred[] parameter(0)
    x = f32[2] parameter(1)
    a = f32[2] conditional(p, x, x), branch_computations={draw, pass}
    b = f32[2] conditional(p, x, x), branch_computations={draw, pass}
    ROOT r = f32[2] subtract(a, b))",
                         R"(
draw { x = f32[2] parameter(0)
  low = f32[] constant(0)
  high = f32[] constant(1)
  ROOT r = f32[2] rng(low, high), distribution=rng_uniform }
pass { ROOT x = f32[2] parameter(0) })"),
              HasSubstr("subtract(t0, t1)"));
}

TEST(CommonSubexpressions, BarriersAndZerosOfBothSignsStayApart) {
  EXPECT_THAT(Simplified({EliminateCommonSubexpressions}, R"(
    a = f32[2] parameter(0)
    b = f32[2] opt-barrier(a)
    c = f32[2] opt-barrier(a)
    ROOT r = f32[2] add(b, c))"),
              HasSubstr("add(t0, t1)"));
  EXPECT_THAT(Simplified({EliminateCommonSubexpressions}, R"(
    a = f32[] constant(0)
    b = f32[] constant(-0)
    ROOT r = (f32[], f32[]) tuple(a, b))"),
              HasSubstr("tuple(t0, t1)"));
}

// Adds integers and refuses the rest.
class Adder : public ConstantEvaluator {
 public:
  absl::StatusOr<Literal> Evaluate(const HloInstruction* i, absl::Span<const Literal* const> operands) override {
    ++calls;
    if (i->opcode() != HloOpcode::kAdd) return absl::UnimplementedError("only add");
    Literal sum(i->shape());
    for (int64_t k = 0; k < sum.size(); ++k) sum.SetInt(k, operands[0]->GetInt(k) + operands[1]->GetInt(k));
    return sum;
  }
  int calls = 0;
};

TEST(FoldConstants, WithinBoundsOnly) {
  Adder adder;
  PassContext context;
  context.evaluator = &adder;
  EXPECT_EQ(Simplified({FoldConstants}, R"(
    a = s32[2] constant({1,2})
    b = s32[2] constant({3,4})
    ROOT r = s32[2] add(a, b))",
                       "", &context),
            "root = s32[2] constant({4, 6})\n");
  context.options.fold_max_bytes = 4;
  EXPECT_THAT(Simplified({FoldConstants}, R"(
    a = s32[2] constant({1,2})
    b = s32[2] constant({3,4})
    ROOT r = s32[2] add(a, b))",
                         "", &context),
              HasSubstr("add("));
  const int before = adder.calls;
  EXPECT_THAT(Simplified({FoldConstants}, R"(
    a = s32[] constant(1)
    b = s32[9] broadcast(a), dimensions={}
    ROOT r = (s32[9]) tuple(b))",
                         "", &context),
              HasSubstr("broadcast("));
  EXPECT_EQ(adder.calls, before);
}

TEST(Conditionals, KnownBranchIsInlined) {
  const char* branches = R"(
t { a = f32[2] parameter(0)
  ROOT r = f32[2] negate(a) }
f { a = f32[2] parameter(0)
  ROOT r = f32[2] abs(a) })";
  EXPECT_EQ(Simplified({SimplifyConditionals}, R"(
    a = f32[2] parameter(0)
    p = pred[] constant(false)
    ROOT r = f32[2] conditional(p, a, a), true_computation=t, false_computation=f)",
                       branches),
            "root = f32[2] abs(p0)\n");
  // An index outside the range takes the last branch.
  EXPECT_EQ(Simplified({SimplifyConditionals}, R"(
    a = f32[2] parameter(0)
    p = s32[] constant(-7)
    ROOT r = f32[2] conditional(p, a, a), branch_computations={t, f})",
                       branches),
            "root = f32[2] abs(p0)\n");
}

// A loop over (counter, x, y) from 0 below `bound`; `body` makes `nx` and `ny` from `x` and `y`.
std::string Loop(const std::string& bound, const std::string& body, const std::string& result) {
  return R"(HloModule m
cond { s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant()" +
         bound + R"()
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] get-tuple-element(s), index=2
)" + body +
         R"(
  ROOT r = (s32[], f32[8], f32[8]) tuple(ni, nx, ny) }
ENTRY e { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  z = s32[] constant(0)
  t = (s32[], f32[8], f32[8]) tuple(z, a, b)
  w = (s32[], f32[8], f32[8]) while(t), condition=cond, body=body
)" + result +
         "}\n";
}

TEST(Loops, NeverOrOnce) {
  const std::string body = "nx = f32[8] negate(x)\n ny = f32[8] add(x, y)";
  const std::string result = "ROOT r = f32[8] get-tuple-element(w), index=1";
  EXPECT_EQ(RunPasses({SimplifyLoops, SimplifyTuples}, Loop("0", body, result)), "ENTRY {\nroot = p0\n}\n");
  EXPECT_EQ(RunPasses({SimplifyLoops, SimplifyTuples}, Loop("1", body, result)),
            "ENTRY {\nroot = f32[8] negate(p0)\n}\n");
}

TEST(Loops, DeadStateGoes) {
  const std::string out = RunPasses({SimplifyLoops}, Loop("9", "nx = f32[8] negate(x)\n ny = f32[8] add(x, y)",
                                                          "ROOT r = f32[8] get-tuple-element(w), index=1"));
  EXPECT_THAT(out, HasSubstr("(s32[], f32[8]) while("));
  EXPECT_THAT(out, Not(HasSubstr("add(t2")));
  // y is needed by x.
  EXPECT_THAT(RunPasses({SimplifyLoops}, Loop("9", "nx = f32[8] multiply(x, y)\n ny = f32[8] add(x, y)",
                                              "ROOT r = f32[8] get-tuple-element(w), index=1")),
              HasSubstr("(s32[], f32[8], f32[8]) while("));
}

TEST(Loops, InvariantCodeMovesOut) {
  const std::string out =
      RunPasses({SimplifyLoops}, Loop("9", "e = f32[8] exponential(y)\n nx = f32[8] add(x, e)\n ny = f32[8] copy(y)",
                                      "ROOT r = f32[8] get-tuple-element(w), index=1"));
  // y is copied, not handed on: it is not seen to be invariant.
  EXPECT_THAT(out, HasSubstr("exponential"));
  const std::string moved = RunPasses({SimplifyLoops}, R"(HloModule m
cond { s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] get-tuple-element(s), index=2
  e = f32[8] exponential(y)
  nx = f32[8] add(x, e)
  ROOT r = (s32[], f32[8], f32[8]) tuple(ni, nx, y) }
ENTRY e { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  z = s32[] constant(0)
  t = (s32[], f32[8], f32[8]) tuple(z, a, b)
  w = (s32[], f32[8], f32[8]) while(t), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1 })");
  EXPECT_THAT(moved, HasSubstr("exponential(p1)"));
  EXPECT_THAT(moved.substr(moved.find("body {"), moved.find("ENTRY") - moved.find("body {")),
              Not(HasSubstr("exponential")));
}

TEST(Loops, InvariantProductsThatCachesHoldMoveOut) {
  // Of two arrays [n,3], in each round.
  const auto run = [](int64_t n, absl::string_view value) {
    return RunPasses({SimplifyLoops}, absl::StrReplaceAll(R"(HloModule m
cond { s = (s32[], f32[$n,3], f32[$n,$n]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[$n,3], f32[$n,$n]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  x = f32[$n,3] get-tuple-element(s), index=1
  y = f32[$n,$n] get-tuple-element(s), index=2
  l = f32[$n,1] slice(x), slice={[0:$n], [0:1]}
  c = f32[$n] reshape(l)
  u = f32[$n,$n] broadcast(c), dimensions={0}
  v = f32[$n,$n] broadcast(c), dimensions={1}
  d = f32[$n,$n] VALUE
  ny = f32[$n,$n] add(y, d)
  ROOT r = (s32[], f32[$n,3], f32[$n,$n]) tuple(ni, x, ny) }
ENTRY e { a = f32[$n,3] parameter(0)
  b = f32[$n,$n] parameter(1)
  z = s32[] constant(0)
  t = (s32[], f32[$n,3], f32[$n,$n]) tuple(z, a, b)
  w = (s32[], f32[$n,3], f32[$n,$n]) while(t), condition=cond, body=body
  ROOT r = f32[$n,$n] get-tuple-element(w), index=2 })",
                                                          {{"VALUE", value}, {"$n", absl::StrCat(n)}}));
  };
  const std::string product = "dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  EXPECT_THAT(run(100, product), HasSubstr("dot(p0, p0)"));
  EXPECT_THAT(run(1000, product), Not(HasSubstr("dot(p0, p0)")));
  // What takes no more than reading it stays.
  const std::string grown = "(s32[], f32[100,3], f32[100,100], f32[100,100]) while(";
  EXPECT_THAT(run(100, "power(u, v)"), HasSubstr(grown));
  EXPECT_THAT(run(100, "subtract(u, v)"), Not(HasSubstr(grown)));
}

TEST(Loops, TripCounts) {
  auto count =
      [](const std::string& bound, const std::string& step) {
        auto module = ParseModule(R"(HloModule m
cond { s = (s8[]) parameter(0)
  i = s8[] get-tuple-element(s), index=0
  n = s8[] constant()" + bound + R"()
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s8[]) parameter(0)
  i = s8[] get-tuple-element(s), index=0
  k = s8[] constant()" + step + R"()
  ni = s8[] add(i, k)
  ROOT r = (s8[]) tuple(ni) }
ENTRY e { z = s8[] constant(3)
  t = (s8[]) tuple(z)
  ROOT w = (s8[]) while(t), condition=cond, body=body })");
        EXPECT_TRUE(module.ok()) << module.status();
        return TripCount((*module)->entry()->root());
      };
  EXPECT_EQ(count("10", "1"), 7);
  EXPECT_EQ(count("10", "4"), 2);
  EXPECT_EQ(count("3", "1"), 0);
  EXPECT_EQ(count("10", "0"), std::nullopt);
  EXPECT_EQ(count("127", "100"), std::nullopt);  // the counter wraps before it reaches the bound
}

}  // namespace
}  // namespace xc
