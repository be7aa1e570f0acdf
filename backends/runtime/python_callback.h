// Custom calls of JAX's into Python: pure_callback, io_callback, debug.callback, debug.print, buffer_callback.
#ifndef XC_BACKENDS_RUNTIME_PYTHON_CALLBACK_H_
#define XC_BACKENDS_RUNTIME_PYTHON_CALLBACK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/custom_call.h"

namespace xc {

// A run's callables, in the form in which jaxlib hands them to a run as its user data (RunDevice::user_data): each is a
// PyObject*.
struct PythonCallbacks {
  void** callables;
  uint32_t number;
};

// Calls the callable with the number in the attribute `index`: the inputs as NumPy arrays of their own (None for
// tokens), the outputs from the tuple that it returns. Takes the interpreter's lock. Python is the one that this
// process runs, found among its symbols. Errors: FailedPrecondition for a process without Python or a run without
// callables; Internal, with the traceback, for an exception; InvalidArgument for results of other types or sizes.
absl::Status CallPython(RunContext* run, const CallArgs& args);

// The same for a callable that takes a context and views of the inputs' and then the outputs' memory, and fills the
// latter (jax.experimental.buffer_callback). The views end with the call.
absl::Status CallPythonOnBuffers(RunContext* run, const CallArgs& args);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_PYTHON_CALLBACK_H_
