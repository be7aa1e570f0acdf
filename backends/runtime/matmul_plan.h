// How a matrix product is cut into tasks.
#ifndef XC_BACKENDS_RUNTIME_MATMUL_PLAN_H_
#define XC_BACKENDS_RUNTIME_MATMUL_PLAN_H_

#include <algorithm>

#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/matmul.h"

namespace xc {

// Bytes of the right operand.
inline int64_t RightBytes(const MatmulDesc& d) { return d.n * d.k * SizeOf(static_cast<RtType>(d.b_type)); }

// How many batches, rows, columns and steps of the sum one task takes. Parts of sums depend on the shape and the CPU
// alone.
struct Plan {
  int64_t batch, m, n, k;
  int64_t m_tiles, n_tiles, k_tiles, batch_tiles;
};

// Whether sums of parts of a sum are as exact as the result's type.
inline bool KeepsSums(RtType c) {
  return c == RtType::kF32 || c == RtType::kF64 || c == RtType::kC64 || c == RtType::kC128;
}

// The rows that a task of the library's takes at least, where each part of the rows has `parts` tasks. Each task
// reads its columns of the right operand from memory, and the library copies them where their rows are a multiple of a
// page apart: the more rows share that the better, as long as there are `tasks` for several threads.
inline int64_t RowsOfTask(int64_t m, int64_t parts, int64_t tasks) {
  constexpr int64_t kMost = 256, kLeast = 64;
  int64_t rows = kMost;
  while (rows > kLeast && parts * (m / rows) < tasks) rows /= 2;
  return rows;
}

inline Plan MakePlan(const MatmulDesc& d, int64_t batches, bool onednn, bool one_thread) {
  constexpr int64_t kTileFlops = int64_t{4} << 20;
  constexpr int64_t kMaxTiles = 64, kSmallTiles = 4, kSmallTileFlops = int64_t{1} << 20;
  const RtType type = static_cast<RtType>(d.c_type);
  // The library has its best kernels for bytes (AMX) only where the right operand is dense, and packs that each time.
  const bool bytes = onednn && SizeOf(static_cast<RtType>(d.b_type)) == 1;
  // What a product costs, in those of f32. Processors multiply bf16 by tiles, ten times as fast.
  const bool halves = onednn && SizeOf(static_cast<RtType>(d.b_type)) == 2;
  const double weight = onednn ? (halves ? 0.125 : 1)
                               : (type == RtType::kC128  ? 8
                                  : type == RtType::kC64 ? 4
                                  : SizeOf(type) == 8    ? 2
                                                         : 1);
  const double flops = weight * 2.0 * d.m * d.n * std::max<int64_t>(d.k, 16);
  const double total = flops * batches;
  // A product of a few rows moves a byte for each two operations: smaller tasks pay.
  const double tile_flops = d.m <= kSkinnyRows ? kTileFlops / 16 * d.m : kTileFlops;
  // Small products make smaller tasks, for up to four threads.
  const double small = std::min<double>(kSmallTiles, total / kSmallTileFlops);
  const int64_t tiles = static_cast<int64_t>(std::clamp<double>(std::max(total / tile_flops, small), 1, kMaxTiles));
  Plan plan{batches, d.m, d.n, d.k, 1, 1, 1, 1};
  // Batches that share one stride go to one call; others one by one.
  const int64_t inner = d.num_batch_dims == 0 ? 1 : d.batch[d.num_batch_dims - 1];
  plan.batch = inner;
  if (batches / inner < tiles) plan.batch = std::max<int64_t>(1, (batches + tiles - 1) / tiles);
  plan.batch = std::min(plan.batch, inner);
  plan.batch_tiles = batches / inner * ((inner - 1) / plan.batch + 1);
  if (plan.batch_tiles < tiles) {
    int64_t left = (tiles + plan.batch_tiles - 1) / plan.batch_tiles;
    // Wide tiles reuse packed rows; columns are cut first while they are many, then rows. Our own kernels pack both
    // operands for each tile: tiles of whole panels, and not too small.
    const bool own = !onednn && d.m > kSkinnyRows;
    // A few rows: long runs of memory, unless it is read from a cache.
    constexpr int64_t kCached = int64_t{3} << 20;
    const bool skinny = d.m <= kSkinnyRows;
    const int64_t n_step = !skinny ? (halves ? 256 : 128) : d.b_n != 1 ? 64 : RightBytes(d) <= kCached ? 256 : 512;
    const int64_t n_grain = own ? 48 : skinny ? 32 : n_step;
    const int64_t most_n = bytes ? 1 : left;
    int64_t n_parts = std::clamp<int64_t>(d.n / std::max(n_step, std::min<int64_t>(d.m, 256)), 1, most_n);
    if (skinny && n_parts > 1) n_parts += n_parts % 2;
    plan.n = ((d.n + n_parts - 1) / n_parts + n_grain - 1) / n_grain * n_grain;
    plan.n = std::min(plan.n, d.n);
    n_parts = (d.n - 1) / plan.n + 1;
    left = (left + n_parts - 1) / n_parts;
    const int64_t rows = RowsOfTask(d.m, n_parts * plan.batch_tiles, halves ? 3 : 8);
    const int64_t m_step = own ? 128 : bytes ? std::max<int64_t>(32, d.m / 4) : rows;
    const int64_t m_grain = own ? 24 : bytes ? m_step : 64;
    const int64_t m_parts = std::clamp<int64_t>(d.m / m_step, 1, left);
    plan.m = std::min(d.m, ((d.m + m_parts - 1) / m_parts + m_grain - 1) / m_grain * m_grain);
  }
  plan.m_tiles = (d.m - 1) / plan.m + 1;
  plan.n_tiles = (d.n - 1) / plan.n + 1;
  // A small result of long sums: tasks take parts of the sums.
  constexpr int64_t kMaxSumTiles = 16, kMinSum = 512;
  if (batches == 1 && plan.m_tiles * plan.n_tiles == 1 && tiles > 1 && d.k >= 2 * kMinSum && KeepsSums(type)) {
    const int64_t parts = std::min({tiles, kMaxSumTiles, d.k / kMinSum});
    plan.k = (d.k - 1) / parts + 1;
    plan.k_tiles = (d.k - 1) / plan.k + 1;
  }
  // Alone, a thread packs each operand once: what an element's sum is does not depend on the tile that it is in.
  if (one_thread && (!onednn || bytes) && d.m > kSkinnyRows) {
    plan.m = d.m;
    plan.n = d.n;
    plan.m_tiles = plan.n_tiles = 1;
  }
  return plan;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_MATMUL_PLAN_H_
