// cholesky and triangular-solve, computed in f64 or complex f64 by their textbook recurrences.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "backends/interpreter/lanes.h"
#include "backends/interpreter/numeric.h"
#include "backends/interpreter/strided.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

std::vector<Complex> Values(const Literal& literal) {
  std::vector<Complex> values(literal.size());
  GetLoad<Complex>(literal.shape().type())(literal.bytes(), 0, 1, literal.size(), values.data());
  return values;
}

Literal FromValues(const Shape& shape, const std::vector<Complex>& values) {
  Literal literal(shape);
  GetStore<Complex>(shape.type())(values.data(), literal.size(), literal.mutable_bytes(), 0);
  return literal;
}

// The lower factor of the Hermitian n x n matrix `a`, in place; the other triangle becomes 0. A matrix that is not
// positive definite gives NaN everywhere.
void Factor(int64_t n, Complex* a) {
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = a[j * n + j].real();
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(a[j * n + k]);
    if (!(diagonal > 0)) {
      std::fill_n(a, n * n, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    const double root = std::sqrt(diagonal);
    a[j * n + j] = root;
    for (int64_t i = j + 1; i < n; ++i) {
      Complex sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * std::conj(a[j * n + k]);
      a[i * n + j] = sum / root;
    }
    for (int64_t k = j + 1; k < n; ++k) a[j * n + k] = 0;
  }
}

}  // namespace

OpResult Cholesky(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Shape& shape = instruction.shape();
  const int64_t n = shape.dim(shape.rank() - 1);
  const bool lower = instruction.attr_or<AttrKind::kLower>(false);
  std::vector<Complex> a = Values(operands[0]);
  std::vector<Complex> work(n * n);
  for (int64_t start = 0; start < static_cast<int64_t>(a.size()); start += n * n) {
    XC_RETURN_IF_ERROR(context.CheckTime());
    Complex* matrix = &a[start];
    // The lower triangle, or the upper one transposed; the factor of `upper` is the adjoint of the lower one.
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) work[i * n + j] = lower ? matrix[i * n + j] : std::conj(matrix[j * n + i]);
    }
    Factor(n, work.data());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) matrix[i * n + j] = lower ? work[i * n + j] : std::conj(work[j * n + i]);
    }
  }
  return FromValues(shape, a);
}

OpResult TriangularSolve(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Shape &a_shape = operands[0].shape(), &shape = instruction.shape();
  const bool left = instruction.attr_or<AttrKind::kLeftSide>(false);
  const bool unit = instruction.attr_or<AttrKind::kUnitDiagonal>(false);
  const TriangularTranspose transpose = instruction.attr_or<AttrKind::kTransposeA>(TriangularTranspose::kNo);
  const bool turned = transpose == TriangularTranspose::kTranspose || transpose == TriangularTranspose::kAdjoint;
  // op(A) X = B, or X op(A) = B, which is op(A)ᵀ Xᵀ = Bᵀ: solved for each column (or row) of B by itself.
  const bool swap = turned == left;
  const bool lower = instruction.attr_or<AttrKind::kLower>(false) != swap;
  const int64_t n = a_shape.dim(a_shape.rank() - 1);
  const int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
  const int64_t vectors = left ? columns : rows;
  const int64_t step = left ? columns : 1, next = left ? 1 : columns;
  const std::vector<Complex> a = Values(operands[0]);
  std::vector<Complex> b = Values(operands[1]);
  if (n == 0 || b.empty()) return FromValues(shape, b);
  const int64_t batches = static_cast<int64_t>(b.size()) / (rows * columns);
  for (int64_t batch = 0; batch < batches; ++batch) {
    const Complex* matrix = &a[batch * n * n];
    const auto at = [&](int64_t i, int64_t j) {
      const Complex value = swap ? matrix[j * n + i] : matrix[i * n + j];
      return transpose == TriangularTranspose::kAdjoint ? std::conj(value) : value;
    };
    for (int64_t v = 0; v < vectors; ++v) {
      XC_RETURN_IF_ERROR(context.CheckTime());
      Complex* x = &b[batch * rows * columns + v * next];
      for (int64_t s = 0; s < n; ++s) {
        const int64_t i = lower ? s : n - 1 - s;
        Complex sum = x[i * step];
        for (int64_t t = 0; t < s; ++t) {
          const int64_t j = lower ? t : n - 1 - t;
          sum -= at(i, j) * x[j * step];
        }
        x[i * step] = unit ? sum : sum / at(i, i);
      }
    }
  }
  return FromValues(shape, b);
}

}  // namespace xc::interp
