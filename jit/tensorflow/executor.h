// Functions of launches that could not run beside each other run in the thread that calls them: see docs/tensorflow.md.
#ifndef XC_JIT_TENSORFLOW_EXECUTOR_H_
#define XC_JIT_TENSORFLOW_EXECUTOR_H_

#include "jit/tensorflow/core.h"

namespace xc_tensorflow {

// Once per process. Leaves TensorFlow's factory of executors alone if it is not the one that is known here; from then
// on the setting caller_thread switches between it and ours.
void InstallExecutor(const Core* core);

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_EXECUTOR_H_
