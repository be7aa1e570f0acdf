// Products of bytes by the machine's dot products of four bytes (AVX512-VNNI), exact modulo 2^32: for small or deep
// products, where oneDNN's kernels spend more on bringing operands into their order, and for types that it lacks.
#ifndef XC_BACKENDS_RUNTIME_GEMM_BYTES_H_
#define XC_BACKENDS_RUNTIME_GEMM_BYTES_H_

#include "absl/status/status.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc {

// Contracted bytes that oneDNN's kernels may sum at once: sums pass through f32, which has all integers up to 2^24.
inline int64_t MostBytes(RtType a) { return (int64_t{1} << 24) / (128 * (a == RtType::kU8 ? 256 : 128)); }

// Whether the machine has such instructions, and the types are s8 or u8 with a result of 8 or 32 bits.
bool HasByteProduct(const GemmTile& t);
absl::Status ByteProduct(const GemmTile& t);

// Whether it is, and small, and one that oneDNN spends longer on: of sums of more than `most` terms, which it is given
// in parts, or (one of `several`) of rows that do not follow each other, as those of heads of attention, which it
// copies.
bool PrefersByteProduct(const GemmTile& t, bool several, int64_t most);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_GEMM_BYTES_H_
