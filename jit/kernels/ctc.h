// Connectionist temporal classification: labels of sequences that are not aligned with their steps.
#ifndef XC_JIT_KERNELS_CTC_H_
#define XC_JIT_KERNELS_CTC_H_

#include "jit/kernels/kernel.h"

namespace xc {

void RegisterCtcKernels(KernelRegistry& r);

}  // namespace xc

#endif  // XC_JIT_KERNELS_CTC_H_
