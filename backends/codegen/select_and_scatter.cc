// select-and-scatter (the gradient of max pooling): for each source element its window is searched, and the source is
// combined into the result at the place found.
#include <memory>
#include <vector>

#include "backends/codegen/scatter.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

bool IsTrivial(const WindowDim& w) {
  return w.size == 1 && w.stride == 1 && w.padding_low == 0 && w.padding_high == 0 && w.base_dilation == 1;
}

// The place of the element at memory offset `offset` (row-major) of an array of `shape`.
Index Linear(const Shape& shape, V offset, int lanes = 1) {
  Index at;
  at.linear = Term{offset, lanes > 1 ? 1 : 0, nullptr, false};
  at.sizes = shape.dims();
  at.order = Layout::Descending(shape.rank()).minor_to_major;
  return at;
}

// Whether windows do not cross the first dimension, since its window is one element.
bool IsDivided(const HloInstruction& i) {
  const Shape& shape = i.operand(0)->shape();
  return shape.rank() > 1 && IsTrivial(i.window().dims[0]) && i.operand(1)->shape().dim(0) == shape.dim(0);
}

}  // namespace

int64_t SelectAndScatterParts(const HloInstruction& i) { return IsDivided(i) ? i.operand(0)->shape().dim(0) : 1; }

absl::Status EmitSelectAndScatter(ElementEmitter& element, const HloInstruction* i, const BindInputs& bind, V output,
                                  int lanes, V begin, V end) {
  const HloInstruction *in = i->operand(0), *source = i->operand(1), *init = i->operand(2);
  const Shape& shape = in->shape();
  const ElementType type = shape.type();
  const HloComputation *select = i->called(0), *scatter = i->called(1);
  const auto& dims = i->window().dims;
  const int64_t rank = shape.rank();
  llvm::IRBuilderBase& b = element.builder();
  const auto I = [&](int64_t value) { return b.getIntN(element.target().index_bits, value); };
  auto load = [&](const HloInstruction* array, V offset) {
    FusedEmitter fused(element, 1);
    bind(fused);
    return fused.Get(array, array->shape().IsScalar() ? Index{} : Linear(array->shape(), offset));
  };
  XC_ASSIGN_OR_RETURN(const Element first, load(init, nullptr));
  auto fill = [&](V from, V to, int lanes) {
    Loop loop(b, from, to, lanes, "fill");
    FusedEmitter fused(element, lanes);
    fused.Store(shape, output, Linear(shape, loop.index(), lanes), first);
    loop.End();
  };
  const int64_t row = shape.ElementCount() / SelectAndScatterParts(*i);
  V fill_begin = b.CreateMul(begin, I(row)), fill_end = b.CreateMul(end, I(row));
  V whole = b.CreateAdd(fill_begin, b.CreateAnd(b.CreateSub(fill_end, fill_begin), I(-lanes)));
  if (lanes > 1) fill(fill_begin, whole, lanes);
  fill(lanes > 1 ? whole : fill_begin, fill_end, 1);
  if (source->shape().IsZeroSized()) return absl::OkStatus();

  const std::vector<int64_t> strides = ElementStrides(shape), source_strides = ElementStrides(source->shape());
  std::vector<std::unique_ptr<Loop>> loops;
  V source_offset = I(0);
  std::vector<V> origin(rank);  // of the window, per dimension
  for (int64_t d = 0; d < rank; ++d) {
    const bool outer = d == 0 && IsDivided(*i);
    loops.push_back(
        std::make_unique<Loop>(b, outer ? begin : I(0), outer ? end : I(source->shape().dim(d)), 1, "source"));
    V at = loops.back()->index();
    source_offset = b.CreateAdd(source_offset, b.CreateMul(at, I(source_strides[d])));
    origin[d] = b.CreateSub(b.CreateMul(at, I(dims[d].stride)), I(dims[d].padding_low));
  }
  // The window, with the best element so far and its offset (-1: none) carried along.
  const Element zero = element.ZeroOf(type);
  std::vector<V> best = {I(-1), zero.re};
  if (IsComplex(type)) best.push_back(zero.im);
  std::vector<std::unique_ptr<Loop>> window;
  std::vector<V> at = origin;
  for (int64_t d = 0; d < rank; ++d) {
    if (dims[d].size == 1) continue;
    window.push_back(std::make_unique<Loop>(b, I(0), I(dims[d].size), 1, "window"));
    for (V& value : best) value = window.back()->Carry(value);
    at[d] = b.CreateAdd(origin[d], b.CreateMul(window.back()->index(), I(dims[d].window_dilation)));
  }
  V inside = b.getTrue(), offset = I(0);
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDim& w = dims[d];
    V place = at[d];
    const int64_t last = (source->shape().dim(d) - 1) * w.stride - w.padding_low + (w.size - 1) * w.window_dilation;
    if (w.base_dilation != 1) {
      V dilation = I(w.base_dilation);
      inside = b.CreateAnd(inside, b.CreateICmpEQ(b.CreateSRem(place, dilation), I(0)));
      inside = b.CreateAnd(inside, b.CreateICmpSGE(place, I(0)));
      place = b.CreateSDiv(place, dilation);
    }
    if (w.base_dilation != 1 || w.padding_low > 0 || last >= shape.dim(d)) {
      inside = b.CreateAnd(inside, b.CreateICmpULT(place, I(shape.dim(d))));
    }
    offset = b.CreateAdd(offset, b.CreateMul(place, I(strides[d])));
  }
  // Outside of the array, element 0 is read and not taken.
  V safe = b.CreateSelect(inside, offset, I(0));
  XC_ASSIGN_OR_RETURN(const Element candidate, load(in, safe));
  Element current{best[1], best.size() > 2 ? best[2] : nullptr};
  const Element pair[] = {current, candidate};
  XC_ASSIGN_OR_RETURN(const std::vector<Element> keep, EmitApply(element, select, pair));
  V kept = b.CreateAnd(keep[0].re, b.CreateICmpSGE(best[0], I(0)));
  V take = b.CreateAnd(inside, b.CreateNot(kept));
  best[0] = b.CreateSelect(take, offset, best[0]);
  best[1] = b.CreateSelect(take, candidate.re, best[1]);
  if (best.size() > 2) best[2] = b.CreateSelect(take, candidate.im, best[2]);
  for (size_t l = window.size(); l-- > 0;) {
    for (size_t k = 0; k < best.size(); ++k) window[l]->SetNext(k, best[k]);
    window[l]->End();
    for (size_t k = 0; k < best.size(); ++k) best[k] = window[l]->Result(k);
  }
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* found = llvm::BasicBlock::Create(b.getContext(), "found", function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "next", function);
  b.CreateCondBr(b.CreateICmpSGE(best[0], I(0)), found, next);
  b.SetInsertPoint(found);
  XC_ASSIGN_OR_RETURN(const Element old, load(i, best[0]));
  XC_ASSIGN_OR_RETURN(const Element value, load(source, source_offset));
  const Element terms[] = {old, value};
  XC_ASSIGN_OR_RETURN(const std::vector<Element> sum, EmitApply(element, scatter, terms));
  FusedEmitter store(element, 1);
  store.Store(shape, output, Linear(shape, best[0]), sum[0]);
  b.CreateBr(next);
  b.SetInsertPoint(next);
  for (size_t l = loops.size(); l-- > 0;) loops[l]->End();
  return absl::OkStatus();
}

}  // namespace xc::codegen
