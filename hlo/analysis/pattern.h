// A small language of instruction patterns: `m::Match(i, m::Add(m::Any(&x), m::BroadcastScalar(0)))`. Operands of
// commutative ops match in either order.
#ifndef XC_HLO_ANALYSIS_PATTERN_H_
#define XC_HLO_ANALYSIS_PATTERN_H_

#include <optional>
#include <tuple>
#include <utility>

#include "hlo/instruction.h"

namespace xc {

// The scalar that `x` repeats: a constant of equal elements or what broadcasts one (reshapes, transposes and copies do
// not matter). Nothing otherwise, and for elided constants. The returned literal lives as long as the module's
// constants.
struct ScalarValue {
  const Literal* literal = nullptr;
  double number() const { return literal->GetDouble(0); }
};
std::optional<ScalarValue> AsBroadcastScalar(const HloInstruction* x);
// Whether every element of `x` is `value` exactly; zeros by sign (IsAll(x, 0.0) does not hold for -0.0).
bool IsAll(const HloInstruction* x, double value);

}  // namespace xc

namespace xc::m {

// Every pattern has `bool Match(HloInstruction*) const`. Captures are written while matching and mean something only
// after a match.

// Anything.
struct AnyPattern {
  HloInstruction** capture;
  bool Match(HloInstruction* instruction) const {
    if (capture != nullptr) *capture = instruction;
    return true;
  }
};
inline AnyPattern Any(HloInstruction** capture = nullptr) { return {capture}; }

// The instruction that an earlier part of the pattern captured. Operands are matched from left to right; for the
// swapped order of commutative ops the capture is made anew.
struct SamePattern {
  HloInstruction* const* captured;
  bool Match(HloInstruction* instruction) const { return instruction == *captured; }
};
inline SamePattern Same(HloInstruction* const* captured) { return {captured}; }

// An opcode and a pattern for each operand; without operand patterns any operands match.
template <typename... Operands>
struct OpPattern {
  HloOpcode opcode;
  HloInstruction** capture;
  std::tuple<Operands...> operands;

  bool Match(HloInstruction* instruction) const {
    if (instruction->opcode() != opcode) return false;
    if constexpr (sizeof...(Operands) > 0) {
      if (instruction->operand_count() != static_cast<int64_t>(sizeof...(Operands))) return false;
      if (!MatchOperands(instruction, std::index_sequence_for<Operands...>())) {
        if constexpr (sizeof...(Operands) == 2) {
          if (!IsCommutative(opcode) || !std::get<0>(operands).Match(instruction->operand(1)) ||
              !std::get<1>(operands).Match(instruction->operand(0))) {
            return false;
          }
        } else {
          return false;
        }
      }
    }
    if (capture != nullptr) *capture = instruction;
    return true;
  }

 private:
  template <size_t... kIndex>
  bool MatchOperands(HloInstruction* instruction, std::index_sequence<kIndex...>) const {
    return (std::get<kIndex>(operands).Match(instruction->operand(kIndex)) && ...);
  }
};
template <typename... Operands>
OpPattern<Operands...> Op(HloOpcode opcode, Operands... operands) {
  return {opcode, nullptr, {std::move(operands)...}};
}
template <typename... Operands>
OpPattern<Operands...> Op(HloInstruction** capture, HloOpcode opcode, Operands... operands) {
  return {opcode, capture, {std::move(operands)...}};
}

// m::Add(p, q), m::Add(&x, p, q), m::Add() and so on, for the ops that rules match.
#define XC_PATTERN(name, opcode)                                   \
  template <typename... Operands>                                  \
  auto name(HloInstruction** capture, Operands... operands) {      \
    return Op(capture, HloOpcode::opcode, std::move(operands)...); \
  }                                                                \
  template <typename... Operands>                                  \
  auto name(Operands... operands) {                                \
    return Op(HloOpcode::opcode, std::move(operands)...);          \
  }
XC_PATTERN(Abs, kAbs)
XC_PATTERN(Add, kAdd)
XC_PATTERN(And, kAnd)
XC_PATTERN(Complex, kComplex)
XC_PATTERN(Convert, kConvert)
XC_PATTERN(Divide, kDivide)
XC_PATTERN(Imag, kImag)
XC_PATTERN(Multiply, kMultiply)
XC_PATTERN(Negate, kNegate)
XC_PATTERN(Not, kNot)
XC_PATTERN(Or, kOr)
XC_PATTERN(Power, kPower)
XC_PATTERN(Real, kReal)
XC_PATTERN(Select, kSelect)
XC_PATTERN(Subtract, kSubtract)
XC_PATTERN(Xor, kXor)
#undef XC_PATTERN

// Every element is `value` exactly: see IsAll.
struct BroadcastScalarPattern {
  HloInstruction** capture;
  double value;
  bool Match(HloInstruction* instruction) const {
    if (!IsAll(instruction, value)) return false;
    if (capture != nullptr) *capture = instruction;
    return true;
  }
};
inline BroadcastScalarPattern BroadcastScalar(double value) { return {nullptr, value}; }
inline BroadcastScalarPattern BroadcastScalar(HloInstruction** capture, double value) { return {capture, value}; }

// A broadcast scalar of any value.
struct AnyBroadcastScalarPattern {
  HloInstruction** capture;
  bool Match(HloInstruction* instruction) const {
    if (!AsBroadcastScalar(instruction)) return false;
    if (capture != nullptr) *capture = instruction;
    return true;
  }
};
inline AnyBroadcastScalarPattern AnyBroadcastScalar(HloInstruction** capture = nullptr) { return {capture}; }

// `pattern`, and the instruction has one user.
template <typename P>
struct OneUsePattern {
  P pattern;
  bool Match(HloInstruction* instruction) const { return instruction->user_count() == 1 && pattern.Match(instruction); }
};
template <typename P>
OneUsePattern<P> OneUse(P pattern) {
  return {std::move(pattern)};
}

// `pattern`, and `condition(instruction)` holds.
template <typename P, typename F>
struct WherePattern {
  P pattern;
  F condition;
  bool Match(HloInstruction* instruction) const { return pattern.Match(instruction) && condition(instruction); }
};
template <typename P, typename F>
WherePattern<P, F> Where(P pattern, F condition) {
  return {std::move(pattern), std::move(condition)};
}

// The first of several patterns that matches.
template <typename... Ps>
struct AnyOfPattern {
  std::tuple<Ps...> patterns;
  bool Match(HloInstruction* instruction) const {
    return std::apply([&](const auto&... p) { return (p.Match(instruction) || ...); }, patterns);
  }
};
template <typename... Ps>
AnyOfPattern<Ps...> AnyOf(Ps... patterns) {
  return {{std::move(patterns)...}};
}

template <typename P>
bool Match(HloInstruction* instruction, const P& pattern) {
  return pattern.Match(instruction);
}

}  // namespace xc::m

#endif  // XC_HLO_ANALYSIS_PATTERN_H_
