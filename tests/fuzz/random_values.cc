#include "tests/fuzz/random_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xc {
namespace {

using E = ElementType;

double Number(E type, LiteralStyle style, Random& random) {
  const double unit = static_cast<double>(random.Below(1 << 24)) / (1 << 24);
  switch (style) {
    case LiteralStyle::kSmallIntegers:
      return static_cast<double>(random.Below(9) - 4);
    case LiteralStyle::kPositive:
      return 0.5 + 1.5 * unit;
    case LiteralStyle::kFinite:
      return random.Below(4) == 0 ? static_cast<double>(random.Below(9) - 4) : 4 * unit - 2;
    case LiteralStyle::kAny:
      break;
  }
  static constexpr double kSpecial[] = {0.0,  -0.0,  1.0,   -1.0,   0.5,    -1.5,  2.5,        3.0,
                                        1e-3, 127.5, 128.0, 255.75, 32768., -4e9,  1.8446e19,  1e-40,
                                        1e30, -1e38, 3e-8,  65520., 65504., 2e-45, 1.00000006, -9.3e18};
  switch (random.Below(5)) {
    case 0:
      return kSpecial[random.Below(std::size(kSpecial))];
    case 1:
      return static_cast<double>(random.Below(9) - 4);
    case 2:
      return (unit - 0.5) * 200;
    default:
      return 4 * unit - 2;
  }
}

}  // namespace

FloatFacts FactsOf(E type) {
  switch (ComplexComponent(type)) {
    case E::kF64:
      return {52, std::numeric_limits<double>::max(), 0x1p-1074};
    case E::kF32:
      return {23, std::numeric_limits<float>::max(), 0x1p-149};
    case E::kF16:
      return {10, 65504, 0x1p-24};
    case E::kBF16:
      return {7, 0x1.fep127, 0x1p-133};
    case E::kF8E5M2:
      return {2, 57344, 0x1p-16};
    case E::kF8E5M2FNUZ:
      return {2, 57344, 0x1p-17};
    case E::kF8E4M3FN:
      return {3, 448, 0x1p-9};
    case E::kF8E4M3:
      return {3, 240, 0x1p-9};
    case E::kF8E4M3FNUZ:
      return {3, 240, 0x1p-10};
    case E::kF8E4M3B11FNUZ:
      return {3, 30, 0x1p-13};
    case E::kF8E3M4:
      return {4, 15.5, 0x1p-6};
    case E::kF6E2M3FN:
      return {3, 7.5, 0x1p-3};
    case E::kF6E3M2FN:
      return {2, 28, 0x1p-4};
    case E::kF4E2M1FN:
      return {1, 6, 0x1p-1};
    default:  // f8e8m0fnu
      return {0, 0x1p127, 0x1p-127};
  }
}

double UlpAt(E type, double magnitude) {
  const FloatFacts facts = FactsOf(type);
  return std::max(std::ldexp(magnitude, -facts.mantissa_bits), facts.smallest);
}

Literal RandomLiteral(const Shape& shape, LiteralStyle style, Random& random) {
  Literal literal(shape);
  const E type = shape.type();
  // Any bits at all, infinities, NaNs and denormals among them.
  const bool wild = style == LiteralStyle::kAny && random.Below(8) == 0;
  const bool small = style != LiteralStyle::kAny || random.Below(2) == 0;
  for (int64_t i = 0; i < literal.size(); ++i) {
    if (type == E::kPred) {
      literal.SetInt(i, random.Below(2));
    } else if (IsIntegral(type)) {
      int64_t value = static_cast<int64_t>(random.Next());
      if (small) value = style == LiteralStyle::kPositive ? 1 + random.Below(3) : random.Below(9) - 4;
      literal.SetInt(i, value);
    } else if (wild && !IsComplex(type)) {
      const uint64_t bits = random.Next();
      const int width = ElementBits(type);
      const uint64_t kept = width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
      std::memcpy(literal.mutable_bytes() + i * StorageBytes(type), &kept, StorageBytes(type));
    } else if (IsComplex(type)) {
      const LiteralStyle part = style == LiteralStyle::kAny ? LiteralStyle::kFinite : style;
      const double real = Number(type, part, random);
      literal.SetComplex(i, {real, Number(type, part, random)});
    } else {
      literal.SetDouble(i, Number(type, style, random));
    }
  }
  return literal;
}

NumberFacts FactsOf(const Literal& literal) {
  NumberFacts facts;
  facts.min_abs = literal.size() == 0 ? 0 : std::numeric_limits<double>::infinity();
  facts.least = facts.min_abs;
  int grid = 0;
  bool any = false;
  const auto see = [&](double x) {
    facts.nan |= std::isnan(x);
    facts.infinite |= std::isinf(x);
    if (!std::isfinite(x)) return;
    facts.max_abs = std::max(facts.max_abs, std::fabs(x));
    facts.min_abs = std::min(facts.min_abs, std::fabs(x));
    facts.least = std::min(facts.least, x);
    if (x == 0) return;
    int exponent;
    const int64_t significand = static_cast<int64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
    const int lowest = exponent - 53 + __builtin_ctzll(static_cast<uint64_t>(significand));
    grid = any ? std::min(grid, lowest) : lowest;
    any = true;
  };
  const bool complex = IsComplex(literal.shape().type());
  for (int64_t i = 0; i < literal.size(); ++i) {
    if (complex) {
      const std::complex<double> z = literal.GetComplex(i);
      see(z.real());
      see(z.imag());
    } else {
      see(literal.GetDouble(i));
    }
  }
  if (!std::isfinite(facts.min_abs)) facts.min_abs = 0;
  if (!std::isfinite(facts.least)) facts.least = 0;
  if (facts.finite()) facts.grid = grid;
  return facts;
}

bool SumsAreExact(E type, int grid, double term, double count) {
  const FloatFacts facts = FactsOf(type);
  const double sum = term * count;
  const double step = std::ldexp(1.0, grid);
  return step >= facts.smallest && sum <= facts.max_finite && sum <= std::ldexp(step, facts.mantissa_bits + 1);
}

bool SumMayOverflow(E type, double term, double count) { return term * count > FactsOf(type).max_finite / 4; }

}  // namespace xc
