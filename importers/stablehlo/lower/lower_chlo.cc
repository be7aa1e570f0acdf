// Operations of the dialect chlo: those that HLO has no opcode for are made of others.
#include <cmath>
#include <limits>

#include "hlo/builder/special_functions.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Binds fn(builder, operands…) as evaluated in f64, or at least in `least`, and rounded to the operands' type.
template <typename F>
void Widened(OpLowering& op, ElementType least, F fn) {
  std::vector<Op> operands = op.Operands();
  const ElementType type = operands[0].type();
  if (!IsFloating(type)) return op.Fail(absl::StrCat("expected operands of floats, found ", ElementTypeName(type)));
  for (Op& x : operands) x = op.b.Convert(x, ElementBits(type) >= ElementBits(least) ? type : least);
  if (op.ok()) op.Bind(op.b.Convert(fn(operands), type));
}

}  // namespace

// These are as exact in f32 as its digits go; the series of the others need more of them than the result has.
void LowerErfc(OpLowering& op) {
  Widened(op, ElementType::kF32, [&](const std::vector<Op>& x) { return Erfc(op.b, x[0]); });
}
void LowerErfInv(OpLowering& op) {
  Widened(op, ElementType::kF32, [&](const std::vector<Op>& x) { return ErfInv(op.b, x[0]); });
}
void LowerBesselI1e(OpLowering& op) {
  Widened(op, ElementType::kF32, [&](const std::vector<Op>& x) { return BesselI(op.b, x[0], 1, true); });
}
void LowerDigamma(OpLowering& op) {
  Widened(op, ElementType::kF64, [&](const std::vector<Op>& x) { return Digamma(op.b, x[0]); });
}
void LowerLgamma(OpLowering& op) {
  Widened(op, ElementType::kF64, [&](const std::vector<Op>& x) { return Lgamma(op.b, x[0]); });
}
void LowerPolygamma(OpLowering& op) {
  Widened(op, ElementType::kF64, [&](const std::vector<Op>& x) { return Polygamma(op.b, x[0], x[1]); });
}
void LowerZeta(OpLowering& op) {
  Widened(op, ElementType::kF64, [&](const std::vector<Op>& x) { return Zeta(op.b, x[0], x[1]); });
}

void LowerNextAfter(OpLowering& op) {
  const ElementType type = op.in(0).type();
  if (!IsFloating(type) || ElementBits(type) < 16) {
    return op.Fail(absl::StrCat("is not supported for ", ElementTypeName(type)));
  }
  op.Bind(NextAfter(op.b, op.in(0), op.in(1)));
}

// atan2(x, 1); of a complex number, -i atanh(i x).
void LowerAtan(OpLowering& op) {
  HloBuilder& b = op.b;
  const Op x = op.in(0);
  if (!IsComplex(x.type())) return op.Bind(b.Atan2(x, b.FullLike(x, 1)));
  const Op turned = b.Atanh(b.Complex(b.Neg(b.Imag(x)), b.Real(x)));
  op.Bind(b.Complex(b.Imag(turned), b.Neg(b.Real(turned))));
}

void LowerConj(OpLowering& op) {
  HloBuilder& b = op.b;
  const Op x = op.in(0);
  op.Bind(IsComplex(x.type()) ? b.Complex(b.Real(x), b.Neg(b.Imag(x))) : x);
}

void LowerSquare(OpLowering& op) { op.Bind(op.b.Mul(op.in(0), op.in(0))); }

// is_inf, is_pos_inf and is_neg_inf.
void LowerIsInfinite(OpLowering& op) {
  const Op x = op.in(0);
  const bool either = op.op.name == "chlo.is_inf", negative = op.op.name == "chlo.is_neg_inf";
  op.Bind(op.b.Eq(either ? op.b.Abs(x) : x, op.b.FullLike(x, negative ? -kInfinity : kInfinity)));
}

// A constant of the operand's shape.
void LowerConstantLike(OpLowering& op) {
  const Attr* value = op.attrs.Require("value");
  if (value == nullptr) return;
  const bool number = value->kind == Attr::Kind::kInt || value->kind == Attr::Kind::kFloat;
  if (!number) return op.Fail("attribute `value` should be a number");
  const Op scalar = value->kind == Attr::Kind::kInt ? op.b.ScalarInt(op.result().type(), value->integer)
                                                    : op.b.Scalar(op.result().type(), value->number);
  if (op.ok()) op.Bind(op.b.BroadcastTo(scalar, op.in(0).dims()));
}

void LowerTopK(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kK>(op.attrs.Int("k"));
  attributes.Set<A::kLargest>(op.attrs.Bool("largest", true));
  op.Emit(O::kTopk, op.Operands(), std::move(attributes));
}

namespace {

// The sizes of an array of fewer dimensions beside one of more, if it lies along `dims` of that.
Int64List SizesTogether(OpLowering& op, Op low, Op high, const Int64List& dims) {
  Int64List sizes = op.result().dims();
  if (!op.result().has_unknown_size() || dims.size() != low.dims().size()) return sizes;
  sizes = high.dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool inside = dims[d] >= 0 && dims[d] < high.rank();
    if (inside && sizes[dims[d]] == 1) sizes[dims[d]] = low.dim(static_cast<int64_t>(d));
  }
  return sizes;
}

}  // namespace

// The broadcast_… family: the row's opcode on operands that NumPy's rule, or `broadcast_dimensions` for the one of
// fewer dimensions, makes equal in shape.
void LowerBroadcasting(OpLowering& op) {
  HloBuilder& b = op.b;
  Op x = op.in(0), y = op.in(1);
  if (const Attr* given = op.attrs.Find("broadcast_dimensions"); given != nullptr) {
    const Int64List dims = op.attrs.Ints("broadcast_dimensions");
    Op& low = x.rank() < y.rank() ? x : y;
    const Op high = x.rank() < y.rank() ? y : x;
    if (op.ok() && low.rank() != high.rank()) low = b.BroadcastInDim(low, SizesTogether(op, low, high, dims), dims);
  }
  const auto [left, right] = b.BroadcastTogether(x, y);
  if (op.op.row->opcode != O::kCompare) return op.Emit(op.op.row->opcode, {left, right});
  Compare(op, left, right);
}

}  // namespace xc::stablehlo
