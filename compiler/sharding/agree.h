// How a result lies that is computed from several arrays, where these lie in several ways.
#ifndef XC_COMPILER_SHARDING_AGREE_H_
#define XC_COMPILER_SHARDING_AGREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlo/devices/device_tiling.h"
#include "hlo/instruction.h"

namespace xc {

// Along each dimension the array that says most counts, as far as none says otherwise; where that would use a digit
// twice, the array that is cut by most digits counts, in all or along one dimension, else the first. Arrays with
// another order of devices than the first that is cut say nothing.
DeviceTiling Agreed(std::vector<const DeviceTiling*> arrays, int64_t rank);

// The same for a product's batch and free dimensions, but that the operand with more elements counts, else the left
// one; of the other's dimensions as much is cut as uses no digit twice.
DeviceTiling AgreedProduct(const HloInstruction& dot, const DeviceTiling& lhs, const DeviceTiling& rhs);

// Whether the program itself says how leaf `l` of a tuple of arrays lies, perhaps in a function that it calls: that
// counts more than other values which are to lie alike.
bool IsAnnotated(const HloInstruction& root, size_t l);

// The branch of a conditional that is taken, if its index is a constant, or one clamped by others; else -1.
int64_t ChosenBranch(const HloInstruction& conditional);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_AGREE_H_
