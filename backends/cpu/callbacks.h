// What generated code calls of the executable that it belongs to. Generated code has no unwind tables: an exception
// ends in these functions, as the run's error.
#ifndef XC_BACKENDS_CPU_CALLBACKS_H_
#define XC_BACKENDS_CPU_CALLBACKS_H_

#include <cstdint>

#include "backends/program/executable.h"

extern "C" {
// Evaluates instruction number `site`. `inputs` are the leaves of its operands in order, `outputs` those of its result.
// Returns 0, or 1 after recording the error in the run context.
int32_t xc_cpu_fallback(const xc::Frame* frame, int64_t site, const void* const* inputs, void* const* outputs);
// Runs custom call number `site` in the same way.
int32_t xc_cpu_custom_call(const xc::Frame* frame, int64_t site, void* const* inputs, void* const* outputs);
}

#endif  // XC_BACKENDS_CPU_CALLBACKS_H_
