// Top-k: candidates above a bar that rises while a row is read, long rows in parts on several threads.
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/sort.h"
#include "backends/runtime/sort_keys.h"
#include "backends/runtime/sort_records.h"
#include "hlo/base/status.h"

namespace xc {
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

// A block or two more than those that are kept: of short rows, too, most elements are then only compared.
int64_t TopKCapacity(const TopKDesc& d, int64_t n) { return std::min(n, std::max<int64_t>(2 * d.k, d.k + 32)); }

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

// The first of the best elements.
template <typename U>
int64_t FirstBest(const TotalOrderKey<U>& map, const U* row, int64_t n) {
  constexpr int64_t kBlock = 128 / sizeof(U);
  U best = map(row[0]);
  int64_t at = 0, i = 1;
  auto take = [&](U key, int64_t index) {
    if (key >= best) return;
    best = key;
    at = index;
  };
  for (; i + kBlock <= n; i += kBlock) {
    U keys[kBlock];
    for (int64_t l = 0; l < kBlock; ++l) keys[l] = map(row[i + l]);
    U below = 0;
    for (int64_t l = 0; l < kBlock; ++l) below |= static_cast<U>(keys[l] < best);
    if (below == 0) continue;
    for (int64_t l = 0; l < kBlock; ++l) take(keys[l], i + l);
  }
  for (; i < n; ++i) take(map(row[i]), i);
  return at;
}

template <typename U, typename Record>
absl::Status TopKRow(const TopKDesc& d, const TotalOrderKey<U>& map, const U* row, U* values, int32_t* indices) {
  if (d.k == 1) {
    const int64_t at = FirstBest(map, row, d.n);
    values[0] = row[at];
    indices[0] = static_cast<int32_t>(at);
    return absl::OkStatus();
  }
  const int64_t capacity = TopKCapacity(d, d.n);
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(2 * capacity * sizeof(Record) + 64, kOuterScratch));
  Record* best = reinterpret_cast<Record*>(scratch);
  bool full = false;
  int64_t count = TopKCandidates<U, Record>(d, map, row, 0, d.n, best, &full);
  if (full ? count > d.k + d.k / 2 : count > 4 * d.k) {
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

int xc_rt_top_k(void* ctx, const xc::TopKDesc* desc, const void* in, void* values, int32_t* indices) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::TopK(run, *desc, in, values, indices));
}
