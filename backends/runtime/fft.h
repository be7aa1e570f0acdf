// Fourier transforms of any length for generated code.
#ifndef XC_BACKENDS_RUNTIME_FFT_H_
#define XC_BACKENDS_RUNTIME_FFT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"

namespace xc {

// HLO's FftType numbers (which has that name in the same namespace).
enum class FftKind : int32_t { kFft = 0, kIfft = 1, kRfft = 2, kIrfft = 3 };

// Transforms over the last `rank` dimensions of dense row-major arrays [batch][length…]. kFft and kIfft (scaled by one
// over the number of points) are complex on both sides. kRfft takes real numbers and gives length / 2 + 1 complex ones
// in the last dimension; kIrfft is its inverse and ignores the imaginary parts that would have to be 0. Plain data, so
// that generated code can hold it as a constant.
struct FftDesc {
  int32_t type = 0;       // FftKind
  int32_t is_double = 0;  // f64 and c128; else f32 and c64
  int32_t rank = 1;       // 1 to 3
  int32_t unused = 0;
  int64_t batch = 1;
  int64_t length[3] = {1, 1, 1};  // of the transform: the real side's sizes for kRfft and kIrfft
};

// `out` may be `in` for kFft and kIfft and else must not overlap it. Does not depend on the number of threads.
absl::Status Fft(RunContext* ctx, const FftDesc& desc, const void* in, void* out);

}  // namespace xc

extern "C" int xc_rt_fft(void* ctx, const xc::FftDesc* desc, const void* in, void* out);

#endif  // XC_BACKENDS_RUNTIME_FFT_H_
