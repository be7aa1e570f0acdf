// Hoisting keeps what a module computes, through calls, loops and branches.
#include "tools/hoist_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/interpreter/evaluator.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

int64_t ConstantCount(const HloModule& module) {
  int64_t count = 0;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) count += instruction->IsConstant();
  }
  return count;
}

// Hoists, checks that `left` constants stay and that the result is the same as before; returns the module.
std::unique_ptr<HloModule> Hoist(absl::string_view text, size_t hoisted, int64_t left) {
  auto module = *ParseModule(text);
  EXPECT_EQ(VerifyModule(*module), absl::OkStatus());
  const Literal before = *Evaluator().Evaluate(*module, {});
  const auto values = *HoistConstants(module.get());
  EXPECT_EQ(VerifyModule(*module), absl::OkStatus()) << PrintModule(*module);
  EXPECT_EQ(values.size(), hoisted) << PrintModule(*module);
  EXPECT_EQ(ConstantCount(*module), left) << PrintModule(*module);
  std::vector<const Literal*> arguments;
  for (const auto& value : values) arguments.push_back(value.get());
  const absl::StatusOr<Literal> after = Evaluator().Evaluate(*module, arguments);
  EXPECT_TRUE(after.ok()) << after.status();
  if (after.ok()) {
    EXPECT_TRUE(before.BitEqual(*after)) << PrintModule(*module);
  }
  return module;
}

TEST(HoistConstants, OfTheEntry) {
  auto module = Hoist(R"(HloModule m, entry_computation_layout={()->f32[2]{0}}
ENTRY e { a = f32[2]{0} constant({1, 2}) b = f32[2]{0} constant({3, 4}) ROOT c = f32[2]{0} add(a, b) })",
                      2, 0);
  EXPECT_EQ(module->config().entry_parameter_layouts.size(), 2u);
  EXPECT_FALSE(OnlyHandsOut(*module));
}

TEST(HoistConstants, TuplesAndConstantRoots) {
  auto module = Hoist(R"(HloModule m
ENTRY e { ROOT a = (f32[], (s32[2], pred[])) constant((1, ({2, 3}, true))) })",
                      3, 0);
  EXPECT_TRUE(OnlyHandsOut(*module));
  Hoist("HloModule m\nENTRY e { ROOT a = f32[] constant(1) }", 1, 0);
}

// Both calls pass the value that the callee of the callee needs.
TEST(HoistConstants, ThroughCalls) {
  Hoist(R"(HloModule m
inner { x = f32[] parameter(0) two = f32[] constant(2) ROOT r = f32[] multiply(x, two) }
outer { x = f32[] parameter(0) one = f32[] constant(1) y = f32[] call(x), to_apply=inner ROOT r = f32[] add(y, one) }
ENTRY e {
  a = f32[] constant(5)
  b = f32[] call(a), to_apply=outer
  ROOT c = f32[] call(b), to_apply=outer
})",
        5, 0);
}

TEST(HoistConstants, ThroughLoops) {
  Hoist(R"(HloModule m
condition { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(4) ROOT r = pred[] compare(i, n), direction=LT }
body {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  half = f32[] constant(0.5)
  j = s32[] add(i, one)
  y = f32[] multiply(x, half)
  ROOT t = (s32[], f32[]) tuple(j, y)
}
ENTRY e {
  zero = s32[] constant(0)
  start = f32[] constant(8)
  s = (s32[], f32[]) tuple(zero, start)
  ROOT w = (s32[], f32[]) while(s), condition=condition, body=body
})",
        5, 0);
}

TEST(HoistConstants, ThroughBranches) {
  Hoist(R"(HloModule m
f { x = f32[] parameter(0) c = f32[] constant(3) ROOT r = f32[] add(x, c) }
g { x = f32[] parameter(0) ROOT r = f32[] negate(x) }
h { x = f32[] parameter(0) ROOT c = f32[] constant(7) }
ENTRY e {
  which = s32[] constant(2)
  a = f32[] constant(1)
  ROOT r = f32[] conditional(which, a, a, a), branch_computations={f, g, h}
})",
        4, 0);
}

// A loop whose body two loops share, and the computation of a reduction, keep theirs.
TEST(HoistConstants, WhereNoOneCanPassThem) {
  Hoist(R"(HloModule m
less { s = s32[] parameter(0) n = s32[] constant(4) ROOT r = pred[] compare(s, n), direction=LT }
less_too { s = s32[] parameter(0) n = s32[] constant(6) ROOT r = pred[] compare(s, n), direction=LT }
body { s = s32[] parameter(0) one = s32[] constant(1) ROOT j = s32[] add(s, one) }
plus { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] constant(2) d = s32[] add(a, c) ROOT r = s32[] add(d, b) }
ENTRY e {
  zero = s32[] constant(0)
  v = s32[] while(zero), condition=less, body=body
  w = s32[] while(v), condition=less_too, body=body
  x = s32[3] broadcast(w), dimensions={}
  ROOT r = s32[] reduce(x, w), dimensions={0}, to_apply=plus
})",
        1, 4);
}

// An iota that only meets parameters is left to the compiler's care; one that would fold is not.
TEST(HoistConstants, Iotas) {
  Hoist(R"(HloModule m
ENTRY e { i = s32[4] iota(), iota_dimension=0 a = s32[4] constant({1, 2, 3, 4}) ROOT r = s32[4] add(i, a) })",
        1, 0);
  Hoist(R"(HloModule m
ENTRY e { i = s32[4] iota(), iota_dimension=0 ROOT r = s32[4] negate(i) })",
        1, 0);
}

}  // namespace
}  // namespace xc
