// Sorts of all key types, orders and shapes against std::stable_sort, and top-k against a full sort.
#include "backends/runtime/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

namespace xc {
namespace {

template <typename T>
T Bits(uint64_t bits) {
  T x;
  std::memcpy(&x, &bits, sizeof(T));
  return x;
}

template <typename T>
T Random(std::mt19937_64* random) {
  if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {0,
                         T(-0.0),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN(),
                         -std::numeric_limits<T>::quiet_NaN()};
    if ((*random)() % 8 == 0) return special[(*random)() % 6];
    return static_cast<T>(static_cast<int>((*random)() % 2001) - 1000) / 7;
  } else {
    return static_cast<T>((*random)() >> 20);
  }
}

// A number that ascends in the order wanted (checked against the key maps, so written another way).
template <typename T>
bool Before(T a, T b, SortKey key) {
  if constexpr (std::is_floating_point_v<T>) {
    if (key == SortKey::kTotalOrder) {
      auto rank = [](T x) { return std::signbit(x) ? (std::isnan(x) ? -3 : 0) : (std::isnan(x) ? 3 : 0); };
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      if (std::isnan(a)) return false;
      if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
      return a < b;
    }
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

template <typename T>
void Check(RtType type, SortKey key, bool descending, int64_t outer, int64_t n, int64_t inner, int arrays,
           bool comparator, bool in_place, RunContext* ctx) {
  std::mt19937_64 random(n * 7 + outer);
  std::vector<T> keys(outer * n * inner);
  for (T& x : keys) x = Random<T>(&random);
  std::vector<int32_t> payload(keys.size());
  std::iota(payload.begin(), payload.end(), 0);
  std::vector<uint8_t> bytes(payload.begin(), payload.end());
  SortDesc d;
  d.num_arrays = arrays;
  d.key = comparator ? 0 : static_cast<int>(key);
  d.key_array = arrays == 3 ? 1 : 0;
  d.descending = descending;
  d.outer = outer;
  d.n = n;
  d.inner = inner;
  std::vector<T> keys_out(keys.size());
  std::vector<int32_t> payload_out(keys.size());
  std::vector<uint8_t> bytes_out(keys.size());
  const std::vector<T> original = keys;
  const void* in[3] = {keys.data(), payload.data(), bytes.data()};
  void* out[3] = {keys_out.data(), payload_out.data(), bytes_out.data()};
  int32_t types[3] = {static_cast<int>(type), static_cast<int>(RtType::kS32), static_cast<int>(RtType::kU8)};
  if (arrays == 3) {
    std::swap(in[0], in[1]);
    std::swap(out[0], out[1]);
    std::swap(types[0], types[1]);
  }
  if (in_place) {
    for (int a = 0; a < 3; ++a) out[a] = const_cast<void*>(in[a]);
  }
  std::copy(types, types + 3, d.types);
  struct Env {
    SortKey key;
    bool descending;
    int array;
  } env{key, descending, d.key_array};
  auto less = [](void* raw, const void* const* operands) {
    const Env& e = *static_cast<Env*>(raw);
    const T a = *static_cast<const T*>(operands[2 * e.array]), b = *static_cast<const T*>(operands[2 * e.array + 1]);
    return e.descending ? Before(b, a, e.key) : Before(a, b, e.key);
  };
  ASSERT_EQ(xc_rt_sort(ctx, &d, in, out, comparator ? +less : nullptr, &env), 0) << ctx->status();
  const T* got = static_cast<const T*>(out[d.key_array]);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      auto at = [&](int64_t i) { return (o * n + i) * inner + j; };
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
        const T a = original[at(x)], b = original[at(y)];
        return descending ? Before(b, a, key) : Before(a, b, key);
      });
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::memcmp(&got[at(i)], &original[at(order[i])], sizeof(T)), 0)
            << "type " << static_cast<int>(type) << " n " << n << " inner " << inner << " at " << i;
        if (arrays > 1) {
          ASSERT_EQ(static_cast<const int32_t*>(out[arrays == 3 ? 0 : 1])[at(i)], at(order[i]));
        }
        if (arrays > 2) {
          ASSERT_EQ(static_cast<const uint8_t*>(out[2])[at(i)], static_cast<uint8_t>(at(order[i])));
        }
      }
    }
  }
}

template <typename T>
void CheckAll(RtType type) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (SortKey key : {SortKey::kLess, SortKey::kTotalOrder, SortKey::kNanLast}) {
    for (bool descending : {false, true}) {
      for (bool comparator : {false, true}) {
        for (int64_t n : {1, 2, 9, 16, 17, 33, 64, 65, 300, 1000}) {
          for (int arrays : {1, 2, 3}) {
            Check<T>(type, key, descending, 3, n, 1, arrays, comparator, n % 2 == 0, &ctx);
            if (n < 1000) Check<T>(type, key, descending, 2, n, 3, arrays, comparator, n % 2 == 0, &ctx);
            if (n <= 65) Check<T>(type, key, descending, 37, n, 1, arrays, comparator, n % 2 == 0, &ctx);
          }
        }
        for (int64_t n : {3, 8}) {  // many short rows
          Check<T>(type, key, descending, 150, n, 1, 1, comparator, false, &ctx);
          Check<T>(type, key, descending, 70, n, 3, 3, comparator, true, &ctx);
        }
        Check<T>(type, key, descending, 1, 20000, 1, 2, comparator, false, &ctx);
      }
    }
  }
  Check<T>(type, SortKey::kTotalOrder, false, 1, 200001, 1, 2, false, true, &ctx);
  Check<T>(type, SortKey::kTotalOrder, false, 1, 200001, 1, 1, true, false, &ctx);
}

TEST(Sort, F32) { CheckAll<float>(RtType::kF32); }
TEST(Sort, F64) { CheckAll<double>(RtType::kF64); }
TEST(Sort, S8) { CheckAll<int8_t>(RtType::kS8); }
TEST(Sort, U16) { CheckAll<uint16_t>(RtType::kU16); }
TEST(Sort, S32) { CheckAll<int32_t>(RtType::kS32); }
TEST(Sort, U64) { CheckAll<uint64_t>(RtType::kU64); }
TEST(Sort, S64) { CheckAll<int64_t>(RtType::kS64); }

TEST(Sort, AllHalfPrecisionValues) {
  RunContext ctx;
  for (RtType type : {RtType::kBF16, RtType::kF16}) {
    std::vector<uint16_t> in(65536), out(65536);
    std::iota(in.begin(), in.end(), 0);
    SortDesc d;
    d.key = static_cast<int>(SortKey::kTotalOrder);
    d.n = in.size();
    d.types[0] = static_cast<int>(type);
    const void* from = in.data();
    void* to = out.data();
    ASSERT_EQ(xc_rt_sort(&ctx, &d, &from, &to, nullptr, nullptr), 0);
    for (int i = 0; i < 32768; ++i) {
      ASSERT_EQ(out[i], 0xffff - i);
      ASSERT_EQ(out[32768 + i], i);
    }
    d.key = static_cast<int>(SortKey::kNanLast);
    ASSERT_EQ(xc_rt_sort(&ctx, &d, &from, &to, nullptr, nullptr), 0);
    const uint16_t infinity = type == RtType::kBF16 ? 0x7f80 : 0x7c00;
    EXPECT_EQ(out[0], infinity | 0x8000);
    const int nans = 2 * (0x7fff - infinity);
    EXPECT_EQ(out[65536 - nans - 1], infinity);
    EXPECT_EQ(out[65536 - nans], infinity + 1);  // NaNs keep their order
    EXPECT_EQ(out[65535], 0xffff);
    const int zero = static_cast<int>(std::find(out.begin(), out.end(), 0) - out.begin());
    EXPECT_EQ(out[zero + 1], 0x8000);  // +0 came first and is equal
  }
}

TEST(Sort, ComparatorThatIsNoOrderIsStillDeterministic) {
  std::mt19937_64 random(1);
  std::vector<float> in(50000), first(in.size()), out(in.size());
  for (float& x : in) x = Random<float>(&random);
  SortDesc d;
  d.n = in.size();
  d.types[0] = static_cast<int>(RtType::kF32);
  auto less = [](void*, const void* const* p) {
    return *static_cast<const float*>(p[0]) < *static_cast<const float*>(p[1]);
  };
  for (int threads = 1; threads <= 4; ++threads) {
    auto executor = NewThreadPoolExecutor(threads);
    RunContext ctx(nullptr, executor.get());
    const void* from = in.data();
    void* to = threads == 1 ? first.data() : out.data();
    ASSERT_EQ(xc_rt_sort(&ctx, &d, &from, &to, less, nullptr), 0);
    if (threads > 1) {
      EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * 4), 0);
    }
  }
}

TEST(Sort, Errors) {
  RunContext ctx;
  SortDesc d;
  d.n = 3;
  d.types[0] = static_cast<int>(RtType::kC64);
  d.key = 1;
  EXPECT_EQ(Sort(&ctx, d, nullptr, nullptr).message(), "sort: no comparator, and no order of element type 15");
  d.num_arrays = 33;
  EXPECT_EQ(Sort(&ctx, d, nullptr, nullptr).message(), "sort: 33 arrays; between 1 and 32 can be sorted");
  EXPECT_EQ(TopK(&ctx, {11, 1, 1, 3, 4}, nullptr, nullptr, nullptr).message(),
            "top-k: k is 4 and the rows have 3 elements");
}

template <typename T>
void CheckTopK(RtType type) {
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  std::mt19937_64 random(11);
  for (auto [rows, n] : {std::pair<int64_t, int64_t>{5, 1}, {4, 37}, {3, 1000}, {2, 30000}, {1, 100000}}) {
    std::vector<T> in(rows * n);
    for (T& x : in) x = Random<T>(&random);
    for (int64_t k : {int64_t{1}, n / 100, n / 3, n}) {
      if (k == 0) continue;
      for (int largest : {0, 1}) {
        TopKDesc d{static_cast<int>(type), largest, rows, n, k};
        std::vector<T> values(rows * k);
        std::vector<int32_t> indices(rows * k);
        ASSERT_EQ(xc_rt_top_k(&ctx, &d, in.data(), values.data(), indices.data()), 0);
        for (int64_t r = 0; r < rows; ++r) {
          const T* row = in.data() + r * n;
          std::vector<int32_t> order(n);
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(), [&](int x, int y) {
            return largest ? Before(row[y], row[x], SortKey::kTotalOrder)
                           : Before(row[x], row[y], SortKey::kTotalOrder);
          });
          for (int64_t i = 0; i < k; ++i) {
            ASSERT_EQ(indices[r * k + i], order[i]) << n << " " << k << " " << i;
            ASSERT_EQ(std::memcmp(&values[r * k + i], &row[order[i]], sizeof(T)), 0);
          }
        }
      }
    }
  }
}

TEST(TopK, Types) {
  CheckTopK<float>(RtType::kF32);
  CheckTopK<double>(RtType::kF64);
  CheckTopK<int32_t>(RtType::kS32);
  CheckTopK<uint8_t>(RtType::kU8);
}

}  // namespace
}  // namespace xc
