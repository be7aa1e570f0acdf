// What instructions cost: operations by op, and the bytes that fusions move.
#include "compiler/cost_analysis.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

InstructionCost RootCost(const char* text) {
  auto module = ParseModule(text);
  if (!module.ok()) {
    ADD_FAILURE() << module.status();
    return {};
  }
  return CostOf((*module)->entry()->root());
}

TEST(CostAnalysisTest, DotsAndElementwiseFusions) {
  const InstructionCost dot = RootCost(R"(HloModule m
ENTRY e { a = f32[2,3] parameter(0) b = f32[3,4] parameter(1)
  ROOT d = f32[2,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  EXPECT_EQ(dot.flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(dot.bytes_read, 4 * (6 + 12));
  const InstructionCost fusion = RootCost(R"(HloModule m
f { p = f32[8] parameter(0) q = f32[8] parameter(1) t = f32[8] tanh(p) ROOT s = f32[8] add(t, q) }
ENTRY e { a = f32[8] parameter(0) b = f32[8] parameter(1) ROOT r = f32[8] fusion(a, b), kind=kLoop, calls=f })");
  EXPECT_EQ(fusion.flops, 8);
  EXPECT_EQ(fusion.transcendentals, 8);
  EXPECT_EQ(fusion.bytes_read, 64);
  EXPECT_EQ(fusion.bytes_written, 32);
}

// A step of a loop over rows looks at one row of each array, however many there are.
TEST(CostAnalysisTest, FusionsMoveTheSlicesThatTheyLookAt) {
  const InstructionCost cost = RootCost(R"(HloModule m
f { rows = f32[100,8] parameter(0) sums = f32[100,8] parameter(1) i = s32[] parameter(2) z = s32[] constant(0)
  row = f32[1,8] dynamic-slice(rows, i, z), dynamic_slice_sizes={1,8} twice = f32[1,8] add(row, row)
  ROOT u = f32[100,8] dynamic-update-slice(sums, twice, i, z) }
ENTRY e { a = f32[100,8] parameter(0) b = f32[100,8] parameter(1) i = s32[] parameter(2)
  ROOT r = f32[100,8] fusion(a, b, i), kind=kLoop, calls=f })");
  EXPECT_EQ(cost.bytes_read, 32 + 4);
  EXPECT_EQ(cost.bytes_written, 32);
  // An array that something else reads as well is read whole.
  const InstructionCost whole = RootCost(R"(HloModule m
f { rows = f32[100,8] parameter(0) i = s32[] parameter(1) z = s32[] constant(0)
  row = f32[1,8] dynamic-slice(rows, i, z), dynamic_slice_sizes={1,8} n = f32[100,8] negate(rows)
  ROOT t = (f32[1,8], f32[100,8]) tuple(row, n) }
ENTRY e { a = f32[100,8] parameter(0) i = s32[] parameter(1)
  ROOT r = (f32[1,8], f32[100,8]) fusion(a, i), kind=kLoop, calls=f })");
  EXPECT_EQ(whole.bytes_read, 3200 + 4);
  EXPECT_EQ(whole.bytes_written, 32 + 3200);
}

// As fusions of a program, and what runs in its loops.
TEST(CostAnalysisTest, TellsWhatIsReadOfEachOperand) {
  auto module = ParseModule(R"(HloModule m
f { rows = f32[100,8] parameter(0) i = s32[] parameter(1) z = s32[] constant(0)
  row = f32[1,8] dynamic-slice(rows, i, z), dynamic_slice_sizes={1,8} ROOT n = f32[1,8] negate(row) }
body { p = (f32[8]) parameter(0) x = f32[8] get-tuple-element(p), index=0
  y = f32[8] add(x, x) ROOT t = (f32[8]) tuple(y) }
cond { p = (f32[8]) parameter(0) ROOT no = pred[] constant(false) }
ENTRY e { a = f32[100,8] parameter(0) i = s32[] parameter(1) b = f32[8] parameter(2)
  r = f32[1,8] fusion(a, i), kind=kLoop, calls=f  t = (f32[8]) tuple(b)
  w = (f32[8]) while(t), condition=cond, body=body
  ROOT all = (f32[1,8], (f32[8])) tuple(r, w) })");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<OperandCost> costs = OperandCostsOf((*module)->entry());
  ASSERT_EQ(costs.size(), 2);
  EXPECT_EQ(costs[0].bytes, 32 + 32);
  EXPECT_EQ(costs[0].uses, 2);
  EXPECT_EQ(costs[1].bytes, 4 + 32);
  EXPECT_EQ(costs[1].uses, 2);
}

}  // namespace
}  // namespace xc
