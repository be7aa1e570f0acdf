// A compilation that Ctrl-C ends.
#ifndef XC_PYTHON_CORE_COMPILATION_H_
#define XC_PYTHON_CORE_COMPILATION_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "python/core/api.h"

namespace xla_core {

// Compiles `hlo` with the C API's options in a thread of its own, and runs Python's signal handlers meanwhile, with the
// GIL away between them. An exception of a handler, such as KeyboardInterrupt, is raised within a tenth of a second:
// the compilation is cancelled, and the thread that may be in the middle of a step of it ends by itself.
// With `general`, by its code where that serves the module, which *serves says; `options` are those of `general` then.
xc_executable* CompileInterruptibly(const nanobind::bytes& hlo, const std::string& options,
                                    std::shared_ptr<xc_general_code> general, bool* serves);

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_COMPILATION_H_
