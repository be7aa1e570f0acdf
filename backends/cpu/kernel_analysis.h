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
  int most_lanes = 1;  // of a full vector, even where the rows are shorter
  // The few elements that there are in all are scalars, written out one after the other.
  bool apart = false;
  // Not 1: the loops are over the other dimensions only, and each iteration computes all `row` elements of the minor
  // one.
  int64_t row = 1;
  // For transposed reads: the dimension of `outer` along which they are contiguous. The loops then go over blocks of
  // the inner dimension, in each over this dimension, so that cache lines are used up. -1: none.
  int64_t contiguous = -1;
  static constexpr int64_t kBlock = 64;
  // The side of square tiles over the dimensions `contiguous` and `inner`: a tile is read in vectors along the former,
  // transposed in registers, and written along the latter. 0: no tiles; elements are gathered one by one.
  int tile = 0;
  // Rows that share all outer coordinates but the last, or the last `grouped` ones: they stand together, a few of them
  // written out, so that what is the same in all of them is computed once. 1: each stands by itself.
  int64_t group = 1;
  size_t grouped = 0;
  int64_t Blocks() const { return contiguous < 0 ? 1 : (inner_size + kBlock - 1) / kBlock; }

  // How many iterations can be divided among threads; each thread's piece is a multiple of Grain() long.
  int64_t Work() const;
  int64_t Grain() const;
  // Turns a flat shape into a nested one.
  void MakeNested();
  // Lowers `lanes` where the inner dimension is shorter than a vector.
  void FitLanes();
  // Raises `lanes` to a full vector, or to what the inner dimension needs.
  void TakeVectors();
  // Where the rows of a nested shape are too short to fill vectors, of at most `most` elements: sets `row`, with
  // vectors along the dimension before.
  void TakeShortRows(int64_t most = 5);
  // Sets `contiguous` to dimension `d`, along which every input is contiguous or constant, and `tile` if the dimensions
  // are large enough for tiles.
  void TakeTiles(int64_t d, const codegen::CodegenTarget& target);
  // Sets `group` to the rows along the last of the outer dimensions: where what these share takes longer than a short
  // row.
  void TakeGroups();
  // Sets `group` where there are several tiny dimensions, and little code for an element: places take most of the time.
  void TakeTinyRows();
};

// The loop shape of a nest.
KernelShape ShapeOf(const plan::Nest& nest, const codegen::CodegenTarget& target);
// The most elements of a row for which TakeShortRows pays in the nest.
int64_t MostOfShortRow(const plan::Nest& nest, const KernelShape& shape, const codegen::CodegenTarget& target);
// Lanes for loops over an array that is only read or written, along its last dimension of more than one element.
int LanesAlong(const Shape& shape, const codegen::CodegenTarget& target);

// Whether it sums up rows of a few numbers that are no rows of IsRowReduce: one row in each lane, they would be picked
// apart element by element, which takes about the square of their length.
bool IsShortSum(const HloInstruction& reduce);

// The row reductions and short sums that `values`, of equal dimensions, are computed from elementwise; empty if they
// also depend on other reductions. `functions` is set to whether the elementwise part is expensive enough to be worth
// vectors even if the rows are reduced one by one.
std::vector<const HloInstruction*> RowsBelow(const std::vector<const HloInstruction*>& values, bool* functions);

// The windows of which neighbouring rows of `value` along dimension `d` share most: the one reduce-window that the
// value is computed from elementwise, if it sums up a few elements along `d` and moves by one. Null: there is none.
const HloInstruction* FindSharedWindow(const HloInstruction* value, int64_t d);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_KERNEL_ANALYSIS_H_
