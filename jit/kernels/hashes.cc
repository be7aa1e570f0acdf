#include "jit/kernels/hashes.h"

#include <cstring>
#include <utility>

namespace xc {
namespace {

// FarmHash's fingerprint: a fixed function of the bytes, little-endian.
constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

uint64_t Fetch64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
uint64_t Fetch32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
uint64_t RotateRight(uint64_t v, int by) { return (v >> by) | (v << (64 - by)); }
uint64_t RotateLeft(uint64_t v, int by) { return RotateRight(v, 64 - by); }
uint64_t ShiftMix(uint64_t v) { return v ^ (v >> 47); }

uint64_t Mix(uint64_t u, uint64_t v, uint64_t mul) {
  uint64_t a = ShiftMix((u ^ v) * mul);
  return ShiftMix((v ^ a) * mul) * mul;
}

uint64_t UpTo16(const char* s, size_t n) {
  uint64_t mul = k2 + n * 2;
  if (n >= 8) {
    uint64_t a = Fetch64(s) + k2, b = Fetch64(s + n - 8);
    return Mix(RotateRight(b, 37) * mul + a, (RotateRight(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return Mix(n + (Fetch32(s) << 3), Fetch32(s + n - 4), mul);
  if (n == 0) return k2;
  uint32_t a = static_cast<uint8_t>(s[0]), b = static_cast<uint8_t>(s[n >> 1]), c = static_cast<uint8_t>(s[n - 1]);
  uint32_t y = a + (b << 8), z = static_cast<uint32_t>(n) + (c << 2);
  return ShiftMix(y * k2 ^ z * k0) * k2;
}

uint64_t UpTo32(const char* s, size_t n) {
  uint64_t mul = k2 + n * 2;
  uint64_t a = Fetch64(s) * k1, b = Fetch64(s + 8), c = Fetch64(s + n - 8) * mul, d = Fetch64(s + n - 16) * k2;
  return Mix(RotateRight(a + b, 43) + RotateRight(c, 30) + d, a + RotateRight(b + k2, 18) + c, mul);
}

uint64_t UpTo64(const char* s, size_t n) {
  uint64_t mul = k2 + n * 2;
  uint64_t a = Fetch64(s) * k2, b = Fetch64(s + 8), c = Fetch64(s + n - 8) * mul, d = Fetch64(s + n - 16) * k2;
  uint64_t y = RotateRight(a + b, 43) + RotateRight(c, 30) + d;
  uint64_t z = Mix(y, a + RotateRight(b + k2, 18) + c, mul);
  uint64_t e = Fetch64(s + 16) * mul, f = Fetch64(s + 24);
  uint64_t g = (y + Fetch64(s + n - 32)) * mul, h = (z + Fetch64(s + n - 24)) * mul;
  return Mix(RotateRight(e + f, 43) + RotateRight(g, 30) + h, e + RotateRight(f + a, 18) + g, mul);
}

struct Pair {
  uint64_t first = 0, second = 0;
};

Pair Weak32(const char* s, uint64_t a, uint64_t b) {
  uint64_t w = Fetch64(s), x = Fetch64(s + 8), y = Fetch64(s + 16), z = Fetch64(s + 24);
  a += w;
  b = RotateRight(b + a + z, 21);
  uint64_t c = a;
  a += x + y;
  b += RotateRight(a, 44);
  return {a + z, b + c};
}

}  // namespace

uint64_t FarmFingerprint64(const std::string& text) {
  const char* s = text.data();
  size_t n = text.size();
  if (n <= 16) return UpTo16(s, n);
  if (n <= 32) return UpTo32(s, n);
  if (n <= 64) return UpTo64(s, n);
  uint64_t x = 81, y = 81 * k1 + 113, z = ShiftMix(y * k2 + 113) * k2;
  Pair v, w;
  x = x * k2 + Fetch64(s);
  // Blocks of 64 bytes; the last one may overlap the one before it.
  auto step = [&](const char* at, uint64_t mul, uint64_t weight) {
    x = RotateRight(x + y + v.first + Fetch64(at + 8), 37) * mul;
    y = RotateRight(y + v.second + Fetch64(at + 48), 42) * mul;
    x ^= w.second * weight;
    y += v.first * weight + Fetch64(at + 40);
    z = RotateRight(z + w.first, 33) * mul;
    v = Weak32(at, v.second * mul, x + w.first);
    w = Weak32(at + 32, z + w.second, y + Fetch64(at + 16));
    std::swap(z, x);
  };
  const char* end = s + ((n - 1) / 64) * 64;
  const char* last = end + ((n - 1) & 63) - 63;
  for (; s != end; s += 64) step(s, k1, 1);
  uint64_t mul = k1 + ((z & 0xff) << 1);
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  step(last, mul, 9);
  return Mix(Mix(v.first, w.first, mul) + ShiftMix(y) * k0 + z, Mix(v.second, w.second, mul) + x, mul);
}

uint64_t SipHash(uint64_t key0, uint64_t key1, const std::string& s) {
  uint64_t v[4] = {0x736f6d6570736575 ^ key0, 0x646f72616e646f6d ^ key1, 0x6c7967656e657261 ^ key0,
                   0x7465646279746573 ^ key1};
  auto round = [&] {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = RotateLeft(v[1], 13) ^ v[0];
    v[3] = RotateLeft(v[3], 16) ^ v[2];
    v[0] = RotateLeft(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = RotateLeft(v[1], 17) ^ v[2];
    v[3] = RotateLeft(v[3], 21) ^ v[0];
    v[2] = RotateLeft(v[2], 32);
  };
  auto take = [&](uint64_t word) {
    v[3] ^= word;
    round();
    round();
    v[0] ^= word;
  };
  size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) take(Fetch64(s.data() + i));
  uint64_t tail = static_cast<uint64_t>(s.size()) << 56;
  std::memcpy(&tail, s.data() + i, s.size() - i);
  take(tail);
  v[2] ^= 0xff;
  for (int k = 0; k < 4; ++k) round();
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t MurmurHash64(const std::string& s, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995;
  uint64_t h = seed ^ (s.size() * m);
  size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    uint64_t k = Fetch64(s.data() + i) * m;
    h = (h ^ ((k ^ (k >> 47)) * m)) * m;
  }
  if (i < s.size()) {
    uint64_t tail = 0;
    std::memcpy(&tail, s.data() + i, s.size() - i);
    h = (h ^ tail) * m;
  }
  h = (h ^ (h >> 47)) * m;
  return h ^ (h >> 47);
}

}  // namespace xc
