// Matrix kernels of our own, compiled once for each instruction set (x86-64-v2, v3, v4) and chosen at run time. They
// serve the types that oneDNN lacks, machines where it has no kernel, and products bound by memory bandwidth.
#ifndef XC_BACKENDS_RUNTIME_GEMM_KERNELS_H_
#define XC_BACKENDS_RUNTIME_GEMM_KERNELS_H_

#include "backends/runtime/types.h"

namespace xc {

// C[m, n] = sum over k of A[m, k] * B[k, n], all with strides in elements. Sums are kept in f32 for f16, bf16 and f32,
// in the type itself for f64 and complex, in 32 bits (wrapping) for integers whose result has at most 32 bits, else in
// 64 bits. The order of each sum depends on the shape alone.
struct GemmTile {
  RtType a_type, b_type, c_type;
  int64_t m, n, k;
  const void* a;
  int64_t a_m, a_k;
  const void* b;
  int64_t b_k, b_n;
  void* c;
  int64_t c_m, c_n;
  // Columns of the whole product, of which the tile may have some; 0 if that is not known.
  int64_t all_n = 0;
};

// Taps of a sum of lines: `taps` of them, each `in_step` elements of `in` and `weight_step` of `weights` behind the one
// before.
struct LineRun {
  const void* in;
  const void* weights;
};

// A tile of a convolution's result: `rows` positions by `columns` features, each a sum over runs of neighbours in the
// input.
inline constexpr int64_t kDirectBlockBytes = 64;  // of the features in one block of packed weights
inline constexpr int64_t kMostDirectRows = 14;
struct DirectRun {
  int64_t weights;                      // where a block's weights of the run begin, in elements
  int64_t distance;                     // bytes from each row's elements to the next row's; -1: places says where
  const void* places[kMostDirectRows];  // where each row's elements are; with a distance, the first row's only
};
struct DirectTile {
  RtType type;
  int64_t rows, columns;  // at most direct_rows, and direct_blocks blocks
  const DirectRun* runs;
  int64_t num_runs, run_length;
  // Blocks of features, each [run length, …, features of a block], the first one and how many elements lie between two.
  const void* weights;
  int64_t weight_block;
  void* out;
  int64_t out_row;  // elements between rows; columns are neighbours
};

struct GemmKernels {
  // Bytes of scratch (64-byte aligned) that gemm needs for `tile`; -1 when it does not have these types.
  int64_t (*gemm_scratch)(const GemmTile& tile);
  void (*gemm)(const GemmTile& tile, void* scratch);
  // Of at most so many rows, gemm reads a B that is contiguous along n where it lies, without a copy.
  int64_t unpacked_rows;
  // A few rows (m <= kSkinnyRows) against a large B that is contiguous along n or k; types f64, or f32, bf16 or f16,
  // any of the three for A, B and C. Reads B once. False when it does not take the tile. `scratch`: 64-byte aligned, 8
  // * m * k + 64 * m bytes.
  bool (*skinny)(const GemmTile& tile, void* scratch);
  // A run of `count` products of f32, f64 or integers, whose columns and terms are at most kTinySize each: product i
  // lies i times the strides (in elements) behind `tile`'s arrays. False when it does not take them.
  bool (*tiny)(const GemmTile& tile, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch);
  // y = y * u^-1 for `rows` x n numbers y and the upper triangle u (with `unit` its diagonal is 1 and not read), both
  // column-major; n is at most kSolveSize. What a row becomes does not depend on the others. False when it does not
  // take the type.
  bool (*solve)(RtType type, int64_t n, const void* u, int64_t ldu, bool unit, int64_t rows, void* y, int64_t ldy);
  // c -= a * b, for column-major rows x k numbers a, k x columns numbers b, and k of at most kSolveSize. What a row
  // becomes does not depend on the others. False when it does not take the type or k.
  bool (*subtract)(RtType type, int64_t rows, int64_t columns, int64_t k, const void* a, int64_t lda, const void* b,
                   int64_t ldb, void* c, int64_t ldc);
  // c = (I - tau * v * v^T) * c with v = (1, tail), for column-major c of n + 1 rows. False when it does not take the
  // type (f32 and f64).
  bool (*reflect)(RtType type, int64_t n, const void* tail, const void* tau, int64_t columns, void* c, int64_t ldc);
  // out[y] = sum over runs and their taps t of in[y + t * in_step] * weights[t * weight_step], for y < count, in that
  // order. False when it does not take the type (f32, f64, complex numbers of them, integers of 32 and 64 bits) or a
  // count below kLineCount.
  bool (*lines)(RtType type, const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step,
                int64_t count, void* out);
  // Each element is summed run by run, in the order of their elements. False when it does not take the type (f32 and
  // f64). The most rows and blocks of features of a tile: what fits into registers.
  bool (*direct)(const DirectTile& tile);
  int64_t direct_rows, direct_blocks;
  // Tiles of convolutions whose features are groups of their own: a run has one element for each of the tile's columns,
  // of which there may be any number, and so have its weights. At most channel_rows rows, or any number where all runs
  // have a distance. False as above.
  bool (*channels)(const DirectTile& tile);
  int64_t channel_rows;
};

inline constexpr int64_t kSkinnyRows = 4;
inline constexpr int64_t kTinySize = 16;
inline constexpr int64_t kSolveSize = 64;
inline constexpr int64_t kLineCount = 16;

// The best kernels for this CPU.
const GemmKernels& BestGemmKernels();

namespace gemm_v2 {
extern const GemmKernels kKernels;
}
namespace gemm_v3 {
extern const GemmKernels kKernels;
}
namespace gemm_v4 {
extern const GemmKernels kKernels;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_GEMM_KERNELS_H_
