// The core library's C API as a table of functions, filled when the library is opened.
#ifndef XC_PYTHON_CORE_API_H_
#define XC_PYTHON_CORE_API_H_

#include <string>

#include "service/xc.h"

namespace xla_core {

#define XC_FUNCTIONS(X)         \
  X(xc_api_version)             \
  X(xc_status_code)             \
  X(xc_status_message)          \
  X(xc_status_free)             \
  X(xc_compile_hlo_cancellable) \
  X(xc_general_code_new)        \
  X(xc_general_code_free)       \
  X(xc_general_code_compile)    \
  X(xc_sample_sizes)            \
  X(xc_executable_free)         \
  X(xc_executable_num_inputs)   \
  X(xc_executable_num_outputs)  \
  X(xc_executable_input)        \
  X(xc_executable_output)       \
  X(xc_executable_temp_bytes)   \
  X(xc_executable_code_bytes)   \
  X(xc_executable_was_loaded)   \
  X(xc_executable_text)         \
  X(xc_string_free)             \
  X(xc_executable_run)          \
  X(xc_cache_get_stats)         \
  X(xc_cache_clear)             \
  X(xc_cache_set_budget)

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  XC_FUNCTIONS(X)
#undef X
};

extern Api api;

// Opens the core library with deep binding, so that it keeps its own copies of what other packages of the process also
// bring; further calls do nothing. Throws std::runtime_error.
void Load(const std::string& path);

// Raises what `status` says and frees it: ValueError for bad input, NotImplementedError, MemoryError, TimeoutError or
// RuntimeError. Nothing for null.
void Check(xc_status* status);

}  // namespace xla_core

#endif  // XC_PYTHON_CORE_API_H_
