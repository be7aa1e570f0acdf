// Rewrite rows of dot.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"

namespace xc {
namespace {

using I = HloInstruction;

// dot that sums nothing -> 0
I* DotEmpty(I* i, PassContext&) {
  if (!i->operand(0)->shape().IsZeroSized() && !i->operand(1)->shape().IsZeroSized()) return nullptr;
  return make::Full(i->parent(), i->type(), i->shape().dims(), 0);
}

Int64List Mapped(const Int64List& dims, const Int64List& permutation) {
  Int64List out;
  for (int64_t d : dims) out.push_back(permutation[d]);
  return out;
}

// The free dimensions of an operand in order, as numbers of the dimensions before `permutation`.
bool FreeDimsStayInOrder(const I* transpose, const Int64List& batch, const Int64List& contracting) {
  int64_t last = -1;
  for (int64_t d = 0; d < transpose->shape().rank(); ++d) {
    if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)) continue;
    if (transpose->dimensions()[d] < last) return false;
    last = transpose->dimensions()[d];
  }
  return true;
}

// Whether one stride walks the dimensions `dims` of a row-major array, in this order.
bool OneStride(const Shape& shape, const Int64List& dims) {
  int64_t last = -1;
  for (int64_t d : dims) {
    if (shape.dim(d) == 1) continue;
    for (int64_t between = last + 1; last >= 0 && between < d; ++between) {
      if (shape.dim(between) != 1) return false;
    }
    if (d < last) return false;
    last = d;
  }
  return true;
}

// Whether a matrix library reads the operand as it lies: one stride for rows, one for columns, one of them 1.
bool ReadsWell(const Shape& shape, const Int64List& batch, const Int64List& contracting) {
  Int64List free;
  int64_t minor = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) != 1) minor = d;
    if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(contracting, d)) free.push_back(d);
  }
  return OneStride(shape, contracting) && OneStride(shape, free) && (minor < 0 || !absl::c_linear_search(batch, minor));
}

// dot(transpose(x), y) -> dot(x, y) with other dimension numbers: a product reads any order of dimensions
I* DotTranspose(I* i, PassContext&) {
  if (i->FindAttr<AttrKind::kSparsity>() != nullptr) return nullptr;
  DotDims dims = i->dot_dims();
  std::vector<I*> operands = i->operands();
  bool changed = false;
  for (int side : {0, 1}) {
    I* t = operands[side];
    Int64List& batch = side == 0 ? dims.lhs_batch : dims.rhs_batch;
    Int64List& contracting = side == 0 ? dims.lhs_contracting : dims.rhs_contracting;
    if (t->opcode() != HloOpcode::kTranspose || !FreeDimsStayInOrder(t, batch, contracting)) continue;
    const Int64List new_batch = Mapped(batch, t->dimensions());
    const Int64List new_contracting = Mapped(contracting, t->dimensions());
    if (!ReadsWell(t->operand(0)->shape(), new_batch, new_contracting)) continue;
    batch = new_batch;
    contracting = new_contracting;
    operands[side] = t->operand(0);
    changed = true;
  }
  if (!changed) return nullptr;
  I* dot = i->parent()->Add(i->CloneWith(WithoutLayout(i->shape()), operands));
  dot->set_attr<AttrKind::kDotDims>(dims);
  return dot;
}

// dot that sums one product per element, its dimensions in the order `permutation` -> the product of broadcasts, which
// fuses; sums begin at 0, so that -0 becomes 0.
I* OuterProduct(I* dot, const Int64List& permutation) {
  const DotDims& d = dot->dot_dims();
  if (dot->FindAttr<AttrKind::kSparsity>() != nullptr || dot->FindAttr<AttrKind::kAlgorithm>() != nullptr ||
      !(IsFloating(dot->type()) || IsIntegral(dot->type()) || IsComplex(dot->type())) || dot->shape().is_dynamic()) {
    return nullptr;
  }
  Int64List dims(permutation.size()), place_of(permutation.size());
  for (size_t k = 0; k < permutation.size(); ++k) {
    dims[k] = dot->shape().dim(permutation[k]);
    place_of[permutation[k]] = static_cast<int64_t>(k);
  }
  struct Factor {
    I* array;
    Int64List sizes, places;  // of the result, for the dimensions that are not summed over
  } factors[2];
  int64_t next_free = d.lhs_batch.size();
  for (int side : {0, 1}) {
    auto& [x, sizes, places] = factors[side];
    x = dot->operand(side);
    if (x->type() != dot->type() || x->shape().is_dynamic()) return nullptr;
    const Int64List& batch = side == 0 ? d.lhs_batch : d.rhs_batch;
    const Int64List& contracting = side == 0 ? d.lhs_contracting : d.rhs_contracting;
    for (int64_t k = 0; k < x->shape().rank(); ++k) {
      if (absl::c_linear_search(contracting, k)) {
        if (x->shape().dim(k) != 1) return nullptr;
        continue;
      }
      const auto at = std::find(batch.begin(), batch.end(), k);
      sizes.push_back(x->shape().dim(k));
      places.push_back(place_of[at == batch.end() ? next_free++ : at - batch.begin()]);
    }
  }
  // Rounded once, after the sum.
  const bool narrow = dot->type() == ElementType::kF16 || dot->type() == ElementType::kBF16;
  const ElementType type = narrow ? ElementType::kF32 : dot->type();
  for (auto& [x, sizes, places] : factors) {
    if (sizes.size() != static_cast<size_t>(x->shape().rank())) x = make::Reshape(x, sizes);
    Int64List order = make::Iota(places.size());  // in which the places grow
    std::sort(order.begin(), order.end(), [&p = places](int64_t a, int64_t b) { return p[a] < p[b]; });
    if (!make::IsIdentity(order)) x = make::Transpose(x, order);
    std::sort(places.begin(), places.end());
    x = make::Broadcast(make::Convert(x, type), dims, places);
  }
  I* product = make::Binary(HloOpcode::kMultiply, factors[0].array, factors[1].array);
  I* sum = make::Binary(HloOpcode::kAdd, product, make::Full(dot->parent(), type, dims, 0));
  return make::Convert(sum, dot->type());
}

I* DotOuter(I* i, PassContext&) {
  // With a transpose behind it in one.
  if (i->user_count() == 1 && i->users()[0]->opcode() == HloOpcode::kTranspose) return nullptr;
  return OuterProduct(i, make::Iota(i->shape().rank()));
}

I* TransposeOuter(I* i, PassContext&) {
  I* dot = i->operand(0);
  return dot->opcode() == HloOpcode::kDot && dot->user_count() == 1 ? OuterProduct(dot, i->dimensions()) : nullptr;
}

// transpose(dot(a, b)) that exchanges the two free dimensions -> dot(b, a). Of several free dimensions: likewise if the
// last one of `a` becomes the last; what is left of the transpose moves whole rows.
I* TransposeDot(I* i, PassContext&) {
  I* dot = i->operand(0);
  if (dot->opcode() != HloOpcode::kDot || dot->user_count() != 1 || dot->FindAttr<AttrKind::kSparsity>() != nullptr ||
      dot->FindAttr<AttrKind::kAlgorithm>() != nullptr || dot->operand(0)->type() != dot->operand(1)->type()) {
    return nullptr;
  }
  const DotDims& d = dot->dot_dims();
  const int64_t batch = d.lhs_batch.size(), rank = dot->shape().rank();
  const int64_t lhs_free = dot->operand(0)->shape().rank() - batch - static_cast<int64_t>(d.lhs_contracting.size());
  const int64_t rhs_free = rank - batch - lhs_free;
  if (lhs_free == 0 || rhs_free == 0) return nullptr;
  Int64List left;       // what the transpose still has to do after the exchange
  Int64List new_sizes;  // of the exchanged product
  for (int64_t k : i->dimensions()) left.push_back(k < batch ? k : k < batch + lhs_free ? k + rhs_free : k - lhs_free);
  for (int64_t k = 0; k < rank; ++k) {
    new_sizes.push_back(dot->shape().dim(k < batch ? k : k < batch + rhs_free ? k + lhs_free : k - rhs_free));
  }
  if (!make::IsIdentity(left) && (left.back() != rank - 1 || new_sizes.back() == 1 || dot->shape().is_dynamic())) {
    return nullptr;
  }
  const Shape shape = make::IsIdentity(left) ? WithoutLayout(i->shape()) : Shape(dot->type(), new_sizes);
  I* swapped = i->parent()->Add(dot->CloneWith(shape, {dot->operand(1), dot->operand(0)}));
  swapped->set_attr<AttrKind::kDotDims>({d.rhs_batch, d.lhs_batch, d.rhs_contracting, d.lhs_contracting});
  if (const auto* precision = dot->FindAttr<AttrKind::kOperandPrecision>(); precision && precision->size() == 2) {
    swapped->set_attr<AttrKind::kOperandPrecision>({(*precision)[1], (*precision)[0]});
  }
  return make::IsIdentity(left) ? swapped : make::Transpose(swapped, left);
}

}  // namespace

absl::Span<const RewriteRow> DotRows() {
  static constexpr RewriteRow kRows[] = {
      {"dot_empty", HloOpcode::kDot, DotEmpty},
      {"dot_outer", HloOpcode::kDot, DotOuter},
      {"dot_transpose", HloOpcode::kDot, DotTranspose},
      {"transpose_outer", HloOpcode::kTranspose, TransposeOuter},
      {"transpose_dot", HloOpcode::kTranspose, TransposeDot},
  };
  return kRows;
}

}  // namespace xc
