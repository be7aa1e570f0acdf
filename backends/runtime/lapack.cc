// Calls of LAPACK's Fortran entry points by element type, with their work arrays.
#include "backends/runtime/lapack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "hlo/base/status.h"

using Int = int32_t;  // Fortran's default INTEGER

// Characters are followed by their lengths at the end of the argument list.
#define XC_LAPACK_REAL(p, T)                                                                                           \
  void p##syevd_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, Int*, const Int*, Int*,     \
                 size_t, size_t);                                                                                      \
  void p##gesdd_(const char*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, T*, const Int*, T*,          \
                 const Int*, Int*, Int*, size_t);                                                                      \
  void p##gesvd_(const char*, const char*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, T*, const Int*, \
                 T*, const Int*, Int*, size_t, size_t);                                                                \
  void p##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, T*, const Int*, T*, const Int*, T*,      \
                const Int*, Int*, size_t, size_t);                                                                     \
  void p##gees_(const char*, const char*, void*, const Int*, T*, const Int*, Int*, T*, T*, T*, const Int*, T*,         \
                const Int*, Int*, Int*, size_t, size_t);                                                               \
  void p##gehrd_(const Int*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);                        \
  void p##sytrd_(const char*, const Int*, T*, const Int*, T*, T*, T*, T*, const Int*, Int*, size_t);

#define XC_LAPACK_COMPLEX(p, T, R)                                                                                     \
  void p##heevd_(const char*, const char*, const Int*, T*, const Int*, R*, T*, const Int*, R*, const Int*, Int*,       \
                 const Int*, Int*, size_t, size_t);                                                                    \
  void p##gesdd_(const char*, const Int*, const Int*, T*, const Int*, R*, T*, const Int*, T*, const Int*, T*,          \
                 const Int*, R*, Int*, Int*, size_t);                                                                  \
  void p##gesvd_(const char*, const char*, const Int*, const Int*, T*, const Int*, R*, T*, const Int*, T*, const Int*, \
                 T*, const Int*, R*, Int*, size_t, size_t);                                                            \
  void p##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, T*, const Int*, T*,          \
                const Int*, R*, Int*, size_t, size_t);                                                                 \
  void p##gees_(const char*, const char*, void*, const Int*, T*, const Int*, Int*, T*, T*, const Int*, T*, const Int*, \
                R*, Int*, Int*, size_t, size_t);                                                                       \
  void p##gehrd_(const Int*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);                        \
  void p##hetrd_(const char*, const Int*, T*, const Int*, R*, R*, T*, T*, const Int*, Int*, size_t);

extern "C" {
XC_LAPACK_REAL(s, float)
XC_LAPACK_REAL(d, double)
XC_LAPACK_COMPLEX(c, std::complex<float>, float)
XC_LAPACK_COMPLEX(z, std::complex<double>, double)
}

namespace xc::lapack {
namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

// The entry point for each element type.
template <typename T, typename F, typename D, typename C, typename Z>
auto Pick(F f, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>) return f;
  if constexpr (std::is_same_v<T, double>) return d;
  if constexpr (std::is_same_v<T, C64>) return c;
  if constexpr (std::is_same_v<T, C128>) return z;
}

template <typename T>
constexpr bool kReal = std::is_floating_point_v<T>;

absl::Status CheckSize(int64_t rows, int64_t cols) {
  if (rows <= std::numeric_limits<Int>::max() && cols <= std::numeric_limits<Int>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a matrix of ", rows, " by ", cols, " is too large for LAPACK"));
}

Int Leading(int64_t rows) { return static_cast<Int>(std::max<int64_t>(1, rows)); }

// Memory for `count` elements, at least one.
template <typename T>
class Work {
 public:
  absl::Status Allocate(int64_t count) {
    count = std::max<int64_t>(1, count);
    XC_ASSIGN_OR_RETURN(block_, Block::Allocate(count * sizeof(T)));
    size_ = static_cast<Int>(count);
    return absl::OkStatus();
  }
  // The size that a routine wrote into the first element when asked; numbers of few digits are rounded up.
  template <typename N>
  absl::Status AllocateAsked(N asked) {
    double count = std::real(asked);
    if constexpr (!std::is_integral_v<N>) count = std::ceil(count * (1 + 4 * std::numeric_limits<Real<N>>::epsilon()));
    if (!(count < std::numeric_limits<Int>::max())) {
      return absl::ResourceExhaustedError("the matrix is too large for LAPACK's work arrays");
    }
    return Allocate(static_cast<int64_t>(count));
  }
  T* data() { return reinterpret_cast<T*>(block_.data()); }
  const Int* size() const { return &size_; }

 private:
  Block block_;
  Int size_ = 0;
};

constexpr Int kAsk = -1;

// Calls `routine(work, size, info)` twice: for the size of its work array, and with it.
template <typename T, typename Routine>
absl::StatusOr<int32_t> WithWork(Routine routine) {
  T asked{};
  Int info = 0;
  routine(&asked, &kAsk, &info);
  Work<T> work;
  XC_RETURN_IF_ERROR(work.AllocateAsked(asked));
  routine(work.data(), work.size(), &info);
  return info;
}

// The eigenvectors of a real matrix: two columns hold the real and imaginary part of a pair.
template <typename R>
void Unpack(const Matrix<R>& packed, const std::complex<R>* values, const Matrix<std::complex<R>>& vectors) {
  for (int64_t j = 0; j < packed.cols; ++j) {
    const bool pair = values[j].imag() != 0 && j + 1 < packed.cols;
    for (int64_t i = 0; i < packed.rows; ++i) {
      vectors(i, j) = {packed(i, j), pair ? packed(i, j + 1) : R(0)};
      if (pair) vectors(i, j + 1) = std::conj(vectors(i, j));
    }
    j += pair;
  }
}

template <typename R>
void Combine(const R* re, const R* im, int64_t n, std::complex<R>* values) {
  for (int64_t i = 0; i < n; ++i) values[i] = {re[i], im[i]};
}

}  // namespace

template <typename T>
absl::StatusOr<int32_t> HermitianEigen(char mode, char triangle, const Matrix<T>& a, Real<T>* values) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int n = static_cast<Int>(a.rows), ld = Leading(a.ld);
  Int info = 0, ints_asked = 0;
  T asked{};
  Work<T> work;
  Work<Int> ints;
  if constexpr (kReal<T>) {
    auto routine = Pick<T>(ssyevd_, dsyevd_, nullptr, nullptr);
    routine(&mode, &triangle, &n, a.data, &ld, values, &asked, &kAsk, &ints_asked, &kAsk, &info, 1, 1);
    XC_RETURN_IF_ERROR(work.AllocateAsked(asked));
    XC_RETURN_IF_ERROR(ints.AllocateAsked(ints_asked));
    routine(&mode, &triangle, &n, a.data, &ld, values, work.data(), work.size(), ints.data(), ints.size(), &info, 1, 1);
  } else {
    auto routine = Pick<T>(nullptr, nullptr, cheevd_, zheevd_);
    Real<T> reals_asked = 0;
    Work<Real<T>> reals;
    routine(&mode, &triangle, &n, a.data, &ld, values, &asked, &kAsk, &reals_asked, &kAsk, &ints_asked, &kAsk, &info, 1,
            1);
    XC_RETURN_IF_ERROR(work.AllocateAsked(asked));
    XC_RETURN_IF_ERROR(reals.AllocateAsked(reals_asked));
    XC_RETURN_IF_ERROR(ints.AllocateAsked(ints_asked));
    routine(&mode, &triangle, &n, a.data, &ld, values, work.data(), work.size(), reals.data(), reals.size(),
            ints.data(), ints.size(), &info, 1, 1);
  }
  return info;
}

template <typename T>
absl::StatusOr<int32_t> Svd(SvdMethod method, char mode, const Matrix<T>& a, Real<T>* s, const Matrix<T>& u,
                            const Matrix<T>& vh) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int m = static_cast<Int>(a.rows), n = static_cast<Int>(a.cols), ld = Leading(a.ld);
  const Int ldu = Leading(u.ld), ldv = Leading(vh.ld);
  const int64_t small = std::min(a.rows, a.cols), large = std::max(a.rows, a.cols);
  if (method == SvdMethod::kQr) {
    Work<Real<T>> reals;
    XC_RETURN_IF_ERROR(reals.Allocate(5 * small));
    return WithWork<T>([&](T* work, const Int* size, Int* info) {
      if constexpr (kReal<T>) {
        Pick<T>(sgesvd_, dgesvd_, nullptr, nullptr)(&mode, &mode, &m, &n, a.data, &ld, s, u.data, &ldu, vh.data, &ldv,
                                                    work, size, info, 1, 1);
      } else {
        Pick<T>(nullptr, nullptr, cgesvd_, zgesvd_)(&mode, &mode, &m, &n, a.data, &ld, s, u.data, &ldu, vh.data, &ldv,
                                                    work, size, reals.data(), info, 1, 1);
      }
    });
  }
  Work<Int> ints;
  Work<Real<T>> reals;
  XC_RETURN_IF_ERROR(ints.Allocate(8 * small));
  if constexpr (!kReal<T>) {
    XC_RETURN_IF_ERROR(
        reals.Allocate(mode == 'N' ? 7 * small : small * std::max(5 * small + 7, 2 * large + 2 * small + 1)));
  }
  return WithWork<T>([&](T* work, const Int* size, Int* info) {
    if constexpr (kReal<T>) {
      Pick<T>(sgesdd_, dgesdd_, nullptr, nullptr)(&mode, &m, &n, a.data, &ld, s, u.data, &ldu, vh.data, &ldv, work,
                                                  size, ints.data(), info, 1);
    } else {
      Pick<T>(nullptr, nullptr, cgesdd_, zgesdd_)(&mode, &m, &n, a.data, &ld, s, u.data, &ldu, vh.data, &ldv, work,
                                                  size, reals.data(), ints.data(), info, 1);
    }
  });
}

template <typename T>
absl::StatusOr<int32_t> GeneralEigen(const Matrix<T>& a, std::complex<Real<T>>* values,
                                     const Matrix<std::complex<Real<T>>>& left,
                                     const Matrix<std::complex<Real<T>>>& right) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int n = static_cast<Int>(a.rows), ld = Leading(a.ld), ldv = Leading(n);
  const char want_left = left.data != nullptr ? 'V' : 'N', want_right = right.data != nullptr ? 'V' : 'N';
  Work<Real<T>> reals;
  XC_RETURN_IF_ERROR(reals.Allocate(2 * a.rows));
  if constexpr (kReal<T>) {
    OwnedMatrix<T> packed_left(left.rows, left.cols), packed_right(right.rows, right.cols);
    T *re = reals.data(), *im = re + n;
    XC_ASSIGN_OR_RETURN(int32_t info, WithWork<T>([&](T* work, const Int* size, Int* info) {
                          Pick<T>(sgeev_, dgeev_, nullptr, nullptr)(&want_left, &want_right, &n, a.data, &ld, re, im,
                                                                    packed_left.data, &ldv, packed_right.data, &ldv,
                                                                    work, size, info, 1, 1);
                        }));
    Combine(re, im, n, values);
    Unpack<T>(packed_left, values, left);
    Unpack<T>(packed_right, values, right);
    return info;
  } else {
    return WithWork<T>([&](T* work, const Int* size, Int* info) {
      Pick<T>(nullptr, nullptr, cgeev_, zgeev_)(&want_left, &want_right, &n, a.data, &ld, values, left.data, &ldv,
                                                right.data, &ldv, work, size, reals.data(), info, 1, 1);
    });
  }
}

template <typename T>
absl::StatusOr<int32_t> Schur(const Matrix<T>& a, const Matrix<T>& u, std::complex<Real<T>>* values) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int n = static_cast<Int>(a.rows), ld = Leading(a.ld), ldu = Leading(n);
  const char want = u.data != nullptr ? 'V' : 'N', unordered = 'N';
  Int selected = 0, choices = 0;  // not looked at without an order
  Work<Real<T>> reals;
  XC_RETURN_IF_ERROR(reals.Allocate(2 * a.rows));
  if constexpr (kReal<T>) {
    T *re = reals.data(), *im = re + n;
    XC_ASSIGN_OR_RETURN(int32_t info, WithWork<T>([&](T* work, const Int* size, Int* info) {
                          Pick<T>(sgees_, dgees_, nullptr, nullptr)(&want, &unordered, nullptr, &n, a.data, &ld,
                                                                    &selected, re, im, u.data, &ldu, work, size,
                                                                    &choices, info, 1, 1);
                        }));
    Combine(re, im, n, values);
    return info;
  } else {
    return WithWork<T>([&](T* work, const Int* size, Int* info) {
      Pick<T>(nullptr, nullptr, cgees_, zgees_)(&want, &unordered, nullptr, &n, a.data, &ld, &selected, values, u.data,
                                                &ldu, work, size, reals.data(), &choices, info, 1, 1);
    });
  }
}

template <typename T>
absl::StatusOr<int32_t> Hessenberg(const Matrix<T>& a, int64_t low, int64_t high, T* tau) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int n = static_cast<Int>(a.rows), ld = Leading(a.ld), from = static_cast<Int>(low), to = static_cast<Int>(high);
  return WithWork<T>([&](T* work, const Int* size, Int* info) {
    Pick<T>(sgehrd_, dgehrd_, cgehrd_, zgehrd_)(&n, &from, &to, a.data, &ld, tau, work, size, info);
  });
}

template <typename T>
absl::StatusOr<int32_t> Tridiagonal(char triangle, const Matrix<T>& a, Real<T>* diagonal, Real<T>* off, T* tau) {
  XC_RETURN_IF_ERROR(CheckSize(a.rows, a.cols));
  const Int n = static_cast<Int>(a.rows), ld = Leading(a.ld);
  return WithWork<T>([&](T* work, const Int* size, Int* info) {
    Pick<T>(ssytrd_, dsytrd_, chetrd_, zhetrd_)(&triangle, &n, a.data, &ld, diagonal, off, tau, work, size, info, 1);
  });
}

#define XC_INSTANTIATE(T)                                                                                \
  template absl::StatusOr<int32_t> HermitianEigen<T>(char, char, const Matrix<T>&, Real<T>*);            \
  template absl::StatusOr<int32_t> Svd<T>(SvdMethod, char, const Matrix<T>&, Real<T>*, const Matrix<T>&, \
                                          const Matrix<T>&);                                             \
  template absl::StatusOr<int32_t> GeneralEigen<T>(const Matrix<T>&, std::complex<Real<T>>*,             \
                                                   const Matrix<std::complex<Real<T>>>&,                 \
                                                   const Matrix<std::complex<Real<T>>>&);                \
  template absl::StatusOr<int32_t> Schur<T>(const Matrix<T>&, const Matrix<T>&, std::complex<Real<T>>*); \
  template absl::StatusOr<int32_t> Hessenberg<T>(const Matrix<T>&, int64_t, int64_t, T*);                \
  template absl::StatusOr<int32_t> Tridiagonal<T>(char, const Matrix<T>&, Real<T>*, Real<T>*, T*);
XC_INSTANTIATE(float)
XC_INSTANTIATE(double)
XC_INSTANTIATE(C64)
XC_INSTANTIATE(C128)

}  // namespace xc::lapack
