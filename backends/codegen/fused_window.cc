// reduce-window inside expressions: loops over the window, with padding and dilation as conditions.
#include <algorithm>

#include "backends/codegen/extreme.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Places within a window that one turn of its innermost loop takes.
int64_t PlacesAtOnce(int64_t size) {
  int64_t places = std::min<int64_t>(size, 8);
  while (size % places != 0) --places;
  return places;
}

}  // namespace

absl::StatusOr<Element> FusedEmitter::GetWhere(const HloInstruction* array, const std::vector<Term>& at, V uniform,
                                               V lane) {
  const auto read = [&] { return Get(array, Index{at}); };
  const auto in_lanes = [&] { return lane == nullptr ? read() : Where(lane, array, read); };
  return uniform == nullptr ? in_lanes() : Where(uniform, array, in_lanes);
}

absl::StatusOr<Element> FusedEmitter::GetInside(const HloInstruction* array, const std::vector<Term>& at,
                                                absl::Span<const bool> checked, V* inside) {
  V uniform = nullptr, lane = nullptr;
  for (size_t d = 0; d < at.size(); ++d) {
    if (!checked[d]) continue;
    V c = InRange(at[d], array->shape().dim(d));
    (c->getType()->isVectorTy() ? lane : uniform) = And(c->getType()->isVectorTy() ? lane : uniform, c);
  }
  *inside = And(uniform, lane);
  return GetWhere(array, at, uniform, lane);
}

absl::StatusOr<std::vector<Element>> FusedEmitter::GetWindows(const HloInstruction* reduce, const Index& position,
                                                              int64_t d, int64_t count) {
  const HloOpcode op = SimpleReducer(*reduce->to_apply());
  const bool keep = op == HloOpcode::kAdd || op == HloOpcode::kMultiply;
  const int64_t size = reduce->window().dims[d].size;
  XC_ASSIGN_OR_RETURN(const Element init, Get(reduce->operand(1), Index{}));
  std::vector<Element> values(count, e_.Splat(init, lanes_));
  std::vector<Term> at = Coordinates(position, reduce->shape());
  const Term first = at[d];
  for (int64_t k = 0; k < size + count - 1; ++k) {
    at[d] = index_.AddConst(first, k);
    XC_ASSIGN_OR_RETURN(const Element x, Get(reduce->operand(0), Index{at}));
    for (int64_t i = std::max<int64_t>(0, k - size + 1); i <= std::min(k, count - 1); ++i) {
      const Element arguments[] = {values[i], e_.Splat(x, lanes_)};
      XC_ASSIGN_OR_RETURN(const std::vector<Element> value, EmitApply(e_, reduce->to_apply(), arguments, !keep));
      values[i] = value[0];
    }
  }
  for (Element& value : values) {
    if (keep) value.re = e_.Normalize(reduce->type(), value.re);
  }
  return values;
}

absl::StatusOr<std::vector<Element>> FusedEmitter::EmitReduceWindow(const HloInstruction* reduce,
                                                                    const std::vector<Term>& at) {
  auto& b = e_.builder();
  const int64_t n = reduce->operand_count() / 2;
  const Shape& from = reduce->operand(0)->shape();
  const std::vector<WindowDim>& window = reduce->window().dims;
  const HloOpcode simple = n == 1 ? SimpleReducer(*reduce->to_apply()) : HloOpcode::kParameter;
  const bool keep = simple == HloOpcode::kAdd || simple == HloOpcode::kMultiply;
  const bool extreme = IsFloating(from.type()) && (simple == HloOpcode::kMaximum || simple == HloOpcode::kMinimum);
  Extreme extremes(e_, simple, from.type());
  std::vector<Element> inits, values;
  for (int64_t i = 0; i < n; ++i) {
    XC_ASSIGN_OR_RETURN(Element init, Get(reduce->operand(n + i), Index{}));
    inits.push_back(e_.Splat(init, lanes_));
  }
  if (from.IsZeroSized()) return inits;
  values = inits;
  // Behind an extreme: all elements' bits, and whether one is NaN.
  if (extreme) {
    inits[0].re = extremes.Take(inits[0].re);
    values = {inits[0], {extremes.Bits(inits[0].re)}, {extremes.NoNan(inits[0].re)}};
  }
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::vector<Element>> carried;
  std::vector<Term> to(from.rank());
  V uniform = nullptr, lane = nullptr;
  auto require = [&](V c) {
    (c->getType()->isVectorTy() ? lane : uniform) = And(c->getType()->isVectorTy() ? lane : uniform, c);
  };
  // Where the element at place `offset` of the window's dimension `d` is; requires it to be inside.
  auto place = [&](int64_t d, Term offset) {
    const WindowDim& w = window[d];
    if (w.reversal) offset = index_.AddConst(index_.Negate(offset), w.size - 1);
    Term t = index_.Add(index_.Scale(at[d], w.stride),
                        index_.AddConst(index_.Scale(offset, w.window_dilation), -w.padding_low));
    if (w.base_dilation > 1) {
      V x = t.uniform() ? t.base : index_.Lanes(t);
      V step = llvm::ConstantInt::get(x->getType(), w.base_dilation);
      require(b.CreateICmpULT(x, llvm::ConstantInt::get(x->getType(), (from.dim(d) - 1) * w.base_dilation + 1)));
      require(b.CreateICmpEQ(b.CreateURem(x, step), llvm::Constant::getNullValue(x->getType())));
      V q = b.CreateUDiv(x, step);
      t = q->getType()->isVectorTy() ? Term{nullptr, 0, q, false} : index_.Uniform(q);
    } else if (!ChooseSafe(w.padding_low == 0 && w.padding_high == 0)) {
      require(InRange(t, from.dim(d)));
    }
    to[d] = t;
  };
  // The dimension of the innermost loop, several places of which are written out.
  int64_t along = -1, places = 1;
  for (int64_t d = 0; d < from.rank() && simple != HloOpcode::kParameter; ++d) {
    if (window[d].size > 1) along = d;
  }
  if (along >= 0) places = std::max<int64_t>(ChooseSafe(PlacesAtOnce(window[along].size)), 1);
  Term begin = index_.Constant(0);  // of the written out places
  for (int64_t d = 0; d < from.rank(); ++d) {
    const WindowDim& w = window[d];
    if (w.size > 1 && !(d == along && ChooseSafe(places == w.size))) {
      const int64_t step = d == along ? places : 1;
      loops.push_back(std::make_unique<Loop>(b, index_.Const(0), index_.Const(w.size), step, "window"));
      for (Element& value : values) value = CarryInto(*loops.back(), value);
      carried.push_back(values);
      (d == along ? begin : to[d]) = index_.Uniform(loops.back()->index());
    } else {
      to[d] = index_.Constant(0);
    }
  }
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (d != along) place(d, to[d]);
  }
  const V outer_uniform = uniform, outer_lane = lane;
  std::vector<V> seen;  // by an extreme
  for (int64_t k = 0; k < places; ++k) {
    uniform = outer_uniform;
    lane = outer_lane;
    if (along >= 0) place(along, index_.AddConst(begin, k));
    std::vector<Element> arguments(values.begin(), values.begin() + n);
    V inside = And(uniform, lane);
    for (int64_t i = 0; i < n; ++i) {
      XC_ASSIGN_OR_RETURN(Element x, GetWhere(reduce->operand(i), to, uniform, lane));
      arguments.push_back(e_.Splat(x, lanes_));
    }
    if (extreme) {
      // Positions outside the operand count as the initial value, which counts anyway.
      arguments[1].re = extremes.Take(arguments[1].re);
      V next = (inside == nullptr ? arguments[1] : e_.Select(inside, arguments[1], inits[0])).re;
      seen.push_back(next);
      values[0].re = extremes.Step(values[0].re, next);
      values[1].re = extremes.JoinBits(values[1].re, next);
      continue;
    }
    XC_ASSIGN_OR_RETURN(std::vector<Element> results,
                        EmitApply(e_, reduce->to_apply(), arguments, !keep, And(Active(), inside)));
    // Positions outside the operand are not combined.
    for (int64_t i = 0; inside != nullptr && i < n; ++i) {
      results[i] = e_.Select(inside, results[i], arguments[i]);
    }
    for (int64_t i = 0; i < n; ++i) values[i] = e_.Splat(results[i], lanes_);
  }
  for (size_t k = 0; k < seen.size(); k += 2) {
    values[2].re = extremes.JoinNan(values[2].re, seen[k], seen[std::min(k + 1, seen.size() - 1)]);
  }
  for (size_t l = loops.size(); l-- > 0;) {
    EndLoop(*loops[l], values);
    values = carried[l];
  }
  if (extreme) {
    return std::vector<Element>{{extremes.Give(extremes.FinishLanes(values[0].re, values[1].re, values[2].re))}};
  }
  if (keep) {
    values[0].re = e_.Normalize(reduce->operand(0)->type(), values[0].re);
    if (values[0].im != nullptr) values[0].im = e_.Normalize(reduce->operand(0)->type(), values[0].im);
  }
  return values;
}

}  // namespace xc::codegen
