// How the loops of a planned kernel are written: their order, and what goes in vectors.
#ifndef XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_
#define XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "backends/codegen/element.h"
#include "backends/plan/plan.h"
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
  // With `contiguous`: squares of so many elements along that dimension and the inner one are read in vectors along the
  // former, transposed in registers and written along the latter. 0: there are none, and reads are gathered.
  int tile = 0;
  int64_t Blocks() const { return contiguous < 0 ? 1 : (inner_size + kBlock - 1) / kBlock; }

  // Iterations that can be divided among threads, and what pieces must be multiples of.
  int64_t Work() const;
  int64_t Grain() const;
  // Turns a flat shape into a nested one.
  void MakeNested();
  // Takes fewer lanes where the inner dimension is short.
  void FitLanes();
  // Takes as many lanes as a vector has, or the inner dimension needs.
  void TakeVectors();
  // Where a nested shape has rows too short to fill vectors, lets them be computed as a whole, with vectors along the
  // dimension before.
  void TakeShortRows();
  // Has all that is read along dimension `d` or does not depend on it: lets squares be transposed if they are large
  // enough.
  void TakeTiles(int64_t d, const codegen::CodegenTarget& target);
};

// The loop shape of a nest.
KernelShape ShapeOf(const plan::Nest& nest, const codegen::CodegenTarget& target);
// Lanes for loops over an array that is only read or written, along its last dimension of more than one element.
int LanesAlong(const Shape& shape, const codegen::CodegenTarget& target);

// The reductions of rows that `values`, of equal dimensions, are computed from at their own positions; none if there
// are others. `functions`: whether what follows them is worth vectors even if the rows are reduced one by one.
std::vector<const HloInstruction*> RowsBelow(const std::vector<const HloInstruction*>& values, bool* functions);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_
