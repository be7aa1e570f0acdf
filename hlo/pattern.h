// A small language of instruction patterns: `m::Match(i, m::Add(m::Any(&x), m::Splat(0)))`. Operands of commutative ops
// match in either order.
#ifndef XC_HLO_PATTERN_H_
#define XC_HLO_PATTERN_H_

#include <tuple>
#include <utility>

#include "hlo/instruction.h"

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

// An opcode and patterns for its first operands; without operand patterns any operands match.
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

// m::Add(p, q), m::Add(&x, p, q), m::Add() and so on.
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
XC_PATTERN(Bitcast, kBitcast)
XC_PATTERN(BitcastConvert, kBitcastConvert)
XC_PATTERN(Broadcast, kBroadcast)
XC_PATTERN(Call, kCall)
XC_PATTERN(Ceil, kCeil)
XC_PATTERN(Clamp, kClamp)
XC_PATTERN(Compare, kCompare)
XC_PATTERN(Complex, kComplex)
XC_PATTERN(Concatenate, kConcatenate)
XC_PATTERN(Constant, kConstant)
XC_PATTERN(Convert, kConvert)
XC_PATTERN(Convolution, kConvolution)
XC_PATTERN(Copy, kCopy)
XC_PATTERN(Cosine, kCosine)
XC_PATTERN(CustomCall, kCustomCall)
XC_PATTERN(Divide, kDivide)
XC_PATTERN(Dot, kDot)
XC_PATTERN(DynamicSlice, kDynamicSlice)
XC_PATTERN(DynamicUpdateSlice, kDynamicUpdateSlice)
XC_PATTERN(Exp, kExponential)
XC_PATTERN(Expm1, kExponentialMinusOne)
XC_PATTERN(Floor, kFloor)
XC_PATTERN(Fusion, kFusion)
XC_PATTERN(Gather, kGather)
XC_PATTERN(GetTupleElement, kGetTupleElement)
XC_PATTERN(Imag, kImag)
XC_PATTERN(Iota, kIota)
XC_PATTERN(Log, kLog)
XC_PATTERN(Log1p, kLogPlusOne)
XC_PATTERN(Logistic, kLogistic)
XC_PATTERN(Maximum, kMaximum)
XC_PATTERN(Minimum, kMinimum)
XC_PATTERN(Multiply, kMultiply)
XC_PATTERN(Negate, kNegate)
XC_PATTERN(Not, kNot)
XC_PATTERN(Or, kOr)
XC_PATTERN(Pad, kPad)
XC_PATTERN(Parameter, kParameter)
XC_PATTERN(Power, kPower)
XC_PATTERN(Real, kReal)
XC_PATTERN(Reduce, kReduce)
XC_PATTERN(ReduceWindow, kReduceWindow)
XC_PATTERN(Remainder, kRemainder)
XC_PATTERN(Reshape, kReshape)
XC_PATTERN(Reverse, kReverse)
XC_PATTERN(Rsqrt, kRsqrt)
XC_PATTERN(Scatter, kScatter)
XC_PATTERN(Select, kSelect)
XC_PATTERN(ShiftLeft, kShiftLeft)
XC_PATTERN(ShiftRightArithmetic, kShiftRightArithmetic)
XC_PATTERN(ShiftRightLogical, kShiftRightLogical)
XC_PATTERN(Sign, kSign)
XC_PATTERN(Sine, kSine)
XC_PATTERN(Slice, kSlice)
XC_PATTERN(Sort, kSort)
XC_PATTERN(Sqrt, kSqrt)
XC_PATTERN(Subtract, kSubtract)
XC_PATTERN(Tanh, kTanh)
XC_PATTERN(Transpose, kTranspose)
XC_PATTERN(Tuple, kTuple)
XC_PATTERN(While, kWhile)
XC_PATTERN(Xor, kXor)
#undef XC_PATTERN

// The constant whose elements all are bit for bit alike behind an instruction: itself, or what it broadcasts (reshapes
// and copies do not matter). Elided constants have no known elements. Nothing if it is something else.
inline HloInstruction* SplatConstant(HloInstruction* instruction) {
  while (instruction->opcode() == HloOpcode::kBroadcast || instruction->opcode() == HloOpcode::kReshape ||
         instruction->opcode() == HloOpcode::kCopy) {
    instruction = instruction->operand(0);
  }
  bool splat = instruction->IsSplatConstant() && !instruction->literal().elided() && instruction->literal().size() > 0;
  return splat ? instruction : nullptr;
}

// A constant or broadcast constant with all elements equal to `value` as a number (0 matches -0; complex numbers with
// an imaginary part do not match).
struct SplatPattern {
  HloInstruction** capture;
  double value;
  bool Match(HloInstruction* instruction) const {
    HloInstruction* constant = SplatConstant(instruction);
    if (constant == nullptr) return false;
    if (constant->literal().GetComplex(0) != std::complex<double>(value, 0)) return false;
    if (capture != nullptr) *capture = instruction;
    return true;
  }
};
inline SplatPattern Splat(double value) { return {nullptr, value}; }
inline SplatPattern Splat(HloInstruction** capture, double value) { return {capture, value}; }

// A splat of any value.
struct AnySplatPattern {
  HloInstruction** capture;
  bool Match(HloInstruction* instruction) const {
    if (SplatConstant(instruction) == nullptr) return false;
    if (capture != nullptr) *capture = instruction;
    return true;
  }
};
inline AnySplatPattern AnySplat(HloInstruction** capture = nullptr) { return {capture}; }

// A constant of rank 0 with this value.
struct ScalarPattern {
  double value;
  bool Match(HloInstruction* instruction) const {
    return instruction->IsConstant() && instruction->shape().IsScalar() &&
           SplatPattern{nullptr, value}.Match(instruction);
  }
};
inline ScalarPattern ConstantScalar(double value) { return {value}; }

// `pattern`, and the instruction has one user (and is not the root).
template <typename P>
struct OneUsePattern {
  P pattern;
  bool Match(HloInstruction* instruction) const {
    return instruction->user_count() == 1 && !instruction->IsRoot() && pattern.Match(instruction);
  }
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

#endif  // XC_HLO_PATTERN_H_
