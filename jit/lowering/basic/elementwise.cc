// Lowerings of element-wise binary operations, comparisons, selection and casts.
#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/basic/lists.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

// Both operands broadcast to their common shape.
absl::Status Broadcasted(OpContext& c, Val* x, Val* y) {
  auto dims = BroadcastDims(c.dims(0), c.dims(1));
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  *x = c.b.BroadcastTo(c.in(0), *dims);
  *y = c.b.BroadcastTo(c.in(1), *dims);
  return absl::OkStatus();
}

bool IsInt(Val v) { return IsIntegral(v->type()); }

// A zero divisor of integers is an error of the host op: the cluster's check sends the run there.
void CheckDivisor(OpContext& c, Val y) {
  if (!IsInt(y)) return;
  if (c.IsConstant(1)) {
    auto values = c.value(1).constant->tensor.AsInt64s();
    bool zero = !values.ok();
    for (int64_t v : values.ok() ? *values : std::vector<int64_t>{}) zero |= v == 0;
    if (!zero) return;
  }
  c.FailIf(c.b.Eq(y, c.b.Like(y, 0)));
}

// The host refuses whole numbers to negative powers.
Val Pow(OpContext& c, Val x, Val y) {
  if (IsInt(x)) c.FailIf(c.b.Lt(y, c.b.Like(y, 0)));
  return c.b.Pow(x, y);
}

Val TruncateDiv(OpContext& c, Val x, Val y) {
  CheckDivisor(c, y);
  Val q = c.b.Div(x, y);
  if (IsInt(x)) return q;
  Val down = c.b.Floor(q), up = c.b.Unary(HloOpcode::kCeil, q);
  return c.b.Select(c.b.Lt(q, c.b.Like(q, 0)), up, down);
}

Val FloorDiv(OpContext& c, Val x, Val y) {
  CheckDivisor(c, y);
  Emitter& b = c.b;
  if (!IsInt(x)) return b.Floor(b.Div(x, y));
  Val q = b.Div(x, y);
  if (IsUnsignedInt(x->type())) return q;
  Val zero = b.Like(x, 0);
  Val inexact = b.Ne(b.Mul(q, y), x);
  Val signs_differ = b.Ne(b.Lt(x, zero), b.Lt(y, zero));
  return b.Select(b.And(inexact, signs_differ), b.Sub(q, b.Like(q, 1)), q);
}

Val TruncateMod(OpContext& c, Val x, Val y) {
  CheckDivisor(c, y);
  return c.b.Rem(x, y);
}

Val FloorMod(OpContext& c, Val x, Val y) {
  CheckDivisor(c, y);
  Emitter& b = c.b;
  Val r = b.Rem(x, y);
  if (IsUnsignedInt(x->type())) return r;
  Val zero = b.Like(x, 0);
  Val fix = b.And(b.Ne(r, zero), b.Ne(b.Lt(r, zero), b.Lt(y, zero)));
  return b.Select(fix, b.Add(r, y), r);
}

Val Shift(OpContext& c, Val x, Val y, bool left) {
  // The host clamps the amount to [0, bits - 1].
  Emitter& b = c.b;
  int64_t bits = ElementBits(x->type());
  y = b.Clamp(b.Scalar(y->type(), 0), y, b.ScalarInt(y->type(), bits - 1));
  HloOpcode right = IsUnsignedInt(x->type()) ? HloOpcode::kShiftRightLogical : HloOpcode::kShiftRightArithmetic;
  return b.Binary(left ? HloOpcode::kShiftLeft : right, x, y);
}

Val ZeroWhere(OpContext& c, Val condition, Val value) { return c.b.Select(condition, c.b.Like(value, 0), value); }

template <HloOpcode kOpcode>
Val Direct(OpContext& c, Val x, Val y) {
  return c.b.Binary(kOpcode, x, y);
}

template <auto kFn>
absl::Status Binary(OpContext& c) {
  Val x, y;
  XC_RETURN_IF_ERROR(Broadcasted(c, &x, &y));
  c.set(0, kFn(c, x, y));
  return absl::OkStatus();
}

template <CompareDirection kDirection>
absl::Status Compare(OpContext& c) {
  Val x, y;
  absl::Status status = Broadcasted(c, &x, &y);
  if (!status.ok()) {
    // Equal and NotEqual may be asked to answer for shapes that do not fit.
    bool strict = true;
    if (c.node.def->FindAttr("incompatible_shape_error") != nullptr) {
      XC_ASSIGN_OR_RETURN(strict, c.node.Bool("incompatible_shape_error"));
    }
    if (strict) return status;
    c.set_constant(0, Tensor::Scalar<uint8_t>(DT_BOOL, kDirection == CompareDirection::kNe));
    return absl::OkStatus();
  }
  c.set(0, c.b.Compare(kDirection, x, y));
  return absl::OkStatus();
}

absl::Status Cast(OpContext& c) {
  Val x = c.in(0);
  ElementType to = c.out_etype(0);
  XC_ASSIGN_OR_RETURN(bool truncate, c.node.Bool("Truncate"));
  if (truncate && IsFloating(x->type()) && IsFloating(to)) return c.Unimplemented("Truncate between floating types");
  if (IsComplex(x->type()) && !IsComplex(to)) x = c.b.Real(x);
  c.set(0, c.b.Convert(x, to));
  return absl::OkStatus();
}

absl::Status Select(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(1, 2));
  Val p = c.in(0);
  const Dims& dims = c.dims(1);
  if (c.rank(0) == 1 && dims.size() > 1) {
    if (c.dims(0)[0] != dims[0]) return c.Error("the condition has another length than the major dimension");
    p = c.b.Broadcast(p, dims, {0});
  } else if (c.rank(0) != 0 && c.dims(0) != dims) {
    return c.Error("the condition has another shape");
  }
  c.set(0, c.b.Select(p, c.in(1), c.in(2)));
  return absl::OkStatus();
}

absl::Status SelectV2(OpContext& c) {
  auto dims = BroadcastDims(c.dims(1), c.dims(2));
  if (dims.ok()) dims = BroadcastDims(*dims, c.dims(0));
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  Emitter& b = c.b;
  c.set(0, b.Select(b.BroadcastTo(c.in(0), *dims), b.BroadcastTo(c.in(1), *dims), b.BroadcastTo(c.in(2), *dims)));
  return absl::OkStatus();
}

absl::Status AddN(OpContext& c) {
  if (c.type(0) == DT_VARIANT) return AddLists(c);
  if (!(kNumericTypes & TypeBit(c.type(0)))) return c.Unimplemented("a sum of " + DataTypeName(c.type(0)));
  Val sum = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, i));
    sum = c.b.Add(sum, c.in(i));
  }
  c.set(0, sum);
  return absl::OkStatus();
}

absl::Status ClipByValue(OpContext& c) {
  auto fits = [&](int i) { return c.rank(i) == 0 || c.dims(i) == c.dims(0); };
  if (!fits(1) || !fits(2)) return c.Error("the limits must be scalars or have the shape of the value");
  Val low = c.b.BroadcastTo(c.in(1), c.dims(0)), high = c.b.BroadcastTo(c.in(2), c.dims(0)), x = c.in(0);
  auto clip = [&](Val v, Val least, Val most) { return c.b.Max(c.b.Min(v, most), least); };
  if (IsComplex(c.type(0))) {
    Val real = clip(c.b.Real(x), c.b.Real(low), c.b.Real(high));
    c.set(0, c.b.Complex(real, clip(c.b.Imag(x), c.b.Imag(low), c.b.Imag(high))));
    return absl::OkStatus();
  }
  c.set(0, clip(x, low, high));
  return absl::OkStatus();
}

absl::Status ApproximateEqual(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_ASSIGN_OR_RETURN(float tolerance, c.node.Float("tolerance"));
  Val d = c.b.Abs(c.b.Sub(c.in(0), c.in(1)));
  c.set(0, c.b.Lt(d, c.b.Like(d, tolerance)));
  return absl::OkStatus();
}

Val BitwiseNot(Emitter& b, Val x) { return b.Not(x); }

}  // namespace

void RegisterElementwise(LoweringRegistry& r) {
  constexpr TypeSet kBool = TypeBit(DT_BOOL);
  r.Add({"Add", "AddV2"}, kNumericTypes, Binary<Direct<HloOpcode::kAdd>>);
  r.Add({"Sub"}, kNumericTypes, Binary<Direct<HloOpcode::kSubtract>>);
  r.Add({"Mul"}, kNumericTypes, Binary<Direct<HloOpcode::kMultiply>>);
  r.Add({"Maximum"}, kRealTypes, Binary<Direct<HloOpcode::kMaximum>>);
  r.Add({"Minimum"}, kRealTypes, Binary<Direct<HloOpcode::kMinimum>>);
  r.Add({"Div", "RealDiv"}, kNumericTypes, Binary<[](OpContext& c, Val x, Val y) {
          CheckDivisor(c, y);
          return c.b.Div(x, y);
        }>);
  r.Add({"TruncateDiv"}, kRealTypes, Binary<TruncateDiv>);
  r.Add({"FloorDiv"}, kRealTypes, Binary<FloorDiv>);
  r.Add({"FloorMod"}, kRealTypes, Binary<FloorMod>);
  r.Add({"TruncateMod", "Mod"}, kRealTypes, Binary<TruncateMod>);
  r.Add({"Pow"}, kFloatTypes | kComplexTypes | kSignedTypes, Binary<Pow>);
  r.Add({"Atan2"}, kFloatTypes, Binary<Direct<HloOpcode::kAtan2>>);
  r.Add({"LogicalAnd"}, kBool, Binary<Direct<HloOpcode::kAnd>>);
  r.Add({"LogicalOr"}, kBool, Binary<Direct<HloOpcode::kOr>>);
  r.Add({"BitwiseAnd"}, kIntTypes, Binary<Direct<HloOpcode::kAnd>>);
  r.Add({"BitwiseOr"}, kIntTypes, Binary<Direct<HloOpcode::kOr>>);
  r.Add({"BitwiseXor"}, kIntTypes, Binary<Direct<HloOpcode::kXor>>);
  r.Add({"LeftShift"}, kIntTypes, Binary<[](OpContext& c, Val x, Val y) { return Shift(c, x, y, true); }>);
  r.Add({"RightShift"}, kIntTypes, Binary<[](OpContext& c, Val x, Val y) { return Shift(c, x, y, false); }>);
  r.Add({"SquaredDifference"}, kNumericTypes, Binary<[](OpContext& c, Val x, Val y) {
          Val d = c.b.Sub(x, y);
          return c.b.Mul(d, c.b.Conj(d));
        }>);
  r.Add({"DivNoNan"}, kFloatTypes | kComplexTypes,
        Binary<[](OpContext& c, Val x, Val y) { return ZeroWhere(c, c.b.Eq(y, c.b.Like(y, 0)), c.b.Div(x, y)); }>);
  r.Add({"MulNoNan"}, kFloatTypes | kComplexTypes,
        Binary<[](OpContext& c, Val x, Val y) { return ZeroWhere(c, c.b.Eq(y, c.b.Like(y, 0)), c.b.Mul(x, y)); }>);
  r.Add({"Xdivy"}, kFloatTypes | kComplexTypes,
        Binary<[](OpContext& c, Val x, Val y) { return ZeroWhere(c, c.b.Eq(x, c.b.Like(x, 0)), c.b.Div(x, y)); }>);
  r.Add({"Xlogy"}, kFloatTypes | kComplexTypes, Binary<[](OpContext& c, Val x, Val y) {
          return ZeroWhere(c, c.b.Eq(x, c.b.Like(x, 0)), c.b.Mul(x, c.b.Log(y)));
        }>);
  r.Add({"Xlog1py"}, kFloatTypes | kComplexTypes, Binary<[](OpContext& c, Val x, Val y) {
          return ZeroWhere(c, c.b.Eq(x, c.b.Like(x, 0)), c.b.Mul(x, c.b.Unary(HloOpcode::kLogPlusOne, y)));
        }>);
  r.Add({"Complex"}, TypeBit(DT_FLOAT) | TypeBit(DT_DOUBLE),
        Binary<[](OpContext& c, Val x, Val y) { return c.b.Complex(x, y); }>);
  r.Add({"Equal"}, kArrayTypes, Compare<CompareDirection::kEq>);
  r.Add({"NotEqual"}, kArrayTypes, Compare<CompareDirection::kNe>);
  r.Add({"Less"}, kRealTypes, Compare<CompareDirection::kLt>);
  r.Add({"LessEqual"}, kRealTypes, Compare<CompareDirection::kLe>);
  r.Add({"Greater"}, kRealTypes, Compare<CompareDirection::kGt>);
  r.Add({"GreaterEqual"}, kRealTypes, Compare<CompareDirection::kGe>);
  r.Add({"ApproximateEqual"}, kNumericTypes, ApproximateEqual);
  r.Add({"Cast"}, kArrayTypes, Cast);
  r.Add({"Select"}, kArrayTypes, Select);
  r.Add({"SelectV2"}, kArrayTypes, SelectV2);
  r.Add({"AddN"}, kNumericTypes, AddN, {}, kUsesLists);
  r.Add({"ClipByValue"}, kNumericTypes, ClipByValue);
  r.Add({"LogicalNot"}, kBool, [](OpContext& c) {
    c.set(0, BitwiseNot(c.b, c.in(0)));
    return absl::OkStatus();
  });
  r.Add({"Invert"}, kIntTypes, [](OpContext& c) {
    c.set(0, BitwiseNot(c.b, c.in(0)));
    return absl::OkStatus();
  });
}

}  // namespace xc
