#include "jit/kernels/text/hashes.h"

#include <farmhash.h>

#include <cstring>

namespace xc {
namespace {

uint64_t Fetch64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
uint64_t RotateLeft(uint64_t v, int by) { return (v << by) | (v >> (64 - by)); }

}  // namespace

uint64_t FarmFingerprint64(const std::string& s) { return util::Fingerprint64(s.data(), s.size()); }

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
