// Strided copies and offset walks.
#include "backends/interpreter/strided.h"

#include <algorithm>
#include <cstring>

namespace xc::interp {
namespace {

struct Bytes16 {
  uint64_t a, b;
};

// Calls f with a value of the unsigned type of `bytes` bytes.
template <typename F>
void WithElement(int bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

}  // namespace

Dims RowMajorStrides(absl::Span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

void Delinearize(int64_t linear, absl::Span<const int64_t> dims, int64_t* index) {
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = linear % dims[i];
    linear /= dims[i];
  }
}

StridedCopy::StridedCopy(int element_bytes, absl::Span<const int64_t> dims, absl::Span<const int64_t> from_strides,
                         absl::Span<const int64_t> to_strides)
    : element_bytes_(element_bytes) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) empty_ = true;
    if (dims[i] == 1) continue;
    const int64_t from = from_strides[i] * element_bytes, to = to_strides[i] * element_bytes;
    if (!dims_.empty() && from_.back() == from * dims[i] && to_.back() == to * dims[i]) {
      dims_.back() *= dims[i];
      from_.back() = from;
      to_.back() = to;
    } else {
      dims_.push_back(dims[i]);
      from_.push_back(from);
      to_.push_back(to);
    }
  }
}

void StridedCopy::Run(const uint8_t* from, uint8_t* to) const {
  if (empty_) return;
  if (dims_.empty()) {
    std::memcpy(to, from, element_bytes_);
  } else {
    RunDim(0, from, to);
  }
}

void StridedCopy::RunDim(size_t dim, const uint8_t* from, uint8_t* to) const {
  const int64_t n = dims_[dim], from_stride = from_[dim], to_stride = to_[dim];
  if (dim + 1 < dims_.size()) {
    // The two innermost dimensions in tiles, so that a transpose reads and writes whole cache lines.
    if (dim + 2 == dims_.size() && from_[dim + 1] != element_bytes_ && n >= 16 && dims_[dim + 1] >= 16) {
      const int64_t m = dims_[dim + 1], from_inner = from_[dim + 1], to_inner = to_[dim + 1];
      WithElement(element_bytes_, [&]<typename T>(T) {
        constexpr int64_t kTile = 16;
        for (int64_t i0 = 0; i0 < n; i0 += kTile) {
          const int64_t i1 = std::min(n, i0 + kTile);
          for (int64_t j0 = 0; j0 < m; j0 += kTile) {
            const int64_t j1 = std::min(m, j0 + kTile);
            for (int64_t i = i0; i < i1; ++i) {
              for (int64_t j = j0; j < j1; ++j) {
                std::memcpy(to + i * to_stride + j * to_inner, from + i * from_stride + j * from_inner, sizeof(T));
              }
            }
          }
        }
      });
      return;
    }
    for (int64_t i = 0; i < n; ++i) RunDim(dim + 1, from + i * from_stride, to + i * to_stride);
    return;
  }
  if (from_stride == element_bytes_ && to_stride == element_bytes_) {
    std::memcpy(to, from, n * element_bytes_);
    return;
  }
  WithElement(element_bytes_, [&]<typename T>(T) {
    if (from_stride == 0 && to_stride == sizeof(T)) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      std::fill_n(reinterpret_cast<T*>(to), n, value);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
  });
}

OffsetWalk::OffsetWalk(absl::Span<const int64_t> dims, std::vector<Dims> strides) : size_(Product(dims)) {
  // Neighbouring dimensions that are one run in every array become one.
  strides_.resize(strides.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    bool merge = !dims_.empty();
    for (size_t a = 0; merge && a < strides.size(); ++a) merge = strides_[a].back() == strides[a][i] * dims[i];
    if (merge) {
      dims_.back() *= dims[i];
      for (size_t a = 0; a < strides.size(); ++a) strides_[a].back() = strides[a][i];
    } else {
      dims_.push_back(dims[i]);
      for (size_t a = 0; a < strides.size(); ++a) strides_[a].push_back(strides[a][i]);
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    for (Dims& s : strides_) s.push_back(0);
  }
  Restart();
}

void OffsetWalk::Restart() {
  index_.assign(dims_.size(), 0);
  current_.assign(strides_.size(), 0);
}

void OffsetWalk::Seek(int64_t linear) {
  Delinearize(linear, dims_, index_.data());
  for (size_t a = 0; a < strides_.size(); ++a) {
    current_[a] = 0;
    for (size_t d = 0; d < dims_.size(); ++d) current_[a] += index_[d] * strides_[a][d];
  }
}

void OffsetWalk::Next(int64_t n, int64_t* const* offsets) {
  const size_t inner = dims_.size() - 1;
  int64_t done = 0;
  while (done < n) {
    const int64_t run = std::min(n - done, dims_[inner] - index_[inner]);
    for (size_t a = 0; a < strides_.size(); ++a) {
      const int64_t stride = strides_[a][inner], start = current_[a];
      int64_t* out = offsets[a] + done;
      for (int64_t i = 0; i < run; ++i) out[i] = start + i * stride;
      current_[a] += run * stride;
    }
    done += run;
    index_[inner] += run;
    // Carry into the outer dimensions.
    for (size_t d = inner; index_[d] == dims_[d];) {
      for (size_t a = 0; a < strides_.size(); ++a) current_[a] -= index_[d] * strides_[a][d];
      index_[d] = 0;
      if (d == 0) return;
      --d;
      ++index_[d];
      for (size_t a = 0; a < strides_.size(); ++a) current_[a] += strides_[a][d];
    }
  }
}

void GatherElements(int element_bytes, const uint8_t* base, int64_t offset, const int64_t* offsets, int64_t n,
                    uint8_t* out) {
  WithElement(element_bytes, [&]<typename T>(T) {
    const T* in = reinterpret_cast<const T*>(base) + offset;
    T* o = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = in[offsets[i]];
  });
}

void ScatterElements(int element_bytes, const uint8_t* in, int64_t n, uint8_t* base, int64_t offset,
                     const int64_t* offsets) {
  WithElement(element_bytes, [&]<typename T>(T) {
    const T* i_ = reinterpret_cast<const T*>(in);
    T* o = reinterpret_cast<T*>(base) + offset;
    for (int64_t i = 0; i < n; ++i) o[offsets[i]] = i_[i];
  });
}

}  // namespace xc::interp
