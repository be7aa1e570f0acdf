#include "backends/gpu/libraries/mock_product.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "backends/gpu/libraries/cublaslt.h"
#include "hlo/float_types.h"

namespace xc::cublaslt::mock {
namespace {

int64_t SizeOf(int type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

// Whether the sum's type goes with the arrays' types.
bool TypesFit(const Product& p) {
  if (p.a.type != p.b.type) return false;
  switch (p.compute_type) {
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return p.scale_type == CUDA_R_64F && p.a.type == CUDA_R_64F && p.d.type == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return p.scale_type == CUDA_R_32F && p.a.type == CUDA_R_32F && p.d.type == CUDA_R_32F;
    case CUBLAS_COMPUTE_32F:
      return p.scale_type == CUDA_R_32F && (p.a.type == CUDA_R_16F || p.a.type == CUDA_R_16BF) &&
             (p.d.type == p.a.type || p.d.type == CUDA_R_32F);
    default:
      return false;
  }
}

bool IsMatrix(const Matrix& m) {
  return m.rows > 0 && m.columns > 0 && m.leading_dimension >= m.rows && m.batches > 0 && m.batch_stride >= 0;
}

double Load(int type, const char* memory, int64_t index) {
  const char* from = memory + index * SizeOf(type);
  const auto as = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return static_cast<double>(static_cast<float>(value));
  };
  if (type == CUDA_R_16F) return as(F16());
  if (type == CUDA_R_16BF) return as(BF16());
  if (type == CUDA_R_32F) return as(0.0f);
  double value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
void StoreAs(char* memory, int64_t index, T value) {
  std::memcpy(memory + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void Store(int type, char* memory, int64_t index, double value) {
  if (type == CUDA_R_64F) return StoreAs(memory, index, value);
  const float narrow = static_cast<float>(value);
  if (type == CUDA_R_32F) return StoreAs(memory, index, narrow);
  if (type == CUDA_R_16F) return StoreAs(memory, index, F16(narrow));
  StoreAs(memory, index, BF16(narrow));
}

template <typename T>
T SumOf(const T* x, const T* y, int64_t count) {
  T sum = 0;
  for (int64_t i = count; i-- > 0;) sum = std::fma(x[i], y[i], sum);
  return sum;
}

// Rows or columns of a factor, each contiguous along the terms.
template <typename T>
std::vector<T> Packed(const Matrix& m, const char* memory, int64_t batch, int64_t lines, int64_t terms,
                      bool lines_are_rows) {
  std::vector<T> packed(static_cast<size_t>(lines * terms));
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t term = 0; term < terms; ++term) {
      const int64_t row = lines_are_rows ? line : term, column = lines_are_rows ? term : line;
      packed[static_cast<size_t>(line * terms + term)] =
          static_cast<T>(Load(m.type, memory, batch * m.batch_stride + column * m.leading_dimension + row));
    }
  }
  return packed;
}

template <typename T>
void ComputeIn(const Product& p) {
  const int64_t terms = p.transpose_a ? p.a.rows : p.a.columns;
  for (int64_t batch = 0; batch < p.d.batches; ++batch) {
    const std::vector<T> a = Packed<T>(p.a, p.memory_a, batch, p.d.rows, terms, !p.transpose_a);
    const std::vector<T> b = Packed<T>(p.b, p.memory_b, batch, p.d.columns, terms, p.transpose_b);
    for (int64_t column = 0; column < p.d.columns; ++column) {
      for (int64_t row = 0; row < p.d.rows; ++row) {
        const T sum = SumOf<T>(&a[static_cast<size_t>(row * terms)], &b[static_cast<size_t>(column * terms)], terms);
        Store(p.d.type, p.memory_d, batch * p.d.batch_stride + column * p.d.leading_dimension + row, p.alpha * sum);
      }
    }
  }
}

struct Range {
  const char* begin;
  int64_t bytes;
  bool Overlaps(const Range& other) const { return begin < other.begin + other.bytes && other.begin < begin + bytes; }
};

}  // namespace

int64_t Matrix::ExtentBytes() const {
  return SizeOf(type) * ((batches - 1) * batch_stride + (columns - 1) * leading_dimension + rows);
}

bool Product::IsValid() const {
  if (!TypesFit(*this) || !IsMatrix(a) || !IsMatrix(b) || !IsMatrix(d)) return false;
  const int64_t a_terms = transpose_a ? a.rows : a.columns, b_terms = transpose_b ? b.columns : b.rows;
  const int64_t rows = transpose_a ? a.columns : a.rows, columns = transpose_b ? b.rows : b.columns;
  if (a_terms != b_terms || rows != d.rows || columns != d.columns) return false;
  if (a.batches != d.batches || b.batches != d.batches) return false;
  // Each batch of the result has memory of its own.
  return d.batches == 1 || d.batch_stride >= (d.columns - 1) * d.leading_dimension + d.rows;
}

uint64_t Product::Fingerprint() const {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211u; };
  for (const Matrix* m : {&a, &b, &d}) {
    for (int64_t value :
         {int64_t{m->type}, m->rows, m->columns, m->leading_dimension, int64_t{m->batches}, m->batch_stride}) {
      add(value);
    }
  }
  for (int value : {compute_type, scale_type, int{transpose_a}, int{transpose_b}}) add(value);
  return hash;
}

bool Product::SetScales(const void* alpha_at, const void* beta_at) {
  if (alpha_at == nullptr || beta_at == nullptr) return false;
  alpha = Load(scale_type, static_cast<const char*>(alpha_at), 0);
  return Load(scale_type, static_cast<const char*>(beta_at), 0) == 0;
}

bool Product::MemoryOverlaps() const {
  const Range first{memory_a, a.ExtentBytes()}, second{memory_b, b.ExtentBytes()}, result{memory_d, d.ExtentBytes()};
  const Range own{workspace, workspace_bytes};
  for (const Range& other : {first, second, result}) {
    if (own.bytes > 0 && own.Overlaps(other)) return true;
  }
  return result.Overlaps(first) || result.Overlaps(second);
}

void Product::Compute() const {
  if (workspace_bytes > 0) std::memset(workspace, 0xEE, static_cast<size_t>(workspace_bytes));
  compute_type == CUBLAS_COMPUTE_64F_PEDANTIC ? ComputeIn<double>(*this) : ComputeIn<float>(*this);
}

}  // namespace xc::cublaslt::mock
