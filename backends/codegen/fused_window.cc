// reduce-window inside expressions: loops over the window, with padding and dilation as conditions.
#include <algorithm>

#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "compiler/fuse/emittable.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {
using V = llvm::Value*;
}  // namespace

absl::StatusOr<std::vector<Element>> FusedEmitter::EmitReduceWindow(const HloInstruction* reduce,
                                                                    const std::vector<Term>& at) {
  auto& b = e_.builder();
  const int64_t n = reduce->operand_count() / 2;
  const Shape& from = reduce->operand(0)->shape();
  const std::vector<WindowDim>& window = reduce->window().dims;
  std::vector<Element> inits, values;
  for (int64_t i = 0; i < n; ++i) {
    XC_ASSIGN_OR_RETURN(Element init, Get(reduce->operand(n + i), Index{}));
    inits.push_back(e_.Splat(init, lanes_));
  }
  if (from.IsZeroSized()) return inits;
  values = inits;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::vector<Element>> carried;
  std::vector<Term> to(from.rank());
  V uniform = nullptr, lane = nullptr;
  auto require = [&](V c) {
    (c->getType()->isVectorTy() ? lane : uniform) = And(c->getType()->isVectorTy() ? lane : uniform, c);
  };
  for (int64_t d = 0; d < from.rank(); ++d) {
    const WindowDim& w = window[d];
    Term offset = index_.Constant(0);
    if (w.size > 1) {
      loops.push_back(std::make_unique<Loop>(b, index_.Const(0), index_.Const(w.size), 1, "window"));
      for (Element& value : values) value = CarryInto(*loops.back(), value);
      carried.push_back(values);
      offset = index_.Uniform(loops.back()->index());
      if (w.reversal) offset = index_.AddConst(index_.Negate(offset), w.size - 1);
    }
    Term t = index_.Add(index_.Scale(at[d], w.stride),
                        index_.AddConst(index_.Scale(offset, w.window_dilation), -w.padding_low));
    if (w.base_dilation > 1) {
      V x = t.uniform() ? t.base : index_.Lanes(t);
      V step = llvm::ConstantInt::get(x->getType(), w.base_dilation);
      require(b.CreateICmpULT(x, llvm::ConstantInt::get(x->getType(), (from.dim(d) - 1) * w.base_dilation + 1)));
      require(b.CreateICmpEQ(b.CreateURem(x, step), llvm::Constant::getNullValue(x->getType())));
      V q = b.CreateUDiv(x, step);
      t = q->getType()->isVectorTy() ? Term{nullptr, 0, q, false} : index_.Uniform(q);
    } else if (w.padding_low != 0 || w.padding_high != 0) {
      require(InRange(t, from.dim(d)));
    }
    to[d] = t;
  }
  std::vector<Element> arguments = values;
  V inside = And(uniform, lane);
  for (int64_t i = 0; i < n; ++i) {
    const HloInstruction* operand = reduce->operand(i);
    auto read = [&] { return Get(operand, Index{to}); };
    absl::StatusOr<Element> x = inside == nullptr    ? read()
                                : uniform == nullptr ? Where(lane, read)
                                : lane == nullptr    ? Where(uniform, read)
                                                     : Where(uniform, [&] { return Where(lane, read); });
    if (!x.ok()) return x.status();
    arguments.push_back(e_.Splat(*x, lanes_));
  }
  const HloOpcode simple = n == 1 ? SimpleReducer(*reduce->to_apply()) : HloOpcode::kParameter;
  const bool keep = simple == HloOpcode::kAdd || simple == HloOpcode::kMultiply;
  XC_ASSIGN_OR_RETURN(std::vector<Element> results,
                      EmitApply(e_, reduce->to_apply(), arguments, !keep, And(Active(), inside)));
  // Positions outside the operand are not combined.
  for (int64_t i = 0; inside != nullptr && i < n; ++i) {
    Element all[] = {{inside}, results[i], arguments[i]};
    e_.Broadcast(absl::MakeSpan(all));
    results[i] = {b.CreateSelect(all[0].re, all[1].re, all[2].re),
                  all[1].im == nullptr ? nullptr : b.CreateSelect(all[0].re, all[1].im, all[2].im)};
  }
  values = results;
  for (Element& value : values) value = e_.Splat(value, lanes_);
  for (size_t l = loops.size(); l-- > 0;) {
    EndLoop(*loops[l], values);
    values = carried[l];
  }
  if (keep) {
    values[0].re = e_.Normalize(reduce->operand(0)->type(), values[0].re);
    if (values[0].im != nullptr) values[0].im = e_.Normalize(reduce->operand(0)->type(), values[0].im);
  }
  return values;
}

}  // namespace xc::codegen
