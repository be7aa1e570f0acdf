// Loop variables that get longer in ops that compiled code has for such arrays (lowering/grown.h).
#ifndef XC_JIT_MARK_GROWING_H_
#define XC_JIT_MARK_GROWING_H_

#include <set>

#include "jit/graph/graph.h"

namespace xc {

// Whether code has the ops of `function`, a loop's body or condition, that take an array which grows: outputs of the
// nodes `growing`. `nodes` gets these ops.
bool TakesGrowing(const Graph& function, const std::set<OutputRef>& growing, std::set<int>* nodes);

// Whether a turn adds to the end of argument `index` of a body and does nothing else to its elements.
bool Appends(const Graph& body, int index);

}  // namespace xc

#endif  // XC_JIT_MARK_GROWING_H_
