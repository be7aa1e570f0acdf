// The kernels of gemm_kernels.h. Compiled several times with other -march and XC_GEMM_ISA; so that no code compiled for
// a newer CPU leaks into other files, all is in a namespace of the instruction set and no C++ library is used.
#include "backends/runtime/gemm_kernels.h"

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_pack.h"

namespace xc::XC_GEMM_ISA {
namespace {

constexpr int64_t kKBlock = 256, kMBlock = 144, kUnpackedRows = 2 * kRows;

struct C64 {
  float re, im;
};
struct C128 {
  double re, im;
};

// The most columns whose packed elements stay in the second cache beside those of the rows.
template <typename Acc>
constexpr int64_t NBlock() {
  return NR<Acc>() * 12;
}

// What a kernel does with its sums.
enum class Into { kSet, kAdd, kSubtract };

// Where a panel's elements stand: element i of step p at at[i * across + p * along].
template <typename Acc>
struct Panel {
  const Acc* at;
  int64_t across, along;
};

// c[i * stride + j] = (or +=, -=) sum over k of a's element i * b's element j, for R elements of a and V vectors of
// b's, which stand side by side.
template <typename Acc, int R, int V, bool packed>
__attribute__((noinline)) void Micro(int64_t k, const Panel<Acc>& lhs, const Panel<Acc>& rhs, Acc* __restrict c,
                                     int64_t stride, Into into) {
  typedef Acc Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(Acc))));
  constexpr int kLanes = kVectorBytes / sizeof(Acc);
  const int64_t across = packed ? 1 : lhs.across;
  const Acc* a = lhs.at;
  const Acc* b = rhs.at;
  Vec sum[R][V] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vec row[V];
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) row[j] = reinterpret_cast<const Vec*>(b)[j];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Vec x = a[i * across] - Vec{};
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) sum[i][j] += x * row[j];
    }
    a += packed ? kRows : lhs.along;
    b += rhs.along;
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      Vec* to = reinterpret_cast<Vec*>(c + i * stride + j * kLanes);
      if (into == Into::kSet) {
        *to = sum[i][j];
      } else if (into == Into::kAdd) {
        *to += sum[i][j];
      } else {
        *to -= sum[i][j];
      }
    }
  }
}

template <typename Acc, int R, bool packed>
void MicroOfRows(int vectors, int64_t k, const Panel<Acc>& a, const Panel<Acc>& b, Acc* c, int64_t stride, Into into) {
  switch (vectors) {
    case 1:
      return Micro<Acc, R, 1, packed>(k, a, b, c, stride, into);
    case 2:
      return Micro<Acc, R, 2, packed>(k, a, b, c, stride, into);
    default:
      return Micro<Acc, R, kVectors, packed>(k, a, b, c, stride, into);
  }
}

// `rows`: even, at most kRows.
template <typename Acc, bool packed>
void MicroOf(int64_t rows, int vectors, int64_t k, const Panel<Acc>& a, const Panel<Acc>& b, Acc* c, int64_t stride,
             Into into) {
  if (rows == kRows) return MicroOfRows<Acc, kRows, packed>(vectors, k, a, b, c, stride, into);
  if (rows == 2) return MicroOfRows<Acc, 2, packed>(vectors, k, a, b, c, stride, into);
  if constexpr (kRows == 8) {
    if (rows == 4) return MicroOfRows<Acc, 4, packed>(vectors, k, a, b, c, stride, into);
    MicroOfRows<Acc, 6, packed>(vectors, k, a, b, c, stride, into);
  }
}

// `n` cut into the fewest parts of at most `most`, all about as large.
constexpr int64_t Even(int64_t n, int64_t most) {
  const int64_t parts = n <= most ? 1 : (n - 1) / most + 1;
  return (n + parts - 1) / parts;
}

// Sizes, in elements of Acc, of the three scratch areas: packed A, packed B, sums; each once, or twice for complex.
template <typename Acc>
struct Areas {
  explicit Areas(const GemmTile& t)
      : k_block(t.k < 1         ? 1
                : t.k < kKBlock ? t.k
                                : kKBlock),
        m_block(RoundUp(t.m < kMBlock ? t.m : kMBlock, kRows)),
        n_block(RoundUp(Even(t.n, NBlock<Acc>()), NR<Acc>())),
        a(RoundUp(m_block * k_block, 64)),
        b(RoundUp(n_block * k_block, 64)),
        c(RoundUp(m_block * n_block, 64)) {}
  int64_t k_block, m_block, n_block, a, b, c;
};

// The rows of A or columns of B that one call multiplies, in panels of `width`: the first `plain` of them where the
// operand has them, the others packed.
template <typename Acc>
struct Side {
  const Acc* packed;
  int64_t width, unit;
  const Acc* operand = nullptr;
  int64_t across = 0, along = 0;
  int64_t plain = 0;

  bool IsPacked(int64_t i) const { return i >= plain; }
  Panel<Acc> At(int64_t i, int64_t count, int64_t k) const {
    if (!IsPacked(i)) return {operand + i * across, across, along};
    const int64_t rows = count - i < width ? RoundUp(count - i, unit) : width;
    return {packed + (i - plain) * k, 1, rows};
  }
};

// Multiplies rows x cols sums of depth k into c, which has room for whole panels, or for just these elements.
template <typename Acc>
void Macro(int64_t rows, int64_t cols, int64_t k, const Side<Acc>& a, const Side<Acc>& b, Acc* c, int64_t stride,
           bool room, Into into) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Acc);
  for (int64_t j = 0; j < cols; j += NR<Acc>()) {
    const int64_t width = cols - j < NR<Acc>() ? cols - j : NR<Acc>();
    const int vectors = static_cast<int>((width + kLanes - 1) / kLanes);
    const Panel<Acc> right = b.At(j, cols, k);
    for (int64_t i = 0; i < rows; i += kRows) {
      const Panel<Acc> left = a.At(i, rows, k);
      const int64_t height = rows - i < kRows ? rows - i : kRows, even = RoundUp(height, 2);
      const bool whole = room || (height == even && width == vectors * kLanes);
      Acc part[kRows * kVectors * kLanes];
      Acc* to = whole ? c + i * stride + j : part;
      const int64_t pitch = whole ? stride : kVectors * kLanes;
      const Into how = whole ? into : Into::kSet;
      if (a.IsPacked(i)) {
        MicroOf<Acc, true>(even, vectors, k, left, right, to, pitch, how);
      } else {
        MicroOf<Acc, false>(even, vectors, k, left, right, to, pitch, how);
      }
      if (whole) continue;
      for (int64_t r = 0; r < height; ++r) {
        Acc* row = c + (i + r) * stride + j;
        const Acc* sums = part + r * kVectors * kLanes;
        for (int64_t s = 0; s < width; ++s) {
          row[s] = into == Into::kSet ? sums[s] : (into == Into::kAdd ? row[s] + sums[s] : row[s] - sums[s]);
        }
      }
    }
  }
}

// The side with rows [from, from + count) of an operand of `T` at depths [p, p + k), packed into `scratch` except for
// whole panels that are read a few times at most.
template <typename Acc, typename T>
Side<Acc> MakeSide(const void* operand, int64_t from, int64_t count, int64_t p, int64_t k, int64_t across,
                   int64_t along, int64_t width, int64_t unit, bool plain, Acc* scratch) {
  const T* at = static_cast<const T*>(operand) + from * across + p * along;
  Side<Acc> side{scratch, width, unit};
  if constexpr (kSame<Acc, T>) {
    if (plain) side = {scratch, width, unit, at, across, along, count % unit == 0 ? count : count / width * width};
  }
  Pack(at + side.plain * across, count - side.plain, k, across, along, width, unit, scratch);
  return side;
}

template <typename Acc, typename A, typename B, typename C>
void Gemm(const GemmTile& t, void* scratch) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Acc);
  const Areas<Acc> areas(t);
  Acc* pa = static_cast<Acc*>(scratch);
  Acc* pb = pa + areas.a;
  Acc* pc = pb + areas.b;
  // Sums go straight to C where it holds them as they are.
  const bool direct = kSame<Acc, C> && t.c_n == 1;
  const int64_t m_step = direct ? t.m : areas.m_block;
  for (int64_t j = 0; j < t.n; j += areas.n_block) {
    const int64_t cols = t.n - j < areas.n_block ? t.n - j : areas.n_block;
    for (int64_t i0 = 0; i0 < t.m; i0 += m_step) {
      const int64_t m_end = t.m - i0 < m_step ? t.m : i0 + m_step;
      C* c = static_cast<C*>(t.c) + i0 * t.c_m + j * t.c_n;
      for (int64_t p = 0; p == 0 || p < t.k; p += areas.k_block) {
        const int64_t depth = t.k - p < areas.k_block ? t.k - p : areas.k_block;
        const Side<Acc> b = MakeSide<Acc, B>(t.b, j, cols, p, depth, t.b_n, t.b_k, NR<Acc>(), kLanes,
                                             t.b_n == 1 && m_end - i0 <= kUnpackedRows, pb);
        for (int64_t i = i0; i < m_end; i += areas.m_block) {
          const int64_t rows = m_end - i < areas.m_block ? m_end - i : areas.m_block;
          const Side<Acc> a = MakeSide<Acc, A>(t.a, i, rows, p, depth, t.a_m, t.a_k, kRows, kRows,
                                               cols <= 2 * NR<Acc>() && t.n <= cols, pa);
          const Into into = p == 0 ? Into::kSet : Into::kAdd;
          if (direct) {
            Macro<Acc>(rows, cols, depth, a, b, reinterpret_cast<Acc*>(c) + (i - i0) * t.c_m, t.c_m, false, into);
          } else {
            Macro<Acc>(rows, cols, depth, a, b, pc, areas.n_block, true, into);
          }
        }
      }
      if (direct) continue;
      for (int64_t r = 0; r < m_end - i0; ++r) {
        if (t.c_n == 1) {
          StoreRun(pc + r * areas.n_block, cols, c + r * t.c_m);
          continue;
        }
        for (int64_t s = 0; s < cols; ++s) Store(pc[r * areas.n_block + s], c + r * t.c_m + s * t.c_n);
      }
    }
  }
}

// Complex products as four real ones over the parts, which are packed apart.
template <typename Acc, typename T>
void ComplexGemm(const GemmTile& t, void* scratch) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Acc);
  const Areas<Acc> areas(t);
  Acc* pa[2] = {static_cast<Acc*>(scratch), static_cast<Acc*>(scratch) + areas.a};
  Acc* pb[2] = {pa[1] + areas.a, pa[1] + areas.a + areas.b};
  Acc* pc[2] = {pb[1] + areas.b, pb[1] + areas.b + areas.c};
  for (int64_t j = 0; j < t.n; j += areas.n_block) {
    const int64_t cols = t.n - j < areas.n_block ? t.n - j : areas.n_block;
    for (int64_t i = 0; i < t.m; i += areas.m_block) {
      const int64_t rows = t.m - i < areas.m_block ? t.m - i : areas.m_block;
      for (int64_t p = 0; p == 0 || p < t.k; p += areas.k_block) {
        const int64_t depth = t.k - p < areas.k_block ? t.k - p : areas.k_block;
        PackParts(static_cast<const Acc*>(t.a) + 2 * (i * t.a_m + p * t.a_k), rows, depth, t.a_m, t.a_k, kRows, kRows,
                  pa[0], pa[1]);
        PackParts(static_cast<const Acc*>(t.b) + 2 * (j * t.b_n + p * t.b_k), cols, depth, t.b_n, t.b_k, NR<Acc>(),
                  kLanes, pb[0], pb[1]);
        const Side<Acc> a[2] = {{pa[0], kRows, kRows}, {pa[1], kRows, kRows}};
        const Side<Acc> b[2] = {{pb[0], NR<Acc>(), kLanes}, {pb[1], NR<Acc>(), kLanes}};
        const Into into = p == 0 ? Into::kSet : Into::kAdd;
        Macro<Acc>(rows, cols, depth, a[0], b[0], pc[0], areas.n_block, true, into);
        Macro<Acc>(rows, cols, depth, a[1], b[1], pc[0], areas.n_block, true, Into::kSubtract);
        Macro<Acc>(rows, cols, depth, a[0], b[1], pc[1], areas.n_block, true, into);
        Macro<Acc>(rows, cols, depth, a[1], b[0], pc[1], areas.n_block, true, Into::kAdd);
      }
      T* c = static_cast<T*>(t.c) + i * t.c_m + j * t.c_n;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t s = 0; s < cols; ++s) {
          c[r * t.c_m + s * t.c_n] = T{pc[0][r * areas.n_block + s], pc[1][r * areas.n_block + s]};
        }
      }
    }
  }
}

using GemmFn = void (*)(const GemmTile&, void*);

template <typename Acc, typename A, typename C>
GemmFn ForB(RtType b) {
  switch (b) {
    case RtType::kS8:
      return Gemm<Acc, A, int8_t, C>;
    case RtType::kU8:
      return Gemm<Acc, A, uint8_t, C>;
    default:
      return nullptr;
  }
}

template <typename T, typename Acc>
GemmFn SameType(const GemmTile& t) {
  return t.a_type == t.b_type && t.b_type == t.c_type ? Gemm<Acc, T, T, T> : nullptr;
}

GemmFn Choose(const GemmTile& t, int64_t* acc_bytes, bool* complex) {
  *acc_bytes = 4;
  *complex = false;
  switch (t.a_type) {
    case RtType::kF32:
      return SameType<float, float>(t);
    case RtType::kF64:
      *acc_bytes = 8;
      return SameType<double, double>(t);
    case RtType::kF16:
      if (t.b_type != t.a_type) return nullptr;
      if (t.c_type == RtType::kF32) return Gemm<float, _Float16, _Float16, float>;
      return SameType<_Float16, float>(t);
    case RtType::kBF16:
      if (t.b_type != t.a_type) return nullptr;
      if (t.c_type == RtType::kF32) return Gemm<float, BF16, BF16, float>;
      return SameType<BF16, float>(t);
    case RtType::kC64:
      *complex = true;
      return t.b_type == t.a_type && t.c_type == t.a_type ? ComplexGemm<float, C64> : nullptr;
    case RtType::kC128:
      *complex = true;
      *acc_bytes = 8;
      return t.b_type == t.a_type && t.c_type == t.a_type ? ComplexGemm<double, C128> : nullptr;
    case RtType::kS8:
      if (t.c_type == RtType::kS32) return ForB<uint32_t, int8_t, int32_t>(t.b_type);
      *acc_bytes = 2;
      return SameType<int8_t, uint16_t>(t);
    case RtType::kU8:
      if (t.c_type == RtType::kS32) return ForB<uint32_t, uint8_t, int32_t>(t.b_type);
      *acc_bytes = 2;
      return SameType<uint8_t, uint16_t>(t);
    case RtType::kS16:
    case RtType::kU16:
      *acc_bytes = 2;
      return SameType<uint16_t, uint16_t>(t);
    case RtType::kS32:
    case RtType::kU32:
      return SameType<uint32_t, uint32_t>(t);
    case RtType::kS64:
    case RtType::kU64:
      *acc_bytes = 8;
      return SameType<uint64_t, uint64_t>(t);
    default:
      return nullptr;
  }
}

int64_t GemmScratch(const GemmTile& t) {
  int64_t acc_bytes;
  bool complex;
  if (Choose(t, &acc_bytes, &complex) == nullptr) return -1;
  const auto elements = [](const auto& areas) { return areas.a + areas.b + areas.c; };
  const int64_t count = acc_bytes == 2   ? elements(Areas<uint16_t>(t))
                        : acc_bytes == 4 ? elements(Areas<float>(t))
                                         : elements(Areas<double>(t));
  return count * acc_bytes * (complex ? 2 : 1);
}

void RunGemm(const GemmTile& t, void* scratch) {
  int64_t acc_bytes;
  bool complex;
  Choose(t, &acc_bytes, &complex)(t, scratch);
}

}  // namespace

bool Skinny(const GemmTile& tile, void* scratch);
bool Tiny(const GemmTile& tile, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch);
bool Solve(RtType type, int64_t n, const void* u, int64_t ldu, bool unit, int64_t rows, void* y, int64_t ldy);
bool Subtract(RtType type, int64_t rows, int64_t columns, int64_t k, const void* a, int64_t lda, const void* b,
              int64_t ldb, void* c, int64_t ldc);
bool Reflect(RtType type, int64_t n, const void* tail, const void* tau, int64_t columns, void* c, int64_t ldc);
bool Lines(RtType type, const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step,
           int64_t count, void* out);
bool Direct(const DirectTile& tile);
bool Channels(const DirectTile& tile);
const GemmKernels kKernels = {GemmScratch, RunGemm, kUnpackedRows, Skinny,      Tiny,          Solve,    Subtract,
                              Reflect,     Lines,   Direct,        kDirectRows, kDirectBlocks, Channels, kChannelRows};

}  // namespace xc::XC_GEMM_ISA
