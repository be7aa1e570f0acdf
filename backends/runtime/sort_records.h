// Records of a key and an index, which sort and top-k order instead of elements.
#ifndef XC_BACKENDS_RUNTIME_SORT_RECORDS_H_
#define XC_BACKENDS_RUNTIME_SORT_RECORDS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace xc {

// A key with the index of its element, as one integer: the order of records is that of a stable sort.
struct Record128 {
  uint64_t key;
  uint32_t index;
  friend bool operator<(const Record128& a, const Record128& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

// How a key and an index become a record, and how they are had back.
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

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SORT_RECORDS_H_
