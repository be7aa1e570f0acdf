// Sorting by integer keys (radix passes over pairs of key and index, merged over threads) and by comparator (a merge
// sort of indices whose merge tree depends on the size alone).
#include "backends/runtime/sort.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/sort_keys.h"
#include "backends/runtime/sort_networks.h"
#include "backends/runtime/sort_records.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// How many of the first `rank` records of the merged order come from a.
template <typename Record>
int64_t CoRank(int64_t rank, const Record* a, int64_t na, const Record* b, int64_t nb) {
  int64_t low = std::max<int64_t>(0, rank - nb), high = std::min(rank, na);
  while (low < high) {
    const int64_t i = low + (high - low) / 2, j = rank - i;
    if (j > 0 && a[i] < b[j - 1]) {
      low = i + 1;
    } else {
      high = i;
    }
  }
  return low;
}

// Without a branch on the order, which no predictor can foresee.
template <typename Record>
void MergeRecords(const Record* a, const Record* a_end, const Record* b, const Record* b_end, Record* to) {
  while (a != a_end && b != b_end) {
    const bool second = *b < *a;
    const Record* from = second ? b : a;
    *to++ = *from;
    b += second;
    a += !second;
  }
  to = std::copy(a, a_end, to);
  std::copy(b, b_end, to);
}

// Sorts one long array of records with all threads. Records are all different, so that the result is the only one.
template <typename Record>
void ParallelSortRecords(RunContext* ctx, Record* records, Record* spare, int64_t n, int bits) {
  constexpr int64_t kPiece = 32768;
  int64_t runs = 1;
  while (runs < ctx->num_threads() && n / (runs * 2) >= kPiece) runs *= 2;
  auto start = [&](int64_t run, int64_t of) { return n * run / of; };
  ctx->ParallelFor(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = start(r, runs);
      SortRecords(records + at, spare + at, start(r + 1, runs) - at, bits);
    }
  });
  Record* from = records;
  Record* to = spare;
  for (; runs > 1; runs /= 2) {
    // Each merge of two runs is cut into pieces of the result.
    const int64_t pieces = std::max<int64_t>(1, n / runs * 2 / kPiece);
    ctx->ParallelFor(runs / 2 * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t run = t / pieces * 2, piece = t % pieces;
        const int64_t a0 = start(run, runs), b0 = start(run + 1, runs), b1 = start(run + 2, runs);
        const Record *a = from + a0, *b = from + b0;
        const int64_t na = b0 - a0, nb = b1 - b0, total = na + nb;
        const int64_t first = total * piece / pieces, last = total * (piece + 1) / pieces;
        const int64_t i0 = CoRank(first, a, na, b, nb), i1 = CoRank(last, a, na, b, nb);
        MergeRecords(a + i0, a + i1, b + (first - i0), b + (last - i1), to + a0 + first);
      }
    });
    std::swap(from, to);
  }
  if (from != records) {
    ctx->ParallelFor(n, kPiece, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<void*>(records + begin), from + begin, (end - begin) * sizeof(Record));
    });
  }
}

// An element of 16 bytes.
struct Wide {
  uint64_t low, high;
};

// out[i * inner] = row[index(i)] for elements of one size.
template <typename U, typename Index>
void PlaceAs(const U* row, U* out, int64_t inner, int64_t begin, int64_t end, Index index) {
  for (int64_t i = begin; i < end; ++i) out[i * inner] = row[index(i)];
}

// f of a number as wide as an element of `size` bytes.
template <typename F>
void WithElement(int64_t size, F f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Wide{});
  }
}

template <typename Index>
void Place(int64_t size, const char* row, char* out, int64_t inner, int64_t begin, int64_t end, Index index) {
  WithElement(size, [&](auto element) {
    using U = decltype(element);
    PlaceAs(reinterpret_cast<const U*>(row), reinterpret_cast<U*>(out), inner, begin, end, index);
  });
}

// Where a row begins.
int64_t RowOffset(const SortDesc& d, int64_t row) {
  return d.inner == 1 ? row * d.n : row / d.inner * d.n * d.inner + row % d.inner;
}

constexpr int64_t kParallelRow = 65536;  // a single row of this length is sorted by several threads

// Puts each array's elements of one row where `index` says. An array that is sorted in place is copied first.
template <typename Index>
absl::Status PlaceRow(RunContext* ctx, const SortDesc& d, const void* const* in, void* const* out, int64_t offset,
                      int skip, Index index) {
  for (int a = 0; a < d.num_arrays; ++a) {
    if (a == skip) continue;
    const int64_t size = SizeOf(static_cast<RtType>(d.types[a]));
    const char* row = static_cast<const char*>(in[a]) + offset * size;
    char* to = static_cast<char*>(out[a]) + offset * size;
    if (in[a] == out[a] || d.inner > 1) {
      XC_ASSIGN_OR_RETURN(char* copy, ThreadScratch(d.n * size, kPackScratch));
      Place(size, row, copy, 1, 0, d.n, [&](int64_t i) { return i * d.inner; });
      row = copy;
    }
    ctx->ParallelFor(d.n, kParallelRow,
                     [&](int64_t begin, int64_t end) { Place(size, row, to, d.inner, begin, end, index); });
  }
  return absl::OkStatus();
}

template <typename U, typename Record>
absl::Status SortRowByKey(RunContext* ctx, const SortDesc& d, const KeyMap<U>& map, const void* const* in,
                          void* const* out, int64_t offset) {
  using T = Traits<Record>;
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(2 * d.n * sizeof(Record) + 64, kOuterScratch));
  Record* records = reinterpret_cast<Record*>(scratch);
  Record* spare = records + d.n;
  const U* keys = static_cast<const U*>(in[d.key_array]) + offset;
  ctx->ParallelFor(d.n, kParallelRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) records[i] = T::Make(map(keys[i * d.inner]), static_cast<uint32_t>(i));
  });
  if (d.n >= 2 * kParallelRow) {
    ParallelSortRecords(ctx, records, spare, d.n, sizeof(U) * 8);
  } else {
    SortRecords(records, spare, d.n, sizeof(U) * 8);
  }
  int skip = -1;
  if (map.Invertible()) {  // keys come back in order, without a gather
    skip = d.key_array;
    U* to = static_cast<U*>(out[skip]) + offset;
    ctx->ParallelFor(d.n, kParallelRow, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i * d.inner] = map.Inverse(static_cast<U>(T::Key(records[i])));
    });
  }
  return PlaceRow(ctx, d, in, out, offset, skip, [records](int64_t i) { return T::Index(records[i]); });
}

// Puts one array's elements of short rows, each row's at `offsets`, where `order` says.
template <typename T>
void PlaceShortRows(const SortDesc& d, const void* in, void* out, int64_t rows, const int64_t* offsets,
                    const uint8_t (*order)[kMostInNetwork]) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = static_cast<const T*>(in) + offsets[r];
    T* to = static_cast<T*>(out) + offsets[r];
    T copy[kMostInNetwork];
    for (int64_t i = 0; i < d.n; ++i) copy[i] = row[i * d.inner];
    for (int64_t i = 0; i < d.n; ++i) to[i * d.inner] = copy[order[r][i]];
  }
}

// A block of short rows for sorting networks: keys with their indices below them, if both fit into a lane, keys alone
// if no index is needed, or both apart.
template <typename U, bool kKeysAlone>
struct ShortRows {
  static constexpr bool kPairs = sizeof(U) == 8;
  static constexpr int kIndexBits = kKeysAlone || kPairs ? 0 : sizeof(U) <= 2 ? 16 : 32;
  using Lane = std::conditional_t<sizeof(U) * 8 + kIndexBits <= 32, int32_t, int64_t>;
  using Bits = std::make_unsigned_t<Lane>;
  static constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  static constexpr int64_t kLanes = kNetworkLanes * kMostInNetwork;

  // Makes all lanes of rows of `n` elements numbers, also of those that no row is put into.
  void Clear(int64_t n) {
    std::fill_n(keys, n * kNetworkLanes, 0);
    if constexpr (kPairs) std::fill_n(indices, n * kNetworkLanes, 0);
  }
  void Put(int64_t i, int64_t r, U key) {
    Bits bits = key;
    if constexpr (kIndexBits > 0) bits = bits << kIndexBits | static_cast<Bits>(i);
    // Lanes are signed, and so are their comparisons. Narrow keys alone have room above them.
    if constexpr (sizeof(U) * 8 + kIndexBits == sizeof(Bits) * 8) bits ^= kSign;
    keys[i * kNetworkLanes + r] = static_cast<Lane>(bits);
    if constexpr (kPairs) indices[i * kNetworkLanes + r] = i;
  }
  void Sort(int64_t n) {
    if constexpr (kPairs) {
      SortLanes(keys, indices, n);
    } else {
      SortLanes(keys, n);
    }
  }
  U Key(int64_t i, int64_t r) const {
    Bits bits = static_cast<Bits>(keys[i * kNetworkLanes + r]);
    if constexpr (sizeof(U) * 8 + kIndexBits == sizeof(Bits) * 8) bits ^= kSign;
    return static_cast<U>(bits >> kIndexBits);
  }
  uint8_t Index(int64_t i, int64_t r) const {
    if constexpr (kPairs) return static_cast<uint8_t>(indices[i * kNetworkLanes + r]);
    return static_cast<uint8_t>(keys[i * kNetworkLanes + r]);
  }

  alignas(64) Lane keys[kLanes];
  alignas(64) Lane indices[kPairs ? kLanes : 1];
};

// Sorts short rows together. With `kKeysAlone` there is one array, and its elements are had back from the keys.
template <typename U, bool kKeysAlone>
void SortShortRows(RunContext* ctx, const SortDesc& d, const KeyMap<U>& map, const void* const* in, void* const* out) {
  const U* keys = static_cast<const U*>(in[d.key_array]);
  const int64_t blocks = (d.outer * d.inner + kNetworkLanes - 1) / kNetworkLanes;
  ctx->ParallelFor(blocks, std::max<int64_t>(1, 64 / d.n), [&](int64_t begin, int64_t end) {
    ShortRows<U, kKeysAlone> block;
    block.Clear(d.n);
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kNetworkLanes, rows = std::min(kNetworkLanes, d.outer * d.inner - first);
      int64_t offsets[kNetworkLanes];
      for (int64_t r = 0; r < rows; ++r) offsets[r] = RowOffset(d, first + r);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < d.n; ++i) block.Put(i, r, map(keys[offsets[r] + i * d.inner]));
      }
      block.Sort(d.n);
      if constexpr (kKeysAlone) {
        U* to = static_cast<U*>(out[0]);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < d.n; ++i) to[offsets[r] + i * d.inner] = map.Inverse(block.Key(i, r));
        }
        continue;
      }
      uint8_t order[kNetworkLanes][kMostInNetwork];
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < d.n; ++i) order[r][i] = block.Index(i, r);
      }
      for (int a = 0; a < d.num_arrays; ++a) {
        WithElement(SizeOf(static_cast<RtType>(d.types[a])),
                    [&](auto element) { PlaceShortRows<decltype(element)>(d, in[a], out[a], rows, offsets, order); });
      }
    }
  });
}

// Whether networks sort the rows sooner: a few lanes of theirs are used, or the rows are very short.
bool SortsByNetwork(const SortDesc& d, bool pairs) {
  constexpr int64_t kVeryShort = 16, kFewRows = 4;
  return d.n <= LongestNetworkRow(pairs) && (d.n <= kVeryShort || d.outer * d.inner >= kFewRows);
}

// Runs `sort_row(offset)` for each row, in parallel where there are several.
template <typename Row>
absl::Status ForRows(RunContext* ctx, const SortDesc& d, Row sort_row) {
  const int64_t rows = d.outer * d.inner;
  // Few long rows are sorted one after the other by all threads.
  if (rows < 2 * ctx->num_threads() && d.n >= 2 * kParallelRow) {
    for (int64_t row = 0; row < rows; ++row) XC_RETURN_IF_ERROR(sort_row(RowOffset(d, row)));
    return absl::OkStatus();
  }
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(rows, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, d.n)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      absl::Status status = sort_row(RowOffset(d, row));
      if (!status.ok()) {
        if (!failed.exchange(true)) error = status;
        return;
      }
    }
  });
  return error;
}

template <typename U>
absl::Status SortByKey(RunContext* ctx, const SortDesc& d, KeyKind kind, const void* const* in, void* const* out) {
  const KeyMap<U> map(static_cast<RtType>(d.types[d.key_array]), kind, static_cast<SortKey>(d.key), d.descending != 0);
  if (SortsByNetwork(d, sizeof(U) == 8)) {
    if (d.num_arrays == 1 && map.Invertible() && sizeof(U) < 8) {
      SortShortRows<U, true>(ctx, d, map, in, out);
    } else {
      SortShortRows<U, false>(ctx, d, map, in, out);
    }
    return absl::OkStatus();
  }
  return ForRows(ctx, d, [&](int64_t offset) {
    if constexpr (sizeof(U) == 8) {
      return SortRowByKey<U, Record128>(ctx, d, map, in, out, offset);
    } else if constexpr (sizeof(U) <= 2) {
      if (d.n <= 65536) return SortRowByKey<U, uint32_t>(ctx, d, map, in, out, offset);
      return SortRowByKey<U, uint64_t>(ctx, d, map, in, out, offset);
    } else {
      return SortRowByKey<U, uint64_t>(ctx, d, map, in, out, offset);
    }
  });
}

// ---- comparators ---------------------------------------------------------------------------------------------------

class IndexSorter {
 public:
  IndexSorter(const SortDesc& d, const void* const* in, int64_t offset, SortComparator less, void* env)
      : num_(d.num_arrays), less_(less), env_(env) {
    for (int a = 0; a < num_; ++a) {
      const int64_t size = SizeOf(static_cast<RtType>(d.types[a]));
      base_[a] = static_cast<const char*>(in[a]) + offset * size;
      step_[a] = size * d.inner;
    }
  }

  // Sorts [0, n) into `indices`; `spare` is as long.
  void Sort(RunContext* ctx, uint32_t* indices, uint32_t* spare, int64_t n) const {
    // Runs of a fixed length, then a tree of merges: the same calls with any number of threads.
    constexpr int64_t kRun = 8192;
    const int64_t runs = (n + kRun - 1) / kRun;
    ctx->ParallelFor(runs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * kRun;
        SortRun(at, std::min(n, at + kRun), indices, spare);
      }
    });
    uint32_t* from = indices;
    uint32_t* to = spare;
    for (int64_t width = kRun; width < n; width *= 2) {
      ctx->ParallelFor((n - 1) / (2 * width) + 1, 1, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t a = t * 2 * width, b = std::min(n, a + width), c = std::min(n, b + width);
          Merge(from, a, b, c, to);
        }
      });
      std::swap(from, to);
    }
    if (from != indices) std::memcpy(indices, from, n * sizeof(uint32_t));
  }

 private:
  bool Less(uint32_t x, uint32_t y) const {
    const void* operands[2 * kMaxSortArrays];
    for (int a = 0; a < num_; ++a) {
      operands[2 * a] = base_[a] + x * step_[a];
      operands[2 * a + 1] = base_[a] + y * step_[a];
    }
    return less_(env_, operands);
  }

  void SortRun(int64_t begin, int64_t end, uint32_t* indices, uint32_t* spare) const {
    constexpr int64_t kInsertion = 12;
    for (int64_t i = begin; i < end; ++i) indices[i] = static_cast<uint32_t>(i);
    for (int64_t at = begin; at < end; at += kInsertion) {
      const int64_t stop = std::min(end, at + kInsertion);
      for (int64_t i = at + 1; i < stop; ++i) {
        const uint32_t x = indices[i];
        int64_t j = i;
        for (; j > at && Less(x, indices[j - 1]); --j) indices[j] = indices[j - 1];
        indices[j] = x;
      }
    }
    uint32_t* from = indices;
    uint32_t* to = spare;
    for (int64_t width = kInsertion; width < end - begin; width *= 2) {
      for (int64_t a = begin; a < end; a += 2 * width) {
        const int64_t b = std::min(end, a + width), c = std::min(end, b + width);
        Merge(from, a, b, c, to);
      }
      std::swap(from, to);
    }
    if (from != indices) std::memcpy(indices + begin, from + begin, (end - begin) * sizeof(uint32_t));
  }

  void Merge(const uint32_t* from, int64_t a, int64_t b, int64_t c, uint32_t* to) const {
    if (b == c || !Less(from[b], from[b - 1])) {  // in order already
      std::memcpy(to + a, from + a, (c - a) * sizeof(uint32_t));
      return;
    }
    int64_t i = a, j = b, out = a;
    while (i < b && j < c) to[out++] = Less(from[j], from[i]) ? from[j++] : from[i++];
    std::memcpy(to + out, from + i, (b - i) * sizeof(uint32_t));
    std::memcpy(to + out + (b - i), from + j, (c - j) * sizeof(uint32_t));
  }

  const int num_;
  const SortComparator less_;
  void* const env_;
  const char* base_[kMaxSortArrays];
  int64_t step_[kMaxSortArrays];
};

absl::Status SortByComparator(RunContext* ctx, const SortDesc& d, const void* const* in, void* const* out,
                              SortComparator less, void* env) {
  return ForRows(ctx, d, [&](int64_t offset) -> absl::Status {
    XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(2 * d.n * sizeof(uint32_t) + 64, kOuterScratch));
    uint32_t* indices = reinterpret_cast<uint32_t*>(scratch);
    IndexSorter(d, in, offset, less, env).Sort(ctx, indices, indices + d.n, d.n);
    return PlaceRow(ctx, d, in, out, offset, -1, [indices](int64_t i) { return indices[i]; });
  });
}

}  // namespace

absl::Status Sort(RunContext* ctx, const SortDesc& d, const void* const* in, void* const* out, SortComparator less,
                  void* env) {
  auto bad = [](auto... what) { return absl::InvalidArgumentError(absl::StrCat("sort: ", what...)); };
  if (d.num_arrays < 1 || d.num_arrays > kMaxSortArrays) {
    return bad(d.num_arrays, " arrays; between 1 and ", kMaxSortArrays, " can be sorted");
  }
  if (d.outer < 0 || d.n < 0 || d.inner < 0 || d.n > INT32_MAX) return bad("size ", d.n, " is out of range");
  for (int a = 0; a < d.num_arrays; ++a) {
    if (SizeOf(static_cast<RtType>(d.types[a])) == 0) return bad("element type ", d.types[a]);
  }
  if (d.key_array < 0 || d.key_array >= d.num_arrays) return bad("key array ", d.key_array);
  if (d.outer == 0 || d.n == 0 || d.inner == 0) return absl::OkStatus();
  KeyKind kind;
  const int key_bytes = d.key == 0 ? 0 : KeyBytes(static_cast<RtType>(d.types[d.key_array]), &kind);
  switch (key_bytes) {
    case 1:
      return SortByKey<uint8_t>(ctx, d, kind, in, out);
    case 2:
      return SortByKey<uint16_t>(ctx, d, kind, in, out);
    case 4:
      return SortByKey<uint32_t>(ctx, d, kind, in, out);
    case 8:
      return SortByKey<uint64_t>(ctx, d, kind, in, out);
    default:
      if (less == nullptr) return bad("no comparator, and no order of element type ", d.types[d.key_array]);
      return SortByComparator(ctx, d, in, out, less, env);
  }
}

}  // namespace xc

int xc_rt_sort(void* ctx, const xc::SortDesc* desc, const void* const* in, void* const* out, xc::SortComparator less,
               void* env) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Sort(run, *desc, in, out, less, env));
}
