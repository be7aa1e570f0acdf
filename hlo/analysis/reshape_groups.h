// Which dimensions of a reshape's operand become which of its result.
#ifndef XC_HLO_ANALYSIS_RESHAPE_GROUPS_H_
#define XC_HLO_ANALYSIS_RESHAPE_GROUPS_H_

#include <vector>

#include "hlo/shape.h"

namespace xc {

// Dimensions [in, in_end) of the operand and [out, out_end) of the result, with one product, and as few as possible.
// Dimensions of size 1 that end a group belong to it.
struct ReshapeGroup {
  int64_t in = 0, in_end = 0, out = 0, out_end = 0;
  std::vector<int64_t> own, wide;  // of these, the dimensions on either side that are not of size 1
  bool same = false;               // they have the same sizes, and there are some
  // Of run-time sizes, the result's dimension that takes what the others, of `rest` elements, leave: the one that is
  // marked as dynamic, else the outermost. -1: several are marked, or there is none.
  int64_t open = -1, rest = 1;
};

// The shapes have the same number of elements, not 0.
std::vector<ReshapeGroup> ReshapeGroups(const Shape& from, const Shape& to);

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_RESHAPE_GROUPS_H_
