// Matrix products of every type, layout and kernel against a naive loop, and with other numbers of threads.
#include "backends/runtime/matmul.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "backends/runtime/all_gemm_kernels.h"
#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/onednn.h"

namespace xc {
namespace {

float FromBF16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float f;
  std::memcpy(&f, &wide, 4);
  return f;
}

// Element `i` of a buffer of `type`.
std::complex<double> Get(RtType type, const void* data, int64_t i) {
  switch (type) {
    case RtType::kF32:
      return static_cast<const float*>(data)[i];
    case RtType::kF64:
      return static_cast<const double*>(data)[i];
    case RtType::kF16:
      return static_cast<float>(static_cast<const _Float16*>(data)[i]);
    case RtType::kBF16:
      return FromBF16(static_cast<const uint16_t*>(data)[i]);
    case RtType::kC64:
      return static_cast<const std::complex<float>*>(data)[i];
    case RtType::kC128:
      return static_cast<const std::complex<double>*>(data)[i];
    case RtType::kS8:
      return static_cast<const int8_t*>(data)[i];
    case RtType::kU8:
      return static_cast<const uint8_t*>(data)[i];
    case RtType::kS16:
      return static_cast<const int16_t*>(data)[i];
    case RtType::kS32:
      return static_cast<const int32_t*>(data)[i];
    case RtType::kU32:
      return static_cast<const uint32_t*>(data)[i];
    case RtType::kS64:
      return static_cast<double>(static_cast<const int64_t*>(data)[i]);
    default:
      ADD_FAILURE() << "type";
      return 0;
  }
}

// Small integers, which every type but unsigned ones holds: products and sums are exact in f32.
void Fill(RtType type, std::vector<char>* data, std::mt19937* random) {
  const int64_t n = data->size() / SizeOf(type);
  for (int64_t i = 0; i < n; ++i) {
    const bool is_unsigned = type == RtType::kU8 || type == RtType::kU32;
    const int x = static_cast<int>((*random)() % 7) - (is_unsigned ? 0 : 3), y = static_cast<int>((*random)() % 7) - 3;
    void* at = data->data() + i * SizeOf(type);
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
    switch (type) {
      case RtType::kF32:
        put(static_cast<float>(x));
        break;
      case RtType::kF64:
        put(static_cast<double>(x));
        break;
      case RtType::kF16:
        put(static_cast<_Float16>(x));
        break;
      case RtType::kBF16: {
        const float f = x;
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        put(static_cast<uint16_t>(bits >> 16));
        break;
      }
      case RtType::kC64:
        put(std::complex<float>(x, y));
        break;
      case RtType::kC128:
        put(std::complex<double>(x, y));
        break;
      case RtType::kS8:
      case RtType::kU8:
        put(static_cast<int8_t>(x));
        break;
      case RtType::kS16:
        put(static_cast<int16_t>(x));
        break;
      case RtType::kS32:
      case RtType::kU32:
        put(static_cast<int32_t>(x));
        break;
      default:
        put(static_cast<int64_t>(x));
    }
  }
}

struct Layout {
  bool a_transposed, b_transposed, c_transposed;
};

// Two batch dimensions, the first one outermost in memory, the second between rows and columns of a and c.
MatmulDesc MakeDesc(RtType a, RtType b, RtType c, int64_t b0, int64_t b1, int64_t m, int64_t n, int64_t k, Layout l) {
  MatmulDesc d;
  d.a_type = static_cast<int>(a);
  d.b_type = static_cast<int>(b);
  d.c_type = static_cast<int>(c);
  d.num_batch_dims = 2;
  d.m = m;
  d.n = n;
  d.k = k;
  d.batch[0] = b0;
  d.batch[1] = b1;
  d.a_batch[0] = b1 * m * k;
  d.a_batch[1] = l.a_transposed ? m : k;
  d.a_m = l.a_transposed ? 1 : b1 * k;
  d.a_k = l.a_transposed ? b1 * m : 1;
  d.b_batch[0] = b1 * n * k;
  d.b_batch[1] = n * k;
  d.b_k = l.b_transposed ? 1 : n;
  d.b_n = l.b_transposed ? k : 1;
  d.c_batch[0] = b1 * m * n;
  d.c_batch[1] = l.c_transposed ? m : n;
  d.c_m = l.c_transposed ? 1 : b1 * n;
  d.c_n = l.c_transposed ? b1 * m : 1;
  return d;
}

struct Data {
  std::vector<char> a, b, c;
};

Data MakeData(const MatmulDesc& d) {
  std::mt19937 random(7);
  const int64_t batches = d.batch[0] * d.batch[1];
  Data data;
  data.a.resize(batches * d.m * d.k * SizeOf(static_cast<RtType>(d.a_type)));
  data.b.resize(batches * d.n * d.k * SizeOf(static_cast<RtType>(d.b_type)));
  data.c.resize(batches * d.m * d.n * SizeOf(static_cast<RtType>(d.c_type)), 1);
  Fill(static_cast<RtType>(d.a_type), &data.a, &random);
  Fill(static_cast<RtType>(d.b_type), &data.b, &random);
  return data;
}

void ExpectProduct(const MatmulDesc& d, const Data& data, const std::string& what) {
  const RtType at = static_cast<RtType>(d.a_type), bt = static_cast<RtType>(d.b_type),
               ct = static_cast<RtType>(d.c_type);
  // Real and imaginary parts apart: this loop is most of the test's time.
  struct Values {
    std::vector<double> re, im;
  };
  auto widen = [](RtType type, const std::vector<char>& bytes) {
    Values values;
    for (size_t i = 0; i < bytes.size() / SizeOf(type); ++i) {
      const std::complex<double> x = Get(type, bytes.data(), i);
      values.re.push_back(x.real());
      values.im.push_back(x.imag());
    }
    return values;
  };
  const Values a = widen(at, data.a), b = widen(bt, data.b);
  const bool complex = at == RtType::kC64 || at == RtType::kC128;
  int64_t wrong = 0;
  for (int64_t p = 0; p < d.batch[0]; ++p) {
    for (int64_t q = 0; q < d.batch[1]; ++q) {
      for (int64_t i = 0; i < d.m; ++i) {
        for (int64_t j = 0; j < d.n; ++j) {
          const int64_t a0 = p * d.a_batch[0] + q * d.a_batch[1] + i * d.a_m;
          const int64_t b0 = p * d.b_batch[0] + q * d.b_batch[1] + j * d.b_n;
          const double *ar = a.re.data() + a0, *ai = a.im.data() + a0, *br = b.re.data() + b0, *bi = b.im.data() + b0;
          double re = 0, im = 0;
          for (int64_t r = 0, x = 0, y = 0; r < d.k; ++r, x += d.a_k, y += d.b_k) {
            re += ar[x] * br[y];
            if (!complex) continue;
            re -= ai[x] * bi[y];
            im += ar[x] * bi[y] + ai[x] * br[y];
          }
          std::complex<double> sum(re, im);
          const auto got = Get(ct, data.c.data(), p * d.c_batch[0] + q * d.c_batch[1] + i * d.c_m + j * d.c_n);
          if (ct == RtType::kS8) sum = static_cast<int8_t>(static_cast<int64_t>(sum.real()));
          const double slack =
              ct == RtType::kBF16 ? std::abs(sum) / 250 : (ct == RtType::kF16 ? std::abs(sum) / 2000 : 0);
          if (std::abs(got - sum) > slack && ++wrong == 1) {
            ADD_FAILURE() << what << ": at " << p << "," << q << "," << i << "," << j << " " << got << " not " << sum;
          }
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << what;
}

TEST(Matmul, AllTypesLayoutsAndKernels) {
  using T = RtType;
  const RtType types[][3] = {{T::kF32, T::kF32, T::kF32}, {T::kF64, T::kF64, T::kF64},    {T::kF16, T::kF16, T::kF16},
                             {T::kF16, T::kF16, T::kF32}, {T::kBF16, T::kBF16, T::kBF16}, {T::kBF16, T::kBF16, T::kF32},
                             {T::kC64, T::kC64, T::kC64}, {T::kC128, T::kC128, T::kC128}, {T::kS8, T::kS8, T::kS8},
                             {T::kS8, T::kS8, T::kS32},   {T::kU8, T::kS8, T::kS32},      {T::kU8, T::kU8, T::kS32},
                             {T::kS16, T::kS16, T::kS16}, {T::kS32, T::kS32, T::kS32},    {T::kU32, T::kU32, T::kU32},
                             {T::kS64, T::kS64, T::kS64}};
  const int64_t sizes[][5] = {{1, 1, 1, 1, 1},   {1, 1, 1, 70, 33},    {2, 3, 5, 7, 11}, {1, 2, 65, 2, 40},
                              {3, 1, 19, 50, 0}, {1, 1, 37, 101, 300}, {3, 5, 8, 8, 8},  {2, 1, 16, 15, 16},
                              {1, 3, 3, 9, 2},   {1, 1, 7, 512, 20},   {1, 2, 70, 3, 4}};
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (bool onednn : {true, false}) {
    SetMatmulUseOneDnn(onednn);
    for (const auto& t : types) {
      for (const auto& s : sizes) {
        for (int layout = 0; layout < 8; ++layout) {
          const Layout l{(layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0};
          const MatmulDesc d = MakeDesc(t[0], t[1], t[2], s[0], s[1], s[2], s[3], s[4], l);
          Data data = MakeData(d);
          const std::string what = "types " + std::to_string(d.a_type) + "," + std::to_string(d.b_type) + "," +
                                   std::to_string(d.c_type) + " m " + std::to_string(d.m) + " n " +
                                   std::to_string(d.n) + " k " + std::to_string(d.k) + " layout " +
                                   std::to_string(layout) + (onednn ? " onednn" : " own");
          const absl::Status status = Matmul(&ctx, d, data.a.data(), data.b.data(), data.c.data());
          ASSERT_TRUE(status.ok()) << what << status;
          ExpectProduct(d, data, what);
        }
      }
    }
  }
  SetMatmulUseOneDnn(true);
}

TEST(Matmul, SumsInParts) {
  using T = RtType;
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (bool onednn : {true, false}) {
    SetMatmulUseOneDnn(onednn);
    for (auto [type, result] :
         {std::pair{T::kF32, T::kF32}, {T::kF64, T::kF64}, {T::kBF16, T::kF32}, {T::kC64, T::kC64}}) {
      for (int layout : {0, 3, 6}) {
        const Layout l{(layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0};
        const MatmulDesc d = MakeDesc(type, type, result, 1, 1, 2, 9, 60001, l);
        Data data = MakeData(d);
        ASSERT_TRUE(Matmul(&ctx, d, data.a.data(), data.b.data(), data.c.data()).ok());
        ExpectProduct(d, data, "type " + std::to_string(d.a_type) + " layout " + std::to_string(layout));
      }
    }
  }
  SetMatmulUseOneDnn(true);
}

// One left operand for all batches, whose results lie side by side.
TEST(Matmul, NarrowColumnsSideBySide) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (const RtType type : {RtType::kF32, RtType::kF64, RtType::kBF16, RtType::kF16, RtType::kS32, RtType::kC64}) {
    for (const bool transposed : {false, true}) {
      MatmulDesc d = MakeDesc(type, type, type, 1, 9, 20, 7, 33, {false, transposed, false});
      d.a_batch[1] = 0;
      Data data = MakeData(d);
      ASSERT_TRUE(Matmul(&ctx, d, data.a.data(), data.b.data(), data.c.data()).ok());
      ExpectProduct(d, data, "type " + std::to_string(d.a_type));
    }
  }
}

// Sums above 2^24, which f32 does not have, are exact all the same, in blocks of rows and without.
TEST(Matmul, DeepBytes) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (const RtType type : {RtType::kS8, RtType::kU8}) {
    for (const auto [m, n, k] : {std::array{8, 8, 20000}, {3, 5, 3001}, {130, 2100, 1300}}) {
      const int64_t batch = m == 3 ? 2 : 1;
      const MatmulDesc d = MakeDesc(type, RtType::kS8, RtType::kS32, 1, batch, m, n, k, {});
      Data data = MakeData(d);
      for (char& x : data.a) x = static_cast<char>((type == RtType::kS8 ? x & 0x7f : x) | 0x60);
      for (char& x : data.b) x = static_cast<char>((x & 0x7f) | 0x60);
      ASSERT_TRUE(Matmul(&ctx, d, data.a.data(), data.b.data(), data.c.data()).ok());
      ExpectProduct(d, data, "m " + std::to_string(m) + " type " + std::to_string(d.a_type));
    }
  }
}

TEST(Matmul, EveryInstructionSet) {
  const std::vector<const GemmKernels*> all = AllGemmKernels();
  for (RtType type : {RtType::kF32, RtType::kF64, RtType::kBF16, RtType::kF16, RtType::kS64, RtType::kC64}) {
    for (const GemmKernels* kernels : all) {
      for (auto [m, n, k] : {std::array{1, 83, 71},
                             {2, 83, 71},
                             {3, 83, 71},
                             {4, 83, 71},
                             {5, 83, 71},
                             {12, 96, 71},
                             {14, 96, 300},
                             {23, 83, 71},
                             {16, 24, 300},
                             {9, 16, 300},
                             {157, 24, 300},
                             {150, 250, 300}}) {
        const MatmulDesc d = MakeDesc(type, type, type, 1, 1, m, n, k, {});
        Data data = MakeData(d);
        GemmTile t{type,  type,          type,  d.m,   d.n,           d.k,   data.a.data(), d.a_m,
                   d.a_k, data.b.data(), d.b_k, d.b_n, data.c.data(), d.c_m, d.c_n};
        std::vector<char> block(kernels->gemm_scratch(t) + 800064);
        char* scratch = block.data() + (64 - reinterpret_cast<uintptr_t>(block.data()) % 64);
        kernels->gemm(t, scratch);
        ExpectProduct(d, data, "gemm " + std::to_string(static_cast<int>(type)));
        const bool taken = type != RtType::kS64 && type != RtType::kC64;
        if (m > kSkinnyRows || !taken) continue;
        std::fill(data.c.begin(), data.c.end(), 1);
        ASSERT_TRUE(kernels->skinny(t, scratch));
        ExpectProduct(d, data, "skinny");
      }
    }
  }
}

// Products of a few rows whose columns are up to four vectors, whole ones or not, with rests of the sums' steps.
TEST(Matmul, FewColumnsOnEveryInstructionSet) {
  for (RtType type : {RtType::kF32, RtType::kF64, RtType::kBF16, RtType::kF16}) {
    for (const GemmKernels* kernels : AllGemmKernels()) {
      for (int64_t m = 1; m <= kSkinnyRows; ++m) {
        for (int64_t n = 1; n <= 65; n += n % 8 == 1 ? 6 : 1) {
          for (const int64_t k : {1, 7, 64}) {
            const MatmulDesc d = MakeDesc(type, type, type, 1, 1, m, n, k, {});
            Data data = MakeData(d);
            const GemmTile t{type,  type,          type,  d.m,   d.n,           d.k,   data.a.data(), d.a_m,
                             d.a_k, data.b.data(), d.b_k, d.b_n, data.c.data(), d.c_m, d.c_n,         d.n};
            std::vector<char> block(kernels->gemm_scratch(t) + 64);
            char* scratch = block.data() + (64 - reinterpret_cast<uintptr_t>(block.data()) % 64);
            ASSERT_TRUE(kernels->skinny(t, scratch));
            ExpectProduct(d, data, "m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k));
          }
        }
      }
    }
  }
}

template <typename T>
void ExpectSameBitsWithAnyNumberOfThreads(RtType type, bool onednn, int m, int n, int k) {
  SetMatmulUseOneDnn(onednn);
  std::mt19937 random(3);
  std::normal_distribution<T> normal;
  std::vector<T> a(m * k), b(k * n), first(m * n), c(m * n);
  for (T& x : a) x = normal(random);
  for (T& x : b) x = normal(random);
  const MatmulDesc d = MakeDesc(type, type, type, 1, 1, m, n, k, {});
  for (int threads = 1; threads <= 4; ++threads) {
    auto executor = NewThreadPoolExecutor(threads);
    RunContext ctx(nullptr, executor.get());
    ASSERT_TRUE(Matmul(&ctx, d, a.data(), b.data(), threads == 1 ? first.data() : c.data()).ok());
    if (threads > 1) {
      EXPECT_EQ(std::memcmp(first.data(), c.data(), c.size() * sizeof(T)), 0) << m << " " << n << " " << threads;
    }
  }
  SetMatmulUseOneDnn(true);
}

TEST(Matmul, SameBitsWithAnyNumberOfThreads) {
  // 1153: tiles of 144 rows leave one.
  const int sizes[][3] = {{300, 500, 700}, {16, 1000, 2000}, {16, 512, 128}, {12, 512, 40}, {1, 3000, 500},
                          {2000, 2, 300},  {64, 64, 5000},   {1153, 96, 96}, {10, 7, 40000}};
  for (auto [m, n, k] : sizes) {
    ExpectSameBitsWithAnyNumberOfThreads<float>(RtType::kF32, true, m, n, k);
    ExpectSameBitsWithAnyNumberOfThreads<float>(RtType::kF32, false, m, n, k);
    ExpectSameBitsWithAnyNumberOfThreads<double>(RtType::kF64, false, m, n, k);
  }
}

// Those that only threads that are awake help with, as one loop makes them again and again.
TEST(Matmul, SmallOnesHaveTheSameBitsWithAnyHelp) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  auto executor = NewThreadPoolExecutor(4);
  RunContext ctx(nullptr, executor.get()), alone;
  using T = RtType;
  for (T type : {T::kF32, T::kF64, T::kBF16}) {
    for (auto [m, n, k] : {std::array<int, 3>{1, 768, 256}, {3, 333, 301}, {4, 129, 510}, {600, 2, 300}}) {
      for (bool transposed : {false, true}) {
        const MatmulDesc d = MakeDesc(type, type, type, 1, 1, m, n, k, {false, transposed, false});
        Data data = MakeData(d);
        for (std::vector<char>* side : {&data.a, &data.b}) {
          for (size_t i = 0; i < side->size() / SizeOf(type); ++i) {
            const double x = normal(random);
            const float f = x;
            if (type == T::kF64) std::memcpy(&(*side)[i * 8], &x, 8);
            if (type == T::kF32) std::memcpy(&(*side)[i * 4], &f, 4);
            if (type == T::kBF16) std::memcpy(&(*side)[i * 2], reinterpret_cast<const char*>(&f) + 2, 2);
          }
        }
        ASSERT_TRUE(Matmul(&alone, d, data.a.data(), data.b.data(), data.c.data()).ok());
        const std::vector<char> first = data.c;
        for (int turn = 0; turn < 40; ++turn) {
          std::fill(data.c.begin(), data.c.end(), 0);
          ASSERT_TRUE(Matmul(&ctx, d, data.a.data(), data.b.data(), data.c.data()).ok());
          ASSERT_EQ(first, data.c) << m << " " << n << " " << k << " turn " << turn;
        }
      }
    }
  }
}

TEST(Matmul, EveryTilingMakesEachElementOnce) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  const int64_t sizes[][5] = {
      {2, 3, 400, 500, 40}, {2, 3, 400, 2, 40}, {1, 1, 40, 6, 20000}, {1, 1, 3, 1, 524288}, {1, 1, 3, 700, 300}};
  for (const auto& s : sizes) {
    const MatmulDesc d = MakeDesc(RtType::kF32, RtType::kF32, RtType::kF32, s[0], s[1], s[2], s[3], s[4], {});
    Data data = MakeData(d);
    ASSERT_EQ(xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data()), 0);
    ExpectProduct(d, data, "tilings");
  }
}

TEST(Matmul, FewRowsWakeNobodyForAFewMegabytes) {
  struct Sleeper : Executor {
    int num_threads() const override { return 2; }
    int ready() const override { return 0; }
    void Schedule(std::function<void()>) override { ++woken; }
    int woken = 0;
  };
  const auto woken = [](RtType type, int64_t rows, int64_t n, int64_t k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that it counts by itself
    Sleeper executor;
    RunContext ctx(nullptr, &executor);
    const MatmulDesc d = MakeDesc(type, type, type, 1, 1, rows, n, k, {});
    Data data = MakeData(d);
    EXPECT_EQ(xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data()), 0);
    return executor.woken;
  };
  EXPECT_EQ(woken(RtType::kF32, 1, 512, 784), 0);
  EXPECT_EQ(woken(RtType::kF32, 4, 512, 1800), 0);
  EXPECT_EQ(woken(RtType::kBF16, 2, 1024, 1800), 0);
  EXPECT_GT(woken(RtType::kF32, 1, 2048, 2048), 0);
}

TEST(Matmul, BroadcastOperand) {
  RunContext ctx;
  MatmulDesc d = MakeDesc(RtType::kF32, RtType::kF32, RtType::kF32, 3, 1, 8, 64, 32, {});
  Data data = MakeData(d);
  d.b_batch[0] = 0;
  ASSERT_EQ(xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data()), 0);
  ExpectProduct(d, data, "b broadcast over the batch");
  d.a_m = 0;
  ASSERT_EQ(xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data()), 0);
  ExpectProduct(d, data, "a broadcast over rows");
}

TEST(Matmul, RefusesUnknownTypes) {
  RunContext ctx;
  const MatmulDesc d = MakeDesc(RtType::kPred, RtType::kPred, RtType::kPred, 1, 1, 8, 8, 8, {});
  char buffer[64] = {};
  EXPECT_EQ(xc_rt_matmul(&ctx, &d, buffer, buffer, buffer), 1);
  EXPECT_EQ(ctx.status().message(), "matrix product of element types 1 and 1 to 1");
}

TEST(OneDnn, IsUsedAndCached) {
  if (!onednn::Available()) GTEST_SKIP() << "libdnnl.so.2 is not installed";
  RunContext ctx;
  const MatmulDesc d = MakeDesc(RtType::kF32, RtType::kF32, RtType::kF32, 1, 1, 33, 35, 37, {});
  Data data = MakeData(d);
  const auto before = onednn::GetCacheStats();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data()), 0);
  const auto after = onednn::GetCacheStats();
  EXPECT_EQ(after.misses, before.misses + 1);
  EXPECT_EQ(after.hits, before.hits + 2);
}

// A fork while the library is made ready waits for it, so that the child can use it.
TEST(OneDnn, PrepareProductsLetsForksUseTheLibrary) {
  onednn::PrepareProducts();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  const MatmulDesc d = MakeDesc(RtType::kF32, RtType::kF32, RtType::kF32, 1, 1, 128, 256, 256, {});
  Data data = MakeData(d);
  RunContext ctx;
  const int failed = xc_rt_matmul(&ctx, &d, data.a.data(), data.b.data(), data.c.data());
  if (child == 0) _exit(failed);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status + failed, 0);
}

}  // namespace
}  // namespace xc
