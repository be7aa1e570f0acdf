// What is known of instructions that repeat one scalar.
#include "hlo/analysis/pattern.h"

#include <cmath>

namespace xc {

std::optional<ScalarValue> AsBroadcastScalar(const HloInstruction* x) {
  while (x->opcode() == HloOpcode::kBroadcast || x->opcode() == HloOpcode::kReshape ||
         x->opcode() == HloOpcode::kTranspose || x->opcode() == HloOpcode::kCopy) {
    x = x->operand(0);
  }
  if (!x->IsConstant() || !x->shape().IsArray() || x->literal().elided() || x->shape().IsZeroSized()) return {};
  if (!x->shape().dims().empty() && x->shape().ElementCount() > 1 && !x->literal().IsBroadcastScalar()) return {};
  return ScalarValue{&x->literal()};
}

bool IsAll(const HloInstruction* x, double value) {
  const std::optional<ScalarValue> scalar = AsBroadcastScalar(x);
  if (!scalar) return false;
  if (IsComplex(x->type())) {
    const std::complex<double> z = scalar->literal->GetComplex(0);
    return z.real() == value && std::signbit(z.real()) == std::signbit(value) && z.imag() == 0 &&
           !std::signbit(z.imag());
  }
  const double number = scalar->number();
  // Integers beyond 2^53 could round to `value`.
  if (!IsFloating(x->type()) && static_cast<double>(scalar->literal->GetInt(0)) != value) return false;
  return number == value && std::signbit(number) == std::signbit(value);
}

}  // namespace xc
