// Along which dimensions an instruction computes each element apart from the others, so that devices can share them.
#ifndef XC_COMPILER_SHARDING_INDEPENDENT_DIMS_H_
#define XC_COMPILER_SHARDING_INDEPENDENT_DIMS_H_

#include <optional>
#include <utility>
#include <vector>

#include "compiler/sharding/sharding_rule.h"
#include "hlo/instruction.h"

namespace xc {

// Of gathers (batches, positions of indices, slices of whole dimensions), decompositions and solvers, Fourier
// transforms, top-k, select-and-scatter, and custom calls that say that they have batches; nothing for other
// instructions. `counted`: a gather's positions count as a batch, too, where its indices count them.
std::optional<ShardingRule> IndependentDims(const HloInstruction& i, bool counted = true);

// How the arrays of `i` lie by its rule, where the operands lie as `operands` says.
absl::StatusOr<RuleTilings> TilingsByRule(const ShardingRule& rule, const HloInstruction& i,
                                          const std::vector<DeviceTiling>& operands);

// Which numbers of a gather's indices count from a device's part of the operand, as ScatterTilings says: those that
// count along a dimension of the indices, which is cut as the operand is.
std::vector<std::pair<int64_t, int64_t>> CountedOffsets(const HloInstruction& gather, const DeviceTiling& operand);

// The dimension of a scatter's updates at this one of its indices.
int64_t UpdatesDim(const ScatterDims& dims, int64_t of_indices);

// How a scatter's result may lie by where its indices and updates are.
DeviceTiling TilingByUpdates(const HloInstruction& scatter, const DeviceTiling& indices, const DeviceTiling& updates);

// Of a scatter whose result lies by `result`: how its operands lie for devices to compute their parts. `result` is
// without cuts that it cannot have.
struct ScatterTilings {
  DeviceTiling result, indices, updates;
  // Which numbers of an index count from the device's part of the result: position in the index, and dimension.
  std::vector<std::pair<int64_t, int64_t>> offsets;
};
ScatterTilings TilingsOfScatter(const HloInstruction& scatter, const DeviceTiling& result);

// Whether the dimension along which a sort, or a call ApproxTopK, orders its arrays stays cut in its results: not where
// there is no other, nor where a sort gives the k largest as StableHLO writes it, in falling order with their
// positions.
bool KeepsOrderedDim(const HloInstruction& i);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_INDEPENDENT_DIMS_H_
