// Products of a few dozen multiplications, inner and outer products of vectors, those of a matrix and a vector in each
// of several batches, and those by a matrix of a few numbers, as sums of products: they are emitted, and fused, where
// they stand, for a call of a matrix kernel takes longer than they do.
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
  const auto is_integer = [](ElementType t) { return IsIntegral(t) && ElementBits(t) >= 8; };
  if (IsKernelFloat(a) && IsKernelFloat(b) && IsKernelFloat(c)) {
    const bool wide = a == ElementType::kF64 || b == ElementType::kF64 || c == ElementType::kF64;
    return wide ? ElementType::kF64 : ElementType::kF32;
  }
  if (IsComplex(a) && IsComplex(b) && IsComplex(c)) {
    const bool wide = a == ElementType::kC128 || b == ElementType::kC128 || c == ElementType::kC128;
    return wide ? ElementType::kC128 : ElementType::kC64;
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

// Elements of operand `i` that are neither of a batch nor contracted.
int64_t FreeElements(const HloInstruction* dot, int i) {
  const DotDims& dims = dot->dot_dims();
  const Shape& shape = dot->operand(i)->shape();
  int64_t others = 1;
  for (int64_t d : i == 0 ? dims.lhs_batch : dims.rhs_batch) others *= shape.dim(d);
  for (int64_t d : i == 0 ? dims.lhs_contracting : dims.rhs_contracting) others *= shape.dim(d);
  return shape.ElementCount() / others;
}

// Products with vectors of types that there are kernels for matrices of only.
bool IsOfVector(const HloInstruction* dot) {
  return !IsFloating(SumType(dot)) && std::min(FreeElements(dot, 0), FreeElements(dot, 1)) == 1;
}

// Inner products of many pairs of vectors that do not lie in rows of both arrays: a kernel for matrices has a call for
// each.
bool IsManyInner(const HloInstruction* dot) {
  constexpr int64_t kMany = 8;
  if (!IsFloating(SumType(dot)) || FreeElements(dot, 0) != 1 || FreeElements(dot, 1) != 1) return false;
  return dot->shape().ElementCount() >= kMany && HasAtMost(dot, kMostOfInner * dot->shape().ElementCount());
}

// Sums of one term.
bool IsOuter(const HloInstruction* dot) {
  for (int64_t d : dot->dot_dims().lhs_contracting) {
    if (dot->operand(0)->shape().dim(d) != 1) return false;
  }
  return true;
}

int64_t ContractedElements(const HloInstruction* dot) {
  int64_t count = 1;
  for (int64_t d : dot->dot_dims().lhs_contracting) count *= dot->operand(0)->shape().dim(d);
  return count;
}

// Sums of a few terms, by a matrix of a few rows or columns: rotations of points, gates of a state. Kernels for floats
// are as good where the sums do not go along the large operand's rows.
bool IsByFew(const HloInstruction* dot) {
  constexpr int64_t kFew = 4;
  const DotDims& dims = dot->dot_dims();
  if (ContractedElements(dot) > kFew) return false;
  const int large = FreeElements(dot, 0) > FreeElements(dot, 1) ? 0 : 1;
  if (FreeElements(dot, 1 - large) > kFew) return false;
  // Kernels take each batch by itself, but for small products of real numbers.
  if (!dims.lhs_batch.empty()) return IsComplex(SumType(dot)) && FreeElements(dot, large) <= kFew;
  const Int64List& contracted = large == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  return !IsFloating(SumType(dot)) || contracted.back() == dot->operand(large)->shape().rank() - 1;
}

// Sums over long rows of complex numbers, of which there are a few in each operand.
bool IsOfFewComplexRows(const HloInstruction* dot) {
  constexpr int64_t kFew = 4, kShortRow = 16;
  if (!IsComplex(SumType(dot)) || !dot->dot_dims().lhs_batch.empty()) return false;
  return FreeElements(dot, 0) <= kFew && FreeElements(dot, 1) <= kFew && ContractedElements(dot) >= kShortRow;
}

// Joins neighbouring dimensions of an operand that are not contracted, and all that are if `join`: then they are
// neighbours in order. Gives the operand and where the contracted ones are.
HloInstruction* JoinDimensions(HloInstruction* x, const Int64List& contracted, bool join, Int64List* contracted_now) {
  Int64List sizes;
  contracted_now->assign(contracted.size(), 0);
  bool free_before = false;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const auto place = absl::c_find(contracted, d) - contracted.begin();
    const bool free = place == static_cast<int64_t>(contracted.size());
    if (!sizes.empty() && ((free && free_before) || (!free && join && place > 0))) {
      sizes.back() *= x->shape().dim(d);
    } else {
      sizes.push_back(x->shape().dim(d));
    }
    if (!free) (*contracted_now)[place] = static_cast<int64_t>(sizes.size()) - 1;
    free_before = free;
  }
  if (join) contracted_now->resize(1);
  return make::Reshape(x, sizes);
}

struct FewDimensions {
  HloInstruction *lhs, *rhs;
  DotDims dims;
  Int64List sizes;  // of the result
};

// A product without batches with as few dimensions as it takes: loops along dimensions of a few elements each fill no
// vectors.
FewDimensions WithFewDimensions(const HloInstruction* dot) {
  const DotDims& dims = dot->dot_dims();
  const auto neighbours = [](const Int64List& list) {
    for (size_t i = 1; i < list.size(); ++i) {
      if (list[i] != list[i - 1] + 1) return false;
    }
    return true;
  };
  const bool join = neighbours(dims.lhs_contracting) && neighbours(dims.rhs_contracting);
  FewDimensions now;
  now.lhs = JoinDimensions(dot->operand(0), dims.lhs_contracting, join, &now.dims.lhs_contracting);
  now.rhs = JoinDimensions(dot->operand(1), dims.rhs_contracting, join, &now.dims.rhs_contracting);
  const auto add = [&](const Shape& shape, const Int64List& contracted) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (!absl::c_linear_search(contracted, d)) now.sizes.push_back(shape.dim(d));
    }
  };
  add(now.lhs->shape(), now.dims.lhs_contracting);
  add(now.rhs->shape(), now.dims.rhs_contracting);
  return now;
}

bool IsSmall(const HloInstruction* dot) {
  if (dot->opcode() != HloOpcode::kDot || dot->shape().is_dynamic() || dot->shape().IsZeroSized()) return false;
  if (dot->operand(0)->shape().is_dynamic() || dot->operand(1)->shape().is_dynamic()) return false;
  if (dot->FindAttr<AttrKind::kSparsity>() != nullptr || dot->FindAttr<AttrKind::kAlgorithm>() != nullptr) return false;
  if (dot->dot_dims().lhs_contracting.empty() || dot->operand(0)->shape().IsZeroSized()) return false;
  if (SumType(dot) == ElementType::kInvalid) return false;
  return ChooseAny(HasAtMost(dot, kMostMultiplications) || IsInner(dot) || IsOuter(dot) || IsOfVector(dot) ||
                   IsManyInner(dot) || IsByFew(dot) || IsOfFewComplexRows(dot));
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

// The sums over `sum`'s dimensions of an array as it lies, times a vector for each batch.
HloInstruction* SumsAsTheyLie(HloInstruction* dot, ElementType type, HloComputation* sum) {
  const DotDims& dims = dot->dot_dims();
  const int m = FreeElements(dot, 0) == 1 ? 1 : 0;  // the operand that is the array
  HloInstruction *array = make::Convert(dot->operand(m), type), *vector = make::Convert(dot->operand(1 - m), type);
  const Int64List &batch = m == 0 ? dims.lhs_batch : dims.rhs_batch,
                  &contracted = m == 0 ? dims.lhs_contracting : dims.rhs_contracting,
                  &other_batch = m == 0 ? dims.rhs_batch : dims.lhs_batch,
                  &other_contracted = m == 0 ? dims.rhs_contracting : dims.lhs_contracting;
  // The vector's dimensions in the order of the array's.
  std::vector<std::pair<int64_t, int64_t>> places;  // of the array, of the vector
  for (size_t i = 0; i < batch.size(); ++i) places.push_back({batch[i], other_batch[i]});
  for (size_t i = 0; i < contracted.size(); ++i) places.push_back({contracted[i], other_contracted[i]});
  std::sort(places.begin(), places.end());
  Int64List order, at, sizes;
  for (const auto& [to, from] : places) {
    order.push_back(from);
    at.push_back(to);
    sizes.push_back(array->shape().dim(to));
  }
  for (int64_t d = 0; d < vector->shape().rank(); ++d) {
    if (!absl::c_linear_search(order, d)) order.push_back(d);  // of size 1
  }
  vector = make::Broadcast(make::Reshape(make::Transpose(vector, order), sizes), array->shape().dims(), at);
  Int64List reduced = contracted;
  std::sort(reduced.begin(), reduced.end());
  HloInstruction* product = make::Binary(HloOpcode::kMultiply, m == 0 ? array : vector, m == 0 ? vector : array);
  HloInstruction* total = make::Reduce(product, make::Scalar(dot->parent(), type, 0), reduced, sum);
  // What is left of the array's dimensions, batches first.
  Int64List left, permutation;
  for (int64_t d = 0; d < array->shape().rank(); ++d) {
    if (!absl::c_linear_search(contracted, d)) left.push_back(d);
  }
  const auto place = [&](int64_t d) { return absl::c_find(left, d) - left.begin(); };
  for (int64_t d : batch) permutation.push_back(place(d));
  for (int64_t d : left) {
    if (!absl::c_linear_search(batch, d)) permutation.push_back(place(d));
  }
  return make::Reshape(make::Transpose(total, permutation), dot->shape().dims());
}

}  // namespace

absl::StatusOr<bool> ExpandSmallDots(HloModule* module, PassContext& context) {
  bool changed = false;
  std::map<ElementType, HloComputation*> sums;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    for (HloInstruction* dot : computation->PostOrder()) {
      if (!IsSmall(dot)) continue;
      const ElementType type = SumType(dot);
      HloComputation*& sum = sums[type];
      if (sum == nullptr) sum = make::Combiner(module, HloOpcode::kAdd, type);
      const auto replace = [&](HloInstruction* total) {
        total = make::Convert(total, dot->type());
        if (const Metadata* metadata = dot->FindAttr<AttrKind::kMetadata>()) {
          total->set_attr<AttrKind::kMetadata>(*metadata);
        }
        computation->Replace(dot, total);
        context.Count("dots.small");
        changed = true;
      };
      const bool many = IsManyInner(dot) && !IsInner(dot) && !IsOuter(dot) && !HasAtMost(dot, kMostMultiplications);
      if (ChooseAny(IsOfVector(dot) || many)) {
        replace(SumsAsTheyLie(dot, type, sum));
        continue;
      }
      const bool join = ChooseAny(!HasAtMost(dot, kMostMultiplications) && dot->dot_dims().lhs_batch.empty() &&
                                  (IsByFew(dot) || IsOfFewComplexRows(dot)));
      const auto [lhs, rhs, dims, result] =
          join ? WithFewDimensions(dot)
               : FewDimensions{dot->operand(0), dot->operand(1), dot->dot_dims(), dot->shape().dims()};
      Int64List sizes = result;
      for (int64_t d : dims.lhs_contracting) sizes.push_back(lhs->shape().dim(d));
      const int64_t batch = dims.lhs_batch.size(), contracted = dims.lhs_contracting.size();
      HloInstruction* a = Spread(lhs, type, dims.lhs_batch, dims.lhs_contracting, batch, sizes);
      HloInstruction* b =
          Spread(rhs, type, dims.rhs_batch, dims.rhs_contracting, lhs->shape().rank() - contracted, sizes);
      Int64List reduced;
      for (int64_t d = 0; d < contracted; ++d) reduced.push_back(static_cast<int64_t>(result.size()) + d);
      HloInstruction* zero = make::Scalar(computation, type, 0);
      HloInstruction* total = make::Reduce(make::Binary(HloOpcode::kMultiply, a, b), zero, reduced, sum);
      replace(make::Reshape(total, dot->shape().dims()));
    }
  }
  return changed;
}

}  // namespace xc
