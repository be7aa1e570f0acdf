// How a result lies that is computed from arrays of its own dimensions, where these lie in several ways.
#ifndef XC_COMPILER_SHARDING_AGREE_H_
#define XC_COMPILER_SHARDING_AGREE_H_

#include <cstdint>
#include <vector>

#include "hlo/devices/device_tiling.h"

namespace xc {

// Along each dimension the array that says most counts, as far as none says otherwise; where that would use a digit
// twice, the array that is cut by most digits counts, else the first. Arrays with another order of devices than the
// first that is cut say nothing.
DeviceTiling Agreed(std::vector<const DeviceTiling*> arrays, int64_t rank);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_AGREE_H_
