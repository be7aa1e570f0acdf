// Spectra: syevd (Hermitian), gesdd and gesvd (singular values), geev (general), gees (Schur form).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "backends/runtime/lapack.h"
#include "backends/runtime/lapack_common.h"

namespace xc {
namespace {

template <typename T>
constexpr bool kComplex = !std::is_floating_point_v<T>;

template <typename T>
void FillNan(T* to, int64_t n) {
  std::fill_n(to, n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

// LAPACK's iterations are meant for numbers: what holds others is not handed over, and has no solution.
template <typename T>
bool Finite(const Matrix<T>& a) {
  return std::all_of(a.data, a.data + a.rows * a.cols,
                     [](T x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

template <typename T>
void SetIdentity(const Matrix<T>& a) {
  std::fill_n(a.data, a.rows * a.cols, T(0));
  for (int64_t i = 0; i < std::min(a.rows, a.cols); ++i) a(i, i) = T(1);
}

// Eigenvectors in the columns of `a`, if asked for, and eigenvalues; LAPACK's info. Not a number where there are none.
template <typename T>
absl::StatusOr<int32_t> HermitianEigen(bool vectors, bool lower, const Matrix<T>& a, Real<T>* values) {
  int32_t info = 1;
  if (Finite(a)) {
    XC_ASSIGN_OR_RETURN(info, lapack::HermitianEigen<T>(vectors ? 'V' : 'N', lower ? 'L' : 'U', a, values));
  }
  if (info != 0) {
    FillNan(values, a.rows);
    FillNan(a.data, a.rows * a.cols);
  }
  return info;
}

template <typename T>
struct Syevd {  // (a) -> (eigenvectors in columns, ascending eigenvalues, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 3));
    XC_ASSIGN_OR_RETURN(int64_t mode, args.attributes->Int("mode"));
    XC_ASSIGN_OR_RETURN(int64_t uplo, args.attributes->Int("uplo"));
    Batch<T> a;
    Batch<Real<T>> values;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(values.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[2], 0));
    const int64_t n = a.rows();
    if (n != a.cols() || values.rows() != n || values.count() != a.count() || info.count() != a.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      XC_ASSIGN_OR_RETURN(*info.at(i), HermitianEigen(mode == 'V', uplo == 'L', a.matrix(i), values.at(i)));
      return absl::OkStatus();
    }));
    a.Finish();
    values.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

// (a) -> (eigenvectors in columns, ascending eigenvalues). The backend_config is "lower,sort,iterations,tolerance"; of
// which only the triangle matters: results are as exact as LAPACK's.
template <typename T>
struct Eigh {
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 2));
    const absl::string_view config = absl::StripAsciiWhitespace(args.backend_config);
    if (!absl::StartsWith(config, "0,") && !absl::StartsWith(config, "1,")) {
      return absl::InvalidArgumentError(
          absl::StrCat("its backend_config, `", config, "`, should begin with `0,` (upper triangle) or `1,` (lower)"));
    }
    Batch<T> a;
    Batch<Real<T>> values;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(values.Init(ctx, args.outputs[1], 1));
    if (a.rows() != a.cols() || values.rows() != a.rows() || values.count() != a.count()) return Mismatch();
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      return HermitianEigen(true, config[0] == '1', a.matrix(i), values.at(i)).status();
    }));
    a.Finish();
    values.Finish();
    return absl::OkStatus();
  }
};

// (a) -> (a destroyed, singular values, u, v^H, info)
template <typename T, lapack::SvdMethod kMethod>
struct SingularValues {
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 5));
    XC_ASSIGN_OR_RETURN(int64_t mode, args.attributes->Int("mode"));
    Batch<T> a, u, vh;
    Batch<Real<T>> values;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(values.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(u.Init(ctx, args.outputs[2], 2));
    XC_RETURN_IF_ERROR(vh.Init(ctx, args.outputs[3], 2));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[4], 0));
    const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
    const bool vectors = mode != 'N', full = mode == 'A';
    if (values.rows() != k || values.count() != a.count() || info.count() != a.count() ||
        (vectors && (u.rows() != m || u.cols() != (full ? m : k) || vh.cols() != n || vh.rows() != (full ? n : k) ||
                     u.count() != a.count() || vh.count() != a.count()))) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      const Matrix<T> none;
      if (k == 0) {  // LAPACK would leave the vectors as they are
        *info.at(i) = 0;
        if (vectors) SetIdentity(u.matrix(i));
        if (vectors) SetIdentity(vh.matrix(i));
        return absl::OkStatus();
      }
      *info.at(i) = 1;
      if (Finite(a.matrix(i))) {
        XC_ASSIGN_OR_RETURN(*info.at(i),
                            lapack::Svd<T>(kMethod, vectors ? (full ? 'A' : 'S') : 'N', a.matrix(i), values.at(i),
                                           vectors ? u.matrix(i) : none, vectors ? vh.matrix(i) : none));
      }
      if (*info.at(i) != 0) {
        FillNan(values.at(i), k);
        if (vectors) FillNan(u.at(i), u.rows() * u.cols());
        if (vectors) FillNan(vh.at(i), vh.rows() * vh.cols());
      }
      return absl::OkStatus();
    }));
    a.Finish();
    values.Finish();
    u.Finish();
    vh.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
using Gesdd = SingularValues<T, lapack::SvdMethod::kDivideAndConquer>;
template <typename T>
using Gesvd = SingularValues<T, lapack::SvdMethod::kQr>;

// Complex types have one array of eigenvalues, real ones one for each part.
template <typename T>
void SetEigenvalue(std::complex<Real<T>> value, int64_t i, T* values, T* imaginary) {
  if constexpr (kComplex<T>) {
    values[i] = value;
  } else {
    values[i] = value.real();
    imaginary[i] = value.imag();
  }
}

template <typename T>
struct Geev {  // (a) -> (eigenvalues, or for real types their two parts, left and right eigenvectors, info)
  using C = std::complex<Real<T>>;

  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    constexpr int kValues = kComplex<T> ? 1 : 2;
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, kValues + 3));
    XC_ASSIGN_OR_RETURN(int64_t compute_left, args.attributes->Int("compute_left"));
    XC_ASSIGN_OR_RETURN(int64_t compute_right, args.attributes->Int("compute_right"));
    Batch<T> a, values, imaginary;
    Batch<C> left, right;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Read(ctx, args.inputs[0], 2));
    XC_RETURN_IF_ERROR(values.Init(ctx, args.outputs[0], 1));
    if (kValues == 2) XC_RETURN_IF_ERROR(imaginary.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(left.Init(ctx, args.outputs[kValues], 2));
    XC_RETURN_IF_ERROR(right.Init(ctx, args.outputs[kValues + 1], 2));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[kValues + 2], 0));
    const int64_t n = a.rows();
    const bool want_left = compute_left == 'V', want_right = compute_right == 'V';
    if (n != a.cols() || values.rows() != n || values.count() != a.count() || info.count() != a.count() ||
        (kValues == 2 && (imaginary.rows() != n || imaginary.count() != a.count())) ||
        (want_left && (left.rows() != n || left.cols() != n || left.count() != a.count())) ||
        (want_right && (right.rows() != n || right.cols() != n || right.count() != a.count()))) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      std::vector<C> spectrum(n);
      const Matrix<C> none;
      OwnedMatrix<T> work(n, n);
      std::copy_n(a.at(i), n * n, work.data);
      *info.at(i) = 1;
      if (Finite(a.matrix(i))) {
        XC_ASSIGN_OR_RETURN(*info.at(i),
                            lapack::GeneralEigen<T>(work, spectrum.data(), want_left ? left.matrix(i) : none,
                                                    want_right ? right.matrix(i) : none));
      }
      if (*info.at(i) != 0) {
        constexpr Real<T> kNan = std::numeric_limits<Real<T>>::quiet_NaN();
        std::fill(spectrum.begin(), spectrum.end(), C(kNan, kNan));
        if (want_left) FillNan(left.at(i), n * n);
        if (want_right) FillNan(right.at(i), n * n);
      }
      for (int64_t j = 0; j < n; ++j) SetEigenvalue<T>(spectrum[j], j, values.at(i), imaginary.at(i));
      return absl::OkStatus();
    }));
    values.Finish();
    if (kValues == 2) imaginary.Finish();
    left.Finish();
    right.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Gees {  // (a) -> (Schur form, Schur vectors, eigenvalues or their two parts, number selected, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    constexpr int kValues = kComplex<T> ? 1 : 2;
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, kValues + 4));
    XC_ASSIGN_OR_RETURN(int64_t mode, args.attributes->Int("mode"));
    XC_ASSIGN_OR_RETURN(int64_t sort, args.attributes->Int("sort"));
    if (sort != 'N') return absl::UnimplementedError("ordered Schur forms");
    Batch<T> a, vectors, values, imaginary;
    Batch<int32_t> selected, info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(vectors.Init(ctx, args.outputs[1], 2));
    XC_RETURN_IF_ERROR(values.Init(ctx, args.outputs[2], 1));
    if (kValues == 2) XC_RETURN_IF_ERROR(imaginary.Init(ctx, args.outputs[3], 1));
    XC_RETURN_IF_ERROR(selected.Init(ctx, args.outputs[2 + kValues], 0));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[3 + kValues], 0));
    const int64_t n = a.rows();
    const bool want = mode == 'V';
    if (n != a.cols() || values.rows() != n || values.count() != a.count() || info.count() != a.count() ||
        selected.count() != a.count() || (kValues == 2 && (imaginary.rows() != n || imaginary.count() != a.count())) ||
        (want && (vectors.rows() != n || vectors.cols() != n || vectors.count() != a.count()))) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      const Matrix<T> t = a.matrix(i), none;
      *selected.at(i) = 0;
      std::vector<std::complex<Real<T>>> spectrum(n);
      *info.at(i) = 1;
      if (Finite(t)) {
        XC_ASSIGN_OR_RETURN(*info.at(i), lapack::Schur<T>(t, want ? vectors.matrix(i) : none, spectrum.data()));
      }
      if (*info.at(i) != 0) {
        FillNan(t.data, n * n);
        if (want) FillNan(vectors.at(i), n * n);
        FillNan(values.at(i), n);
        if (kValues == 2) FillNan(imaginary.at(i), n);
        return absl::OkStatus();
      }
      for (int64_t j = 0; j < n; ++j) SetEigenvalue<T>(spectrum[j], j, values.at(i), imaginary.at(i));
      return absl::OkStatus();
    }));
    a.Finish();
    if (want) vectors.Finish();
    values.Finish();
    if (kValues == 2) imaginary.Finish();
    selected.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

}  // namespace

NamedCalls LapackSpectralCalls() {
  NamedCalls calls;
  AddCalls<Syevd>("syevd", "heevd", &calls);
  AddCalls<Gesdd>("gesdd", "gesdd", &calls);
  AddCalls<Gesvd>("gesvd", "gesvd", &calls);
  AddCalls<Geev>("geev", "geev", &calls);
  AddCalls<Gees>("gees", "gees", &calls);
  calls.emplace_back("Eigh", OfAnyType<Eigh>);
  return calls;
}

}  // namespace xc
