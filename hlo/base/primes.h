// Prime numbers, which say best as sizes what depends on a size.
#ifndef XC_HLO_BASE_PRIMES_H_
#define XC_HLO_BASE_PRIMES_H_

#include <cstdint>

namespace xc {

// By trial division: for numbers up to a few millions.
inline bool IsPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

}  // namespace xc

#endif  // XC_HLO_BASE_PRIMES_H_
