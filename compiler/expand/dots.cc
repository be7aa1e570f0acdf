// Puts products into one form: batch dimensions first, one contracted and one free dimension an operand.
#include <algorithm>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

bool IsOneOf(const Int64List& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }

// Whether one stride walks `dims`, in this order, of a row-major array.
bool OneStride(const Shape& shape, const Int64List& dims) {
  int64_t last = -1;
  for (int64_t d : dims) {
    if (shape.dim(d) == 1) continue;
    if (d < last) return false;
    for (int64_t between = last + 1; last >= 0 && between < d; ++between) {
      if (shape.dim(between) != 1) return false;
    }
    last = d;
  }
  return true;
}

// The operand with batch dimensions first, then free ones in order, then contracted ones; its new numbers.
HloInstruction* Arrange(HloInstruction* x, Int64List* batch, Int64List* contracting) {
  Int64List order = *batch;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (!IsOneOf(*batch, d) && !IsOneOf(*contracting, d)) order.push_back(d);
  }
  const int64_t first = static_cast<int64_t>(order.size());
  order.insert(order.end(), contracting->begin(), contracting->end());
  for (size_t i = 0; i < batch->size(); ++i) (*batch)[i] = i;
  for (size_t i = 0; i < contracting->size(); ++i) (*contracting)[i] = first + i;
  return make::Transpose(x, order);
}

}  // namespace

absl::StatusOr<bool> CanonicalizeDots(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* dot : computation->PostOrder()) {
      if (dot->opcode() != HloOpcode::kDot || dot->FindAttr<AttrKind::kSparsity>() != nullptr) continue;
      if (dot->operand(0)->shape().is_dynamic() || dot->operand(1)->shape().is_dynamic()) continue;
      DotDims dims = dot->dot_dims();
      // The pairs of contracted dimensions may be walked in any order: that of the left operand first.
      std::vector<size_t> order(dims.lhs_contracting.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      const auto arrange_by = [&](const Int64List& key) {
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key[a] < key[b]; });
        DotDims sorted = dims;
        for (size_t i = 0; i < order.size(); ++i) {
          sorted.lhs_contracting[i] = dims.lhs_contracting[order[i]];
          sorted.rhs_contracting[i] = dims.rhs_contracting[order[i]];
        }
        return sorted;
      };
      const Shape &lhs = dot->operand(0)->shape(), &rhs = dot->operand(1)->shape();
      const auto walks = [&](const DotDims& d) {
        return OneStride(lhs, d.lhs_contracting) && OneStride(rhs, d.rhs_contracting);
      };
      if (walks(dims)) continue;
      const DotDims by_lhs = arrange_by(dims.lhs_contracting), by_rhs = arrange_by(dims.rhs_contracting);
      DotDims best = walks(by_rhs) ? by_rhs : by_lhs;
      HloInstruction *a = dot->operand(0), *b = dot->operand(1);
      if (!walks(best)) {
        // One operand has to move: the smaller, if either would do.
        const bool lhs_walks = OneStride(lhs, by_lhs.lhs_contracting),
                   rhs_walks = OneStride(rhs, by_rhs.rhs_contracting);
        const bool keep_lhs = lhs_walks && ChooseAny(!rhs_walks || lhs.ElementCount() >= rhs.ElementCount());
        best = keep_lhs ? by_lhs : by_rhs;
        if (!OneStride(lhs, best.lhs_contracting)) a = Arrange(a, &best.lhs_batch, &best.lhs_contracting);
        if (!OneStride(rhs, best.rhs_contracting)) b = Arrange(b, &best.rhs_batch, &best.rhs_contracting);
      }
      HloInstruction* canonical = computation->Add(dot->CloneWith(dot->shape(), {a, b}));
      canonical->set_attr<AttrKind::kDotDims>(best);
      computation->Replace(dot, canonical);
      context.Count("dots.arranged");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
