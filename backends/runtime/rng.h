// The generators of HLO's rng-bit-generator, bit for bit as XLA's CPU backend has them, and numbers for rng.
#ifndef XC_BACKENDS_RUNTIME_RNG_H_
#define XC_BACKENDS_RUNTIME_RNG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

// HLO's RandomAlgorithm numbers.
enum class RngAlgorithm : int32_t { kDefault = 0, kThreeFry = 1, kPhilox = 2 };

inline constexpr int kMaxRngRank = 16;

// Plain data, so that generated code can hold it as a constant.
struct RngDesc {
  int32_t algorithm = 0;      // RngAlgorithm; the default is Philox
  int32_t element_bytes = 4;  // 1, 2, 4 or 8; narrow elements are the low bits of 32-bit words
  int32_t state_words = 2;    // 64-bit words of state: 2 (key, counter) or, for Philox, 3 (a counter of 128 bits)
  int32_t rank = 0;
  int64_t dims[kMaxRngRank] = {};
};

// Fills `out`, row-major. ThreeFry2x32 (20 rounds) makes two words from each count: the halves of the array along the
// first even dimension (else the first largest), interleaved. Philox4x32 (10 rounds) makes four consecutive words.
// `state_out` is the state with the counter advanced by the counts used; it may be `state_in`.
absl::Status RngBitGenerator(RunContext* ctx, const RngDesc& desc, const uint64_t* state_in, uint64_t* state_out,
                             void* out);

// For the rng instruction, from the context's state: n numbers of `type` (f16, bf16, f32, f64, or for uniform ones
// integers and pred too), uniform in [a, b), or normal with mean a and deviation b. `a` and `b` point to one element.
absl::Status RngUniform(RunContext* ctx, RtType type, int64_t n, const void* a, const void* b, void* out);
absl::Status RngNormal(RunContext* ctx, RtType type, int64_t n, const void* a, const void* b, void* out);

}  // namespace xc

extern "C" {
int xc_rt_rng_bit_generator(void* ctx, const xc::RngDesc* desc, const void* state_in, void* state_out, void* out);
int xc_rt_rng_uniform(void* ctx, int32_t type, int64_t n, const void* a, const void* b, void* out);
int xc_rt_rng_normal(void* ctx, int32_t type, int64_t n, const void* a, const void* b, void* out);
}

#endif  // XC_BACKENDS_RUNTIME_RNG_H_
