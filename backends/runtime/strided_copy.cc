// Copies as loops over merged dimensions: the innermost two are those along which source and destination are
// contiguous, walked in blocks that fit the cache.
#include "backends/runtime/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/container/inlined_vector.h"

namespace xc {
namespace {

struct Dim {
  int64_t size, from, to;
};
using Dims = absl::InlinedVector<Dim, 8>;

struct alignas(8) Bytes16 {
  uint64_t low, high;
};

template <typename T>
void CopyPlane(const T* from, T* to, const Dim& outer, const Dim& inner) {
  constexpr int64_t kBlock = 32;
  if (inner.from == 1 && inner.to == 1) {
    for (int64_t i = 0; i < outer.size; ++i) {
      std::memcpy(to + i * outer.to, from + i * outer.from, inner.size * sizeof(T));
    }
    return;
  }
  for (int64_t i0 = 0; i0 < outer.size; i0 += kBlock) {
    const int64_t i1 = std::min(outer.size, i0 + kBlock);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kBlock) {
      const int64_t j1 = std::min(inner.size, j0 + kBlock);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) {
          to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
        }
      }
    }
  }
}

template <typename T>
void Copy(RunContext* ctx, const Dims& dims, const T* from, T* to) {
  const Dim inner = dims[dims.size() - 1], outer = dims[dims.size() - 2];
  // The outer dimension of the plane is cut as well, so that a single plane runs in parallel.
  const int64_t rows = std::max<int64_t>(32, (int64_t{64} << 10) / std::max<int64_t>(1, inner.size));
  const int64_t cuts = (outer.size - 1) / rows + 1;
  int64_t planes = 1;
  for (size_t d = 0; d + 2 < dims.size(); ++d) planes *= dims[d].size;
  const int64_t work = std::min(outer.size, rows) * inner.size;
  ctx->ParallelFor(planes * cuts, std::max<int64_t>(1, (int64_t{64} << 10) / work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t plane = t / cuts;
      const int64_t cut = t % cuts * rows;
      int64_t from_at = cut * outer.from, to_at = cut * outer.to;
      for (int d = static_cast<int>(dims.size()) - 3; d >= 0; --d) {
        from_at += plane % dims[d].size * dims[d].from;
        to_at += plane % dims[d].size * dims[d].to;
        plane /= dims[d].size;
      }
      Dim part = outer;
      part.size = std::min(rows, outer.size - cut);
      CopyPlane(from + from_at, to + to_at, part, inner);
    }
  });
}

}  // namespace

void RowMajorStrides(absl::Span<const int64_t> dims, int64_t* strides) {
  int64_t stride = 1;
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
}

void StridedCopy(RunContext* ctx, absl::Span<const int64_t> dims, int64_t element_size, const void* from,
                 absl::Span<const int64_t> from_strides, void* to, absl::Span<const int64_t> to_strides) {
  Dims sorted;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) return;
    if (dims[d] > 1) sorted.push_back({dims[d], from_strides[d], to_strides[d]});
  }
  // In the destination's order, adjacent dimensions that both sides walk with one stride are merged.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Dim& a, const Dim& b) { return std::llabs(a.to) > std::llabs(b.to); });
  Dims merged;
  for (const Dim& dim : sorted) {
    if (!merged.empty() && merged.back().from == dim.from * dim.size && merged.back().to == dim.to * dim.size) {
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    } else {
      merged.push_back(dim);
    }
  }
  while (merged.size() < 2) merged.insert(merged.begin(), Dim{1, 0, 0});
  // The dimension along which the source is contiguous comes next to the innermost one.
  const auto nearest = std::min_element(merged.begin(), merged.end() - 1, [](const Dim& a, const Dim& b) {
    const int64_t x = a.from == 0 ? INT64_MAX : std::llabs(a.from), y = b.from == 0 ? INT64_MAX : std::llabs(b.from);
    return x < y;
  });
  if (merged.back().from != 1) std::rotate(nearest, nearest + 1, merged.end() - 1);
  switch (element_size) {
    case 1:
      return Copy(ctx, merged, static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
    case 2:
      return Copy(ctx, merged, static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to));
    case 4:
      return Copy(ctx, merged, static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
    case 8:
      return Copy(ctx, merged, static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
    default:
      return Copy(ctx, merged, static_cast<const Bytes16*>(from), static_cast<Bytes16*>(to));
  }
}

}  // namespace xc
