// Which parts of its operands a device needs for its part of a result, for kinds of instructions.
#ifndef XC_COMPILER_SHARDING_PARTITION_RULES_H_
#define XC_COMPILER_SHARDING_PARTITION_RULES_H_

#include <optional>
#include <vector>

#include "hlo/devices/device_tiling.h"
#include "hlo/module.h"

namespace xc {

// Whether a list of dimensions has d.
bool HasDim(const Int64List& dims, int64_t d);
// Dimension `to_d` becomes cut as dimension `d` of `from` is.
void TakeCut(const DeviceTiling& from, int64_t d, DeviceTiling* to, int64_t to_d);

// Where a reshape leaves what an operand is cut by. Digits that would come to lie in the middle of a dimension are
// taken off `operand`.
DeviceTiling Reshaped(const Shape& from, const Shape& into, DeviceTiling* operand);

// Of an op that moves elements along some dimensions only and keeps the others: how many of its operands are arrays of
// the result's rank, and whether it keeps a dimension.
struct Movement {
  int64_t arrays = 1;
  std::vector<bool> keeps;
};
// Nothing for other ops.
std::optional<Movement> MovementOf(const HloInstruction& i);

// Leaves in `tiling`, of the first array, the cuts by which devices can move their parts apart from the others. What is
// sorted or joined along a dimension that is cut is cut along another one instead, where its size allows it.
void KeepCuts(const HloInstruction& i, const Movement& movement, DeviceTiling* tiling);

// Gives the attributes of an instruction of parts, whose first operand is cut by `operand`, the sizes of the parts.
void FitAttributes(HloInstruction* part, const DeviceTiling& operand);

// Whether parts may be reduced one by one, and their results after: `op` is then the reduction.
bool IsPlainReduction(const HloInstruction& reduce, HloOpcode* op);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_PARTITION_RULES_H_
