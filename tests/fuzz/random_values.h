// Element types as the random-module generator sees them, random literals, and what is known of a literal's numbers.
#ifndef XC_TESTS_FUZZ_RANDOM_VALUES_H_
#define XC_TESTS_FUZZ_RANDOM_VALUES_H_

#include <optional>
#include <vector>

#include "hlo/literal.h"
#include "tests/fuzz/mutants.h"

namespace xc {

// Stored mantissa bits and range of a floating-point type (of the component of a complex one).
struct FloatFacts {
  int mantissa_bits = 0;
  double max_finite = 0;
  double smallest = 0;  // the least positive number
};
FloatFacts FactsOf(ElementType type);

// The distance of neighbouring numbers of `type` at `magnitude`, rounded up.
double UlpAt(ElementType type, double magnitude);

enum class LiteralStyle {
  kAny,            // mostly moderate numbers, at times any bits
  kSmallIntegers,  // -4 … 4 where the type has them: sums and products of a few are exact in every type
  kPositive,       // 0.5 … 2
  kFinite,         // moderate numbers, no infinities, no NaNs
};
Literal RandomLiteral(const Shape& shape, LiteralStyle style, Random& random);

// What rules of the generator ask about the elements of an array (complex: about all components).
struct NumberFacts {
  bool nan = false, infinite = false;
  double max_abs = 0;       // of finite elements
  double min_abs = 0;       // of all elements; 0 if there are none
  double least = 0;         // smallest element
  std::optional<int> grid;  // all elements are multiples of 2^grid; nothing if some are not finite
  bool finite() const { return !nan && !infinite; }
};
NumberFacts FactsOf(const Literal& literal);

// Whether every sum of products of `count` terms whose magnitudes are at most `term`, each a multiple of 2^grid, is a
// number of `type`, whatever the order of the additions.
bool SumsAreExact(ElementType type, int grid, double term, double count);

// Whether a sum of `count` terms whose magnitudes are at most `term` comes so near the end of the range of `type`, or
// of its parts, that one order of the additions may be finite and another one infinite.
bool SumMayOverflow(ElementType type, double term, double count);

}  // namespace xc

#endif  // XC_TESTS_FUZZ_RANDOM_VALUES_H_
