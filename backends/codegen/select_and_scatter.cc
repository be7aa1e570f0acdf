// select-and-scatter (the gradient of max pooling): for each source element its window is searched, and the source is
// combined into the result at the place found.
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "backends/codegen/scatter.h"
#include "hlo/base/choices.h"
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

// How many neighbouring source elements are searched for together; 1 if none.
int LanesOfSource(const HloInstruction& i, int most) {
  const auto& dims = i.window().dims;
  const std::vector<int64_t> strides = ElementStrides(i.operand(0)->shape());
  double reach = 0;  // of a window, in elements of memory
  bool plain = !IsComplex(i.type()) && i.operand(1)->shape().rank() > 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    plain &= dims[d].base_dilation == 1 && !dims[d].reversal;
    reach += static_cast<double>(dims[d].size - 1) * static_cast<double>(dims[d].window_dilation * strides[d]);
  }
  if (!plain || reach >= INT32_MAX) return 1;
  // The rest of a row is searched element by element.
  const int64_t size = i.operand(1)->shape().dims().back();
  int best = 1;
  int64_t least = size;
  for (int lanes = most; lanes > 1; lanes /= 2) {
    const int64_t steps = size / lanes + size % lanes;
    if (steps >= least) continue;
    best = lanes;
    least = steps;
  }
  return best;
}

class SelectAndScatter {
 public:
  SelectAndScatter(ElementEmitter& element, const HloInstruction* i, const BindInputs& bind, V output)
      : element_(element),
        b_(element.builder()),
        i_(i),
        bind_(bind),
        output_(output),
        shape_(i->operand(0)->shape()),
        source_shape_(i->operand(1)->shape()),
        dims_(i->window().dims),
        rank_(shape_.rank()),
        strides_(ElementStrides(shape_)),
        source_strides_(ElementStrides(source_shape_)),
        may_leave_(rank_) {
    for (int64_t d = 0; d < rank_; ++d) {
      const WindowDim& w = dims_[d];
      const int64_t last = (source_shape_.dim(d) - 1) * w.stride - w.padding_low + (w.size - 1) * w.window_dilation;
      may_leave_[d] = w.base_dilation != 1 || w.padding_low > 0 || last >= shape_.dim(d);
    }
  }

  // Sets the elements from offset `from` to `to` to the initial value.
  absl::Status Fill(V from, V to, int lanes) {
    XC_ASSIGN_OR_RETURN(const Element first, Load(i_->operand(2), nullptr));
    auto fill = [&](V from, V to, int lanes) {
      Loop loop(b_, from, to, lanes, "fill");
      FusedEmitter fused(element_, lanes);
      fused.Store(shape_, output_, Linear(shape_, loop.index(), lanes), first);
      loop.End();
    };
    V whole = b_.CreateAdd(from, b_.CreateAnd(b_.CreateSub(to, from), I(-lanes)));
    if (lanes > 1) fill(from, whole, lanes);
    fill(lanes > 1 ? whole : from, to, 1);
    return absl::OkStatus();
  }

  // Takes the source's elements from `begin` to `end` of its first dimension, if that is divided, else all.
  absl::Status Combine(int lanes, V begin, V end) {
    const int together = ChooseAny(LanesOfSource(*i_, lanes));
    if (together > 1) {
      llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
      llvm::IRBuilder<> head(&entry, entry.begin());
      places_ = head.CreateAlloca(llvm::ArrayType::get(b_.getInt32Ty(), together));
      places_->setAlignment(llvm::Align(64));
    }
    std::vector<std::unique_ptr<Loop>> loops;
    std::vector<V> position(rank_);
    for (int64_t d = 0; d + 1 < rank_; ++d) {
      const bool outer = d == 0 && IsDivided(*i_);
      loops.push_back(
          std::make_unique<Loop>(b_, outer ? begin : I(0), outer ? end : I(source_shape_.dim(d)), 1, "source"));
      position[d] = loops.back()->index();
    }
    const int64_t size = rank_ > 0 ? source_shape_.dims().back() : 1, vectors = size / together * together;
    if (together > 1) {
      Loop loop(b_, I(0), I(vectors), together, "source");
      position[rank_ - 1] = loop.index();
      XC_RETURN_IF_ERROR(SeveralElements(position, together));
      loop.End();
    }
    if (together == 1 || !ChooseSafe(vectors == size)) {
      Loop loop(b_, I(together > 1 ? vectors : 0), I(size), 1, "source");
      if (rank_ > 0) position[rank_ - 1] = loop.index();
      XC_RETURN_IF_ERROR(OneElement(position));
      loop.End();
    }
    for (size_t l = loops.size(); l-- > 0;) loops[l]->End();
    return absl::OkStatus();
  }

 private:
  V I(int64_t value) { return b_.getIntN(element_.target().index_bits, value); }

  absl::StatusOr<Element> Load(const HloInstruction* array, V offset) {
    FusedEmitter fused(element_, 1);
    bind_(fused);
    return fused.Get(array, array->shape().IsScalar() ? Index{} : Linear(array->shape(), offset));
  }

  V SourceOffset(const std::vector<V>& position) {
    V offset = I(0);
    for (int64_t d = 0; d < rank_; ++d) {
      offset = b_.CreateAdd(offset, b_.CreateMul(position[d], I(source_strides_[d])));
    }
    return offset;
  }

  // Combines the source's element at memory offset `from` into the result at `to`, if `found`.
  absl::Status CombineIf(V found, V to, V from) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    auto* place = llvm::BasicBlock::Create(b_.getContext(), "found", function);
    auto* next = llvm::BasicBlock::Create(b_.getContext(), "next", function);
    b_.CreateCondBr(found, place, next);
    b_.SetInsertPoint(place);
    XC_ASSIGN_OR_RETURN(const Element old, Load(i_, to));
    XC_ASSIGN_OR_RETURN(const Element value, Load(i_->operand(1), from));
    const Element terms[] = {old, value};
    XC_ASSIGN_OR_RETURN(const std::vector<Element> sum, EmitApply(element_, i_->called(1), terms));
    FusedEmitter store(element_, 1);
    store.Store(shape_, output_, Linear(shape_, to), sum[0]);
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    return absl::OkStatus();
  }

  // The loops over a window around `search`, which is given the place in it, and changes what is carried, `best`.
  using Search = std::function<absl::Status(const std::vector<V>& at, std::vector<V>* best)>;
  absl::Status OverWindow(std::vector<V>* best, const Search& search) {
    std::vector<std::unique_ptr<Loop>> window;
    std::vector<V> at(rank_, I(0));
    for (int64_t d = 0; d < rank_; ++d) {
      if (dims_[d].size == 1) continue;
      window.push_back(std::make_unique<Loop>(b_, I(0), I(dims_[d].size), 1, "window"));
      for (V& value : *best) value = window.back()->Carry(value);
      at[d] = window.back()->index();
    }
    XC_RETURN_IF_ERROR(search(at, best));
    for (size_t l = window.size(); l-- > 0;) {
      for (size_t k = 0; k < best->size(); ++k) window[l]->SetNext(k, (*best)[k]);
      window[l]->End();
      for (size_t k = 0; k < best->size(); ++k) (*best)[k] = window[l]->Result(k);
    }
    return absl::OkStatus();
  }

  // The source element at `position`.
  absl::Status OneElement(const std::vector<V>& position) {
    // The offset of the best element so far (-1: none), and the element.
    const Element zero = element_.ZeroOf(shape_.type());
    std::vector<V> best = {I(-1), zero.re};
    if (zero.im != nullptr) best.push_back(zero.im);
    XC_RETURN_IF_ERROR(OverWindow(&best, [&](const std::vector<V>& at, std::vector<V>* best) -> absl::Status {
      V inside = b_.getTrue(), offset = I(0);
      for (int64_t d = 0; d < rank_; ++d) {
        const WindowDim& w = dims_[d];
        V place = b_.CreateAdd(b_.CreateSub(b_.CreateMul(position[d], I(w.stride)), I(w.padding_low)),
                               b_.CreateMul(at[d], I(w.window_dilation)));
        if (w.base_dilation != 1) {
          V dilation = I(w.base_dilation);
          inside = b_.CreateAnd(inside, b_.CreateICmpEQ(b_.CreateSRem(place, dilation), I(0)));
          inside = b_.CreateAnd(inside, b_.CreateICmpSGE(place, I(0)));
          place = b_.CreateSDiv(place, dilation);
        }
        if (may_leave_[d]) inside = b_.CreateAnd(inside, b_.CreateICmpULT(place, I(shape_.dim(d))));
        offset = b_.CreateAdd(offset, b_.CreateMul(place, I(strides_[d])));
      }
      // Outside of the array, element 0 is read and not taken.
      XC_ASSIGN_OR_RETURN(const Element candidate, Load(i_->operand(0), b_.CreateSelect(inside, offset, I(0))));
      std::vector<V>& so_far = *best;
      const Element pair[] = {{so_far[1], so_far.size() > 2 ? so_far[2] : nullptr}, candidate};
      XC_ASSIGN_OR_RETURN(const std::vector<Element> keep, EmitApply(element_, i_->called(0), pair));
      V kept = b_.CreateAnd(keep[0].re, b_.CreateICmpSGE(so_far[0], I(0)));
      V take = b_.CreateAnd(inside, b_.CreateNot(kept));
      so_far[0] = b_.CreateSelect(take, offset, so_far[0]);
      so_far[1] = b_.CreateSelect(take, candidate.re, so_far[1]);
      if (so_far.size() > 2) so_far[2] = b_.CreateSelect(take, candidate.im, so_far[2]);
      return absl::OkStatus();
    }));
    return CombineIf(b_.CreateICmpSGE(best[0], I(0)), best[0], SourceOffset(position));
  }

  // As many source elements as there are lanes, from `position` on along the last dimension.
  absl::Status SeveralElements(const std::vector<V>& position, int lanes) {
    FusedEmitter fused(element_, lanes);
    bind_(fused);
    auto& index = fused.index();
    std::vector<Term> origin(rank_);
    V first_place = I(0);
    for (int64_t d = 0; d < rank_; ++d) {
      const Term at = d + 1 < rank_ ? index.Uniform(position[d]) : Term{position[d], 1, nullptr, true};
      origin[d] = index.AddConst(index.Scale(at, dims_[d].stride), -dims_[d].padding_low);
      first_place = b_.CreateAdd(first_place, b_.CreateMul(origin[d].base, I(strides_[d])));
    }
    // How far the best element so far is from the window's first place in memory (-1: none), and the element.
    std::vector<V> best = {element_.Splat(b_.getInt32(-1), lanes),
                           element_.Splat(element_.ZeroOf(shape_.type()), lanes).re};
    XC_RETURN_IF_ERROR(OverWindow(&best, [&](const std::vector<V>& at, std::vector<V>* best) -> absl::Status {
      std::vector<Term> to(rank_);
      V place = I(0);
      for (int64_t d = 0; d < rank_; ++d) {
        const Term in_window = index.Scale(index.Uniform(at[d]), dims_[d].window_dilation);
        to[d] = dims_[d].size > 1 ? index.Add(origin[d], in_window) : origin[d];
        place = b_.CreateAdd(place, b_.CreateMul(in_window.base, I(strides_[d])));
      }
      V inside = nullptr;
      XC_ASSIGN_OR_RETURN(Element candidate, fused.GetInside(i_->operand(0), to, may_leave_, &inside));
      candidate = element_.Splat(candidate, lanes);
      const Element pair[] = {{(*best)[1]}, candidate};
      XC_ASSIGN_OR_RETURN(const std::vector<Element> keep, EmitApply(element_, i_->called(0), pair));
      V none = b_.CreateICmpSLT((*best)[0], llvm::Constant::getNullValue((*best)[0]->getType()));
      V take = b_.CreateOr(none, b_.CreateNot(element_.Splat(keep[0].re, lanes)));
      if (inside != nullptr) take = b_.CreateAnd(take, element_.Splat(inside, lanes));
      V here = element_.Splat(b_.CreateZExtOrTrunc(place, b_.getInt32Ty()), lanes);
      (*best)[0] = b_.CreateSelect(take, here, (*best)[0]);
      (*best)[1] = b_.CreateSelect(take, candidate.re, (*best)[1]);
      return absl::OkStatus();
    }));
    b_.CreateAlignedStore(best[0], places_, llvm::Align(64));
    Loop lane(b_, I(0), I(lanes), 1, "lane");
    V place = b_.CreateLoad(b_.getInt32Ty(), b_.CreateGEP(b_.getInt32Ty(), places_, lane.index()));
    V to = b_.CreateAdd(first_place, b_.CreateMul(lane.index(), I(dims_[rank_ - 1].stride * strides_[rank_ - 1])));
    to = b_.CreateAdd(to, b_.CreateZExtOrTrunc(place, to->getType()));
    V from = b_.CreateAdd(SourceOffset(position), lane.index());
    XC_RETURN_IF_ERROR(CombineIf(b_.CreateICmpSGE(place, b_.getInt32(0)), to, from));
    lane.End();
    return absl::OkStatus();
  }

  ElementEmitter& element_;
  llvm::IRBuilderBase& b_;
  const HloInstruction* const i_;
  const BindInputs& bind_;
  V const output_;
  const Shape &shape_, &source_shape_;
  const std::vector<WindowDim>& dims_;
  const int64_t rank_;
  const std::vector<int64_t> strides_, source_strides_;
  absl::InlinedVector<bool, 8> may_leave_;  // whether windows reach out of the array
  // Of each lane, what SeveralElements has found.
  llvm::AllocaInst* places_ = nullptr;
};

}  // namespace

int64_t SelectAndScatterParts(const HloInstruction& i) { return IsDivided(i) ? i.operand(0)->shape().dim(0) : 1; }

absl::Status EmitSelectAndScatter(ElementEmitter& element, const HloInstruction* i, const BindInputs& bind, V output,
                                  int lanes, V begin, V end) {
  SelectAndScatter writer(element, i, bind, output);
  llvm::IRBuilderBase& b = element.builder();
  V row = b.getIntN(element.target().index_bits, i->operand(0)->shape().ElementCount() / SelectAndScatterParts(*i));
  XC_RETURN_IF_ERROR(writer.Fill(b.CreateMul(begin, row), b.CreateMul(end, row), lanes));
  return i->operand(1)->shape().IsZeroSized() ? absl::OkStatus() : writer.Combine(lanes, begin, end);
}

}  // namespace xc::codegen
