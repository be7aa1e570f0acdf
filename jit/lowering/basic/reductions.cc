// Lowerings of reductions, arg-min/max and scans.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/base/choices.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

// The dimensions operand as sorted distinct axes, and the result's shape with kept dimensions.
absl::Status ReadAxes(OpContext& c, std::vector<int64_t>* axes, Dims* kept) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> given, c.Ints(1));
  XC_ASSIGN_OR_RETURN(bool keep, c.node.Bool("keep_dims"));
  std::vector<bool> reduced(c.rank(0), false);
  for (int64_t a : given) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.rank(0)));
    if (reduced[a]) return c.Error(absl::StrCat("axis ", a, " is given twice"));
    reduced[a] = true;
  }
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (reduced[d]) {
      axes->push_back(d);
      if (keep) kept->push_back(1);
    } else {
      kept->push_back(c.dims(0)[d]);
    }
  }
  return absl::OkStatus();
}

ElementType SumType(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 ? ElementType::kF32 : type;
}

Val SumOrProduct(OpContext& c, HloOpcode opcode, double init, const std::vector<int64_t>& axes) {
  ElementType type = c.etype(0), wide = SumType(type);
  Val x = c.b.Convert(c.in(0), wide);
  return c.b.Reduce(x, c.b.Scalar(wide, init), axes, opcode);
}

template <auto kFn>
absl::Status Reduce(OpContext& c) {
  std::vector<int64_t> axes;
  Dims kept;
  XC_RETURN_IF_ERROR(ReadAxes(c, &axes, &kept));
  Val v = kFn(c, axes);
  c.set(0, c.b.Reshape(c.b.Convert(v, c.etype(0)), kept));
  return absl::OkStatus();
}

Val MeanOf(OpContext& c, const std::vector<int64_t>& axes) {
  double count = 1;
  for (int64_t a : axes) count *= static_cast<double>(c.dims(0)[a]);
  Val sum = SumOrProduct(c, HloOpcode::kAdd, 0, axes);
  if (IsIntegral(sum->type()) && count == 0) count = 1;
  return c.b.Div(sum, c.b.Like(sum, count));
}

// The root of the sum of squares.
Val EuclideanNormOf(OpContext& c, const std::vector<int64_t>& axes) {
  Emitter& b = c.b;
  Val x = b.Convert(c.in(0), SumType(c.etype(0)));
  return b.Sqrt(b.ReduceSum(b.Mul(x, x), axes));
}

Val Extremum(OpContext& c, bool max, const std::vector<int64_t>& axes) {
  Val x = c.in(0);
  return c.b.Reduce(x, max ? c.b.Lowest(x->type()) : c.b.Highest(x->type()), axes,
                    max ? HloOpcode::kMaximum : HloOpcode::kMinimum);
}

template <bool kMax>
absl::Status ArgExtremum(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(1));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  if (c.dims(0)[axis] == 0) return c.Error("reduction axis is empty");
  Emitter& b = c.b;
  Val x = c.in(0);
  if (x->type() == ElementType::kPred) x = b.Convert(x, ElementType::kU8);
  ElementType type = x->type(), index_type = ElementType::kS32;
  Val iota = b.Iota(index_type, c.dims(0), axis);
  Shape v = Shape::Scalar(type), i = Shape::Scalar(index_type);
  // Of equal values the one with the lower index wins, whatever the order of the reduction.
  HloComputation* pick = b.Computation("arg_extremum", {v, i, v, i}, [&](Emitter& e, const std::vector<Val>& p) {
    Val better = e.Compare(kMax ? CompareDirection::kGt : CompareDirection::kLt, p[0], p[2]);
    Val first = e.Or(better, e.And(e.Eq(p[0], p[2]), e.Lt(p[1], p[3])));
    return e.Tuple({e.Select(first, p[0], p[2]), e.Select(first, p[1], p[3])});
  });
  Val pair = b.ReduceMany(
      {x, iota},
      {kMax ? b.Lowest(type) : b.Highest(type), b.ScalarInt(index_type, std::numeric_limits<int32_t>::max())}, {axis},
      pick);
  Val index = b.Get(pair, 1);
  // A row of NaNs keeps the start value; the host then answers 0.
  index = b.Select(b.Eq(index, b.Like(index, std::numeric_limits<int32_t>::max())), b.Like(index, 0), index);
  c.set(0, b.Convert(index, c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status L2Loss(OpContext& c) {
  std::vector<int64_t> axes(c.rank(0));
  std::iota(axes.begin(), axes.end(), 0);
  ElementType wide = SumType(c.etype(0));
  Val x = c.b.Convert(c.in(0), wide);
  Val sum = c.b.ReduceSum(c.b.Mul(x, x), axes);
  c.set(0, c.b.Convert(c.b.MulC(sum, 0.5), c.etype(0)));
  return absl::OkStatus();
}

// An inclusive scan by doubling: after step k every element covers 2^(k+1) elements. In code for several sizes, whose
// number of steps would differ, one window for each element, which the compiler makes a loop of, or a loop of these
// steps. `opcode`: what combines two elements; kParameter: no single op.
template <typename Combine>
absl::Status Scan(OpContext& c, double identity, HloOpcode opcode, Combine combine) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(1));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  XC_ASSIGN_OR_RETURN(bool exclusive, c.node.Bool("exclusive"));
  XC_ASSIGN_OR_RETURN(bool reverse, c.node.Bool("reverse"));
  Emitter& b = c.b;
  ElementType type = c.etype(0), wide = SumType(type);
  Val x = b.Convert(c.in(0), wide);
  int64_t n = c.dims(0)[axis];
  Val start = b.Scalar(wide, identity);
  auto shifted = [&](Val v, int64_t by) {
    std::vector<PaddingDim> padding(c.rank(0));
    (reverse ? padding[axis].high : padding[axis].low) = by;
    Val padded = b.Pad(v, start, padding);
    return reverse ? b.SliceDim(padded, axis, by, n + by) : b.SliceDim(padded, axis, 0, n);
  };
  if (ForAllSizes() && opcode != HloOpcode::kParameter && n > 1) {
    WindowAttr window;
    window.dims.resize(c.rank(0));
    window.dims[axis].size = n;
    (reverse ? window.dims[axis].padding_high : window.dims[axis].padding_low) = n - 1;
    x = b.ReduceWindow(x, start, window, opcode);
  } else if (ForAllSizes() && n > 1) {
    int64_t steps = 0;
    while ((int64_t{1} << steps) < n) ++steps;
    std::vector<PaddingDim> padding(c.rank(0));
    (reverse ? padding[axis].high : padding[axis].low) = n;
    x = b.ForLoop(steps, {x, b.S32(1)}, [&](Emitter& e, Val, const std::vector<Val>& state) {
      const Val step = state[1];
      std::vector<Val> starts(c.rank(0), e.S32(0));
      starts[axis] = reverse ? step : e.Sub(e.S32(n), step);
      const Val padded = e.Pad(state[0], e.Scalar(wide, identity), padding);
      return std::vector<Val>{combine(e, state[0], e.DynamicSlice(padded, starts, c.dims(0))), e.Add(step, step)};
    })[0];
  } else {
    for (int64_t step = 1; step < n; step *= 2) x = combine(b, x, shifted(x, step));
  }
  if (exclusive && n > 0) x = shifted(x, 1);
  c.set(0, b.Convert(x, type));
  return absl::OkStatus();
}

absl::Status Cumsum(OpContext& c) {
  return Scan(c, 0, HloOpcode::kAdd, [](Emitter& b, Val x, Val y) { return b.Add(x, y); });
}
absl::Status Cumprod(OpContext& c) {
  return Scan(c, 1, HloOpcode::kMultiply, [](Emitter& b, Val x, Val y) { return b.Mul(x, y); });
}
absl::Status CumulativeLogsumexp(OpContext& c) {
  return Scan(c, -std::numeric_limits<double>::infinity(), HloOpcode::kParameter, [](Emitter& b, Val x, Val y) {
    Val high = b.Max(x, y), low = b.Min(x, y);
    Val sum = b.Add(high, b.Unary(HloOpcode::kLogPlusOne, b.Exp(b.Sub(low, high))));
    // Both infinite and equal: their difference is NaN, the sum is that infinity.
    Val infinite = b.Not(b.Unary(HloOpcode::kIsFinite, low));
    return b.Select(infinite, high, sum);
  });
}

}  // namespace

void RegisterReductions(LoweringRegistry& r) {
  const std::vector<std::string> kAxes = {"reduction_indices"};
  constexpr TypeSet kBool = TypeBit(DT_BOOL);
  r.Add(
      {"Sum"}, kNumericTypes,
      Reduce<[](OpContext& c, const std::vector<int64_t>& axes) { return SumOrProduct(c, HloOpcode::kAdd, 0, axes); }>,
      kAxes);
  r.Add({"Prod"}, kNumericTypes, Reduce<[](OpContext& c, const std::vector<int64_t>& axes) {
          return SumOrProduct(c, HloOpcode::kMultiply, 1, axes);
        }>,
        kAxes);
  r.Add({"Mean"}, kNumericTypes, Reduce<MeanOf>, kAxes);
  r.Add({"EuclideanNorm"}, kFloatTypes, Reduce<EuclideanNormOf>, kAxes);
  r.Add({"Max"}, kRealTypes,
        Reduce<[](OpContext& c, const std::vector<int64_t>& axes) { return Extremum(c, true, axes); }>, kAxes);
  r.Add({"Min"}, kRealTypes,
        Reduce<[](OpContext& c, const std::vector<int64_t>& axes) { return Extremum(c, false, axes); }>, kAxes);
  r.Add({"All"}, kBool, Reduce<[](OpContext& c, const std::vector<int64_t>& axes) {
          return c.b.Reduce(c.in(0), c.b.Scalar(ElementType::kPred, 1), axes, HloOpcode::kAnd);
        }>,
        kAxes);
  r.Add({"Any"}, kBool, Reduce<[](OpContext& c, const std::vector<int64_t>& axes) {
          return c.b.Reduce(c.in(0), c.b.Scalar(ElementType::kPred, 0), axes, HloOpcode::kOr);
        }>,
        kAxes);
  r.Add({"ArgMax"}, kRealTypes | kBool, ArgExtremum<true>, {"dimension"});
  r.Add({"ArgMin"}, kRealTypes | kBool, ArgExtremum<false>, {"dimension"});
  r.Add({"L2Loss"}, kFloatTypes, L2Loss);
  r.Add({"Cumsum"}, kNumericTypes, Cumsum, {"axis"});
  r.Add({"Cumprod"}, kNumericTypes, Cumprod, {"axis"});
  r.Add({"CumulativeLogsumexp"}, kFloatTypes, CumulativeLogsumexp, {"axis"});
}

}  // namespace xc
