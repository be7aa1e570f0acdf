// Loop variables that get longer in ops that compiled code has for such arrays (lowering/dynamic_array.h).
#ifndef XC_JIT_SHAPES_DYNAMIC_ARRAYS_H_
#define XC_JIT_SHAPES_DYNAMIC_ARRAYS_H_

#include <set>
#include <vector>

#include "jit/graph/graph.h"

namespace xc {

// Whether code has the ops of `function`, a loop's body or condition, that take an array which grows: outputs of the
// nodes `growing`. `nodes` gets these ops.
bool TakesDynamicArrays(const Graph& function, const std::set<OutputRef>& growing, std::set<int>* nodes);

// Whether code has the op for operands that only the run of a loop tells a length of, those of `cut`. `still`: whether
// its result may be another such array.
bool TakesCut(const Graph& graph, const Node& node, const std::vector<bool>& cut, bool* still);

// Whether an iteration adds to the end of argument `index` of a body and does nothing else to its elements.
bool Appends(const Graph& body, int index);

}  // namespace xc

#endif  // XC_JIT_SHAPES_DYNAMIC_ARRAYS_H_
