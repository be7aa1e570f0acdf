// Says which of an op's values made it fail, in TensorFlow's words: compiled code only tells that one did.
#ifndef XC_JIT_HOST_BAD_VALUES_H_
#define XC_JIT_HOST_BAD_VALUES_H_

#include <vector>

#include "absl/status/status.h"
#include "jit/graph/graph.h"

namespace xc {

// The error of `node` on `inputs`: the first index that is out of range, or a zero that an integer is divided by. OK if
// neither is found.
absl::Status FindBadValue(const Node& node, const std::vector<Tensor>& inputs);

}  // namespace xc

#endif  // XC_JIT_HOST_BAD_VALUES_H_
