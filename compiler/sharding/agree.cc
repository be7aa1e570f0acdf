#include "compiler/sharding/agree.h"

#include <algorithm>

namespace xc {
namespace {

size_t DigitCount(const DeviceTiling& tiling) {
  size_t count = 0;
  for (int64_t d = 0; d < tiling.rank(); ++d) count += tiling.dim(d).size();
  return count;
}

using Digits = std::vector<DeviceTiling::Digit>;

// What both begin with.
size_t CommonDigits(const Digits& one, const Digits& other) {
  size_t n = 0;
  while (n < one.size() && n < other.size() && one[n] == other[n]) ++n;
  return n;
}

}  // namespace

DeviceTiling Agreed(std::vector<const DeviceTiling*> arrays, int64_t rank) {
  DeviceTiling result = DeviceTiling::Replicated(rank);
  const auto cut = [](const DeviceTiling* array) { return !array->IsReplicated(); };
  const auto first = std::find_if(arrays.begin(), arrays.end(), cut);
  if (first == arrays.end()) return result;
  const Int64List order = (*first)->order();
  const auto says_nothing = [&](const DeviceTiling* array) {
    return !cut(array) || array->rank() != rank || array->order() != order;
  };
  arrays.erase(std::remove_if(arrays.begin(), arrays.end(), says_nothing), arrays.end());
  std::stable_sort(arrays.begin(), arrays.end(), [](const DeviceTiling* one, const DeviceTiling* other) {
    return DigitCount(*one) > DigitCount(*other);
  });
  std::vector<Digits> agreed(rank);
  for (int64_t d = 0; d < rank; ++d) {
    for (const DeviceTiling* array : arrays) {
      if (array->dim(d).size() > agreed[d].size()) agreed[d] = array->dim(d);
    }
    for (const DeviceTiling* array : arrays) {
      const size_t common = CommonDigits(array->dim(d), agreed[d]);
      if (common < array->dim(d).size()) agreed[d].resize(common);
    }
  }
  for (const DeviceTiling* array : arrays) {
    DeviceTiling one = DeviceTiling::Replicated(rank);
    one.set_order(order);
    for (int64_t d = 0; d < rank; ++d) {
      const size_t common = CommonDigits(array->dim(d), agreed[d]);
      for (size_t n = 0; n < common; ++n) one.Append(d, array->dim(d)[n]);
    }
    result.MergeFrom(one);
  }
  return result;
}

}  // namespace xc
