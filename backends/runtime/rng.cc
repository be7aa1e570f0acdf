// ThreeFry2x32 and Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) over blocks of
// counts, so that the rounds vectorize.
#include "backends/runtime/rng.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/runtime/clones.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int kBlock = 128;  // counts computed together

inline uint32_t Rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

// Words of the counts first, first + 1, …: x0 and x1 each have kBlock entries.
XC_CLONES void ThreeFryBlock(uint64_t key, uint64_t first, uint32_t* __restrict x0, uint32_t* __restrict x1) {
  const uint32_t k[3] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32),
                         static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) ^ 0x1BD11BDAu};
  for (int i = 0; i < kBlock; ++i) {
    const uint64_t count = first + i;
    uint32_t a = static_cast<uint32_t>(count) + k[0], b = static_cast<uint32_t>(count >> 32) + k[1];
#define XC_ROUND(r) \
  a += b;           \
  b = Rotate(b, r) ^ a;
#define XC_FOUR(r0, r1, r2, r3, i0, i1, n)                        \
  XC_ROUND(r0) XC_ROUND(r1) XC_ROUND(r2) XC_ROUND(r3) a += k[i0]; \
  b += k[i1] + n;
    XC_FOUR(13, 15, 26, 6, 1, 2, 1)
    XC_FOUR(17, 29, 16, 24, 2, 0, 2)
    XC_FOUR(13, 15, 26, 6, 0, 1, 3)
    XC_FOUR(17, 29, 16, 24, 1, 2, 4)
    XC_FOUR(13, 15, 26, 6, 2, 0, 5)
#undef XC_FOUR
#undef XC_ROUND
    x0[i] = a;
    x1[i] = b;
  }
}

// Four words for each count: words[4 * i …].
XC_CLONES void PhiloxBlock(uint64_t key, uint64_t low, uint64_t high, uint32_t* __restrict words) {
  for (int i = 0; i < kBlock; ++i) {
    const uint64_t count = low + i;
    const uint64_t upper = high + (count < low ? 1 : 0);
    uint32_t c0 = static_cast<uint32_t>(count), c1 = static_cast<uint32_t>(count >> 32);
    uint32_t c2 = static_cast<uint32_t>(upper), c3 = static_cast<uint32_t>(upper >> 32);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[4 * i] = c0;
    words[4 * i + 1] = c1;
    words[4 * i + 2] = c2;
    words[4 * i + 3] = c3;
  }
}

absl::Status Check(const RngDesc& d) {
  if (d.rank < 0 || d.rank > kMaxRngRank) return absl::InvalidArgumentError(absl::StrCat("rng: rank ", d.rank));
  for (int i = 0; i < d.rank; ++i) {
    if (d.dims[i] < 0) return absl::InvalidArgumentError("rng: negative dimension");
  }
  if (d.element_bytes != 1 && d.element_bytes != 2 && d.element_bytes != 4 && d.element_bytes != 8) {
    return absl::InvalidArgumentError(absl::StrCat("rng: elements of ", d.element_bytes, " bytes"));
  }
  const bool three_fry = d.algorithm == static_cast<int>(RngAlgorithm::kThreeFry);
  if (d.algorithm < 0 || d.algorithm > 2)
    return absl::InvalidArgumentError(absl::StrCat("rng: algorithm ", d.algorithm));
  if (d.state_words != 2 && (three_fry || d.state_words != 3)) {
    return absl::InvalidArgumentError(absl::StrCat("rng: a state of ", d.state_words, " 64-bit words"));
  }
  return absl::OkStatus();
}

// The array seen as [outer][2 * half (or one less)][inner], cut along `dim`.
struct Split {
  int64_t outer = 1, size = 1, half = 1, inner = 1;
};

Split SplitOf(const RngDesc& d) {
  int dim = -1;
  for (int i = 0; i < d.rank && dim < 0; ++i) {
    if (d.dims[i] % 2 == 0) dim = i;
  }
  if (dim < 0 && d.rank > 0) dim = static_cast<int>(std::max_element(d.dims, d.dims + d.rank) - d.dims);
  Split split;
  for (int i = 0; i < d.rank; ++i) {
    (i < dim ? split.outer : i == dim ? split.size : split.inner) *= d.dims[i];
  }
  split.half = (split.size + 1) / 2;
  return split;
}

template <typename T>
void ThreeFryWords(RunContext* ctx, const Split& s, uint64_t key, uint64_t counter, T* out) {
  const int64_t counts = s.outer * s.half * s.inner;
  ctx->ParallelFor((counts - 1) / kBlock + 1, 64, [&](int64_t begin, int64_t end) {
    uint32_t x0[kBlock], x1[kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock;
      ThreeFryBlock(key, counter + first, x0, x1);
      const int64_t n = std::min<int64_t>(kBlock, counts - first);
      if (s.inner == 1 && s.outer == 1) {
        for (int64_t i = 0; i < n; ++i) {
          out[2 * (first + i)] = static_cast<T>(x0[i]);
          if (2 * (first + i) + 1 < s.size) out[2 * (first + i) + 1] = static_cast<T>(x1[i]);
        }
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t count = first + i, inner = count % s.inner, row = count / s.inner % s.half * 2;
        T* to = out + (count / (s.inner * s.half) * s.size + row) * s.inner + inner;
        to[0] = static_cast<T>(x0[i]);
        if (row + 1 < s.size) to[s.inner] = static_cast<T>(x1[i]);
      }
    }
  });
}

void ThreeFryPairs(RunContext* ctx, int64_t counts, uint64_t key, uint64_t counter, uint64_t* out) {
  ctx->ParallelFor((counts - 1) / kBlock + 1, 64, [&](int64_t begin, int64_t end) {
    uint32_t x0[kBlock], x1[kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock;
      ThreeFryBlock(key, counter + first, x0, x1);
      const int64_t n = std::min<int64_t>(kBlock, counts - first);
      for (int64_t i = 0; i < n; ++i) out[first + i] = static_cast<uint64_t>(x1[i]) << 32 | x0[i];
    }
  });
}

// `n` elements from consecutive words, or pairs of words for 64 bits.
template <typename T>
void PhiloxElements(RunContext* ctx, int64_t n, uint64_t key, uint64_t low, uint64_t high, T* out) {
  constexpr int64_t kPer = sizeof(T) == 8 ? 2 : 4;  // elements from one count
  ctx->ParallelFor((n - 1) / (kBlock * kPer) + 1, 64, [&](int64_t begin, int64_t end) {
    uint32_t words[4 * kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const uint64_t first = low + static_cast<uint64_t>(block) * kBlock;
      PhiloxBlock(key, first, high + (first < low ? 1 : 0), words);
      const int64_t at = block * kBlock * kPer, count = std::min<int64_t>(kBlock * kPer, n - at);
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (sizeof(T) == 8) {
          out[at + i] = static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i];
        } else {
          out[at + i] = static_cast<T>(words[i]);
        }
      }
    }
  });
}

}  // namespace

absl::Status RngBitGenerator(RunContext* ctx, const RngDesc& d, const uint64_t* state_in, uint64_t* state_out,
                             void* out) {
  XC_RETURN_IF_ERROR(Check(d));
  int64_t n = 1;
  for (int i = 0; i < d.rank; ++i) n *= d.dims[i];
  const uint64_t key = state_in[0], counter = state_in[1];
  const uint64_t high = d.state_words == 3 ? state_in[2] : 0;
  uint64_t counts = 0;
  if (d.algorithm == static_cast<int>(RngAlgorithm::kThreeFry)) {
    const Split split = SplitOf(d);
    counts = d.element_bytes == 8 ? n : split.outer * split.half * split.inner;
    if (n > 0) {
      switch (d.element_bytes) {
        case 1:
          ThreeFryWords(ctx, split, key, counter, static_cast<uint8_t*>(out));
          break;
        case 2:
          ThreeFryWords(ctx, split, key, counter, static_cast<uint16_t*>(out));
          break;
        case 4:
          ThreeFryWords(ctx, split, key, counter, static_cast<uint32_t*>(out));
          break;
        default:
          ThreeFryPairs(ctx, n, key, counter, static_cast<uint64_t*>(out));
      }
    }
  } else {
    counts = d.element_bytes == 8 ? (n + 1) / 2 : (n + 3) / 4;
    // With two words of state, the key stands for the counter's upper half as well.
    const uint64_t upper = d.state_words == 3 ? high : key;
    if (n > 0) {
      switch (d.element_bytes) {
        case 1:
          PhiloxElements(ctx, n, key, counter, upper, static_cast<uint8_t*>(out));
          break;
        case 2:
          PhiloxElements(ctx, n, key, counter, upper, static_cast<uint16_t*>(out));
          break;
        case 4:
          PhiloxElements(ctx, n, key, counter, upper, static_cast<uint32_t*>(out));
          break;
        default:
          PhiloxElements(ctx, n, key, counter, upper, static_cast<uint64_t*>(out));
      }
    }
  }
  state_out[0] = key;
  state_out[1] = counter + counts;
  if (d.state_words == 3) state_out[2] = high + (counter + counts < counter ? 1 : 0);
  return absl::OkStatus();
}

namespace {

inline uint16_t ToBF16(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double ToDouble(RtType type, const void* at) {
  switch (type) {
    case RtType::kF64: {
      double x;
      std::memcpy(&x, at, 8);
      return x;
    }
    case RtType::kF32: {
      float x;
      std::memcpy(&x, at, 4);
      return x;
    }
    case RtType::kF16: {
      _Float16 x;
      std::memcpy(&x, at, 2);
      return static_cast<float>(x);
    }
    default: {
      uint16_t half;
      std::memcpy(&half, at, 2);
      const uint32_t bits = static_cast<uint32_t>(half) << 16;
      float x;
      std::memcpy(&x, &bits, 4);
      return x;
    }
  }
}

void FromDouble(RtType type, double x, void* out, int64_t i) {
  switch (type) {
    case RtType::kF64:
      static_cast<double*>(out)[i] = x;
      break;
    case RtType::kF32:
      static_cast<float*>(out)[i] = static_cast<float>(x);
      break;
    case RtType::kF16:
      static_cast<_Float16*>(out)[i] = static_cast<_Float16>(static_cast<float>(x));
      break;
    default:
      static_cast<uint16_t*>(out)[i] = ToBF16(static_cast<float>(x));
  }
}

// Calls use(i, bits) for n 64-bit random numbers from the context's state, in parallel.
template <typename Use>
void RandomBits(RunContext* ctx, int64_t n, Use use) {
  const unsigned __int128 state = ctx->AdvanceRngState((n + 1) / 2);
  const uint64_t low = static_cast<uint64_t>(state), high = static_cast<uint64_t>(state >> 64);
  ctx->ParallelFor((n - 1) / (2 * kBlock) + 1, 16, [&](int64_t begin, int64_t end) {
    uint32_t words[4 * kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const uint64_t first = low + static_cast<uint64_t>(block) * kBlock;
      PhiloxBlock(0, first, high + (first < low ? 1 : 0), words);
      const int64_t at = block * 2 * kBlock, count = std::min<int64_t>(2 * kBlock, n - at);
      for (int64_t i = 0; i < count; ++i) use(at + i, static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i]);
    }
  });
}

// In [0, 1), with 53 bits.
inline double Unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

template <typename T>
void UniformIntegers(RunContext* ctx, int64_t n, const void* a, const void* b, void* out) {
  T low, high;
  std::memcpy(&low, a, sizeof(T));
  std::memcpy(&high, b, sizeof(T));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  RandomBits(ctx, n, [&](int64_t i, uint64_t bits) {
    const uint64_t offset = static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
    static_cast<T*>(out)[i] = static_cast<T>(static_cast<uint64_t>(low) + (high > low ? offset : 0));
  });
}

}  // namespace

absl::Status RngUniform(RunContext* ctx, RtType type, int64_t n, const void* a, const void* b, void* out) {
  if (n == 0) return absl::OkStatus();
  if (IsFloat(type)) {
    const double low = ToDouble(type, a), high = ToDouble(type, b);
    RandomBits(ctx, n, [&](int64_t i, uint64_t bits) {
      // Rounding to the type may reach the upper end, which is not in the range: such a number becomes the lower end.
      FromDouble(type, low + Unit(bits) * (high - low), out, i);
      const int64_t size = SizeOf(type);
      if (ToDouble(type, static_cast<char*>(out) + i * size) >= high) FromDouble(type, low, out, i);
    });
    return absl::OkStatus();
  }
  switch (type) {
    case RtType::kPred:
    case RtType::kU8:
      UniformIntegers<uint8_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kS8:
      UniformIntegers<int8_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kU16:
      UniformIntegers<uint16_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kS16:
      UniformIntegers<int16_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kU32:
      UniformIntegers<uint32_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kS32:
      UniformIntegers<int32_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kU64:
      UniformIntegers<uint64_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    case RtType::kS64:
      UniformIntegers<int64_t>(ctx, n, a, b, out);
      return absl::OkStatus();
    default:
      return absl::UnimplementedError(absl::StrCat("uniform random numbers of element type ", static_cast<int>(type)));
  }
}

absl::Status RngNormal(RunContext* ctx, RtType type, int64_t n, const void* a, const void* b, void* out) {
  if (n == 0) return absl::OkStatus();
  if (!IsFloat(type)) {
    return absl::UnimplementedError(absl::StrCat("normal random numbers of element type ", static_cast<int>(type)));
  }
  const double mean = ToDouble(type, a), deviation = ToDouble(type, b);
  RandomBits(ctx, n, [&](int64_t i, uint64_t bits) {
    // Box and Muller's transform of two numbers of 32 bits; the first is never 0.
    const double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
    const double angle = static_cast<double>(bits & 0xffffffff) * 0x1p-32 * 6.283185307179586476925;
    FromDouble(type, mean + deviation * std::sqrt(-2 * std::log(u)) * std::cos(angle), out, i);
  });
  return absl::OkStatus();
}

}  // namespace xc

int xc_rt_rng_bit_generator(void* ctx, const xc::RngDesc* desc, const void* state_in, void* state_out, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(
      xc::RngBitGenerator(run, *desc, static_cast<const uint64_t*>(state_in), static_cast<uint64_t*>(state_out), out));
}

int xc_rt_rng_uniform(void* ctx, int32_t type, int64_t n, const void* a, const void* b, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::RngUniform(run, static_cast<xc::RtType>(type), n, a, b, out));
}

int xc_rt_rng_normal(void* ctx, int32_t type, int64_t n, const void* a, const void* b, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::RngNormal(run, static_cast<xc::RtType>(type), n, a, b, out));
}
