// Batched cholesky and triangular-solve over dense.h, copying each matrix, or its transpose, to column-major form and
// back.
#include "backends/runtime/linalg.h"

#include <atomic>
#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/runtime/dense.h"
#include "backends/runtime/small_solve.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Runs one(i) for each matrix: in parallel when there are several small ones, else each with all threads.
template <typename One>
absl::Status ForBatch(RunContext* ctx, int64_t batch, int64_t n, One one) {
  if (batch == 1 || (n >= 512 && batch < 2 * ctx->num_threads())) {
    for (int64_t i = 0; i < batch; ++i) XC_RETURN_IF_ERROR(one(i));
    return absl::OkStatus();
  }
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      absl::Status status = one(i);
      if (!status.ok() && !failed.exchange(true)) error = status;
    }
  });
  return error;
}

template <typename T>
absl::Status CholeskyOf(RunContext* ctx, const CholeskyDesc& d, const T* in, T* out) {
  return ForBatch(ctx, d.batch, d.n, [&](int64_t batch) -> absl::Status {
    const T* from = in + batch * d.in[0];
    T* to = out + batch * d.out[0];
    const int64_t n = d.n;
    OwnedMatrix<T> a(n, n);
    // Of an upper triangle the adjoint is factored, and the factor's adjoint given.
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        a(i, j) = d.lower ? from[i * d.in[1] + j * d.in[2]] : Conj(from[j * d.in[1] + i * d.in[2]]);
      }
    }
    int32_t info;
    XC_RETURN_IF_ERROR(CholeskyLower<T>(ctx, a, &info));
    const T nan(std::numeric_limits<Real<T>>::quiet_NaN());
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        T& x = to[i * d.out[1] + j * d.out[2]];
        if (info != 0) {
          x = nan;
        } else if (d.lower) {
          x = i >= j ? a(i, j) : T(0);
        } else {
          x = i <= j ? Conj(a(j, i)) : T(0);
        }
      }
    }
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status TriangularSolveOf(RunContext* ctx, const TriangularSolveDesc& d, const T* a, const T* b, T* out) {
  // Matrices are copied as their transposes, since arrays mostly have their rows in memory one after the other:
  // op(A) X = B is X^T op(A^T) = B^T.
  const int64_t n = d.left_side ? d.rows : d.cols;
  const MatrixOp op =
      d.transpose_a == 2 ? MatrixOp::kTranspose : (d.transpose_a == 3 ? MatrixOp::kAdjoint : MatrixOp::kNone);
  // X op(A) = B is op(A)^T X^T = B^T.
  const bool turned = (op != MatrixOp::kNone) != (d.left_side == 0);
  const auto strides = [](const int64_t* s, bool swap) {
    return swap ? SmallStrides{s[2], s[1]} : SmallStrides{s[1], s[2]};
  };
  const SmallSystem small = {.n = n,
                             .sides = d.left_side ? d.cols : d.rows,
                             .upper = (d.lower == 0) != turned,
                             .unit = d.unit_diagonal != 0,
                             .conjugate = op == MatrixOp::kAdjoint,
                             .c = strides(d.a, turned),
                             .in = strides(d.b, d.left_side == 0),
                             .to = strides(d.out, d.left_side == 0)};
  if (small.IsSmall(!std::is_same_v<T, Real<T>>)) {
    return ForBatch(ctx, d.batch, n, [&](int64_t batch) -> absl::Status {
      small.Solve(a + batch * d.a[0], b + batch * d.b[0], out + batch * d.out[0]);
      return absl::OkStatus();
    });
  }
  return ForBatch(ctx, d.batch, n, [&](int64_t batch) -> absl::Status {
    OwnedMatrix<T> at(n, n), bt(d.cols, d.rows);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) at(j, i) = a[batch * d.a[0] + i * d.a[1] + j * d.a[2]];
    }
    for (int64_t i = 0; i < d.rows; ++i) {
      for (int64_t j = 0; j < d.cols; ++j) bt(j, i) = b[batch * d.b[0] + i * d.b[1] + j * d.b[2]];
    }
    XC_RETURN_IF_ERROR(TriangularSolve<T>(ctx, at, bt, d.left_side == 0, d.lower == 0, d.unit_diagonal != 0, op));
    for (int64_t i = 0; i < d.rows; ++i) {
      for (int64_t j = 0; j < d.cols; ++j) out[batch * d.out[0] + i * d.out[1] + j * d.out[2]] = bt(j, i);
    }
    return absl::OkStatus();
  });
}

// Calls f with a null pointer of the C++ type.
template <typename F>
absl::Status WithType(int32_t type, const char* what, F f) {
  switch (static_cast<RtType>(type)) {
    case RtType::kF32:
      return f(static_cast<float*>(nullptr));
    case RtType::kF64:
      return f(static_cast<double*>(nullptr));
    case RtType::kC64:
      return f(static_cast<std::complex<float>*>(nullptr));
    case RtType::kC128:
      return f(static_cast<std::complex<double>*>(nullptr));
    default:
      return absl::UnimplementedError(absl::StrCat(what, " of element type ", type));
  }
}

}  // namespace

absl::Status Cholesky(RunContext* ctx, const CholeskyDesc& d, const void* in, void* out) {
  if (d.batch == 0 || d.n == 0) return absl::OkStatus();
  return WithType(d.type, "cholesky", [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return CholeskyOf<T>(ctx, d, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

absl::Status TriangularSolve(RunContext* ctx, const TriangularSolveDesc& d, const void* a, const void* b, void* out) {
  if (d.batch == 0 || d.rows == 0 || d.cols == 0) return absl::OkStatus();
  return WithType(d.type, "triangular-solve", [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return TriangularSolveOf<T>(ctx, d, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out));
  });
}

}  // namespace xc

int xc_rt_cholesky(void* ctx, const xc::CholeskyDesc* desc, const void* in, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Cholesky(run, *desc, in, out));
}

int xc_rt_triangular_solve(void* ctx, const xc::TriangularSolveDesc* desc, const void* a, const void* b, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::TriangularSolve(run, *desc, a, b, out));
}
