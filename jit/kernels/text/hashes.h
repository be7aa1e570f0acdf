// The hashes by which TensorFlow puts strings into buckets.
#ifndef XC_JIT_KERNELS_TEXT_HASHES_H_
#define XC_JIT_KERNELS_TEXT_HASHES_H_

#include <cstdint>
#include <string>

namespace xc {

uint64_t FarmFingerprint64(const std::string& s);
uint64_t SipHash(uint64_t key0, uint64_t key1, const std::string& s);  // 2 rounds per word, 4 at the end
uint64_t MurmurHash64(const std::string& s, uint64_t seed);

}  // namespace xc

#endif  // XC_JIT_KERNELS_TEXT_HASHES_H_
