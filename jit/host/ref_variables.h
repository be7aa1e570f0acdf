// Turns the variables of TensorFlow 1, whose nodes give references that others write through, into resource variables.
#ifndef XC_JIT_HOST_REF_VARIABLES_H_
#define XC_JIT_HOST_REF_VARIABLES_H_

#include "jit/graph/graph.h"

namespace xc {

// In place. A node that writes (Assign, ApplyAdam, ScatterAdd, …) becomes the one that does so to a resource; every
// other use of a reference becomes a read that waits for what its user waits for, and for the write whose result it is.
// Names stay, so that a checkpoint fits. An error names a use of a reference that has no such form.
absl::Status ReplaceRefVariables(Graph& graph);

}  // namespace xc

#endif  // XC_JIT_HOST_REF_VARIABLES_H_
