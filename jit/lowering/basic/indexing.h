// Gathers, scatters and slice updates that ops on arrays and ops on variables share.
#ifndef XC_JIT_LOWERING_BASIC_INDEXING_H_
#define XC_JIT_LOWERING_BASIC_INDEXING_H_

#include "jit/lowering/lowering.h"

namespace xc {

enum class Combine { kUpdate, kAdd, kSub, kMin, kMax, kMul, kDiv };

// Elements of `params` along `axis` at the indices of the given operand, over `batch` leading dimensions; indices out
// of range are a failure of the op.
absl::StatusOr<Val> GatherAlong(OpContext& c, Val params, int indices, int64_t axis, int64_t batch);
// Slices of `params` at the index vectors of the given operand.
absl::StatusOr<Val> GatherSlices(OpContext& c, Val params, int indices);
// `operand` with `updates` combined in at `indices` ([..., depth], the leading dimensions of operand).
absl::StatusOr<Val> ScatterInto(OpContext& c, Val operand, Val indices, Val updates, Combine how);
// `base` with operand 4 in the strided slice that operands 1 to 3 and the masks name.
absl::StatusOr<Val> AssignSlice(OpContext& c, Val base);

}  // namespace xc

#endif  // XC_JIT_LOWERING_BASIC_INDEXING_H_
