// Products of a few dozen multiplications, inner and outer products of vectors, and those of a matrix and a vector in
// each of several batches, as sums of products: they are emitted, and fused, where they stand, for a call of a matrix
// kernel takes longer than they do.
#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMostMultiplications = 64;
// Of one sum over rows of floats.
constexpr int64_t kMostOfInner = 4096;

// The type that products are summed in; kInvalid if there is none that all values of the operands convert to.
ElementType SumType(const HloInstruction* dot) {
  const ElementType a = dot->operand(0)->type(), b = dot->operand(1)->type(), c = dot->type();
  const auto is_float = [](ElementType t) {
    return t == ElementType::kF32 || t == ElementType::kF64 || t == ElementType::kF16 || t == ElementType::kBF16;
  };
  const auto is_integer = [](ElementType t) { return IsIntegral(t) && ElementBits(t) >= 8; };
  if (is_float(a) && is_float(b) && is_float(c)) {
    const bool wide = a == ElementType::kF64 || b == ElementType::kF64 || c == ElementType::kF64;
    return wide ? ElementType::kF64 : ElementType::kF32;
  }
  if (is_integer(a) && is_integer(b) && is_integer(c) && ElementBits(c) >= std::max(ElementBits(a), ElementBits(b))) {
    return c;
  }
  return ElementType::kInvalid;
}

// Whether the product has at most `most` multiplications.
bool HasAtMost(const HloInstruction* dot, int64_t most) {
  int64_t count = dot->shape().ElementCount();
  if (count > most) return false;
  for (int64_t d : dot->dot_dims().lhs_contracting) {
    const int64_t size = dot->operand(0)->shape().dim(d);
    if (size > most) return false;
    count *= size;
    if (count > most) return false;
  }
  return true;
}

// Sums over whole rows of both operands, which are made in vectors. In each batch there is one row of one operand, and
// one or several of the other: of one batch with several, the kernels for large matrices read memory in longer runs.
bool IsInner(const HloInstruction* dot) {
  constexpr int64_t kShortRow = 16;  // shorter ones, if there are many, leave vectors empty
  const DotDims& dims = dot->dot_dims();
  if (!IsFloating(SumType(dot)) || dims.lhs_contracting.size() != 1) return false;
  int64_t batches = 1;
  for (int64_t d : dims.lhs_batch) batches *= dot->operand(0)->shape().dim(d);
  int64_t rows[2];
  for (int i : {0, 1}) {
    const Shape& shape = dot->operand(i)->shape();
    const Int64List& batch = i == 0 ? dims.lhs_batch : dims.rhs_batch;
    const int64_t row = (i == 0 ? dims.lhs_contracting : dims.rhs_contracting)[0];
    if (row != shape.rank() - 1) return false;
    rows[i] = shape.ElementCount() / shape.dim(row) / batches;
    // An array of rows is read where it lies.
    if (rows[i] > 1 && !make::IsIdentity(batch)) return false;
  }
  if (std::min(rows[0], rows[1]) != 1 || (rows[0] != rows[1] && batches == 1)) return false;
  const int64_t size = dot->operand(0)->shape().dim(dims.lhs_contracting[0]);
  return size <= kMostOfInner && (size >= kShortRow || dot->shape().ElementCount() == 1);
}

// Sums of one term.
bool IsOuter(const HloInstruction* dot) {
  for (int64_t d : dot->dot_dims().lhs_contracting) {
    if (dot->operand(0)->shape().dim(d) != 1) return false;
  }
  return true;
}

bool IsSmall(const HloInstruction* dot) {
  if (dot->opcode() != HloOpcode::kDot || dot->shape().is_dynamic() || dot->shape().IsZeroSized()) return false;
  if (dot->operand(0)->shape().is_dynamic() || dot->operand(1)->shape().is_dynamic()) return false;
  if (dot->FindAttr<AttrKind::kSparsity>() != nullptr || dot->FindAttr<AttrKind::kAlgorithm>() != nullptr) return false;
  if (dot->dot_dims().lhs_contracting.empty() || dot->operand(0)->shape().IsZeroSized()) return false;
  if (SumType(dot) == ElementType::kInvalid) return false;
  return ChooseAny(HasAtMost(dot, kMostMultiplications) || IsInner(dot) || IsOuter(dot));
}

// The operand over [batch…, free dimensions of the left…, of the right…, contracted…], `sizes`; its own free dimensions
// begin at `free_begin`.
HloInstruction* Spread(HloInstruction* x, ElementType type, const Int64List& batch, const Int64List& contracting,
                       int64_t free_begin, const Int64List& sizes) {
  Int64List order = batch, places = make::Iota(batch.size());
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)) continue;
    order.push_back(d);
    places.push_back(free_begin++);
  }
  for (size_t i = 0; i < contracting.size(); ++i) {
    order.push_back(contracting[i]);
    places.push_back(static_cast<int64_t>(sizes.size() - contracting.size() + i));
  }
  return make::Broadcast(make::Transpose(make::Convert(x, type), order), sizes, places);
}

}  // namespace

absl::StatusOr<bool> ExpandSmallDots(HloModule* module, PassContext& context) {
  bool changed = false;
  std::map<ElementType, HloComputation*> sums;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    for (HloInstruction* dot : computation->PostOrder()) {
      if (!IsSmall(dot)) continue;
      const DotDims dims = dot->dot_dims();
      HloInstruction *lhs = dot->operand(0), *rhs = dot->operand(1);
      const ElementType type = SumType(dot);
      Int64List sizes = dot->shape().dims();
      for (int64_t d : dims.lhs_contracting) sizes.push_back(lhs->shape().dim(d));
      const int64_t batch = dims.lhs_batch.size(), contracted = dims.lhs_contracting.size();
      HloInstruction* a = Spread(lhs, type, dims.lhs_batch, dims.lhs_contracting, batch, sizes);
      HloInstruction* b =
          Spread(rhs, type, dims.rhs_batch, dims.rhs_contracting, lhs->shape().rank() - contracted, sizes);
      HloComputation*& sum = sums[type];
      if (sum == nullptr) sum = make::Combiner(module, HloOpcode::kAdd, type);
      Int64List reduced;
      for (int64_t d = 0; d < contracted; ++d) reduced.push_back(dot->shape().rank() + d);
      HloInstruction* total =
          make::Reduce(make::Binary(HloOpcode::kMultiply, a, b), make::Scalar(computation, type, 0), reduced, sum);
      total = make::Convert(total, dot->type());
      if (const Metadata* metadata = dot->FindAttr<AttrKind::kMetadata>()) {
        total->set_attr<AttrKind::kMetadata>(*metadata);
      }
      computation->Replace(dot, total);
      context.Count("dots.small");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
