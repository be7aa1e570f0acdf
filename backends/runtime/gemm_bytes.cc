// The instruction multiplies bytes without sign by bytes with one. The left operand a is taken as signed numbers s with
// a = s + p, the right one b as unsigned numbers u with b = u - q, where p and q are 0 or 128: then
//   sum a b = sum s u + p sum u - q sum s - k p q,
// and the last three terms are sums of columns and rows. Everything wraps, as HLO's integers do.
#include "backends/runtime/gemm_bytes.h"

#include <immintrin.h>
#include <string.h>

#include <algorithm>

#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

#define XC_BYTES [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]]

namespace xc {
namespace {

constexpr int64_t kLanes = 16;      // columns of a vector
constexpr int64_t kPanel = 64;      // columns that are summed at once
constexpr int64_t kDepth = 2048;    // terms that are packed at once
constexpr int64_t kHeight = 512;    // rows of the left operand
constexpr int64_t kRowsAtOnce = 8;  // of sums in registers, by up to three vectors

bool HasInstructions() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vnni");
  return has;
}

bool IsByte(RtType type) { return type == RtType::kS8 || type == RtType::kU8; }

int64_t RoundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// A block of terms: the packed left operand, a panel of the right one, and what is added to their sums.
struct Block {
  int64_t first, quads;  // terms from `first` on, in groups of four
  const char* a;         // rows of signed bytes, `a_row` bytes apart
  int64_t a_row;
  const char* b;            // [quad][column][4]
  const uint32_t* rows;     // a number for each row
  const uint32_t* columns;  // and for each column of the panel
};

// `count` bytes of a row as signed numbers, zeros behind them; returns their sum.
XC_BYTES uint32_t PackRow(const char* from, int64_t step, int64_t count, int64_t room, bool is_signed, char* to) {
  const __m512i flip = _mm512_set1_epi8(is_signed ? 0 : static_cast<char>(0x80)), ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_setzero_si512();
  if (step != 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    from = to;
  }
  for (int64_t i = 0; i < room; i += 64) {
    const __mmask64 mask = _cvtu64_mask64(count - i >= 64 ? ~uint64_t{0}
                                          : count <= i    ? 0
                                                          : (uint64_t{1} << (count - i)) - 1);
    const __mmask64 all = _cvtu64_mask64(room - i >= 64 ? ~uint64_t{0} : (uint64_t{1} << (room - i)) - 1);
    const __m512i x = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from + i), flip));
    sums = _mm512_dpbusd_epi32(sums, ones, x);
    _mm512_mask_storeu_epi8(to + i, all, x);
  }
  alignas(64) uint32_t parts[kLanes];
  _mm512_store_si512(parts, sums);
  uint32_t sum = 0;
  for (uint32_t part : parts) sum += part;
  return sum;
}

// Rows of the right operand beside each other, four at a time: columns that are neighbours in memory.
XC_BYTES void PackNeighbours(const char* from, int64_t step, int64_t terms, int64_t columns, char flip, char* to) {
  const int64_t room = RoundUp(columns, kLanes);
  const __m128i signs = _mm_set1_epi8(flip);
  for (int64_t p = 0; p < terms; p += 4, to += 4 * room) {
    for (int64_t j = 0; j < columns; j += kLanes) {
      const auto mask = static_cast<__mmask16>(columns - j >= kLanes ? 0xffff : (1 << (columns - j)) - 1);
      __m128i row[4];
      for (int64_t r = 0; r < 4; ++r) {
        row[r] = p + r < terms ? _mm_xor_si128(_mm_maskz_loadu_epi8(mask, from + (p + r) * step + j), signs)
                               : _mm_setzero_si128();
      }
      const __m128i low01 = _mm_unpacklo_epi8(row[0], row[1]), high01 = _mm_unpackhi_epi8(row[0], row[1]);
      const __m128i low23 = _mm_unpacklo_epi8(row[2], row[3]), high23 = _mm_unpackhi_epi8(row[2], row[3]);
      auto* out = reinterpret_cast<__m128i*>(to + 4 * j);
      _mm_store_si128(out, _mm_unpacklo_epi16(low01, low23));
      _mm_store_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
      _mm_store_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
      _mm_store_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
    }
  }
}

// The same for columns at any distance.
void PackColumns(const char* from, int64_t step, int64_t column_step, int64_t terms, int64_t columns, char flip,
                 char* to) {
  const int64_t room = RoundUp(columns, kLanes);
  const uint32_t signs = static_cast<uint8_t>(flip) * 0x01010101u;
  for (int64_t j = 0; j < columns; ++j) {
    const char* column = from + j * column_step;
    char* out = to + 4 * j;
    for (int64_t p = 0; p < terms; p += 4, out += 4 * room) {
      uint32_t four = 0;
      const int64_t count = std::min<int64_t>(4, terms - p);
      if (step == 1 && count == 4) {
        memcpy(&four, column + p, 4);
        four ^= signs;
      } else {
        for (int64_t r = 0; r < count; ++r) {
          four |= static_cast<uint32_t>(static_cast<uint8_t>(column[(p + r) * step] ^ flip)) << (8 * r);
        }
      }
      memcpy(out, &four, 4);
    }
  }
}

// R rows by V vectors of sums, stored or added to what is there.
template <int R, int V>
XC_BYTES void Sums(const GemmTile& t, const Block& block, int64_t row, int64_t column, int64_t columns) {
  __m512i sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      sum[r][v] =
          _mm512_add_epi32(_mm512_set1_epi32(block.rows[row + r]), _mm512_load_si512(block.columns + v * kLanes));
    }
  }
  const char* a = block.a + row * block.a_row;
  const char* b = block.b;
  for (int64_t q = 0; q < block.quads; ++q, a += 4, b += 4 * V * kLanes) {
    __m512i x[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) x[v] = _mm512_load_si512(b + 64 * v);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      int32_t four;
      memcpy(&four, a + r * block.a_row, 4);
      const __m512i y = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], x[v], y);
    }
  }
  const int64_t size = IsByte(t.c_type) ? 1 : 4;
  char* c = static_cast<char*>(t.c) + (row * t.c_m + column * t.c_n) * size;
  for (int r = 0; r < R; ++r, c += t.c_m * size) {
    for (int v = 0; v < V; ++v) {
      const int64_t left = columns - v * kLanes;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xffff : (1 << left) - 1);
      char* to = c + v * kLanes * t.c_n * size;
      if (t.c_n != 1) {
        alignas(64) uint32_t values[kLanes];
        _mm512_store_si512(values, sum[r][v]);
        for (int64_t j = 0; j < std::min(left, kLanes); ++j) {
          if (size == 1) {
            auto* one = reinterpret_cast<uint8_t*>(to + j * t.c_n);
            *one = static_cast<uint8_t>(values[j] + (block.first > 0 ? *one : 0));
          } else {
            auto* one = reinterpret_cast<uint32_t*>(to) + j * t.c_n;
            *one = values[j] + (block.first > 0 ? *one : 0);
          }
        }
      } else if (size == 1) {
        __m128i bytes = _mm512_maskz_cvtepi32_epi8(mask, sum[r][v]);
        if (block.first > 0) bytes = _mm_add_epi8(bytes, _mm_maskz_loadu_epi8(mask, to));
        _mm_mask_storeu_epi8(to, mask, bytes);
      } else {
        __m512i words = sum[r][v];
        if (block.first > 0) words = _mm512_add_epi32(words, _mm512_maskz_loadu_epi32(mask, to));
        _mm512_mask_storeu_epi32(to, mask, words);
      }
    }
  }
}

template <int V, int R = V == 4 ? 6 : kRowsAtOnce>
void Rows(const GemmTile& t, const Block& block, int64_t row, int64_t column, int64_t columns) {
  for (; t.m - row >= R; row += R) Sums<R, V>(t, block, row, column, columns);
  if constexpr (R > 1) {
    if (row < t.m) Rows<V, R - 1>(t, block, row, column, columns);
  }
}

// What each column of a packed panel adds to its sums.
XC_BYTES void ColumnSums(const char* b, int64_t quads, int64_t vectors, uint32_t factor, uint32_t* to) {
  for (int64_t v = 0; v < vectors; ++v) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t q = 0; q < quads && factor != 0; ++q) {
      sum = _mm512_dpbusd_epi32(sum, _mm512_load_si512(b + 64 * (q * vectors + v)), _mm512_set1_epi8(1));
    }
    _mm512_store_si512(to + v * kLanes, _mm512_mullo_epi32(sum, _mm512_set1_epi32(factor)));
  }
}

int64_t DepthOf(const GemmTile& t) { return RoundUp(std::min(t.k, kDepth), 64); }

// `terms` terms of a few rows, from `first` on.
void RowBlock(const GemmTile& t, int64_t first, int64_t terms, char* a) {
  const int64_t depth = DepthOf(t), quads = (terms + 3) / 4;
  char* const b = a + depth * t.m;
  auto* const rows = reinterpret_cast<uint32_t*>(b + depth * kPanel);
  auto* const columns = rows + RoundUp(t.m, kLanes);
  const bool a_signed = t.a_type == RtType::kS8, b_signed = t.b_type == RtType::kS8;
  const uint32_t p = a_signed ? 0 : 128, q = b_signed ? 128 : 0;
  const char flip = static_cast<char>(b_signed ? 0x80 : 0);
  for (int64_t i = 0; i < t.m; ++i) {
    const char* row = static_cast<const char*>(t.a) + i * t.a_m + first * t.a_k;
    const uint32_t sum = PackRow(row, t.a_k, terms, 4 * quads, a_signed, a + i * depth);
    rows[i] = 0 - q * sum - static_cast<uint32_t>(terms) * p * q;
  }
  for (int64_t column = 0; column < t.n; column += kPanel) {
    const int64_t count = std::min(kPanel, t.n - column), vectors = (count + kLanes - 1) / kLanes;
    const char* from = static_cast<const char*>(t.b) + first * t.b_k + column * t.b_n;
    if (t.b_n == 1) {
      PackNeighbours(from, t.b_k, terms, count, flip, b);
    } else {
      PackColumns(from, t.b_k, t.b_n, terms, count, flip, b);
    }
    ColumnSums(b, quads, vectors, p, columns);
    const Block block{first, quads, a, depth, b, rows, columns};
    if (vectors == 4) {
      Rows<4>(t, block, 0, column, count);
    } else if (vectors == 3) {
      Rows<3>(t, block, 0, column, count);
    } else if (vectors == 2) {
      Rows<2>(t, block, 0, column, count);
    } else {
      Rows<1>(t, block, 0, column, count);
    }
  }
}

}  // namespace

bool HasByteProduct(const GemmTile& t) {
  if (!IsByte(t.a_type) || !IsByte(t.b_type) || t.k == 0 || !HasInstructions()) return false;
  return IsByte(t.c_type) || t.c_type == RtType::kS32 || t.c_type == RtType::kU32;
}

bool PrefersByteProduct(const GemmTile& t, bool several, int64_t most) {
  constexpr int64_t kSmall = int64_t{1} << 21;
  const bool a_dense = t.a_k == 1 ? t.a_m == t.k : t.a_k == t.m, b_dense = t.b_n == 1 ? t.b_k == t.n : t.b_n == t.k;
  if (t.m * t.n * t.k > kSmall || (t.k <= most && (!several || (a_dense && b_dense)))) return false;
  return HasByteProduct(t);
}

absl::Status ByteProduct(const GemmTile& t) {
  const int64_t height = std::min(t.m, kHeight);
  const int64_t bytes = DepthOf(t) * (height + kPanel) + 4 * (RoundUp(height, kLanes) + kPanel);
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(bytes, kPackScratch));
  for (int64_t first = 0; first < t.k; first += kDepth) {
    for (int64_t row = 0; row < t.m; row += kHeight) {
      GemmTile block = t;
      block.m = std::min(kHeight, t.m - row);
      block.a = static_cast<const char*>(t.a) + row * t.a_m;
      block.c = static_cast<char*>(t.c) + row * t.c_m * (IsByte(t.c_type) ? 1 : 4);
      RowBlock(block, first, std::min(kDepth, t.k - first), scratch);
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
