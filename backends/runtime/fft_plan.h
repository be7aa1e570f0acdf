// Plans of transforms: radixes, twiddle factors, chirps; made once for each length and kept.
#ifndef XC_BACKENDS_RUNTIME_FFT_PLAN_H_
#define XC_BACKENDS_RUNTIME_FFT_PLAN_H_

#include <memory>
#include <vector>

#include "backends/runtime/fft_kernels.h"

namespace xc {

// A plan with the memory that it points to.
template <typename T>
struct OwnedFftPlan {
  FftPlan<T> plan;
  std::vector<FftPass<T>> passes;
  std::vector<std::vector<T>> tables;
  std::shared_ptr<const OwnedFftPlan> inner;
};

// The plan for n >= 1 points; from a cache of the lengths used last.
template <typename T>
std::shared_ptr<const OwnedFftPlan<T>> GetFftPlan(int64_t n);

// cos and sin of -2 pi k / n, correctly reduced.
void UnitRoot(int64_t k, int64_t n, double* re, double* im);

const FftKernels& BestFftKernels();

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FFT_PLAN_H_
