// LAPACK's calls by what their results must satisfy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/runtime/custom_call_testing.h"
#include "backends/runtime/dense.h"

namespace xc {
namespace {

template <typename T>
struct Kind;
template <>
struct Kind<float> {
  static constexpr RtType type = RtType::kF32, real = RtType::kF32, complex = RtType::kC64;
  static constexpr char letter = 's';
};
template <>
struct Kind<std::complex<double>> {
  static constexpr RtType type = RtType::kC128, real = RtType::kF64, complex = RtType::kC128;
  static constexpr char letter = 'z';
};

template <typename T>
class Lapack : public testing::Test {
 protected:
  static constexpr bool kComplex = !std::is_floating_point_v<T>;
  static constexpr int64_t kBatch = 2;
  static double Slack() { return sizeof(Real<T>) == 4 ? 2e-5 : 1e-13; }

  Lapack() : executor(NewThreadPoolExecutor(2)), ctx(nullptr, executor.get()) {}

  std::string Name(const std::string& real, const std::string& complex) {
    return std::string("lapack_") + Kind<T>::letter + (kComplex ? complex : real) + "_ffi";
  }
  Array Random(std::vector<int64_t> dims, bool row_major = false) {
    Array a = Array(Kind<T>::type, dims, !row_major);
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < a.bytes.size() / sizeof(T); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        a.as<T>()[i] = static_cast<T>(normal(random));
      } else {
        a.as<T>()[i] = T(normal(random), normal(random));
      }
    }
    return a;
  }
  Array Hermitian(int64_t n) {
    Array a = Random({kBatch, n, n});
    for (int64_t b = 0; b < kBatch; ++b) {
      const Matrix<T> m = At(a, b);
      for (int64_t j = 0; j < n; ++j) {
        m(j, j) = std::real(m(j, j));
        for (int64_t i = 0; i < j; ++i) m(i, j) = Conj(m(j, i));
      }
    }
    return a;
  }
  template <typename U = T>
  static Matrix<U> At(Array& a, int64_t batch) {
    const int64_t r = a.dims[a.dims.size() - 2], c = a.dims[a.dims.size() - 1];
    return {a.as<U>() + batch * r * c, r, c, r};
  }
  Array Info() { return Array(RtType::kS32, {kBatch}); }

  std::unique_ptr<Executor> executor;
  RunContext ctx;
  std::mt19937 random{5};
};
using Types = testing::Types<float, std::complex<double>>;
TYPED_TEST_SUITE(Lapack, Types);

// max |sum| of a * b - c; U and V may differ in being complex.
template <typename A, typename B, typename C>
double Error(const Matrix<A>& a, const Matrix<B>& b, const Matrix<C>& c) {
  double error = 0;
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      std::complex<double> sum = 0;
      for (int64_t p = 0; p < a.cols; ++p) sum += std::complex<double>(a(i, p)) * std::complex<double>(b(p, j));
      error = std::max(error, std::abs(sum - std::complex<double>(c(i, j))));
    }
  }
  return error;
}

template <typename T>
void Adjoint(const Matrix<T>& a, OwnedMatrix<T>* out) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.cols; ++j) (*out)(j, i) = Conj(a(i, j));
  }
}

template <typename T>
double NotUnitary(const Matrix<T>& q) {
  OwnedMatrix<T> adjoint(q.cols, q.rows), one(q.cols, q.cols);
  Adjoint(q, &adjoint);
  for (int64_t i = 0; i < q.cols; ++i) one(i, i) = 1;
  return Error<T, T, T>(adjoint, q, one);
}

TYPED_TEST(Lapack, PotrfAndTrsm) {
  using T = TypeParam;
  constexpr int64_t n = 6;
  for (const char* config : {"{uplo = 76 : ui8}", "{uplo = 85 : ui8}"}) {
    const bool lower = config[8] == '7';
    Array a = this->Hermitian(n), f = Array(a.type, a.dims, true), info = this->Info();
    for (int64_t b = 0; b < this->kBatch; ++b) {
      for (int64_t i = 0; i < n; ++i) this->At(a, b)(i, i) += Real<T>(3 * n);
    }
    this->template At<T>(a, 1)(3, 3) = -1;  // the second is not positive
    ASSERT_TRUE(Call(&this->ctx, this->Name("potrf", "potrf"), config, {&a}, {&f, &info}).ok());
    EXPECT_EQ(info.as<int32_t>()[0], 0);
    EXPECT_EQ(info.as<int32_t>()[1], 4);
    Matrix<T> m = this->At(f, 0);
    OwnedMatrix<T> adjoint(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (lower ? i < j : i > j) m(i, j) = 0;
      }
    }
    Adjoint(m, &adjoint);
    const double error =
        lower ? Error<T, T, T>(m, adjoint, this->At(a, 0)) : Error<T, T, T>(adjoint, m, this->At(a, 0));
    EXPECT_LT(error, 10 * this->Slack());
    // x * op(f) = b with b in row-major layout.
    Array b = this->Random({this->kBatch, 2, n}, true), x = Array(b.type, b.dims);
    const std::string solve = std::string("{diag = 78 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = ") +
                              (lower ? "76" : "85") + " : ui8}";
    ASSERT_TRUE(Call(&this->ctx, this->Name("trsm", "trsm"), solve.c_str(), {&f, &b}, {&x}).ok());
    OwnedMatrix<T> xs(2, n), bs(2, n);
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        xs(i, j) = x.as<T>()[i * n + j];
        bs(i, j) = b.as<T>()[i * n + j];
      }
    }
    EXPECT_LT((Error<T, T, T>(xs, adjoint, bs)), this->Slack());
  }
}

TYPED_TEST(Lapack, LuAndQr) {
  using T = TypeParam;
  Array a = this->Random({2, 7, 4}), f = Array(a.type, a.dims, true), info = this->Info();
  Array pivots = Array(RtType::kS32, {2, 4});
  ASSERT_TRUE(Call(&this->ctx, this->Name("getrf", "getrf"), "{}", {&a}, {&f, &pivots, &info}).ok());
  EXPECT_EQ(info.as<int32_t>()[1], 0);
  for (int64_t j = 0; j < 4; ++j) {  // pivots are the largest: no factor is over 1 (for complex: over sqrt 2)
    for (int64_t i = j + 1; i < 7; ++i) EXPECT_LE(std::abs(this->At(f, 1)(i, j)), 1.42);
  }
  Array tau = Array(a.type, {2, 4}), r = f, q = f, permutation = Array(RtType::kS32, {2, 4}), zeros = permutation;
  for (bool pivoted : {false, true}) {
    if (pivoted) {
      ASSERT_TRUE(Call(&this->ctx, this->Name("geqp3", "geqp3"), "{}", {&a, &zeros}, {&r, &permutation, &tau}).ok());
    } else {
      ASSERT_TRUE(Call(&this->ctx, this->Name("geqrf", "geqrf"), "{}", {&a}, {&r, &tau}).ok());
    }
    ASSERT_TRUE(Call(&this->ctx, this->Name("orgqr", "ungqr"), "{}", {&r, &tau}, {&q}).ok());
    OwnedMatrix<T> upper(4, 4), permuted(7, 4);
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t i = 0; i <= j; ++i) upper(i, j) = this->At(r, 1)(i, j);
      const int64_t from = pivoted ? permutation.as<int32_t>()[4 + j] - 1 : j;
      for (int64_t i = 0; i < 7; ++i) permuted(i, j) = this->At(a, 1)(i, from);
    }
    EXPECT_LT((Error<T, T, T>(this->At(q, 1), upper, permuted)), this->Slack());
    EXPECT_LT(NotUnitary<T>(this->At(q, 1)), this->Slack());
  }
  // Q^H times the Q that was formed is the identity's first columns.
  Array product = q;
  ASSERT_TRUE(
      Call(&this->ctx, this->Name("ormqr", "unmqr"), "{left = true, transpose = true}", {&r, &tau, &q}, {&product})
          .ok());
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t j = 0; j < 4; ++j) EXPECT_LT(std::abs(this->At(product, 0)(i, j) - T(i == j)), this->Slack());
  }
}

// The names that do not say the type give what the others do, with permutations counted from 0.
TYPED_TEST(Lapack, NamesOfTheBuilder) {
  const auto same = [](const Array& x, const Array& y) { return x.bytes == y.bytes; };
  Array a = this->Random({2, 7, 4}), f = Array(a.type, a.dims, true), tau = Array(a.type, {2, 4}), q = f;
  Array f2 = f, tau2 = tau, q2 = f;
  ASSERT_TRUE(Call(&this->ctx, this->Name("geqrf", "geqrf"), "{}", {&a}, {&f, &tau}).ok());
  ASSERT_TRUE(Call(&this->ctx, "Qr", "", {&a}, {&f2, &tau2}).ok());
  EXPECT_TRUE(same(f, f2) && same(tau, tau2));
  ASSERT_TRUE(Call(&this->ctx, this->Name("orgqr", "ungqr"), "{}", {&f, &tau}, {&q}).ok());
  ASSERT_TRUE(Call(&this->ctx, "ProductOfElementaryHouseholderReflectors", "", {&f, &tau}, {&q2}).ok());
  EXPECT_TRUE(same(q, q2));

  Array pivots = Array(RtType::kS32, {2, 4}), pivots2 = pivots, rows = Array(RtType::kS32, {2, 7}), info = this->Info();
  ASSERT_TRUE(Call(&this->ctx, this->Name("getrf", "getrf"), "{}", {&a}, {&f, &pivots, &info}).ok());
  ASSERT_TRUE(Call(&this->ctx, "LuDecomposition", "", {&a}, {&f2, &pivots2, &rows}).ok());
  EXPECT_TRUE(same(f, f2));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pivots2.as<int32_t>()[i], pivots.as<int32_t>()[i] - 1);
  // Row i of l * u is row rows[i] of a; its first element is l(i, 0) * u(0, 0).
  for (int64_t i = 0; i < 7; ++i) {
    const TypeParam l = i == 0 ? TypeParam(1) : this->At(f, 1)(i, 0);
    const TypeParam first = l * this->At(f, 1)(0, 0), want = this->At(a, 1)(rows.as<int32_t>()[7 + i], 0);
    EXPECT_LT(std::abs(first - want), this->Slack());
  }

  Array h = this->Hermitian(5), v = h, v2 = h, w = Array(Kind<TypeParam>::real, {2, 5}), w2 = w;
  for (bool lower : {false, true}) {
    const char* config = lower ? "{mode = 86 : ui8, uplo = 76 : ui8}" : "{mode = 86 : ui8, uplo = 85 : ui8}";
    ASSERT_TRUE(Call(&this->ctx, this->Name("syevd", "heevd"), config, {&h}, {&v, &w, &info}).ok());
    ASSERT_TRUE(Call(&this->ctx, "Eigh", lower ? "1,1,6,0.000001" : "0,1,6,0.000001", {&h}, {&v2, &w2}).ok());
    EXPECT_TRUE(same(v, v2) && same(w, w2));
  }
  EXPECT_EQ(Call(&this->ctx, "Eigh", "upper", {&h}, {&v2, &w2}).message(),
            "custom call Eigh: its backend_config, `upper`, should begin with `0,` (upper triangle) or `1,` (lower)");
  EXPECT_EQ(Call(&this->ctx, "Qr", "", {&pivots}, {&f2, &tau2}).message(),
            "custom call Qr: takes arrays of f32, f64, c64 or c128");
}

TYPED_TEST(Lapack, Gtsv) {
  using T = TypeParam;
  constexpr int64_t n = 9;
  Array lower = this->Random({2, n}), diagonal = this->Random({2, n}), upper = this->Random({2, n});
  for (Array* a : {&lower, &diagonal, &upper}) a->layout = {1, 0};
  Array b = this->Random({2, n, 3}), x = b, l = lower, d = diagonal, u = upper, info = this->Info();
  ASSERT_TRUE(
      Call(&this->ctx, this->Name("gtsv", "gtsv"), "{}", {&lower, &diagonal, &upper, &b}, {&l, &d, &u, &x, &info})
          .ok());
  for (int64_t i = 0; i < 2; ++i) {
    OwnedMatrix<T> full(n, n);
    for (int64_t j = 0; j < n; ++j) {
      full(j, j) = diagonal.as<T>()[i * n + j];
      if (j > 0) full(j, j - 1) = lower.as<T>()[i * n + j];
      if (j + 1 < n) full(j, j + 1) = upper.as<T>()[i * n + j];
    }
    EXPECT_EQ(info.as<int32_t>()[i], 0);
    EXPECT_LT((Error<T, T, T>(full, this->At(x, i), this->At(b, i))), 100 * this->Slack());
  }
}

TYPED_TEST(Lapack, HermitianEigenvaluesAndTridiagonalForm) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 7, 40}) {
    for (int64_t uplo : {76, 85}) {
      Array a = this->Hermitian(n), v = a, w = Array(Kind<T>::real, {2, n}), info = this->Info();
      const std::string triangle = "uplo = " + std::to_string(uplo) + " : ui8}";
      ASSERT_TRUE(Call(&this->ctx, this->Name("syevd", "heevd"), ("{mode = 86 : ui8, " + triangle).c_str(), {&a},
                       {&v, &w, &info})
                      .ok());
      EXPECT_EQ(info.as<int32_t>()[1], 0);
      const Real<T>* values = w.as<Real<T>>() + n;
      OwnedMatrix<T> scaled(n, n);
      for (int64_t j = 0; j < n; ++j) {
        if (j > 0) {
          EXPECT_LE(values[j - 1], values[j]);
        }
        for (int64_t i = 0; i < n; ++i) scaled(i, j) = this->At(v, 1)(i, j) * values[j];
      }
      EXPECT_LT((Error<T, T, T>(this->At(a, 1), this->At(v, 1), scaled)), n * this->Slack());
      EXPECT_LT(NotUnitary<T>(this->At(v, 1)), n * this->Slack());
      // The tridiagonal form has the same trace and Frobenius norm.
      Array t = a, d = Array(Kind<T>::real, {2, n}), e = Array(Kind<T>::real, {2, n - 1}),
            tau = Array(a.type, {2, n - 1});
      ASSERT_TRUE(
          Call(&this->ctx, this->Name("sytrd", "hetrd"), ("{" + triangle).c_str(), {&a}, {&t, &d, &e, &tau, &info})
              .ok());
      double trace = 0, squares = 0, want_trace = 0, want_squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        trace += d.as<Real<T>>()[i];
        squares += std::pow(d.as<Real<T>>()[i], 2);
        if (i + 1 < n) squares += 2 * std::pow(e.as<Real<T>>()[i], 2);
        want_trace += std::real(this->At(a, 0)(i, i));
        for (int64_t j = 0; j < n; ++j) want_squares += std::norm(this->At(a, 0)(i, j));
      }
      EXPECT_NEAR(trace, want_trace, n * this->Slack());
      EXPECT_NEAR(squares, want_squares, n * n * this->Slack());
    }
  }
  Array a = this->Hermitian(3), v = a, w = Array(Kind<T>::real, {2, 3}), info = this->Info();
  this->template At<T>(a, 0)(2, 1) = std::nan("");
  ASSERT_TRUE(
      Call(&this->ctx, this->Name("syevd", "heevd"), "{mode = 86 : ui8, uplo = 76 : ui8}", {&a}, {&v, &w, &info}).ok());
  EXPECT_EQ(info.as<int32_t>()[0], 1);
  EXPECT_TRUE(std::isnan(w.as<Real<T>>()[0]));
}

TYPED_TEST(Lapack, SingularValues) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {30, 30}, {4, 4}}) {
    for (int mode : {'A', 'S', 'N'}) {
      const int64_t k = std::min(m, n), cols = mode == 'A' ? m : k, rows = mode == 'A' ? n : k;
      Array a = this->Random({2, m, n}), x = a, s = Array(Kind<T>::real, {2, k}), info = this->Info();
      if (m == 4) {  // of rank 2
        for (int64_t j = 2; j < 4; ++j) {
          for (int64_t i = 0; i < 4; ++i) this->At(a, 1)(i, j) = this->At(a, 1)(i, j - 2);
        }
      }
      Array u = Array(a.type, {2, m, cols}, true), vt = Array(a.type, {2, rows, n}, true);
      const std::string config = "{mode = " + std::to_string(mode) + " : ui8}";
      ASSERT_TRUE(Call(&this->ctx, this->Name("gesdd", "gesdd"), config.c_str(), {&a}, {&x, &s, &u, &vt, &info}).ok());
      EXPECT_EQ(info.as<int32_t>()[1], 0);
      const Real<T>* values = s.as<Real<T>>() + k;
      double squares = 0, norm = 0;
      for (int64_t i = 0; i < k; ++i) {
        squares += std::pow(values[i], 2);
        if (i > 0) {
          EXPECT_GE(values[i - 1], values[i]);
        }
      }
      for (int64_t i = 0; i < m * n; ++i) norm += std::norm(a.as<T>()[m * n + i]);
      EXPECT_NEAR(squares, norm, norm * this->Slack());
      if (mode == 'N') continue;
      OwnedMatrix<T> scaled(m, k), v(n, rows);
      for (int64_t j = 0; j < k; ++j) {
        for (int64_t i = 0; i < m; ++i) scaled(i, j) = this->At(u, 1)(i, j) * values[j];
      }
      EXPECT_LT((Error<T, T, T>(scaled, this->At(vt, 1), this->At(a, 1))), 3 * this->Slack());
      Adjoint(this->At(vt, 1), &v);
      EXPECT_LT(NotUnitary<T>(this->At(u, 1)), 3 * this->Slack());
      EXPECT_LT(NotUnitary<T>(v), 3 * this->Slack());
    }
  }
}

TYPED_TEST(Lapack, GeneralEigenvaluesAndSchurForm) {
  using T = TypeParam;
  using C = std::complex<Real<T>>;
  for (int64_t n : {1, 2, 3, 8, 15}) {
    Array a = this->Random({2, n, n}), w = Array(a.type, {2, n}), wi = w, info = this->Info();
    Array left = Array(Kind<T>::complex, {2, n, n}, true), right = left;
    std::vector<Array*> outputs = {&w, &left, &right, &info};
    if (!this->kComplex) outputs.insert(outputs.begin() + 1, &wi);
    ASSERT_TRUE(Call(&this->ctx, this->Name("geev", "geev"), "{compute_left = 86 : ui8, compute_right = 86 : ui8}",
                     {&a}, outputs)
                    .ok());
    OwnedMatrix<C> scaled(n, n), left_scaled(n, n), full(n, n), left_adjoint(n, n);
    const Matrix<C> r = this->template At<C>(right, 1), l = this->template At<C>(left, 1);
    Adjoint(l, &left_adjoint);
    for (int64_t j = 0; j < n; ++j) {
      C value;
      if constexpr (std::is_floating_point_v<T>) {
        value = C(w.as<T>()[n + j], wi.as<T>()[n + j]);
      } else {
        value = w.as<T>()[n + j];
      }
      double length = 0;
      for (int64_t i = 0; i < n; ++i) {
        scaled(i, j) = r(i, j) * value;
        left_scaled(j, i) = value * left_adjoint(j, i);
        full(i, j) = this->At(a, 1)(i, j);
        length += std::norm(r(i, j));
      }
      EXPECT_NEAR(length, 1, this->Slack());
    }
    EXPECT_LT((Error<C, C, C>(full, r, scaled)), 5 * n * this->Slack());
    EXPECT_LT((Error<C, C, C>(left_adjoint, full, left_scaled)), 5 * n * this->Slack());

    Array t = a, vectors = a, selected = info;
    outputs = {&t, &vectors, &w, &selected, &info};
    if (!this->kComplex) outputs.insert(outputs.begin() + 3, &wi);
    ASSERT_TRUE(Call(&this->ctx, this->Name("gees", "gees"), "{mode = 86 : ui8, sort = 78 : ui8}", {&a}, outputs).ok());
    OwnedMatrix<T> ut(n, n), av(n, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t p = 0; p < n; ++p) ut(i, j) += this->At(vectors, 1)(i, p) * this->At(t, 1)(p, j);
        if (i > j + (this->kComplex ? 0 : 1)) {
          EXPECT_EQ(this->At(t, 1)(i, j), T(0));
        }
      }
    }
    EXPECT_LT((Error<T, T, T>(this->At(a, 1), this->At(vectors, 1), ut)), n * this->Slack());
    EXPECT_LT(NotUnitary<T>(this->At(vectors, 1)), n * this->Slack());

    // The Hessenberg form has the same trace, and Q from its reflectors brings it back.
    Array h = a, tau = Array(a.type, {2, n - 1});
    const std::string range = "{high = " + std::to_string(n) + " : i32, low = 1 : i32}";
    ASSERT_TRUE(Call(&this->ctx, this->Name("gehrd", "gehrd"), range.c_str(), {&a}, {&h, &tau, &info}).ok());
    OwnedMatrix<T> q(n, n), form(n, n), qh(n, n);
    q(0, 0) = 1;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        if (i <= j + 1) form(i, j) = this->At(h, 1)(i, j);
        if (i > 0 && j + 1 < n) q(i, j + 1) = this->At(h, 1)(i, j);
      }
    }
    if (n > 1) QrFormQ<T>(q.Part(1, 1, n - 1, n - 1), n - 1, tau.template as<T>() + (n - 1));
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t p = 0; p < n; ++p) qh(i, j) += q(i, p) * form(p, j);
      }
    }
    EXPECT_LT((Error<T, T, T>(this->At(a, 1), q, qh)), n * this->Slack());
  }
}

TYPED_TEST(Lapack, WrongOperands) {
  Array a = this->Random({2, 3, 4}), f = a, info = this->Info();
  const std::string potrf = this->Name("potrf", "potrf");
  EXPECT_EQ(Call(&this->ctx, potrf.c_str(), "{uplo = 76 : ui8}", {&a}, {&f, &info}).message(),
            "custom call " + potrf + ": the sizes of operands and results do not fit");
  EXPECT_EQ(Call(&this->ctx, potrf.c_str(), "{}", {&a}, {&f, &info}).message(),
            "custom call " + potrf + ": attribute uplo is missing");
  EXPECT_EQ(Call(&this->ctx, potrf.c_str(), "{}", {&a}, {&f}).message(),
            "custom call " + potrf + ": takes 1 operands and gives 2 results, not 1 and 1");
}

}  // namespace
}  // namespace xc
