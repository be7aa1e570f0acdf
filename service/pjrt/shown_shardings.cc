// Orders of devices in the messages of optimized modules: lists that are transposed iotas, as such.
#include "service/pjrt/shown_shardings.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace xc::pjrt {
namespace {

struct Digit {
  int64_t size, stride;
};

// The digits by which the list counts, the one that counts most first; empty where it is no such list.
std::vector<Digit> DigitsOf(const std::vector<int64_t>& list) {
  std::vector<Digit> digits;
  const int64_t count = static_cast<int64_t>(list.size());
  for (int64_t block = 1; block < count;) {
    const int64_t stride = list[block];
    int64_t size = 1;
    while (size * block < count && list[size * block] == size * stride) ++size;
    if (size < 2 || count % (size * block) != 0) return {};
    digits.insert(digits.begin(), {size, stride});
    block *= size;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, value = 0;
    for (size_t d = digits.size(); d-- > 0; rest /= digits[d].size) value += rest % digits[d].size * digits[d].stride;
    if (value != list[i]) return {};
  }
  return digits;
}

void ListDevicesAsIota(pb::OpSharding* sharding) {
  for (pb::OpSharding& element : *sharding->mutable_tuple_shardings()) ListDevicesAsIota(&element);
  const std::vector<int64_t> list(sharding->tile_assignment_devices().begin(),
                                  sharding->tile_assignment_devices().end());
  if (sharding->type() != pb::OpSharding::OTHER || list.size() < 2) return;
  const std::vector<Digit> digits = DigitsOf(list);
  std::vector<size_t> by_stride(digits.size());
  std::iota(by_stride.begin(), by_stride.end(), size_t{0});
  std::sort(by_stride.begin(), by_stride.end(),
            [&](size_t a, size_t b) { return digits[a].stride > digits[b].stride; });
  // Each number once: a digit's stride is the product of the sizes of those below it.
  int64_t below = 1;
  for (size_t i = by_stride.size(); i-- > 0; below *= digits[by_stride[i]].size) {
    if (digits[by_stride[i]].stride != below) return;
  }
  if (digits.empty()) return;
  sharding->clear_tile_assignment_devices();
  for (size_t d : by_stride) sharding->add_iota_reshape_dims(digits[d].size);
  for (size_t d = 0; d < digits.size(); ++d) {
    const auto place = std::find(by_stride.begin(), by_stride.end(), d);
    sharding->add_iota_transpose_perm(static_cast<int32_t>(place - by_stride.begin()));
  }
}

}  // namespace

void ListDevicesAsIotas(pb::HloModuleProto* module) {
  for (pb::HloComputationProto& computation : *module->mutable_computations()) {
    for (pb::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      if (instruction.has_sharding()) ListDevicesAsIota(instruction.mutable_sharding());
    }
  }
  if (module->has_spmd_output_sharding()) ListDevicesAsIota(module->mutable_spmd_output_sharding());
  for (pb::OpSharding& sharding : *module->mutable_spmd_parameters_shardings()) ListDevicesAsIota(&sharding);
}

}  // namespace xc::pjrt
