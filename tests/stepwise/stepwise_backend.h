// A backend as small as one can be: it plans like the others and gives each step to the interpreter. What it had to
// write is what every backend has to: where a step's bytes are, and how to run it.
#ifndef XC_TESTS_STEPWISE_STEPWISE_BACKEND_H_
#define XC_TESTS_STEPWISE_STEPWISE_BACKEND_H_

#include "backends/backend.h"

namespace xc {

Backend* StepwiseBackend();

}  // namespace xc

#endif  // XC_TESTS_STEPWISE_STEPWISE_BACKEND_H_
