// Hermitian matrices by reflectors and implicit QL, singular values by one-sided Jacobi rotations after QR, general
// eigenvectors from a Schur form.
#include "backends/runtime/spectral.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace xc {
namespace {

template <typename T>
bool Finite(const Matrix<T>& a) {
  for (int64_t j = 0; j < a.cols; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) {
      if (!std::isfinite(std::real(a(i, j))) || !std::isfinite(std::imag(a(i, j)))) return false;
    }
  }
  return true;
}

template <typename T>
void CopyMatrix(const Matrix<T>& from, const Matrix<T>& to) {
  for (int64_t j = 0; j < to.cols; ++j) {
    for (int64_t i = 0; i < to.rows; ++i) to(i, j) = from(i, j);
  }
}

// Eigenvalues of a symmetric tridiagonal matrix by implicit QL with Wilkinson's shift; the rotations go to z's columns.
template <typename T>
bool TridiagonalQl(int64_t n, Real<T>* d, Real<T>* e, const Matrix<T>& z) {
  using R = Real<T>;
  constexpr R kEps = std::numeric_limits<R>::epsilon();
  constexpr int kMaxIterations = 60;
  for (int64_t l = 0; l < n; ++l) {
    for (int iteration = 0;; ++iteration) {
      int64_t m = l;
      for (; m + 1 < n; ++m) {
        if (std::abs(e[m]) <= kEps * (std::abs(d[m]) + std::abs(d[m + 1])) ||
            std::abs(e[m]) < std::numeric_limits<R>::min()) {
          break;
        }
      }
      if (m == l) break;
      if (iteration == kMaxIterations) return false;
      R g = (d[l + 1] - d[l]) / (2 * e[l]);
      R r = std::hypot(g, R(1));
      g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
      R s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      for (; i >= l; --i) {
        R f = s * e[i], b = c * e[i];
        r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        if (z.data != nullptr) {
          T* x = &z(0, i);
          T* y = &z(0, i + 1);
          for (int64_t k = 0; k < z.rows; ++k) {
            const T t = y[k];
            y[k] = s * x[k] + c * t;
            x[k] = c * x[k] - s * t;
          }
        }
      }
      if (r == 0 && i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}

// Orthogonalizes the columns of x by rotations from the right, which go to v. One-sided Jacobi (Hestenes).
template <typename T>
bool JacobiColumns(const Matrix<T>& x, const Matrix<T>& v) {
  using R = Real<T>;
  const R tolerance = std::numeric_limits<R>::epsilon() * 4;
  constexpr int kMaxSweeps = 60;
  const int64_t n = x.cols;
  auto rotate = [](T* a, T* b, int64_t count, R c, R s, T phase) {
    for (int64_t i = 0; i < count; ++i) {
      const T turned = b[i] * phase, first = a[i];
      a[i] = c * first - s * turned;
      b[i] = s * first + c * turned;
    }
  };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        T* a = &x(0, p);
        T* b = &x(0, q);
        R alpha = 0, beta = 0;
        T gamma = 0;
        for (int64_t i = 0; i < x.rows; ++i) {
          alpha += std::norm(a[i]);
          beta += std::norm(b[i]);
          gamma += Conj(a[i]) * b[i];
        }
        const R size = std::abs(gamma);
        if (!(size > tolerance * std::sqrt(alpha) * std::sqrt(beta)) || size < std::numeric_limits<R>::min()) continue;
        rotated = true;
        const R zeta = (beta - alpha) / (2 * size);
        const R t = std::copysign(R(1), zeta) / (std::abs(zeta) + std::hypot(R(1), zeta));
        const R c = 1 / std::hypot(R(1), t), s = c * t;
        const T phase = Conj(gamma) / size;
        rotate(a, b, x.rows, c, s, phase);
        rotate(&v(0, p), &v(0, q), v.rows, c, s, phase);
      }
    }
    if (!rotated) return true;
  }
  return false;
}

// Columns [known, q.cols) become an orthonormal completion of the orthonormal columns [0, known).
template <typename T>
void Complete(const Matrix<T>& q, int64_t known) {
  if (known >= q.cols) return;
  OwnedMatrix<T> work(q.rows, q.cols);
  CopyMatrix<T>(q.Part(0, 0, q.rows, known), work.Part(0, 0, q.rows, known));
  std::vector<T> tau(known + 1);
  QrFactor<T>(work.Part(0, 0, q.rows, known), tau.data());
  QrFormQ<T>(work, known, tau.data());
  CopyMatrix<T>(work.Part(0, known, q.rows, q.cols - known), q.Part(0, known, q.rows, q.cols - known));
}

// Singular values for at least as many rows as columns: a = u * diag(s) * v^H.
template <typename T>
bool TallSvd(const Matrix<T>& a, Real<T>* s, const Matrix<T>& u, const Matrix<T>& v) {
  using R = Real<T>;
  const int64_t m = a.rows, n = a.cols;
  if (n == 0) {
    if (u.data != nullptr) Complete(u, 0);
    return true;
  }
  // Far from overflow and underflow.
  R largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) largest = std::max(largest, static_cast<R>(std::abs(a(i, j))));
  }
  const R scale = largest > 0 ? std::exp2(R(std::ilogb(largest))) : R(1);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) a(i, j) /= scale;
  }
  // a P = Q R, and the rotations orthogonalize the columns of R^H, which are sorted already: R^H Z = W diag(s).
  std::vector<T> tau(n);
  std::vector<int32_t> permutation(n);
  QrFactor<T>(a, tau.data(), permutation.data());
  OwnedMatrix<T> x(n, n), z(n, n);
  for (int64_t j = 0; j < n; ++j) {
    z(j, j) = 1;
    for (int64_t i = j; i < n; ++i) x(i, j) = Conj(a(j, i));
  }
  if (!JacobiColumns<T>(x, z)) return false;
  std::vector<R> norms(n);
  for (int64_t j = 0; j < n; ++j) {
    R sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::norm(x(i, j));
    norms[j] = std::sqrt(sum);
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return norms[i] > norms[j]; });
  int64_t rank = 0;
  OwnedMatrix<T> w(n, n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[j];
    s[j] = norms[from] * scale;
    // A column that is nothing but rounding has no direction of its own.
    if (norms[from] > norms[order[0]] * std::numeric_limits<R>::epsilon() * R(0.01) && rank == j) {
      for (int64_t i = 0; i < n; ++i) w(i, j) = x(i, from) / norms[from];
      ++rank;
    }
  }
  Complete<T>(w, rank);
  if (v.data != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) v(permutation[i] - 1, j) = w(i, j);
    }
  }
  if (u.data != nullptr) {
    for (int64_t j = 0; j < u.cols; ++j) {
      for (int64_t i = 0; i < m; ++i) {
        if (j < n) {
          u(i, j) = i < n ? z(i, order[j]) : T(0);
        } else {
          u(i, j) = i == j ? T(1) : T(0);
        }
      }
    }
    QrMultiply<T>(a, n, tau.data(), u, true, false);
  }
  return true;
}

template <typename C>
void NormalizeColumns(const Matrix<C>& vectors) {
  using R = Real<C>;
  for (int64_t j = 0; j < vectors.cols; ++j) {
    R sum = 0;
    int64_t largest = 0;
    for (int64_t i = 0; i < vectors.rows; ++i) {
      sum += std::norm(vectors(i, j));
      if (std::abs(vectors(i, j)) > std::abs(vectors(largest, j))) largest = i;
    }
    if (!(sum > 0)) continue;
    const C pivot = vectors(largest, j);
    const C factor = pivot.imag() == 0 ? C(1 / std::sqrt(sum)) : std::conj(pivot) / (std::abs(pivot) * std::sqrt(sum));
    for (int64_t i = 0; i < vectors.rows; ++i) vectors(i, j) *= factor;
    vectors(largest, j).imag(0);
  }
}

// Right eigenvectors of an upper triangular matrix: column k solves (t - t_kk) x = 0 with x_k = 1.
template <typename C>
void TriangularVectors(const Matrix<C>& t, const Matrix<C>& x) {
  using R = Real<C>;
  const int64_t n = t.rows;
  R norm = std::numeric_limits<R>::min();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i <= j; ++i) norm = std::max(norm, std::abs(t(i, j)));
  }
  const R smallest = norm * std::numeric_limits<R>::epsilon();
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) x(i, k) = i < k ? -t(i, k) : C(i == k);
    for (int64_t i = k - 1; i >= 0; --i) {
      C divisor = t(i, i) - t(k, k);
      if (std::abs(divisor) < smallest) divisor = smallest;
      const C value = x(i, k) / divisor;
      x(i, k) = value;
      for (int64_t r = 0; r < i; ++r) x(r, k) -= t(r, i) * value;
    }
  }
}

// c = a * b.
template <typename C>
void Multiply(const Matrix<C>& a, const Matrix<C>& b, const Matrix<C>& c) {
  for (int64_t j = 0; j < c.cols; ++j) {
    for (int64_t i = 0; i < c.rows; ++i) c(i, j) = 0;
    for (int64_t p = 0; p < a.cols; ++p) {
      const C factor = b(p, j);
      if (factor == C(0)) continue;
      for (int64_t i = 0; i < c.rows; ++i) c(i, j) += a(i, p) * factor;
    }
  }
}

// A real Schur form with blocks of 2, as complex matrices, to a triangular one, by a rotation for each block.
template <typename C>
void SplitBlocks(const Matrix<C>& t, const Matrix<C>& u) {
  using R = Real<C>;
  for (int64_t m = t.rows - 1; m > 0; --m) {
    if (t(m, m - 1) == C(0)) continue;
    const R half = (t(m - 1, m - 1) - t(m, m)).real() / 2;
    const C square = C(half * half) + t(m - 1, m) * t(m, m - 1);
    const C mu = C(half) + std::sqrt(square);  // an eigenvalue less t(m, m)
    const R r = std::hypot(std::abs(mu), std::abs(t(m, m - 1)));
    const C c = mu / r, s = t(m, m - 1) / r;
    for (int64_t j = m - 1; j < t.cols; ++j) {
      const C x = t(m - 1, j), y = t(m, j);
      t(m - 1, j) = std::conj(c) * x + s * y;
      t(m, j) = -s * x + c * y;
    }
    for (const Matrix<C>* a : {&t, &u}) {
      const int64_t rows = a == &t ? m + 1 : u.rows;
      for (int64_t i = 0; i < rows; ++i) {
        const C x = (*a)(i, m - 1), y = (*a)(i, m);
        (*a)(i, m - 1) = x * c + y * s;
        (*a)(i, m) = -x * s + y * std::conj(c);
      }
    }
    t(m, m - 1) = 0;
  }
}

}  // namespace

template <typename T>
void Tridiagonalize(const Matrix<T>& a, bool lower, Real<T>* diagonal, Real<T>* off, T* tau) {
  // An upper triangle is a lower one with rows and columns in reverse.
  const int64_t n = a.rows;
  auto at = [&](int64_t i) { return lower ? i : n - 1 - i; };
  OwnedMatrix<T> full(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      const T x = a(at(i), at(j));
      full(i, j) = i == j ? T(std::real(x)) : x;
      full(j, i) = i == j ? T(std::real(x)) : Conj(x);
    }
  }
  std::vector<T> w(n);
  for (int64_t i = 0; i + 1 < n; ++i) {
    T alpha = full(i + 1, i);
    T* tail = i + 2 < n ? &full(i + 2, i) : nullptr;
    T factor;
    MakeReflector(n - i - 1, &alpha, tail, 1, &factor);
    off[lower ? i : n - 2 - i] = std::real(alpha);
    tau[lower ? i : n - 2 - i] = factor;
    full(i + 1, i) = alpha;
    if (factor == T(0)) continue;
    // Both sides at once: A - v w^H - w v^H with w = tau A v - (tau / 2) (w^H v) v.
    const int64_t m = n - i - 1;
    const Matrix<T> rest = full.Part(i + 1, i + 1, m, m);
    auto v = [&](int64_t k) { return k == 0 ? T(1) : tail[k - 1]; };
    std::fill(w.begin(), w.begin() + m, T(0));
    for (int64_t c = 0; c < m; ++c) {
      const T value = factor * v(c);
      for (int64_t r = 0; r < m; ++r) w[r] += rest(r, c) * value;
    }
    T dot = 0;
    for (int64_t r = 0; r < m; ++r) dot += Conj(w[r]) * v(r);
    const T half = T(Real<T>(-0.5)) * factor * dot;
    for (int64_t r = 0; r < m; ++r) w[r] += half * v(r);
    for (int64_t c = 0; c < m; ++c) {
      const T vc = Conj(v(c)), wc = Conj(w[c]);
      for (int64_t r = 0; r < m; ++r) rest(r, c) -= v(r) * wc + w[r] * vc;
    }
  }
  for (int64_t i = 0; i < n; ++i) diagonal[at(i)] = std::real(full(i, i));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) a(at(i), at(j)) = full(i, j);
  }
}

template <typename T>
bool HermitianEigen(const Matrix<T>& a, bool lower, bool vectors, Real<T>* values) {
  using R = Real<T>;
  const int64_t n = a.rows;
  if (n == 0) return true;
  // The lower triangle of the matrix (of an upper one, the adjoint), scaled far from overflow.
  R largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      if (!lower) a(i, j) = Conj(a(j, i));
      if (!std::isfinite(std::real(a(i, j))) || !std::isfinite(std::imag(a(i, j)))) return false;
      largest = std::max(largest, static_cast<R>(std::abs(a(i, j))));
    }
  }
  const R scale = largest > 0 ? std::exp2(R(std::ilogb(largest))) : R(1);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) a(i, j) /= scale;
  }
  std::vector<R> d(n), e(n);
  std::vector<T> tau(n);
  Tridiagonalize<T>(a, true, d.data(), e.data(), tau.data());
  OwnedMatrix<T> q(vectors ? n : 0, vectors ? n : 0);
  if (vectors) {
    q(0, 0) = 1;
    if (n > 1) {
      const Matrix<T> rest = q.Part(1, 1, n - 1, n - 1);
      CopyMatrix<T>(a.Part(1, 0, n - 1, n - 1), rest);
      QrFormQ<T>(rest, n - 1, tau.data());
    }
  } else {
    q.data = nullptr;
  }
  if (!TridiagonalQl<T>(n, d.data(), e.data(), q)) return false;
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j]; });
  for (int64_t j = 0; j < n; ++j) {
    values[j] = d[order[j]] * scale;
    if (vectors) CopyMatrix<T>(q.Part(0, order[j], n, 1), a.Part(0, j, n, 1));
  }
  return true;
}

template <typename T>
bool GeneralEigen(const Matrix<T>& a, std::complex<Real<T>>* values, const Matrix<std::complex<Real<T>>>& left,
                  const Matrix<std::complex<Real<T>>>& right) {
  using C = std::complex<Real<T>>;
  const int64_t n = a.rows;
  OwnedMatrix<T> form(n, n), basis(n, n);
  CopyMatrix<T>(a, form);
  if (!Schur<T>(form, basis)) return false;
  OwnedMatrix<C> t(n, n), u(n, n);
  for (int64_t i = 0; i < n * n; ++i) {
    t.data[i] = form.data[i];
    u.data[i] = basis.data[i];
  }
  SplitBlocks<C>(t, u);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = t(i, i);
    // Pairs of a real matrix are conjugates to the last bit.
    if constexpr (std::is_floating_point_v<T>) {
      if (i > 0 && form(i, i - 1) != T(0)) values[i] = std::conj(values[i - 1]);
      if (form(i, i) == std::real(values[i]) && (i + 1 == n || form(i + 1, i) == T(0)) &&
          (i == 0 || form(i, i - 1) == T(0))) {
        values[i].imag(0);
      }
    }
  }
  OwnedMatrix<C> x(n, n);
  if (right.data != nullptr) {
    TriangularVectors<C>(t, x);
    Multiply<C>(u, x, right);
    NormalizeColumns(right);
  }
  if (left.data != nullptr) {
    // Left eigenvectors are the right ones of t^H, a lower triangle: an upper one in reverse.
    OwnedMatrix<C> reversed(n, n), y(n, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i <= j; ++i) reversed(i, j) = std::conj(t(n - 1 - j, n - 1 - i));
    }
    TriangularVectors<C>(reversed, x);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) y(i, j) = x(n - 1 - i, n - 1 - j);
    }
    Multiply<C>(u, y, left);
    NormalizeColumns(left);
  }
  return true;
}

template <typename T>
bool Svd(const Matrix<T>& a, Real<T>* s, const Matrix<T>& u, const Matrix<T>& vh) {
  if (!Finite(a)) return false;
  const int64_t m = a.rows, n = a.cols;
  if (m >= n) {
    OwnedMatrix<T> v(vh.data != nullptr ? n : 0, vh.data != nullptr ? n : 0);
    if (vh.data == nullptr) v.data = nullptr;
    if (!TallSvd<T>(a, s, u, v)) return false;
    for (int64_t j = 0; vh.data != nullptr && j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) vh(i, j) = Conj(v(j, i));
    }
    return true;
  }
  // Of the adjoint, with left and right exchanged.
  OwnedMatrix<T> adjoint(n, m), v(vh.data != nullptr ? n : 0, vh.data != nullptr ? vh.rows : 0);
  if (vh.data == nullptr) v.data = nullptr;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) adjoint(j, i) = Conj(a(i, j));
  }
  if (!TallSvd<T>(adjoint, s, v, u)) return false;
  for (int64_t j = 0; vh.data != nullptr && j < n; ++j) {
    for (int64_t i = 0; i < vh.rows; ++i) vh(i, j) = Conj(v(j, i));
  }
  return true;
}

#define XC_INSTANTIATE(T)                                                                                       \
  template void Tridiagonalize<T>(const Matrix<T>&, bool, Real<T>*, Real<T>*, T*);                              \
  template bool HermitianEigen<T>(const Matrix<T>&, bool, bool, Real<T>*);                                      \
  template bool GeneralEigen<T>(const Matrix<T>&, std::complex<Real<T>>*, const Matrix<std::complex<Real<T>>>&, \
                                const Matrix<std::complex<Real<T>>>&);                                          \
  template bool Svd<T>(const Matrix<T>&, Real<T>*, const Matrix<T>&, const Matrix<T>&);
XC_INSTANTIATE(float)
XC_INSTANTIATE(double)
XC_INSTANTIATE(std::complex<float>)
XC_INSTANTIATE(std::complex<double>)
#undef XC_INSTANTIATE

}  // namespace xc
