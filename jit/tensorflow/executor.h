// An executor for functions that are little more than one launch: see docs/tensorflow.md.
#ifndef XC_JIT_TENSORFLOW_EXECUTOR_H_
#define XC_JIT_TENSORFLOW_EXECUTOR_H_

namespace xc_tensorflow {

// The type of executor by which programs ask for it: tf.experimental.function_executor_type(…).
inline constexpr char kCallerExecutor[] = "XLA_JIT_CALLER";

// Once per process.
void RegisterExecutor();

}  // namespace xc_tensorflow

#endif  // XC_JIT_TENSORFLOW_EXECUTOR_H_
