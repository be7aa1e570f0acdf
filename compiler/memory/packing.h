// Packing: offsets for blocks of memory that are live at given times, so that no two live ones overlap.
#ifndef XC_COMPILER_MEMORY_PACKING_H_
#define XC_COMPILER_MEMORY_PACKING_H_

#include <cstdint>
#include <vector>

namespace xc {

struct LiveRange {
  int64_t start = 0, end = 0;  // both inclusive
};

struct PackedBlock {
  int64_t size = 0;
  std::vector<LiveRange> ranges;  // disjoint, ascending
  // Result.
  int region = -1;  // -1: the arena, else an index into `regions`
  int64_t offset = 0;
};

// Memory of fixed size that exists anyway and is free at times: its own contents are the ranges given.
struct PackRegion {
  int64_t size = 0;
  std::vector<LiveRange> busy;
};

// Best-fit by decreasing size: each block goes to the smallest region that has room for it while it lives, else to the
// arena, into the tightest gap. Offsets are multiples of `alignment`, of smaller blocks of the power of
// two that holds them. Returns the arena's size.
int64_t PackBlocks(const std::vector<PackRegion>& regions, std::vector<PackedBlock>* blocks, int64_t alignment = 1);

// The same where the code serves several sizes, which must not decide where a block lies: a block goes to a region of
// its own size that no other block is in while it lives, and else to the arena (hlo/base/choices.h).
int64_t PackBlocksForAllSizes(const std::vector<PackRegion>& regions, std::vector<PackedBlock>* blocks,
                              int64_t alignment = 1);

// The most bytes that blocks of the arena need at one time.
int64_t PackingLowerBound(const std::vector<PackedBlock>& blocks);

}  // namespace xc

#endif  // XC_COMPILER_MEMORY_PACKING_H_
