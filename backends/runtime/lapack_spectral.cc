// Spectra: syevd (Hermitian), gesdd and gesvd (singular values), geev (general), gees (Schur form).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/runtime/lapack_common.h"
#include "backends/runtime/spectral.h"

namespace xc {
namespace {

template <typename T>
constexpr bool kComplex = !std::is_floating_point_v<T>;

template <typename T>
void FillNan(T* to, int64_t n) {
  std::fill_n(to, n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
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
      *info.at(i) = HermitianEigen<T>(a.matrix(i), uplo == 'L', mode == 'V', values.at(i)) ? 0 : 1;
      if (*info.at(i) != 0) {
        FillNan(values.at(i), n);
        FillNan(a.at(i), n * n);
      }
      return absl::OkStatus();
    }));
    a.Finish();
    values.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Gesdd {  // (a) -> (a destroyed, singular values, u, v^H, info)
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
      const bool solved =
          Svd<T>(a.matrix(i), values.at(i), vectors ? u.matrix(i) : none, vectors ? vh.matrix(i) : none);
      *info.at(i) = solved ? 0 : 1;
      if (!solved) {
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
      const bool solved = GeneralEigen<T>(a.matrix(i), spectrum.data(), want_left ? left.matrix(i) : none,
                                          want_right ? right.matrix(i) : none);
      *info.at(i) = solved ? 0 : 1;
      if (!solved) {
        constexpr Real<T> kNan = std::numeric_limits<Real<T>>::quiet_NaN();
        std::fill(spectrum.begin(), spectrum.end(), C(kNan, kNan));
        if (want_left) FillNan(left.at(i), n * n);
        if (want_right) FillNan(right.at(i), n * n);
      }
      for (int64_t j = 0; j < n; ++j) {
        if constexpr (kComplex<T>) {
          values.at(i)[j] = spectrum[j];
        } else {
          values.at(i)[j] = spectrum[j].real();
          imaginary.at(i)[j] = spectrum[j].imag();
        }
      }
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
      *info.at(i) = Schur<T>(t, want ? vectors.matrix(i) : none) ? 0 : 1;
      if (*info.at(i) != 0) {
        FillNan(t.data, n * n);
        if (want) FillNan(vectors.at(i), n * n);
        FillNan(values.at(i), n);
        if (kValues == 2) FillNan(imaginary.at(i), n);
        return absl::OkStatus();
      }
      if constexpr (kComplex<T>) {
        for (int64_t j = 0; j < n; ++j) values.at(i)[j] = t(j, j);
      } else {
        Eigenvalues(t, values.at(i), imaginary.at(i));
      }
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

  // From blocks of 1 or 2 on the diagonal.
  static void Eigenvalues(const Matrix<T>& t, T* re, T* im) {
    for (int64_t j = 0; j < t.rows; ++j) {
      re[j] = t(j, j);
      im[j] = 0;
      if (j + 1 == t.rows || t(j + 1, j) == T(0)) continue;
      const T half = (t(j, j) - t(j + 1, j + 1)) / 2, middle = (t(j, j) + t(j + 1, j + 1)) / 2;
      const T square = half * half + t(j, j + 1) * t(j + 1, j), root = std::sqrt(std::abs(square));
      re[j] = square < 0 ? middle : middle + root;
      re[j + 1] = square < 0 ? middle : middle - root;
      im[j] = square < 0 ? root : 0;
      im[j + 1] = -im[j];
      ++j;
    }
  }
};

}  // namespace

NamedCalls LapackSpectralCalls() {
  NamedCalls calls;
  AddCalls<Syevd>("syevd", "heevd", &calls);
  AddCalls<Gesdd>("gesdd", "gesdd", &calls);
  AddCalls<Gesdd>("gesvd", "gesvd", &calls);
  AddCalls<Geev>("geev", "geev", &calls);
  AddCalls<Gees>("gees", "gees", &calls);
  return calls;
}

}  // namespace xc
