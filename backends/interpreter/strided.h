// Walks over multi-dimensional index spaces: strided copies, and offsets of several arrays computed run by run.
#ifndef XC_BACKENDS_INTERPRETER_STRIDED_H_
#define XC_BACKENDS_INTERPRETER_STRIDED_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace xc::interp {

using Dims = std::vector<int64_t>;

// Strides, in elements, of a row-major array.
Dims RowMajorStrides(absl::Span<const int64_t> dims);
int64_t Product(absl::Span<const int64_t> dims);
// The multi-index of row-major position `linear`.
void Delinearize(int64_t linear, absl::Span<const int64_t> dims, int64_t* index);

// Copies an index space of elements between two strided places. Strides are in elements and may be 0 or negative.
class StridedCopy {
 public:
  StridedCopy(int element_bytes, absl::Span<const int64_t> dims, absl::Span<const int64_t> from_strides,
              absl::Span<const int64_t> to_strides);
  // `from` and `to` are the places of index (0, …, 0). They must not overlap.
  void Run(const uint8_t* from, uint8_t* to) const;

 private:
  void RunDim(size_t dim, const uint8_t* from, uint8_t* to) const;

  int element_bytes_;
  bool empty_ = false;
  Dims dims_, from_, to_;  // merged dimensions; strides in bytes
};

// Steps through an index space in row-major order and gives, for up to `count` indices at a time, the offset of each in
// `arrays` strided arrays.
class OffsetWalk {
 public:
  // strides[a] are the strides of array a.
  OffsetWalk(absl::Span<const int64_t> dims, std::vector<Dims> strides);
  int64_t size() const { return size_; }
  void Restart();
  // Continues at row-major position `linear`.
  void Seek(int64_t linear);
  // Writes the next `n` offsets of array a to offsets[a]. n must not pass the end.
  void Next(int64_t n, int64_t* const* offsets);

 private:
  Dims dims_;
  std::vector<Dims> strides_;
  Dims index_;
  std::vector<int64_t> current_;
  int64_t size_;
};

// Elements at base[offset + offsets[i]] to a dense array, and back.
void GatherElements(int element_bytes, const uint8_t* base, int64_t offset, const int64_t* offsets, int64_t n,
                    uint8_t* out);
void ScatterElements(int element_bytes, const uint8_t* in, int64_t n, uint8_t* base, int64_t offset,
                     const int64_t* offsets);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_STRIDED_H_
