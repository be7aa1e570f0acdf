// Decisions about a kernel that need no code: loop shape, vector width, cost.
#ifndef XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_
#define XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "backends/codegen/element.h"
#include "hlo/module.h"

namespace xc::cpu {

// The loops of a kernel over an output of dimensions `dims` (row-major): one loop over all elements in memory order if
// `flat`, else an outer loop over the dimensions `outer` together and an inner one over dimension `inner`.
struct KernelShape {
  std::vector<int64_t> dims;
  bool flat = false;
  std::vector<int64_t> outer;  // dimensions with more than one element, major first, without the inner one
  int64_t inner = -1;          // -1: no dimension has more than one element
  int64_t inner_size = 1;
  int64_t elements = 1;
  int lanes = 1;
  int most_lanes = 1;  // those of a vector, however short the rows are
  // Elements of the minor dimension, where the nest is over the others only and the code of each position computes all
  // of these; else 1.
  int64_t row = 1;
  // For transposed reads: the dimension of `outer` along which they are contiguous. The loops then go over blocks of
  // the inner dimension, in each over this dimension, so that cache lines are used up. -1: none.
  int64_t contiguous = -1;
  static constexpr int64_t kBlock = 64;
  int64_t Blocks() const { return contiguous < 0 ? 1 : (inner_size + kBlock - 1) / kBlock; }

  // Iterations that can be divided among threads, and what pieces must be multiples of.
  int64_t Work() const;
  int64_t Grain() const;
  // Turns a flat shape into a nested one.
  void MakeNested();
  // Takes as many lanes as a vector has, or the inner dimension needs.
  void TakeVectors();
  // Where a nested shape has rows too short to fill vectors, lets them be computed as a whole, with vectors along the
  // dimension before.
  void TakeShortRows();
};

// The loop shape for computing `values`, of equal dimensions, together. `fused`: they belong to a fused computation;
// else there is one, an op whose operands are in memory.
KernelShape PlanKernel(const std::vector<const HloInstruction*>& values, bool fused,
                       const codegen::CodegenTarget& target);
// Nested loops over an array that is only read.
KernelShape PlanArray(const Shape& shape, const codegen::CodegenTarget& target);

// The reductions of rows that `values`, of equal dimensions, are computed from, if functions that are worth vectors
// follow them: the rows are then reduced one by one, and what follows is computed for as many results as a vector has.
std::vector<const HloInstruction*> RowsBelowFunctions(const std::vector<const HloInstruction*>& values);

// Whether it is a fusion of several stages that share what a row has in common.
bool IsStitched(const HloInstruction& instruction);

// Estimated scalar operations of an instruction or fusion.
int64_t ExpressionCost(const HloInstruction& instruction);

// Whether scatter has native code: array operands of static shape and a combiner that can be inlined.
bool CanEmitScatter(const HloInstruction& scatter);

// Constants inside a fused computation (and nested ones) that need memory: arrays whose elements differ.
std::vector<const HloInstruction*> InnerConstants(const HloComputation& computation);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_
