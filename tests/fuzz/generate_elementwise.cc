// Elementwise ops: exact ones bit for bit, math functions with the bound that they keep.
#include <algorithm>
#include <cmath>

#include "tests/fuzz/module_generator.h"

namespace xc {
namespace {

using E = ElementType;
using O = HloOpcode;

// How many ulps of f32 and f64 two implementations of a math function may be apart.
constexpr double kFunctionUlps = 8;

ErrorBound FunctionError(E type, double ulps = kFunctionUlps) {
  const FloatFacts facts = FactsOf(type);
  // Narrow types round an f32 result: neighbours at most.
  const double steps = facts.mantissa_bits >= 23 ? ulps : 2;
  return {steps * facts.smallest, steps * std::ldexp(1.0, -facts.mantissa_bits)};
}

}  // namespace

void ModuleGenerator::Unary() {
  const RandomValue x = Pick(nullptr, AnyType());
  const E type = x.type();
  O opcode = O::kCopy;
  if (type == E::kPred) {
    opcode = OneOf({O::kNot, O::kNot, O::kCopy});
  } else if (IsIntegral(type)) {
    opcode = OneOf({O::kAbs, O::kNegate, O::kSign, O::kNot, O::kPopcnt, O::kCountLeadingZeros, O::kCopy});
  } else if (IsComplex(type)) {
    opcode = x.exact() ? OneOf({O::kNegate, O::kReal, O::kImag, O::kCopy}) : OneOf({O::kNegate, O::kCopy});
  } else if (x.exact()) {
    opcode = OneOf({O::kAbs, O::kNegate, O::kSign, O::kFloor, O::kCeil, O::kRoundNearestAfz, O::kRoundNearestEven,
                    O::kIsFinite, O::kCopy, O::kSqrt});
  } else {
    opcode = OneOf({O::kAbs, O::kNegate, O::kCopy});
  }
  Keep(b_.Unary(opcode, x.op), x.error);
}

void ModuleGenerator::InexactUnary() {
  const RandomValue x =
      Pick([](const RandomValue& v) { return IsFloating(v.type()) && v.type() != E::kF8E8M0FNU; }, FloatType());
  const E type = x.type();
  if (x.exact()) {
    const O opcode = OneOf({O::kAcos, O::kAcosh, O::kAsin, O::kAsinh, O::kAtanh, O::kCbrt, O::kCosine, O::kCosh,
                            O::kErf, O::kExponential, O::kExponentialMinusOne, O::kLog, O::kLogPlusOne, O::kLogistic,
                            O::kRsqrt, O::kSine, O::kSinh, O::kTan, O::kTanh});
    Keep(b_.Unary(opcode, x.op), FunctionError(type));
    return;
  }
  if (!x.facts.finite()) return;
  const double error = x.Error();
  // Slopes of at most 1 (erf: 2 / sqrt(pi)), then those that the operand's range bounds.
  double slope = 1;
  O opcode = OneOf({O::kTanh, O::kLogistic, O::kSine, O::kCosine, O::kErf, O::kExponential, O::kSqrt, O::kLog});
  if (opcode == O::kErf) slope = 1.2;
  if (opcode == O::kExponential) {
    if (x.facts.max_abs + error > 10) return;
    slope = std::exp(x.facts.max_abs + error);
  }
  if (opcode == O::kSqrt || opcode == O::kLog) {
    const double least = x.facts.least - error;
    if (!(least > 0.1) || x.literal->size() == 0) return;
    slope = opcode == O::kSqrt ? 0.5 / std::sqrt(least) : 1 / least;
  }
  const Op y = b_.Unary(opcode, x.op);
  if (!Evaluate(y)) return;
  ErrorBound bound = FunctionError(type);
  bound.absolute += 2 * slope * error;
  Keep(y, bound);
}

void ModuleGenerator::Binary() {
  const RandomValue x = Pick([](const RandomValue& v) { return !IsComplex(v.type()); }, AnyType());
  const E type = x.type();
  if (IsComplex(type)) return;
  const RandomValue y = Chance(15) ? Leaf(type, {}) : Like(type, x.dims());
  const bool swap = Chance(50);
  const RandomValue &l = swap ? y : x, &r = swap ? x : y;
  if (type == E::kPred) {
    Keep(b_.Binary(OneOf({O::kAnd, O::kOr, O::kXor, O::kMaximum, O::kMinimum}), l.op, r.op));
  } else if (IsIntegral(type)) {
    Keep(b_.Binary(
        OneOf({O::kAdd, O::kSubtract, O::kMultiply, O::kDivide, O::kRemainder, O::kMaximum, O::kMinimum, O::kMulhi,
               O::kAnd, O::kOr, O::kXor, O::kShiftLeft, O::kShiftRightArithmetic, O::kShiftRightLogical, O::kPower}),
        l.op, r.op));
  } else if (l.exact() && r.exact()) {
    Keep(b_.Binary(OneOf({O::kAdd, O::kSubtract, O::kMultiply, O::kDivide, O::kMaximum, O::kMinimum, O::kRemainder}),
                   l.op, r.op));
  } else if (l.facts.finite() && r.facts.finite()) {
    const double a = l.facts.max_abs, c = r.facts.max_abs, ea = l.Error(), ec = r.Error();
    switch (Below(4)) {
      case 0:
        Keep(b_.Binary(Chance(50) ? O::kAdd : O::kSubtract, l.op, r.op), Rounded(type, a + c, ea + ec));
        return;
      case 1:
        Keep(b_.Mul(l.op, r.op), Rounded(type, a * c, a * ec + c * ea + ea * ec));
        return;
      case 2: {
        const double least = r.facts.min_abs - ec;
        if (!(least > 0.1)) return;
        Keep(b_.Div(l.op, r.op), Rounded(type, a / least, ea / least + a * ec / (least * least)));
        return;
      }
      default:
        Keep(b_.Binary(Chance(50) ? O::kMaximum : O::kMinimum, l.op, r.op), {std::max(ea, ec), 0});
    }
  }
}

void ModuleGenerator::InexactBinary() {
  const RandomValue x = Pick(
      [](const RandomValue& v) { return v.exact() && IsFloating(v.type()) && v.type() != E::kF8E8M0FNU; }, FloatType());
  if (!x.exact()) return;
  const RandomValue y = Like(x.type(), x.dims(), IsExactArray);
  // A power's error grows with the magnitude of its logarithm, which the implementations keep in more bits.
  Keep(b_.Binary(Chance(60) ? O::kPower : O::kAtan2, x.op, y.op), FunctionError(x.type(), 16));
}

void ModuleGenerator::ComplexArithmetic() {
  const E type = Chance(50) ? E::kC64 : E::kC128;
  const RandomValue x = Pick([&](const RandomValue& v) { return v.type() == type; }, type, LiteralStyle::kFinite);
  const RandomValue y = Like(type, x.dims(), nullptr, LiteralStyle::kFinite);
  const E part = ComplexComponent(type);
  if (Chance(25)) {
    const RandomValue re = Like(part, x.dims(), IsExactArray, LiteralStyle::kFinite);
    Keep(b_.Complex(re.op, Like(part, x.dims(), IsExactArray, LiteralStyle::kFinite).op));
    return;
  }
  if (!x.facts.finite() || !y.facts.finite()) return;
  const double a = 1.5 * x.facts.max_abs, c = 1.5 * y.facts.max_abs, ea = 1.5 * x.Error(), ec = 1.5 * y.Error();
  switch (Below(4)) {
    case 0: {
      const bool exact = x.exact() && y.exact();
      Keep(b_.Binary(Chance(50) ? O::kAdd : O::kSubtract, x.op, y.op),
           exact ? ErrorBound{} : Rounded(part, 2 * (a + c), ea + ec));
      return;
    }
    case 1:
      Keep(b_.Mul(x.op, y.op), Rounded(part, 16 * a * c, a * ec + c * ea + ea * ec));
      return;
    case 2: {
      // The magnitude of a complex number is at least that of its larger part.
      double least = INFINITY;
      for (int64_t i = 0; i < y.literal->size(); ++i) least = std::min(least, std::abs(y.literal->GetComplex(i)));
      least -= ec;
      if (!(least > 0.1) || std::isinf(least)) return;
      Keep(b_.Div(x.op, y.op), Rounded(part, 32 * a / least, ea / least + a * ec / (least * least)));
      return;
    }
    default: {
      if (!x.exact() || x.facts.max_abs > 8) return;
      const O opcode = OneOf({O::kAbs, O::kExponential, O::kSine, O::kCosine, O::kSqrt, O::kTanh, O::kLogPlusOne,
                              O::kExponentialMinusOne, O::kSign});
      const Op z = b_.Unary(opcode, x.op);
      if (!Evaluate(z)) return;
      const NumberFacts facts = FactsOf(*known_[z.instruction()]);
      if (facts.finite()) Keep(z, Rounded(part, 64 * std::max(1.0, facts.max_abs), 0));
    }
  }
}

void ModuleGenerator::CompareAndSelect() {
  const RandomValue x = Pick(IsExactArray, AnyType());
  if (!x.exact()) return;
  const E type = x.type();
  const RandomValue y = Chance(15) ? Leaf(type, {}) : Like(type, x.dims(), IsExactArray);
  CompareDirection direction = OneOf({CompareDirection::kEq, CompareDirection::kNe, CompareDirection::kGe,
                                      CompareDirection::kGt, CompareDirection::kLe, CompareDirection::kLt});
  if (IsComplex(type)) direction = Chance(50) ? CompareDirection::kEq : CompareDirection::kNe;
  std::optional<CompareType> order;
  if (IsFloating(type) && !x.facts.nan && !y.facts.nan && Chance(30)) order = CompareType::kTotalOrder;
  const auto pred = Keep(b_.Compare(direction, x.op, y.op, order));
  if (!pred || Chance(40)) return;
  const RandomValue t = Pick([&](const RandomValue& v) { return v.dims() == pred->dims(); }, AnyType());
  if (t.dims() != pred->dims()) {
    // A scalar chooses between whole arrays.
    const RandomValue chosen = Like(E::kPred, {});
    const RandomValue f = Like(t.type(), t.dims());
    Keep(b_.Make(O::kSelect, {chosen.op, t.op, f.op}), Worst(t.error, f.error));
    return;
  }
  const RandomValue f = Like(t.type(), t.dims());
  Keep(b_.Select(pred->op, t.op, f.op), Worst(t.error, f.error));
}

void ModuleGenerator::ClampValue() {
  const RandomValue x =
      Pick([](const RandomValue& v) { return v.type() != E::kPred && !IsComplex(v.type()); }, ArithmeticType());
  const E type = x.type();
  if (type == E::kPred || IsComplex(type)) return;
  const RandomValue low = Chance(50) ? Leaf(type, {}) : Like(type, x.dims());
  const RandomValue high = Chance(50) ? Leaf(type, {}) : Like(type, x.dims());
  ErrorBound error = Worst(x.error, Worst(low.error, high.error));
  if (!error.exact()) {
    if (!x.facts.finite() || !low.facts.finite() || !high.facts.finite()) return;
    error = {std::max({x.Error(), low.Error(), high.Error()}), 0};
  }
  Keep(b_.Clamp(low.op, x.op, high.op), error);
}

void ModuleGenerator::Conversion() {
  const RandomValue x = Pick(nullptr, AnyType());
  E to = AnyType();
  if (to == x.type()) return;
  if (IsComplex(x.type())) {
    if (!x.exact()) return;
    to = x.type() == E::kC64 ? E::kC128 : E::kC64;
  }
  if (x.exact()) {
    Keep(b_.Convert(x.op, to));
  } else if (IsFloating(to) && to != E::kF8E8M0FNU && x.facts.finite()) {
    Keep(b_.Convert(x.op, to), Rounded(to, x.facts.max_abs, x.Error()));
  }
}

void ModuleGenerator::BitcastConversion() {
  const RandomValue x =
      Pick([](const RandomValue& v) { return v.exact() && !v.facts.nan && !IsComplex(v.type()); }, ArithmeticType());
  if (!x.exact() || x.facts.nan || IsComplex(x.type())) return;
  const E to = Chance(50) ? IntType() : FloatType();
  const int from_bits = ElementBits(x.type()), to_bits = ElementBits(to);
  if (to == x.type()) return;
  if (from_bits == to_bits || (from_bits > to_bits && from_bits % to_bits == 0) ||
      (from_bits < to_bits && to_bits % from_bits == 0 && x.rank() > 0 && x.dims().back() == to_bits / from_bits)) {
    Keep(b_.BitcastConvert(x.op, to));
  }
}

void ModuleGenerator::Rounding() {
  const RandomValue x = Pick([](const RandomValue& v) { return v.exact() && IsFloating(v.type()); }, FloatType());
  if (!x.exact() || !IsFloating(x.type())) return;
  const E type = x.type();
  if (Chance(70)) {
    // Types without infinities have no reduced form.
    if (type != E::kF64 && type != E::kF32 && type != E::kF16 && type != E::kBF16) return;
    Keep(b_.ReducePrecision(x.op, Between(1, 11), Between(0, 24)));
    return;
  }
  if (type != E::kF32 || x.facts.nan) return;
  const RandomValue bits = Like(E::kU32, x.dims());
  const Shape to(OneOf({E::kBF16, E::kF16, E::kS8, E::kS32, E::kU8, E::kF8E5M2}), x.dims());
  Keep(b_.Make(O::kStochasticConvert, {x.op, bits.op}, {}, {}, &to));
}

Op ModuleGenerator::ExpressionStep(HloBuilder& b, Op x, Op y, const Dims& dims) {
  const E type = x.type();
  if (Chance(15) && !IsComplex(type)) return b.Convert(x, ArithmeticType());
  if (y.type() != type) {
    if (IsComplex(type) || IsComplex(y.type())) return b.Neg(IsComplex(type) ? x : y);
    y = b.Convert(y, type);
  }
  if (IsComplex(type)) return b.Binary(Chance(50) ? O::kAdd : O::kSubtract, x, y);
  if (type == E::kPred) return Chance(20) ? b.Not(x) : b.Binary(OneOf({O::kAnd, O::kOr, O::kXor}), x, y);
  switch (Below(8)) {
    case 0:
      return b.Unary(OneOf({O::kNegate, O::kAbs, O::kSign}), x);
    case 1:
      return b.Select(b.Compare(OneOf({CompareDirection::kLt, CompareDirection::kEq, CompareDirection::kGe}), x, y), x,
                      y);
    case 2: {
      Op constant = b.Constant(RandomLiteral(Shape::Scalar(type), LiteralStyle::kSmallIntegers, random_));
      return b.Binary(OneOf({O::kAdd, O::kMultiply, O::kDivide, O::kMaximum, O::kSubtract}), x,
                      dims.empty() ? constant : b.Broadcast(constant, dims, {}));
    }
    default:
      return b.Binary(OneOf({O::kAdd, O::kSubtract, O::kMultiply, O::kMaximum, O::kMinimum, O::kDivide}), x, y);
  }
}

Op ModuleGenerator::Expression(HloBuilder& b, std::vector<Op> inputs, E type, const Dims& dims, int steps) {
  for (int i = 0; i < steps && b.ok(); ++i) {
    const Op x = inputs[Chance(60) ? inputs.size() - 1 : Below(inputs.size())];
    inputs.push_back(ExpressionStep(b, x, inputs[Below(inputs.size())], dims));
  }
  Op last = inputs.back();
  if (!last) return last;
  if (IsComplex(last.type()) && !IsComplex(type)) last = b.Real(last);
  return b.Convert(last, type);
}

HloComputation* ModuleGenerator::ExpressionComputation(const std::string& name, const std::vector<E>& types,
                                                       const Dims& dims, E result, int steps) {
  auto sub = b_.SubBuilder(name);
  std::vector<Op> inputs;
  for (size_t i = 0; i < types.size(); ++i) inputs.push_back(sub->Parameter(i, Shape(types[i], dims), "x"));
  return sub->Finish(Expression(*sub, inputs, result, dims, steps));
}

}  // namespace xc
