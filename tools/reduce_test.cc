// Reduction to what fails, on predicates whose answer is known.
#include "tools/reduce.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

constexpr char kModule[] =
    R"(HloModule m, entry_computation_layout={(f32[4]{0}, f32[4]{0}, f32[8]{0})->(f32[4]{0}, f32[8]{0}, f32[4]{0})}
step {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[4] get-tuple-element(s), index=1
  y = f32[4] multiply(x, x)
  z = f32[4] tanh(y)
  ROOT t = (s32[], f32[4]) tuple(j, z)
}
test {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  c = f32[8] parameter(2)
  d = f32[4] add(a, b)
  e = f32[4] exponential(d)
  f = f32[4] subtract(e, b)
  g = f32[4] sine(f)
  h = f32[4] multiply(g, a)
  k = f32[8] negate(c)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, h)
  w = (s32[], f32[4]) while(init), condition=test, body=step
  v = f32[4] get-tuple-element(w), index=1
  ROOT r = (f32[4], f32[8], f32[4]) tuple(h, k, v)
}
)";

bool Has(const HloModule& module, HloOpcode opcode) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == opcode) return true;
    }
  }
  return false;
}

TEST(Reduce, OneInstructionAndItsParametersAreLeft) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  int asked = 0;
  const auto reduced = ReduceModule(*std::move(module), [&](const HloModule& m) {
    ++asked;
    return Has(m, HloOpcode::kSine);
  });
  EXPECT_TRUE(VerifyModule(*reduced).ok()) << VerifyModule(*reduced);
  EXPECT_EQ(reduced->InstructionCount(), 2) << reduced->ToString();
  EXPECT_EQ(reduced->entry()->root()->opcode(), HloOpcode::kSine);
  EXPECT_LT(asked, 60);
}

TEST(Reduce, CalledComputationsShrink) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto reduced = ReduceModule(*std::move(module), [](const HloModule& m) { return Has(m, HloOpcode::kTanh); });
  EXPECT_TRUE(VerifyModule(*reduced).ok()) << VerifyModule(*reduced);
  EXPECT_TRUE(Has(*reduced, HloOpcode::kWhile));
  EXPECT_FALSE(Has(*reduced, HloOpcode::kSine)) << reduced->ToString();
  EXPECT_FALSE(Has(*reduced, HloOpcode::kMultiply)) << reduced->ToString();
}

TEST(Reduce, StopsAtTheDeadline) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  const int64_t before = (*module)->InstructionCount();
  ReduceOptions options;
  options.deadline = absl::InfinitePast();
  const auto reduced = ReduceModule(
      *std::move(module), [](const HloModule&) { return true; }, options);
  EXPECT_EQ(reduced->InstructionCount(), before);
}

TEST(Reduce, WithRootKeepsWhatIsNeeded) {
  auto module = ParseModule(kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto prefix = WithRoot(**module, "e");
  ASSERT_NE(prefix, nullptr);
  EXPECT_TRUE(VerifyModule(*prefix).ok()) << VerifyModule(*prefix);
  EXPECT_EQ(prefix->entry()->instruction_count(), 5);  // three parameters, d and e
  EXPECT_EQ(WithRoot(**module, "nobody"), nullptr);
}

}  // namespace
}  // namespace xc
