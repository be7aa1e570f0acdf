// Stable sorts of several arrays along one dimension, and top-k, for generated code.
#ifndef XC_BACKENDS_RUNTIME_SORT_H_
#define XC_BACKENDS_RUNTIME_SORT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

inline constexpr int kMaxSortArrays = 32;

// What the comparator does, as far as the sort can do it faster than by calling it.
enum class SortKey : int32_t {
  kComparator = 0,  // call it
  kLess = 1,        // compares one array's elements: integers and bools by value, floats by `<` with NaN last (a
                    // comparator that is no order for NaN leaves their place open)
  kTotalOrder = 2,  // floats in IEEE's total order: -NaN < -inf < … < -0 < +0 < … < inf < NaN
  kNanLast = 3,     // floats with -0 equal to +0 and all NaN equal and largest, as jax.lax.sort compares
};

// Arrays of equal dimensions and layout, in memory [outer][n][inner]; the dimension of size n is sorted. Plain data, so
// that generated code can hold it as a constant (field order and types are part of the interface).
struct SortDesc {
  int32_t num_arrays = 1;
  int32_t key = 0;         // SortKey
  int32_t key_array = 0;   // the array that the comparator looks at, unless kComparator
  int32_t descending = 0;  // the comparator is `>`; equal elements keep their order in any case
  int64_t outer = 1, n = 0, inner = 1;
  int32_t types[kMaxSortArrays] = {};  // RtType
};

// Whether the elements that operands[2 * i] point to (i: array) come before those at operands[2 * i + 1].
using SortComparator = bool (*)(void* env, const void* const* operands);

// Sorts stably; `out` arrays are the `in` arrays or do not overlap them. The result does not depend on the number of
// threads, even when the comparator is no order. The comparator is called from several threads at once.
absl::Status Sort(RunContext* ctx, const SortDesc& desc, const void* const* in, void* const* out,
                  SortComparator less = nullptr, void* env = nullptr);

// The k largest (or smallest) of each of `rows` rows of n contiguous elements, in order, and their indices; floats in
// IEEE's total order, equal elements by ascending index. Values: [rows][k]; indices: s32[rows][k].
struct TopKDesc {
  int32_t type = 0;  // RtType
  int32_t largest = 1;
  int64_t rows = 1, n = 0, k = 0;
};
absl::Status TopK(RunContext* ctx, const TopKDesc& desc, const void* in, void* values, int32_t* indices);

}  // namespace xc

extern "C" {
int xc_rt_sort(void* ctx, const xc::SortDesc* desc, const void* const* in, void* const* out, xc::SortComparator less,
               void* env);
int xc_rt_top_k(void* ctx, const xc::TopKDesc* desc, const void* in, void* values, int32_t* indices);
}

#endif  // XC_BACKENDS_RUNTIME_SORT_H_
