// What host kernels of sparse tensors share: indices read and checked, and written; arithmetic by type.
#ifndef XC_JIT_KERNELS_SPARSE_COORDINATES_H_
#define XC_JIT_KERNELS_SPARSE_COORDINATES_H_

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {

// A sparse tensor's indices, [n, rank], and shape, checked against each other.
struct Coordinates {
  int64_t n = 0, rank = 0;
  std::vector<int64_t> at;  // n * rank
  Dims shape;

  const int64_t* row(int64_t i) const { return at.data() + i * rank; }
  bool Less(int64_t i, int64_t j) const {
    return std::lexicographical_compare(row(i), row(i) + rank, row(j), row(j) + rank);
  }
};

inline absl::StatusOr<Coordinates> ReadCoordinates(KernelContext& c, int indices, int shape) {
  Coordinates s;
  if (c.in(indices).rank() != 2 || c.in(shape).rank() != 1) return c.Error("indices must be a matrix, shape a vector");
  s.n = c.in(indices).dims()[0];
  s.rank = c.in(indices).dims()[1];
  XC_ASSIGN_OR_RETURN(s.at, c.Ints(indices));
  XC_ASSIGN_OR_RETURN(s.shape, c.Ints(shape));
  if (static_cast<int64_t>(s.shape.size()) != s.rank) return c.Error("indices and shape differ in rank");
  for (int64_t d : s.shape) {
    if (d < 0) return c.Error("the shape has a negative dimension");
  }
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t d = 0; d < s.rank; ++d) {
      if (s.row(i)[d] < 0 || s.row(i)[d] >= s.shape[d]) {
        return c.Error(
            absl::StrCat("index ", s.row(i)[d], " of entry ", i, " is out of bounds for ", DimsToString(s.shape)));
      }
    }
  }
  return s;
}

// Gives the indices `at`, rank numbers each, as an output.
inline absl::Status SetIndices(KernelContext& c, int output, const std::vector<int64_t>& at, int64_t rank) {
  int64_t n = rank == 0 ? 0 : static_cast<int64_t>(at.size()) / rank;
  XC_ASSIGN_OR_RETURN(c.outputs[output], c.Alloc(output, {n, rank}));
  std::copy(at.begin(), at.end(), c.outputs[output].data<int64_t>());
  return absl::OkStatus();
}

// Calls `fn` with a value of the C++ type of the values.
template <typename Fn>
absl::Status ForType(DataType type, Fn fn) {
  switch (type) {
    case DT_FLOAT:
      return fn(float{});
    case DT_DOUBLE:
      return fn(double{});
    case DT_INT32:
      return fn(int32_t{});
    case DT_INT64:
      return fn(int64_t{});
    default:
      return absl::UnimplementedError("sparse arithmetic of that type");
  }
}

}  // namespace xc

#endif  // XC_JIT_KERNELS_SPARSE_COORDINATES_H_
