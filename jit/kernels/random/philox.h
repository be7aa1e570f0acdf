// The random stream of TensorFlow's CPU kernels: Philox 4x32-10, and the numbers that they make of its blocks of four
// words.
#ifndef XC_JIT_KERNELS_RANDOM_PHILOX_H_
#define XC_JIT_KERNELS_RANDOM_PHILOX_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "jit/kernels/kernel.h"

namespace xc {

struct Philox {
  uint64_t key = 0, low = 0, high = 0;

  // The stream that the two seeds of a stateless op name: they are scrambled by one block.
  static Philox FromSeed(uint64_t seed0, uint64_t seed1) {
    Philox scramble{uint64_t{0x02461e29} << 32 | 0x3ec8f720, seed0, seed1};
    uint32_t w[4];
    scramble.Next(w);
    return {w[0] | uint64_t{w[1]} << 32, 0, w[2] | uint64_t{w[3]} << 32};
  }

  void Skip(uint64_t blocks) {
    low += blocks;
    high += low < blocks;
  }
  void Next(uint32_t out[4]) {
    uint32_t c[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                     static_cast<uint32_t>(high >> 32)};
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
      uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                          static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
      std::copy(next, next + 4, c);
    }
    std::copy(c, c + 4, out);
    Skip(1);
  }
};

// The stream for this run of a stateful node, which is of `blocks` blocks: the next run starts behind them.
absl::StatusOr<Philox> ReserveBlocks(KernelContext& c, uint64_t blocks);

// The first operand's rows in an order that the stream gives.
absl::Status ShuffleRows(KernelContext& c, Philox stream);

// The elements of a tensor of shape `from`, by their numbers, as broadcasting to `to` takes them.
std::vector<int64_t> BroadcastElements(const Dims& from, const Dims& to);

// Uniform in [0, 1): bits of the mantissa under the exponent of 1, less 1.
inline float UnitFloat(uint32_t word) {
  uint32_t bits = (word & 0x7fffff) | 0x3f800000;
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f - 1;
}

inline double UnitDouble(uint32_t first, uint32_t second) {
  uint64_t bits = (uint64_t{1023} << 52) | (uint64_t{first & 0xfffff} << 32) | second;
  double d;
  __builtin_memcpy(&d, &bits, 8);
  return d - 1;
}

// Types of 16 bits take the mantissa from the low end of the word.
inline float UnitHalf(uint32_t word) { return static_cast<float>(word & 0x3ff) / 1024; }
inline float UnitBfloat16(uint32_t word) { return static_cast<float>(word & 0x7f) / 128; }

template <typename T>
void BoxMuller(T u, T angle, T* f0, T* f1) {
  T radius = std::sqrt(T(-2) * std::log(std::max(u, static_cast<T>(1.0e-7f))));
  T v = static_cast<T>(2 * M_PI) * angle;
  *f0 = std::sin(v) * radius;
  *f1 = std::cos(v) * radius;
}

// One block as two doubles or four floats, uniform or normal.
template <typename T>
int Values(const uint32_t w[4], bool normal, T out[4]) {
  if constexpr (sizeof(T) == 8) {
    out[0] = UnitDouble(w[0], w[1]);
    out[1] = UnitDouble(w[2], w[3]);
    if (normal) BoxMuller(out[0], out[1], &out[0], &out[1]);
    return 2;
  } else {
    for (int i = 0; i < 4; ++i) out[i] = UnitFloat(w[i]);
    for (int i = 0; normal && i < 4; i += 2) BoxMuller(out[i], out[i + 1], &out[i], &out[i + 1]);
    return 4;
  }
}

}  // namespace xc

#endif  // XC_JIT_KERNELS_RANDOM_PHILOX_H_
