// What a plan needs to know of an expression: how it reads memory, what it costs, which constants it holds.
#ifndef XC_BACKENDS_PLAN_EXPRESSION_H_
#define XC_BACKENDS_PLAN_EXPRESSION_H_

#include <cstdint>
#include <vector>

#include "backends/plan/plan.h"
#include "hlo/module.h"

namespace xc::plan {

// The access of `values`, of equal dimensions, that are computed together. `fused`: they belong to a fused computation;
// else there is one, an op whose operands are in memory.
Access AccessOf(const std::vector<const HloInstruction*>& values, bool fused);
// Of an array that is only read.
Access AccessOfArray(const Shape& shape);

// The dimensions of a value; of the first result, where it has several.
const std::vector<int64_t>& DimsOf(const HloInstruction& value);

// Estimated scalar operations of an instruction or fusion.
int64_t ExpressionCost(const HloInstruction& instruction);

// Constants inside a fused computation (and nested ones) that need memory: arrays whose elements differ.
std::vector<const HloInstruction*> InnerConstants(const HloComputation& computation);

// What `value` reads, elementwise: arrays that are transposed, all in one way, and whether others as well, which lie as
// `value` does or are broadcast. Without transposes: reads of another kind, or too much to write down for each row of
// a tile.
struct TransposedReads {
  std::vector<const HloInstruction*> transposes;
  bool others = false;
};
TransposedReads FindTransposedReads(const HloInstruction* value, bool fused);

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_EXPRESSION_H_
