// Loop variables that do nothing but get longer, x = concat(x, y): loops of these compile as a whole
// (lowering/grown.h).
#ifndef XC_JIT_MARK_GROWING_H_
#define XC_JIT_MARK_GROWING_H_

#include <set>

#include "jit/graph/graph.h"

namespace xc {

// Adds the nodes of `function` that argument `index` and what they make of it go through to `nodes`. False if one of
// them has no code for an array that grows, or it is not what result `index` is made of; for a condition (`grows` is
// false), which only looks at it, there is no such result.
bool OnlyGrows(const Graph& function, int index, bool grows, std::set<int>* nodes);

}  // namespace xc

#endif  // XC_JIT_MARK_GROWING_H_
