// The pass that clusters every graph and function that TensorFlow is about to run.
#ifndef XC_JIT_TENSORFLOW_OPTIMIZER_H_
#define XC_JIT_TENSORFLOW_OPTIMIZER_H_

#include "jit/tensorflow/core.h"

namespace xc_tensorflow {

// Once per process. `core` must live as long as that.
void RegisterOptimizer(const Core* core);

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_OPTIMIZER_H_
