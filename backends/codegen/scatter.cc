// scatter: updates one after the other, each window in vectors where it is contiguous.
#include "backends/codegen/scatter.h"

#include <algorithm>
#include <memory>

#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

bool Has(const Int64List& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// Of each dimension of the operand, the dimension of the updates that is its window; -1: there is none.
std::vector<int64_t> WindowDims(const HloInstruction& scatter) {
  const ScatterDims& dims = scatter.scatter_dims();
  std::vector<int64_t> window(scatter.operand(0)->shape().rank(), -1);
  size_t next = 0;
  for (size_t d = 0; d < window.size(); ++d) {
    if (Has(dims.inserted_window_dims, d) || Has(dims.input_batching_dims, d)) continue;
    window[d] = dims.update_window_dims[next++];
  }
  return window;
}

const Shape& UpdateShape(const HloInstruction& scatter) {
  return scatter.operand((scatter.operand_count() + 1) / 2)->shape();
}

// Dimensions of the operand along which windows have several elements and always begin at the first: what is written
// to different places along them has nothing to do with each other.
std::vector<int64_t> FreeDims(const HloInstruction& scatter) {
  const std::vector<int64_t> window = WindowDims(scatter);
  std::vector<int64_t> free;
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d] < 0 || UpdateShape(scatter).dim(window[d]) == 1) continue;
    if (!Has(scatter.scatter_dims().scatter_dims_to_operand_dims, d)) free.push_back(d);
  }
  return free;
}

}  // namespace

bool ScattersAcrossRows(const HloInstruction& scatter) {
  const std::vector<int64_t> free = FreeDims(scatter), window = WindowDims(scatter);
  if (free.empty()) return false;
  const std::vector<int64_t> strides = ElementStrides(scatter.operand(0)->shape());
  bool across = true;
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d] >= 0 && UpdateShape(scatter).dim(window[d]) > 1) across &= strides[d] != 1;
  }
  return ChooseAny(across);
}

int64_t ScatterParts(const HloInstruction& scatter) {
  int64_t parts = 1;
  for (int64_t d : FreeDims(scatter)) parts *= UpdateShape(scatter).dim(WindowDims(scatter)[d]);
  return parts;
}

absl::Status EmitScatter(ElementEmitter& element, const HloInstruction* scatter, const BindInputs& bind,
                         absl::Span<V const> outputs, int most_lanes, V part) {
  const int64_t n = (scatter->operand_count() - 1) / 2;
  const HloInstruction* indices = scatter->operand(n);
  const ScatterDims& dims = scatter->scatter_dims();
  const Shape& operand_shape = scatter->operand(0)->shape();
  const Shape& update_shape = UpdateShape(*scatter);
  llvm::IRBuilderBase& builder = element.builder();
  // Dimensions of the updates that walk over the indices, and those of each window.
  std::vector<int64_t> walk, walk_sizes, order;
  for (int64_t d = 0; d < update_shape.rank(); ++d) {
    if (Has(dims.update_window_dims, d)) continue;
    walk.push_back(d);
    walk_sizes.push_back(update_shape.dim(d));
  }
  int64_t count = 1;
  for (int64_t size : walk_sizes) count *= size;
  for (int64_t i = static_cast<int64_t>(walk.size()) - 1; i >= 0; --i) order.push_back(i);
  const std::vector<int64_t> window_dim_of = WindowDims(*scatter);
  FusedEmitter scalar(element, 1);
  bind(scalar);
  auto& arithmetic = scalar.index();
  Loop loop(builder, arithmetic.Const(0), arithmetic.Const(count), 1, "scatter");
  std::vector<Term> batch = arithmetic.Delinearize(arithmetic.Uniform(loop.index()), walk_sizes, order);
  std::vector<Term> start(operand_shape.rank(), arithmetic.Constant(0));
  V inside = builder.getTrue();
  for (size_t k = 0; k < dims.scatter_dims_to_operand_dims.size(); ++k) {
    std::vector<Term> place;
    size_t from = 0;
    for (int64_t d = 0; d < indices->shape().rank(); ++d) {
      place.push_back(d == dims.index_vector_dim ? arithmetic.Constant(k) : batch[from++]);
    }
    const int64_t d = dims.scatter_dims_to_operand_dims[k];
    XC_ASSIGN_OR_RETURN(start[d], scalar.AsTerm(indices, Index{place}));
    const int64_t window = window_dim_of[d] < 0 ? 1 : update_shape.dim(window_dim_of[d]);
    const int64_t last = operand_shape.dim(d) - window;
    if (last < 0) {
      inside = builder.getFalse();
      continue;
    }
    inside = builder.CreateAnd(inside, builder.CreateICmpULE(start[d].base, arithmetic.Const(last)));
  }
  for (size_t k = 0; k < dims.input_batching_dims.size(); ++k) {
    int64_t d = dims.scatter_indices_batching_dims[k];
    if (d > dims.index_vector_dim) --d;
    start[dims.input_batching_dims[k]] = batch[d];
  }
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  auto* window = llvm::BasicBlock::Create(builder.getContext(), "window", function);
  auto* skip = llvm::BasicBlock::Create(builder.getContext(), "skip", function);
  builder.CreateCondBr(inside, window, skip);
  builder.SetInsertPoint(window);
  // Window loops, major first; the minor one in vectors.
  std::vector<Term> update_at(update_shape.rank(), arithmetic.Constant(0));
  for (size_t i = 0; i < walk.size(); ++i) update_at[walk[i]] = batch[i];
  std::vector<int64_t> window_dims;
  std::vector<int64_t> free;
  if (part != nullptr) free = FreeDims(*scatter);
  for (int64_t d = 0; d < operand_shape.rank(); ++d) {
    if (window_dim_of[d] >= 0 && update_shape.dim(window_dim_of[d]) > 1 && !Has(free, d)) window_dims.push_back(d);
  }
  if (!free.empty()) {
    std::vector<int64_t> sizes, descending;
    for (int64_t d : free) sizes.push_back(update_shape.dim(window_dim_of[d]));
    for (int64_t i = static_cast<int64_t>(free.size()) - 1; i >= 0; --i) descending.push_back(i);
    const std::vector<Term> at = arithmetic.Delinearize(arithmetic.Uniform(part), sizes, descending);
    for (size_t i = 0; i < free.size(); ++i) update_at[window_dim_of[free[i]]] = at[i];
  }
  auto combine = [&](int lanes) -> absl::Status {
    FusedEmitter fused(element, lanes);
    bind(fused);
    std::vector<Term> at;
    for (int64_t d = 0; d < operand_shape.rank(); ++d) {
      at.push_back(window_dim_of[d] < 0 ? start[d] : fused.index().Add(start[d], update_at[window_dim_of[d]]));
    }
    std::vector<Element> arguments;
    for (int64_t i = 0; i < n; ++i) {
      XC_ASSIGN_OR_RETURN(Element old, fused.Get(scatter->operand(i), Index{at}));
      arguments.push_back(old);
    }
    for (int64_t i = 0; i < n; ++i) {
      XC_ASSIGN_OR_RETURN(Element update, fused.Get(scatter->operand(n + 1 + i), Index{update_at}));
      arguments.push_back(update);
    }
    XC_ASSIGN_OR_RETURN(std::vector<Element> values, EmitApply(element, scatter->to_apply(), arguments));
    for (int64_t i = 0; i < n; ++i) {
      fused.Store(scatter->operand(i)->shape(), outputs[i], Index{at}, values[i]);
    }
    return absl::OkStatus();
  };
  std::vector<std::unique_ptr<Loop>> loops;
  for (size_t k = 0; k + 1 < window_dims.size(); ++k) {
    const int64_t d = window_dim_of[window_dims[k]];
    loops.push_back(
        std::make_unique<Loop>(builder, arithmetic.Const(0), arithmetic.Const(update_shape.dim(d)), 1, "w"));
    update_at[d] = arithmetic.Uniform(loops.back()->index());
  }
  if (window_dims.empty()) {
    XC_RETURN_IF_ERROR(combine(1));
  } else {
    const int64_t d = window_dim_of[window_dims.back()];
    const int64_t size = update_shape.dim(d);
    const bool contiguous = ElementStrides(operand_shape)[window_dims.back()] == 1;
    // Steps along the window; a few of them need no loop.
    const auto steps = [&](int64_t begin, int64_t end, int64_t lanes, bool aligned) -> absl::Status {
      constexpr int64_t kFewSteps = 2;
      if (!ForAllSizes() && end - begin <= kFewSteps * lanes) {
        for (int64_t at = begin; at < end; at += lanes) {
          update_at[d] = {arithmetic.Const(at), lanes > 1 ? 1 : 0, nullptr, lanes > 1 && at % lanes == 0};
          XC_RETURN_IF_ERROR(combine(static_cast<int>(lanes)));
        }
        return absl::OkStatus();
      }
      Loop along(builder, arithmetic.Const(begin), arithmetic.Const(end), lanes, lanes > 1 ? "vectors" : "rest");
      update_at[d] = {along.index(), lanes > 1 ? 1 : 0, nullptr, aligned};
      XC_RETURN_IF_ERROR(combine(static_cast<int>(lanes)));
      along.End();
      return absl::OkStatus();
    };
    // What is left of short windows in shorter vectors.
    int64_t done = 0;
    for (int64_t lanes = most_lanes; lanes > 1 && contiguous && !ForAllSizes(); lanes /= 2) {
      const int64_t end = done + (size - done) / lanes * lanes;
      if (end == done) continue;
      XC_RETURN_IF_ERROR(steps(done, end, lanes, done % lanes == 0));
      done = end;
    }
    const int64_t lanes = contiguous && ForAllSizes() ? most_lanes : 1;
    const int64_t whole = lanes > 1 ? size / lanes * lanes : done;
    if (lanes > 1) XC_RETURN_IF_ERROR(steps(0, whole, lanes, true));
    if (!ChooseSafe(whole == size)) XC_RETURN_IF_ERROR(steps(whole, size, 1, false));
  }
  for (size_t l = loops.size(); l-- > 0;) loops[l]->End();
  builder.CreateBr(skip);
  builder.SetInsertPoint(skip);
  loop.End();
  return absl::OkStatus();
}

}  // namespace xc::codegen
