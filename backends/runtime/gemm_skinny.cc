// Products of a few rows with a large matrix, which is read once and without a copy. Compiled for several instruction
// sets, like gemm_kernels.cc, and as self-contained.
#include <stdint.h>
#include <string.h>

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc::XC_GEMM_ISA {
namespace {

// A vector of Acc, float or double, that may stand anywhere.
template <typename Acc>
struct Vector;
template <>
struct Vector<float> {
  typedef float V __attribute__((vector_size(kVectorBytes), may_alias, aligned(4)));
};
template <>
struct Vector<double> {
  typedef double V __attribute__((vector_size(kVectorBytes), may_alias, aligned(8)));
};
template <typename Acc>
constexpr int kLanes = kVectorBytes / sizeof(Acc);

typedef Vector<float>::V VF;
typedef uint32_t VU __attribute__((vector_size(kVectorBytes)));
typedef uint16_t VH __attribute__((vector_size(kVectorBytes / 2), may_alias, aligned(2)));

inline VF LoadVector(const float* from) { return *reinterpret_cast<const VF*>(from); }
inline Vector<double>::V LoadVector(const double* from) { return *reinterpret_cast<const Vector<double>::V*>(from); }
inline VF LoadVector(const BF16* from) {
  VU wide = __builtin_convertvector(*reinterpret_cast<const VH*>(from), VU) << 16;
  VF f;
  memcpy(&f, &wide, sizeof(f));
  return f;
}

inline VF LoadVector(const _Float16* from) {
#if defined(__AVX512F__)
  // Never through memory: a vector's load waits for two stores of halves.
  return reinterpret_cast<VF>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__F16C__)
  return reinterpret_cast<VF>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  float wide[kLanes<float>];
  LoadRun(from, kLanes<float>, wide);
  VF f;
  memcpy(&f, wide, sizeof(f));
  return f;
#endif
}

// The first `count` of a vector's elements, zeros behind them; nothing else is read.
template <typename B>
inline auto LoadPart(const B* from, int64_t count) {
  constexpr int64_t kMost = sizeof(B) == 8 ? kLanes<double> : kLanes<float>;
  B part[kMost] = {};
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const auto mask = static_cast<uint16_t>((1u << count) - 1);
  if constexpr (sizeof(B) == 8) {
    _mm512_storeu_pd(part, _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
  } else if constexpr (sizeof(B) == 4) {
    _mm512_storeu_ps(part, _mm512_maskz_loadu_ps(mask, from));
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(part), _mm256_maskz_loadu_epi16(mask, from));
  }
#else
  for (int64_t i = 0; i < count; ++i) part[i] = from[i];
#endif
  return LoadVector(part);
}

template <typename Acc>
inline Acc HorizontalSum(typename Vector<Acc>::V v) {
  Acc part[kLanes<Acc>];
  memcpy(part, &v, sizeof(v));
  for (int width = kLanes<Acc> / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) part[i] += part[i + width];
  }
  return part[0];
}

// The sums of four vectors' elements, in the order of HorizontalSum.
template <typename Acc>
inline void HorizontalSums(const typename Vector<Acc>::V* v, Acc* sums) {
  for (int i = 0; i < 4; ++i) sums[i] = HorizontalSum<Acc>(v[i]);
}
#if defined(__AVX__)
template <>
inline void HorizontalSums<float>(const VF* v, float* sums) {
  __m128 quarter[4];
  for (int i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    const __m512 whole = reinterpret_cast<__m512>(v[i]);
    const __m256 half =
        _mm512_castps512_ps256(whole) + _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(whole), 1));
#else
    const __m256 half = reinterpret_cast<__m256>(v[i]);
#endif
    quarter[i] = _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
  }
  const __m128 a = _mm_unpacklo_ps(quarter[0], quarter[1]) + _mm_unpackhi_ps(quarter[0], quarter[1]);
  const __m128 b = _mm_unpacklo_ps(quarter[2], quarter[3]) + _mm_unpackhi_ps(quarter[2], quarter[3]);
  _mm_storeu_ps(sums, _mm_movelh_ps(a, b) + _mm_movehl_ps(b, a));
}
template <>
inline void HorizontalSums<double>(const Vector<double>::V* v, double* sums) {
  __m128d half[4];
  for (int i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    const __m512d all = reinterpret_cast<__m512d>(v[i]);
    const __m256d whole = _mm512_castpd512_pd256(all) + _mm512_extractf64x4_pd(all, 1);
#else
    const __m256d whole = reinterpret_cast<__m256d>(v[i]);
#endif
    half[i] = _mm256_castpd256_pd128(whole) + _mm256_extractf128_pd(whole, 1);
  }
  _mm_storeu_pd(sums, _mm_unpacklo_pd(half[0], half[1]) + _mm_unpackhi_pd(half[0], half[1]));
  _mm_storeu_pd(sums + 2, _mm_unpacklo_pd(half[2], half[3]) + _mm_unpackhi_pd(half[2], half[3]));
}
#endif

// B contiguous along n: whole rows of B are added up in y (n is at most a few hundred), four at a time, so that memory
// is read in long runs. x is [m][k].
template <int M, typename Acc, typename B>
void SkinnyColumns(int64_t n, int64_t k, const Acc* x, const B* b, int64_t b_k, Acc* y, int64_t y_stride) {
  typedef typename Vector<Acc>::V V;
  for (int i = 0; i < M; ++i) memset(y + i * y_stride, 0, n * sizeof(Acc));
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const B* rows[4] = {b + p * b_k, b + (p + 1) * b_k, b + (p + 2) * b_k, b + (p + 3) * b_k};
    int64_t j = 0;
    for (; j + kLanes<Acc> <= n; j += kLanes<Acc>) {
      const V rhs[4] = {LoadVector(rows[0] + j), LoadVector(rows[1] + j), LoadVector(rows[2] + j),
                        LoadVector(rows[3] + j)};
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        V* to = reinterpret_cast<V*>(y + i * y_stride + j);
        V sum = *to;
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) sum += rhs[r] * x[i * k + p + r];
        *to = sum;
      }
    }
    for (; j < n; ++j) {
      for (int r = 0; r < 4; ++r) {
        const Acc rhs = Load<Acc>(rows[r][j]);
        for (int i = 0; i < M; ++i) y[i * y_stride + j] += rhs * x[i * k + p + r];
      }
    }
  }
  for (; p < k; ++p) {
    for (int64_t j = 0; j < n; ++j) {
      const Acc rhs = Load<Acc>(b[p * b_k + j]);
      for (int i = 0; i < M; ++i) y[i * y_stride + j] += rhs * x[i * k + p];
    }
  }
}

// The same for a product of few columns, whose sums stay in registers: V vectors of them (the last one of `last`
// columns), and C sums of every C-th row of B.
template <int M, int V, int C, bool Whole, typename Acc, typename B>
void FewColumns(int64_t last, int64_t k, const Acc* x, const B* b, int64_t b_k, Acc* y, int64_t y_stride) {
  typedef typename Vector<Acc>::V Vec;
  // All indices are known once loops are unrolled: the sums are registers.
  Vec sum[C][M][V] = {};
  const auto add = [&](int64_t p, int c) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const B* from = b + p * b_k + v * kLanes<Acc>;
      const Vec rhs = Whole || v + 1 < V ? LoadVector(from) : LoadPart(from, last);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[c][i][v] += rhs * x[i * k + p];
    }
  };
  int64_t p = 0;
  for (; p + C <= k; p += C) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) add(p + c, c);
  }
  for (; p < k; ++p) add(p, 0);
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if constexpr (C == 4) {
        sum[0][i][v] += sum[2][i][v];
        sum[1][i][v] += sum[3][i][v];
      }
      if constexpr (C > 1) sum[0][i][v] += sum[1][i][v];
      memcpy(y + i * y_stride + v * kLanes<Acc>, &sum[0][i][v], sizeof(Vec));
    }
  }
}

// Whether it took the product.
template <int M, typename Acc, typename B>
bool TakeFewColumns(int64_t n, int64_t k, const Acc* x, const B* b, int64_t b_k, Acc* y, int64_t y_stride) {
  const int64_t vectors = (n - 1) / kLanes<Acc> + 1, last = n - (vectors - 1) * kLanes<Acc>;
  // As many sums as hide the time of one, and as fit into registers.
  constexpr int kOfOne = M == 1 ? 4 : 2, kOfTwo = M == 1 ? 4 : M == 2 ? 2 : 1, kOfMore = M == 1 ? 2 : 1;
  const auto take = [&]<int V, int C>() {
    if (last == kLanes<Acc>) {
      FewColumns<M, V, C, true>(last, k, x, b, b_k, y, y_stride);
    } else {
      FewColumns<M, V, C, false>(last, k, x, b, b_k, y, y_stride);
    }
    return true;
  };
  switch (vectors) {
    case 1:
      return take.template operator()<1, kOfOne>();
    case 2:
      return take.template operator()<2, kOfTwo>();
    case 3:
      return take.template operator()<3, kOfMore>();
    case 4:
      return take.template operator()<4, kOfMore>();
    default:
      return false;
  }
}

// B contiguous along k: dot products, several columns and vectors at a time.
template <int M, int N, typename Acc, typename B>
inline void Dots(int64_t k, const Acc* x, const B* b, int64_t b_n, Acc* y, int64_t y_stride) {
  typedef typename Vector<Acc>::V V;
  constexpr int kUnroll = M * N >= 8 ? 1 : (M * N >= 4 ? 2 : 4);
  V sum[M][N][kUnroll] = {};
  int64_t p = 0;
  for (; p + kUnroll * kLanes<Acc> <= k; p += kUnroll * kLanes<Acc>) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        const V rhs = LoadVector(b + j * b_n + p + u * kLanes<Acc>);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) sum[i][j][u] += rhs * LoadVector(x + i * k + p + u * kLanes<Acc>);
      }
    }
  }
  for (; p + kLanes<Acc> <= k; p += kLanes<Acc>) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const V rhs = LoadVector(b + j * b_n + p);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j][0] += rhs * LoadVector(x + i * k + p);
    }
  }
  if (p < k) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const V rhs = LoadPart(b + j * b_n + p, k - p);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j][0] += rhs * LoadPart(x + i * k + p, k - p);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
    V all[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      all[j] = sum[i][j][0];
#pragma GCC unroll 4
      for (int u = 1; u < kUnroll; ++u) all[j] += sum[i][j][u];
    }
    if constexpr (N == 4) {
      HorizontalSums<Acc>(all, y + i * y_stride);
    } else {
      for (int j = 0; j < N; ++j) y[i * y_stride + j] = HorizontalSum<Acc>(all[j]);
    }
  }
}

template <int M, typename Acc, typename B>
void SkinnyRows(int64_t n, int64_t k, const Acc* x, const B* b, int64_t b_n, Acc* y, int64_t y_stride) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) Dots<M, 4>(k, x, b + j * b_n, b_n, y + j, y_stride);
  for (; j < n; ++j) Dots<M, 1>(k, x, b + j * b_n, b_n, y + j, y_stride);
}

template <int M, typename Acc, typename B>
void SkinnyBlock(const GemmTile& t, const B* b, int64_t n, const Acc* x, Acc* y, int64_t y_stride) {
  if (t.b_n == 1) {
    if (t.all_n == n && TakeFewColumns<M>(n, t.k, x, b, t.b_k, y, y_stride)) return;
    SkinnyColumns<M>(n, t.k, x, b, t.b_k, y, y_stride);
  } else {
    SkinnyRows<M>(n, t.k, x, b, t.b_n, y, y_stride);
  }
}

inline void StoreRow(const float* y, int64_t n, const GemmTile& t, int64_t at) {
  if (t.c_type == RtType::kF32) {
    float* c = static_cast<float*>(t.c) + at;
    for (int64_t q = 0; q < n; ++q) c[q * t.c_n] = y[q];
  } else if (t.c_type == RtType::kF16) {
    _Float16* c = static_cast<_Float16*>(t.c) + at;
    if (t.c_n == 1) return StoreRun(y, n, c);
    for (int64_t q = 0; q < n; ++q) Store(y[q], c + q * t.c_n);
  } else {
    BF16* c = static_cast<BF16*>(t.c) + at;
    for (int64_t q = 0; q < n; ++q) c[q * t.c_n] = ToBF16(y[q]);
  }
}
inline void StoreRow(const double* y, int64_t n, const GemmTile& t, int64_t at) {
  double* c = static_cast<double*>(t.c) + at;
  for (int64_t q = 0; q < n; ++q) c[q * t.c_n] = y[q];
}

template <typename B, typename Acc>
void SkinnyAll(const GemmTile& t, const Acc* x) {
  constexpr int64_t kColumns = 512;
  Acc y[kSkinnyRows * kColumns];
  for (int64_t j = 0; j < t.n; j += kColumns) {
    const int64_t n = t.n - j < kColumns ? t.n - j : kColumns;
    const B* b = static_cast<const B*>(t.b) + j * t.b_n;
    switch (t.m) {
      case 1:
        SkinnyBlock<1>(t, b, n, x, y, kColumns);
        break;
      case 2:
        SkinnyBlock<2>(t, b, n, x, y, kColumns);
        break;
      case 3:
        SkinnyBlock<3>(t, b, n, x, y, kColumns);
        break;
      default:
        SkinnyBlock<4>(t, b, n, x, y, kColumns);
        break;
    }
    for (int64_t i = 0; i < t.m; ++i) StoreRow(y + i * kColumns, n, t, i * t.c_m + j * t.c_n);
  }
}

bool Small(RtType type) { return type == RtType::kF32 || type == RtType::kBF16 || type == RtType::kF16; }

// The rows of A in f32, one after the other.
template <typename A>
void Widen(const GemmTile& t, float* x) {
  for (int64_t i = 0; i < t.m; ++i) {
    const A* a = static_cast<const A*>(t.a) + i * t.a_m;
    if (t.a_k == 1) {
      LoadRun(a, t.k, x + i * t.k);
      continue;
    }
    for (int64_t p = 0; p < t.k; ++p) x[i * t.k + p] = Load<float>(a[p * t.a_k]);
  }
}

}  // namespace

bool Skinny(const GemmTile& t, void* scratch) {
  if (t.m < 1 || t.m > kSkinnyRows || (t.b_n != 1 && t.b_k != 1)) return false;
  if (t.a_type == RtType::kF64 && t.b_type == RtType::kF64 && t.c_type == RtType::kF64) {
    double* x = static_cast<double*>(scratch);
    for (int64_t i = 0; i < t.m; ++i) {
      const double* a = static_cast<const double*>(t.a) + i * t.a_m;
      for (int64_t p = 0; p < t.k; ++p) x[i * t.k + p] = a[p * t.a_k];
    }
    SkinnyAll<double>(t, x);
    return true;
  }
  if (!Small(t.a_type) || !Small(t.b_type) || !Small(t.c_type)) return false;
  float* x = static_cast<float*>(scratch);
  if (t.a_type == RtType::kF32) {
    Widen<float>(t, x);
  } else if (t.a_type == RtType::kF16) {
    Widen<_Float16>(t, x);
  } else {
    Widen<BF16>(t, x);
  }
  if (t.b_type == RtType::kF32) {
    SkinnyAll<float>(t, x);
  } else if (t.b_type == RtType::kF16) {
    SkinnyAll<_Float16>(t, x);
  } else {
    SkinnyAll<BF16>(t, x);
  }
  return true;
}

}  // namespace xc::XC_GEMM_ISA
