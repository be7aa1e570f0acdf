#include "backends/interpreter/dynamic_dimensions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/evaluator.h"
#include "backends/interpreter/strided.h"
#include "hlo/analysis/reshape_groups.h"
#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc::interp {
namespace {

using Sizes = std::vector<Dims>;  // of each operand

// A copy of the elements that lie within `sizes`, of an array of at least those sizes; or the other way round.
Literal Resized(const Literal& x, const Dims& sizes, const Shape& shape) {
  Literal out(shape);
  StridedCopy(StorageBytes(shape.type()), sizes, RowMajorStrides(x.shape().dims()), RowMajorStrides(shape.dims()))
      .Run(x.bytes(), out.mutable_bytes());
  return out;
}

// Gives two dimensions that are one the smaller of their sizes.
void Tie(int64_t* a, int64_t* b) { *a = *b = std::min(*a, *b); }

// Ties the dimensions, but for one, of the first `count` operands; those of less rank are the scalars of select and
// clamp.
void TieAll(Sizes* sizes, int64_t count, int64_t except = -1) {
  const auto less = [](const Dims& a, const Dims& b) { return a.size() < b.size(); };
  Dims& lead = *std::max_element(sizes->begin(), sizes->begin() + count, less);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < count; ++i) {
      Dims& other = (*sizes)[i];
      if (other.size() != lead.size()) continue;
      for (size_t d = 0; d < lead.size(); ++d) {
        if (static_cast<int64_t>(d) != except) Tie(&lead[d], &other[d]);
      }
    }
  }
}

void TieDims(const Int64List& a, Dims* a_sizes, const Int64List& b, Dims* b_sizes) {
  for (size_t i = 0; i < a.size(); ++i) Tie(&(*a_sizes)[a[i]], &(*b_sizes)[b[i]]);
}

// The dimensions below `rank` that are not in `dims`.
Int64List Others(int64_t rank, const Int64List& dims) {
  Int64List others;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) others.push_back(d);
  }
  return others;
}

// What is known of sizes from the other operands, and where bounds count.
void TieSizes(const HloInstruction& op, Sizes* sizes) {
  const int64_t count = static_cast<int64_t>(sizes->size());
  const auto bounds = [&](int64_t i) { (*sizes)[i] = op.operand(i)->shape().dims(); };
  switch (op.opcode()) {
    case HloOpcode::kDot: {
      const auto& dims = op.attr<AttrKind::kDotDims>();
      TieDims(dims.lhs_batch, &(*sizes)[0], dims.rhs_batch, &(*sizes)[1]);
      TieDims(dims.lhs_contracting, &(*sizes)[0], dims.rhs_contracting, &(*sizes)[1]);
      return;
    }
    case HloOpcode::kConcatenate:
      return TieAll(sizes, count, op.dimensions()[0]);
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      return TieAll(sizes, count / 2);
    case HloOpcode::kSort:
    case HloOpcode::kMap:
      return TieAll(sizes, count);
    case HloOpcode::kSlice: {
      const auto& slice = op.attr<AttrKind::kSlice>();
      for (int64_t d = 0; d < op.shape().rank(); ++d) {
        const int64_t bound = op.operand(0)->shape().dim(d);
        if (slice.starts[d] != 0 || slice.limits[d] != bound || slice.strides[d] != 1) (*sizes)[0][d] = bound;
      }
      return;
    }
    case HloOpcode::kGather:
    case HloOpcode::kDynamicSlice: {
      const Int64List& taken = op.opcode() == HloOpcode::kGather ? op.attr<AttrKind::kSliceSizes>()
                                                                 : op.attr<AttrKind::kDynamicSliceSizes>();
      for (size_t d = 0; d < taken.size(); ++d) {
        const int64_t bound = op.operand(0)->shape().dim(d);
        if (taken[d] != bound) (*sizes)[0][d] = bound;
      }
      return;
    }
    case HloOpcode::kDynamicUpdateSlice:
      return bounds(0);
    case HloOpcode::kScatter: {
      const auto& dims = op.attr<AttrKind::kScatterDims>();
      const int64_t arrays = count / 2;
      for (int64_t i = 0; i < arrays; ++i) bounds(i);
      Dims& indices = (*sizes)[arrays];
      const int64_t rank = op.operand(arrays + 1)->shape().rank();
      Int64List at = Others(static_cast<int64_t>(indices.size()), {dims.index_vector_dim});
      const Int64List updates = Others(rank, dims.update_window_dims);
      if (at.size() != updates.size()) return;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i < arrays; ++i) TieDims(at, &indices, updates, &(*sizes)[arrays + 1 + i]);
      }
      return;
    }
    default:
      if (IsElementwise(op.opcode())) TieAll(sizes, count);
  }
}

// The sizes of a reshape's result: a group of the same dimensions on both sides keeps its sizes, any other has one size
// that only the run knows.
absl::StatusOr<Dims> ReshapedSizes(const Shape& from, const Dims& sizes, const Shape& to) {
  if (from.ElementCount() != to.ElementCount()) {
    return absl::InvalidArgumentError("operand and result differ in size");
  }
  if (from.ElementCount() == 0) return to.dims();
  Dims result = to.dims();
  for (const ReshapeGroup& group : ReshapeGroups(from, to)) {
    int64_t elements = 1;
    bool changed = false;
    for (int64_t d = group.in; d < group.in_end; ++d) {
      elements *= sizes[d];
      changed |= sizes[d] != from.dim(d);
    }
    if (!changed) continue;
    if (group.same) {
      int64_t product = 1;
      for (size_t k = 0; k < group.own.size(); ++k) product *= result[group.wide[k]] = sizes[group.own[k]];
      if (product == elements) continue;
    }
    if (group.open < 0) {
      return absl::UnimplementedError(
          absl::StrCat("a reshape of the run-time sizes of ", from.ToString(false), " to ", to.ToString(false)));
    }
    if (elements % group.rest != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(elements, " elements do not fill dimension ", group.open, " of ", to.ToString(false)));
    }
    result[group.open] = elements / group.rest;
  }
  return result;
}

// The result's shape as far as operands do not say it.
absl::StatusOr<Shape> GivenShape(const HloInstruction& op, const Sizes& sizes) {
  Shape shape = Plain(op.shape());
  if (op.opcode() == HloOpcode::kBroadcast) {
    const Int64List& dims = op.dimensions();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (sizes[0][i] != op.operand(0)->shape().dim(i)) shape.set_dim(dims[i], sizes[0][i]);
    }
  } else if (op.opcode() == HloOpcode::kReshape) {
    XC_ASSIGN_OR_RETURN(const Dims dims, ReshapedSizes(op.operand(0)->shape(), sizes[0], op.shape()));
    for (int64_t d = 0; d < shape.rank(); ++d) shape.set_dim(d, dims[d]);
  }
  return shape;
}

// Sizes in attributes that mean "all of the dimension".
void SetAttributes(const Sizes& sizes, const HloInstruction& op, HloInstruction* cut) {
  const auto all = [&](Int64List list) {
    for (size_t d = 0; d < list.size(); ++d) list[d] = std::min(list[d], sizes[0][d]);
    return list;
  };
  if (op.opcode() == HloOpcode::kSlice) {
    SliceAttr slice = op.attr<AttrKind::kSlice>();
    slice.limits = all(slice.limits);
    cut->set_attr<AttrKind::kSlice>(slice);
  } else if (op.opcode() == HloOpcode::kGather) {
    cut->set_attr<AttrKind::kSliceSizes>(all(op.attr<AttrKind::kSliceSizes>()));
  } else if (op.opcode() == HloOpcode::kDynamicSlice) {
    cut->set_attr<AttrKind::kDynamicSliceSizes>(all(op.attr<AttrKind::kDynamicSliceSizes>()));
  }
}

// `x`, of this run's sizes, in an array of the bounds of `shape`.
absl::StatusOr<Literal> WithinBounds(Literal x, const Shape& shape) {
  if (x.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < x.tuple().size(); ++i) {
      XC_ASSIGN_OR_RETURN(Literal element, WithinBounds(std::move(x.mutable_tuple()[i]), shape.tuple_shape(i)));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!x.shape().IsArray()) return x;
  if (x.shape().dims() == shape.dims()) {
    *x.mutable_shape() = Plain(shape);
    return x;
  }
  const Dims sizes = x.shape().dims();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (sizes[d] > shape.dim(d)) {
      return absl::InvalidArgumentError(
          absl::StrCat("size ", sizes[d], " of dimension ", d, " is above its bound, ", shape.dim(d)));
    }
  }
  Literal out = Resized(x, sizes, Plain(shape));
  out.set_dynamic_sizes(sizes);
  return out;
}

}  // namespace

bool HasDynamicDimensions(const HloInstruction& instruction, const Operands& operands) {
  switch (instruction.opcode()) {
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kCustomCall:
    case HloOpcode::kBitcast:
      return false;
    default:
      break;
  }
  for (int64_t i = 0; i < operands.size(); ++i) {
    const Literal& x = operands[i];
    if (!x.dynamic_sizes().empty() && x.dynamic_sizes() != x.shape().dims()) return true;
  }
  return false;
}

OpResult RunOnDynamicDimensions(const HloInstruction& instruction, Operands& operands, const Evaluate& evaluate) {
  // What is updated keeps its sizes, and what it holds beyond them.
  const bool updated =
      instruction.opcode() == HloOpcode::kDynamicUpdateSlice || instruction.opcode() == HloOpcode::kScatter;
  Sizes sizes;
  for (int64_t i = 0; i < operands.size(); ++i) sizes.push_back(SizesOf(operands[i]));
  TieSizes(instruction, &sizes);

  HloComputation computation("sizes");
  std::vector<HloInstruction*> parameters;
  std::vector<Value> values;
  for (int64_t i = 0; i < operands.size(); ++i) {
    const Literal& x = operands[i];
    Shape shape(x.shape().type(), sizes[i]);
    if (!x.shape().IsArray()) shape = x.shape();
    const bool partly = !updated && shape.IsArray() && sizes[i] != SizesOf(x) && !x.dynamic_sizes().empty();
    Literal value = !shape.IsArray() ? x.Clone()
                    : partly         ? Resized(ZeroBeyondSizes(x), sizes[i], shape)
                                     : Resized(x, sizes[i], shape);
    values.push_back({std::make_shared<const Literal>(std::move(value)), nullptr});
    parameters.push_back(computation.Add(HloInstruction::CreateParameter(i, std::move(shape), absl::StrCat("p", i))));
  }
  XC_ASSIGN_OR_RETURN(Shape given, GivenShape(instruction, sizes));
  HloInstruction* cut = computation.Add(instruction.CloneWith(given, parameters));
  SetAttributes(sizes, instruction, cut);
  XC_ASSIGN_OR_RETURN(*cut->mutable_shape(), InferShape(*cut));
  Operands arrays{absl::MakeSpan(values)};
  XC_ASSIGN_OR_RETURN(Literal result, evaluate(*cut, arrays));

  if (!updated) return WithinBounds(std::move(result), instruction.shape());
  const auto keep = [&](int64_t i, Literal* x) {
    *x->mutable_shape() = operands[i].shape();
    if (!operands[i].dynamic_sizes().empty()) x->set_dynamic_sizes(operands[i].dynamic_sizes());
  };
  if (result.IsTuple()) {
    for (size_t i = 0; i < result.tuple().size(); ++i) keep(i, &result.mutable_tuple()[i]);
  } else {
    keep(0, &result);
  }
  return result;
}

}  // namespace xc::interp

namespace xc {

Literal ZeroBeyondSizes(const Literal& x) {
  const interp::Dims sizes = interp::SizesOf(x);
  Literal out = interp::Resized(x, sizes, interp::Plain(x.shape()));
  out.set_dynamic_sizes(sizes);
  return out;
}

}  // namespace xc
