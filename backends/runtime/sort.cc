// Sorting by integer keys (radix passes over pairs of key and index, merged over threads) and by comparator (a merge
// sort of indices whose merge tree depends on the size alone).
#include "backends/runtime/sort.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/sort_keys.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// A key with the index of its element, as one integer: the order of records is that of a stable sort.
struct Record128 {
  uint64_t key;
  uint32_t index;
  friend bool operator<(const Record128& a, const Record128& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

template <typename Record>
struct Traits;
template <>
struct Traits<uint32_t> {  // 16-bit keys and indices
  static constexpr int kShift = 16;
  static uint32_t Make(uint64_t key, uint32_t index) { return static_cast<uint32_t>(key << 16) | index; }
  static uint32_t Key(uint32_t r, int shift, uint32_t mask) { return (r >> (16 + shift)) & mask; }
  static uint32_t Index(uint32_t r) { return r & 0xffff; }
  static uint64_t Key(uint32_t r) { return r >> 16; }
};
template <>
struct Traits<uint64_t> {
  static uint64_t Make(uint64_t key, uint32_t index) { return key << 32 | index; }
  static uint32_t Key(uint64_t r, int shift, uint32_t mask) { return static_cast<uint32_t>(r >> (32 + shift)) & mask; }
  static uint32_t Index(uint64_t r) { return static_cast<uint32_t>(r); }
  static uint64_t Key(uint64_t r) { return r >> 32; }
};
template <>
struct Traits<Record128> {
  static Record128 Make(uint64_t key, uint32_t index) { return {key, index}; }
  static uint32_t Key(const Record128& r, int shift, uint32_t mask) {
    return static_cast<uint32_t>(r.key >> shift) & mask;
  }
  static uint32_t Index(const Record128& r) { return r.index; }
  static uint64_t Key(const Record128& r) { return r.key; }
};

// Sorts records by `bits` bits of key; equal keys keep their order, which is that of their indices. `spare` has n
// records as well.
template <typename Record>
void SortRecords(Record* records, Record* spare, int64_t n, int bits) {
  using T = Traits<Record>;
  if (n < 128 || (bits > 16 && n < 512)) {
    std::sort(records, records + n);
    return;
  }
  constexpr int kMaxDigits = 8;
  const int digit = n < 16384 ? 8 : 11;
  const int passes = (bits + digit - 1) / digit;
  const uint32_t mask = (1u << digit) - 1;
  uint32_t counts[kMaxDigits][2048];
  for (int p = 0; p < passes; ++p) std::memset(counts[p], 0, sizeof(uint32_t) << digit);
  for (int64_t i = 0; i < n; ++i) {
    for (int p = 0; p < passes; ++p) ++counts[p][T::Key(records[i], p * digit, mask)];
  }
  Record* from = records;
  Record* to = spare;
  for (int p = 0; p < passes; ++p) {
    uint32_t* count = counts[p];
    if (count[T::Key(from[0], p * digit, mask)] == n) continue;  // all alike in this digit
    uint32_t sum = 0;
    for (uint32_t d = 0; d <= mask; ++d) sum += std::exchange(count[d], sum);
    for (int64_t i = 0; i < n; ++i) to[count[T::Key(from[i], p * digit, mask)]++] = from[i];
    std::swap(from, to);
  }
  if (from != records) std::memcpy(static_cast<void*>(records), from, n * sizeof(Record));
}

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

// out[i * inner] = row[index(i)] for elements of one size.
template <typename U, typename Index>
void PlaceAs(const U* row, U* out, int64_t inner, int64_t begin, int64_t end, Index index) {
  for (int64_t i = begin; i < end; ++i) out[i * inner] = row[index(i)];
}

template <typename Index>
void Place(int64_t size, const char* row, char* out, int64_t inner, int64_t begin, int64_t end, Index index) {
  struct Wide {
    uint64_t low, high;
  };
  switch (size) {
    case 1:
      return PlaceAs(reinterpret_cast<const uint8_t*>(row), reinterpret_cast<uint8_t*>(out), inner, begin, end, index);
    case 2:
      return PlaceAs(reinterpret_cast<const uint16_t*>(row), reinterpret_cast<uint16_t*>(out), inner, begin, end,
                     index);
    case 4:
      return PlaceAs(reinterpret_cast<const uint32_t*>(row), reinterpret_cast<uint32_t*>(out), inner, begin, end,
                     index);
    case 8:
      return PlaceAs(reinterpret_cast<const uint64_t*>(row), reinterpret_cast<uint64_t*>(out), inner, begin, end,
                     index);
    default:
      return PlaceAs(reinterpret_cast<const Wide*>(row), reinterpret_cast<Wide*>(out), inner, begin, end, index);
  }
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

// Runs `sort_row(offset)` for each row, in parallel where there are several.
template <typename Row>
absl::Status ForRows(RunContext* ctx, const SortDesc& d, Row sort_row) {
  const int64_t rows = d.outer * d.inner;
  auto offset = [&](int64_t row) { return row / d.inner * d.n * d.inner + row % d.inner; };
  // Few long rows are sorted one after the other by all threads.
  if (rows < 2 * ctx->num_threads() && d.n >= 2 * kParallelRow) {
    for (int64_t row = 0; row < rows; ++row) XC_RETURN_IF_ERROR(sort_row(offset(row)));
    return absl::OkStatus();
  }
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(rows, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, d.n)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      absl::Status status = sort_row(offset(row));
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

// ---- top-k
// -----------------------------------------------------------------------------------------------------------

namespace {

// The keys of a KeyMap in total order without branches, so that a block of them is computed in vectors.
template <typename U>
class TotalOrderKey {
 public:
  explicit TotalOrderKey(const KeyMap<U>& map)
      : negative_(map.kind == KeyKind::kFloat ? static_cast<U>(~kSign) : U{0}),
        base_(static_cast<U>((map.kind == KeyKind::kUnsigned ? U{0} : kSign) ^ map.flip)) {}
  U operator()(U bits) const {
    const U sign = static_cast<U>(U{0} - static_cast<U>(bits >> (sizeof(U) * 8 - 1)));
    return static_cast<U>(bits ^ (sign & negative_) ^ base_);
  }

 private:
  static constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  const U negative_, base_;
};

int64_t TopKCapacity(const TopKDesc& d, int64_t n) { return std::min(n, std::max<int64_t>(2 * d.k, d.k + 256)); }

// Gathers candidates for the k best of elements [begin, end) in `best` (TopKCapacity of them at most), in no order once
// `*full` is set; returns their number.
template <typename U, typename Record>
int64_t TopKCandidates(const TopKDesc& d, const TotalOrderKey<U>& map, const U* row, int64_t begin, int64_t end,
                       Record* best, bool* full) {
  using T = Traits<Record>;
  // Until there are 2 k (and some), then they are cut back to the best k, whose last one is the bar for the next.
  const int64_t capacity = TopKCapacity(d, end - begin);
  int64_t count = 0;
  U bar = 0;
  auto take = [&](U key, int64_t i) {
    if (*full && key >= bar) return;  // an equal key comes later, so it loses
    best[count++] = T::Make(key, static_cast<uint32_t>(i));
    if (count == capacity && i + 1 < end) {
      std::nth_element(best, best + (d.k - 1), best + count);
      count = d.k;
      bar = static_cast<U>(T::Key(best[d.k - 1]));
      *full = true;
    }
  };
  // Once there is a bar, most blocks have nothing below it.
  constexpr int64_t kBlock = 128 / sizeof(U);
  int64_t i = begin;
  for (; i + kBlock <= end; i += kBlock) {
    U keys[kBlock];
    for (int64_t l = 0; l < kBlock; ++l) keys[l] = map(row[i + l]);
    U below = 0;
    for (int64_t l = 0; l < kBlock; ++l) below |= static_cast<U>(keys[l] < bar);
    if (*full && below == 0) continue;
    for (int64_t l = 0; l < kBlock; ++l) take(keys[l], i + l);
  }
  for (; i < end; ++i) take(map(row[i]), i);
  return count;
}

template <typename U, typename Record>
void WriteTopK(const TopKDesc& d, const U* row, const Record* best, U* values, int32_t* indices) {
  for (int64_t i = 0; i < d.k; ++i) {
    const uint32_t index = Traits<Record>::Index(best[i]);
    values[i] = row[index];
    indices[i] = static_cast<int32_t>(index);
  }
}

template <typename U, typename Record>
absl::Status TopKRow(const TopKDesc& d, const TotalOrderKey<U>& map, const U* row, U* values, int32_t* indices) {
  const int64_t capacity = TopKCapacity(d, d.n);
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(2 * capacity * sizeof(Record) + 64, kOuterScratch));
  Record* best = reinterpret_cast<Record*>(scratch);
  bool full = false;
  int64_t count = TopKCandidates<U, Record>(d, map, row, 0, d.n, best, &full);
  if (count > 4 * d.k) {
    std::nth_element(best, best + (d.k - 1), best + count);
    count = d.k;
    std::sort(best, best + count);
  } else if (full) {
    std::sort(best, best + count);  // candidates are no longer in order of their indices
  } else {
    SortRecords(best, best + capacity, count, sizeof(U) * 8);
  }
  WriteTopK(d, row, best, values, indices);
  return absl::OkStatus();
}

// One long row in parts on several threads: the best of each part, then the best of those. Records of one key are in
// the order of their indices, so that the parts do not show in the result.
template <typename U, typename Record>
absl::Status TopKLongRow(RunContext* ctx, const TopKDesc& d, const TotalOrderKey<U>& map, int64_t parts, const U* row,
                         U* values, int32_t* indices) {
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(parts * d.k * sizeof(Record) + 64, kPackScratch));
  Record* all = reinterpret_cast<Record*>(scratch);
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      const int64_t begin = d.n * part / parts, end = d.n * (part + 1) / parts;
      absl::StatusOr<char*> own = ThreadScratch(TopKCapacity(d, end - begin) * sizeof(Record) + 64, kOuterScratch);
      if (!own.ok()) {
        if (!failed.exchange(true)) error = own.status();
        return;
      }
      Record* best = reinterpret_cast<Record*>(*own);
      bool full = false;
      const int64_t count = TopKCandidates<U, Record>(d, map, row, begin, end, best, &full);
      std::nth_element(best, best + (d.k - 1), best + count);
      std::copy(best, best + d.k, all + part * d.k);
    }
  });
  XC_RETURN_IF_ERROR(error);
  std::partial_sort(all, all + d.k, all + parts * d.k);
  WriteTopK(d, row, all, values, indices);
  return absl::OkStatus();
}

template <typename U>
absl::Status TopKRows(RunContext* ctx, const TopKDesc& d, KeyKind kind, const void* in, void* values,
                      int32_t* indices) {
  using Record = std::conditional_t<sizeof(U) == 8, Record128, uint64_t>;
  const TotalOrderKey<U> map(KeyMap<U>(static_cast<RtType>(d.type), kind, SortKey::kTotalOrder, d.largest != 0));
  constexpr int64_t kPart = 32768;
  const int64_t parts = d.n / kPart;
  if (parts > 1 && d.rows < 4 && d.k <= kPart / 8) {
    for (int64_t r = 0; r < d.rows; ++r) {
      XC_RETURN_IF_ERROR((TopKLongRow<U, Record>(ctx, d, map, parts, static_cast<const U*>(in) + r * d.n,
                                                 static_cast<U*>(values) + r * d.k, indices + r * d.k)));
    }
    return absl::OkStatus();
  }
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(d.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, d.n)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      absl::Status status = TopKRow<U, Record>(d, map, static_cast<const U*>(in) + r * d.n,
                                               static_cast<U*>(values) + r * d.k, indices + r * d.k);
      if (!status.ok() && !failed.exchange(true)) error = status;
    }
  });
  return error;
}

}  // namespace

absl::Status TopK(RunContext* ctx, const TopKDesc& d, const void* in, void* values, int32_t* indices) {
  if (d.k < 0 || d.k > d.n || d.rows < 0 || d.n > INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("top-k: k is ", d.k, " and the rows have ", d.n, " elements"));
  }
  if (d.k == 0 || d.rows == 0) return absl::OkStatus();
  KeyKind kind;
  switch (KeyBytes(static_cast<RtType>(d.type), &kind)) {
    case 1:
      return TopKRows<uint8_t>(ctx, d, kind, in, values, indices);
    case 2:
      return TopKRows<uint16_t>(ctx, d, kind, in, values, indices);
    case 4:
      return TopKRows<uint32_t>(ctx, d, kind, in, values, indices);
    case 8:
      return TopKRows<uint64_t>(ctx, d, kind, in, values, indices);
    default:
      return absl::UnimplementedError(absl::StrCat("top-k of element type ", d.type));
  }
}

}  // namespace xc

int xc_rt_sort(void* ctx, const xc::SortDesc* desc, const void* const* in, void* const* out, xc::SortComparator less,
               void* env) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Sort(run, *desc, in, out, less, env));
}

int xc_rt_top_k(void* ctx, const xc::TopKDesc* desc, const void* in, void* values, int32_t* indices) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::TopK(run, *desc, in, values, indices));
}
