// Prime numbers. As sizes of sample programs they show which numbers of a program depend on which size: products of
// different primes are never equal by chance.
#ifndef XC_HLO_BASE_PRIMES_H_
#define XC_HLO_BASE_PRIMES_H_

#include <cstdint>

namespace xc {

// By trial division: quick for numbers up to a few millions.
inline bool IsPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

}  // namespace xc

#endif  // XC_HLO_BASE_PRIMES_H_
