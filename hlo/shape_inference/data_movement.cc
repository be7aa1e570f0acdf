// Shape rules of ops that move elements without computing with them: broadcast, reshape, slice, pad, ….
#include <numeric>

#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

std::vector<Dim> DimsOf(const Shape& shape) {
  std::vector<Dim> dims(shape.rank());
  for (int64_t d = 0; d < shape.rank(); ++d) dims[d] = DimOf(shape, d);
  return dims;
}

bool HasUnknown(const Shape& shape) {
  for (int64_t size : shape.dims()) {
    if (IsUnknown(size)) return true;
  }
  return false;
}

// The start indices of dynamic-slice and dynamic-update-slice are one integer scalar per dimension, of one type.
absl::Status CheckStartIndices(const Context& c, int64_t first) {
  int64_t rank = c.operand(0).rank(), count = c.operand_count() - first;
  if (count != rank) {
    return c.Error(c.Describe(0), " and there are ", count, " start indices; there should be one per dimension, ",
                   rank);
  }
  for (int64_t i = first; i < c.operand_count(); ++i) {
    XC_RETURN_IF_ERROR(c.NeedIndexScalar(i));
    if (c.operand(i).type() != c.operand(first).type()) {
      return c.Error(c.Describe(first), " and ", c.Describe(i), "; start indices should all have the same type");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> OneDimension(const Context& c, int64_t rank) {
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  if (dims.size() != 1) {
    return c.Error("dimensions=", DimsText(dims), " names ", dims.size(), " dimensions, should name one");
  }
  XC_RETURN_IF_ERROR(c.CheckDim("dimensions", dims[0], rank));
  return dims[0];
}

}  // namespace

absl::StatusOr<Shape> InferBroadcast(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape &x = c.operand(0), &out = *c.given();
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  if (static_cast<int64_t>(dims.size()) != x.rank()) {
    return c.Error("dimensions=", DimsText(dims), " and ", c.Describe(0),
                   "; there should be one number per operand dimension, ", x.rank());
  }
  XC_RETURN_IF_ERROR(c.CheckDims("dimensions", dims, out.rank()));
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!SizesAgree(x.dim(d), out.dim(dims[d]))) {
      return c.Error(c.Describe(0), ", the result is ", out.ToString(false), "; dimension ", d,
                     " of the operand (size ", x.dim(d), ") should have the size of dimension ", dims[d],
                     " of the result (", out.dim(dims[d]), ")");
    }
  }
  return WithType(Plain(out), x.type());
}

absl::StatusOr<Shape> InferReshape(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape &x = c.operand(0), &out = *c.given();
  if (!HasUnknown(x) && !HasUnknown(out) && x.ElementCount() != out.ElementCount()) {
    return c.Error(c.Describe(0), " with ", x.ElementCount(), " elements, the result is ", out.ToString(false),
                   " with ", out.ElementCount(), "; both should have the same number of elements");
  }
  if (const int64_t* dim = c.find<AttrKind::kInferredDimension>()) {
    if (*dim != -1) XC_RETURN_IF_ERROR(c.CheckDim("inferred_dimension", *dim, out.rank()));
  }
  return WithType(Plain(out), x.type());
}

absl::StatusOr<Shape> InferBitcast(const Context& c) {
  if (c.operand(0).IsTuple() || c.operand(0).IsToken()) return InferSame(c);
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape &x = c.operand(0), &out = *c.given();
  if (!HasUnknown(x) && !HasUnknown(out) && x.ByteSize() != out.ByteSize()) {
    return c.Error(c.Describe(0), " of ", x.ByteSize(), " bytes, the result is ", out.ToString(false), " of ",
                   out.ByteSize(), "; both should have the same size");
  }
  return Plain(out);
}

absl::StatusOr<Shape> InferDynamicReshape(const Context& c) {
  if (c.operand_count() < 1) return c.Error("has no operands, should have an array and one size per result dimension");
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape& out = *c.given();
  if (c.operand_count() - 1 != out.rank()) {
    return c.Error("has ", c.operand_count() - 1, " size operands and the result is ", out.ToString(false),
                   "; there should be one per result dimension");
  }
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    XC_RETURN_IF_ERROR(c.NeedIndexScalar(i));
    if (c.operand(i).type() != ElementType::kS32) return c.Error(c.Describe(i), ", should be s32[]");
  }
  if (!HasUnknown(c.operand(0)) && !HasUnknown(out) && c.operand(0).ElementCount() != out.ElementCount()) {
    return c.Error(c.Describe(0), ", the result is ", out.ToString(false),
                   "; both should have the same number of elements");
  }
  return WithType(Plain(out), c.operand(0).type());
}

absl::StatusOr<Shape> InferTranspose(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  const Shape& x = c.operand(0);
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  if (static_cast<int64_t>(dims.size()) != x.rank()) {
    return c.Error("dimensions=", DimsText(dims), " and ", c.Describe(0), "; it should be a permutation of ", x.rank(),
                   " dimensions");
  }
  XC_RETURN_IF_ERROR(c.CheckDims("dimensions", dims, x.rank()));
  std::vector<Dim> out;
  for (int64_t d : dims) out.push_back(DimOf(x, d));
  return MakeShape(x.type(), out);
}

absl::StatusOr<Shape> InferReverse(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.CheckDims("dimensions", c.attr<AttrKind::kDimensions>(), c.operand(0).rank()));
  return Plain(c.operand(0));
}

absl::StatusOr<Shape> InferSlice(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  const Shape& x = c.operand(0);
  const SliceAttr& slice = c.attr<AttrKind::kSlice>();
  size_t rank = x.rank();
  if (slice.starts.size() != rank || slice.limits.size() != rank || slice.strides.size() != rank) {
    return c.Error(c.Describe(0), "; slice has ", slice.starts.size(), " ranges, should have one per dimension, ",
                   rank);
  }
  std::vector<Dim> out(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t start = slice.starts[d], limit = slice.limits[d], stride = slice.strides[d];
    if (start < 0 || limit < start || stride < 1) {
      return c.Error("dimension ", d, " has the range [", start, ":", limit, ":", stride,
                     "]; it should have 0 <= start <= limit and stride >= 1");
    }
    if (!IsUnknown(x.dim(d)) && limit > x.dim(d)) {
      return c.Error(c.Describe(0), "; the limit ", limit, " of dimension ", d, " should be at most ", x.dim(d));
    }
    out[d] = {(limit - start) / stride + ((limit - start) % stride != 0),
              x.is_dynamic_dim(d) && start == 0 && limit == x.dim(d)};
  }
  return MakeShape(x.type(), out);
}

absl::StatusOr<Shape> InferPad(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape &x = c.operand(0), &value = c.operand(1);
  if (!value.IsScalar() || value.type() != x.type()) {
    return c.Error(c.Describe(1), ", should be ", ElementTypeName(x.type()), "[] as ", c.Describe(0));
  }
  const PaddingAttr& padding = c.attr<AttrKind::kPadding>();
  if (static_cast<int64_t>(padding.dims.size()) != x.rank()) {
    return c.Error(c.Describe(0), "; padding has ", padding.dims.size(), " dimensions, should have ", x.rank());
  }
  std::vector<Dim> out = DimsOf(x);
  for (int64_t d = 0; d < x.rank(); ++d) {
    const PaddingDim& p = padding.dims[d];
    if (p.interior < 0)
      return c.Error("interior padding of dimension ", d, " is ", p.interior, ", should not be negative");
    if (IsUnknown(x.dim(d))) continue;
    __int128 inner = x.dim(d) == 0 ? 0 : static_cast<__int128>(x.dim(d) - 1) * p.interior;
    __int128 wide = inner + x.dim(d) + p.low + p.high;
    std::optional<int64_t> size = Narrow(wide);
    if (!size) {
      return c.Error(c.Describe(0), "; padding ", p.low, "_", p.high, "_", p.interior, " of dimension ", d,
                     " gives it ", wide < 0 ? "a negative size" : "a size that does not fit into 63 bits");
    }
    out[d].size = *size;
  }
  return MakeShape(x.type(), out);
}

absl::StatusOr<Shape> InferConcatenate(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(int64_t dim, OneDimension(c, c.operand(0).rank()));
  std::vector<Dim> out = DimsOf(c.operand(0));
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    const Shape& x = c.operand(i);
    if (x.type() != c.operand(0).type() || x.rank() != c.operand(0).rank()) {
      return c.Error(c.Describe(0), " and ", c.Describe(i), "; both should have the same element type and rank");
    }
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d != dim) {
        if (!SizesAgree(x.dim(d), out[d].size)) {
          return c.Error(c.Describe(0), " and ", c.Describe(i), "; sizes should be equal in all dimensions but ", dim);
        }
        out[d] = MergeDims(out[d], DimOf(x, d));
        continue;
      }
      out[d].dynamic = out[d].dynamic || x.is_dynamic_dim(d);
      if (IsUnknown(x.dim(d)) || IsUnknown(out[d].size)) {
        out[d].size = Shape::kUnknownSize;
        continue;
      }
      std::optional<int64_t> sum = Narrow(static_cast<__int128>(out[d].size) + x.dim(d));
      if (!sum) return c.Error("the size of dimension ", d, " of the result does not fit in 64 bits");
      out[d].size = *sum;
    }
  }
  return MakeShape(c.operand(0).type(), out);
}

absl::StatusOr<Shape> InferIota(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape& out = *c.given();
  if (out.type() == ElementType::kPred)
    return c.Error("the result is ", out.ToString(false), ", should be a number type");
  if (out.rank() == 0) return c.Error("the result is a scalar, should have at least one dimension");
  XC_RETURN_IF_ERROR(c.CheckDim("iota_dimension", c.attr<AttrKind::kIotaDimension>(), out.rank()));
  return Plain(out);
}

absl::StatusOr<Shape> InferDynamicSlice(const Context& c) {
  if (c.operand_count() < 1) return c.Error("has no operands, should have an array and its start indices");
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(CheckStartIndices(c, 1));
  const Shape& x = c.operand(0);
  const Int64List& sizes = c.attr<AttrKind::kDynamicSliceSizes>();
  if (static_cast<int64_t>(sizes.size()) != x.rank()) {
    return c.Error(c.Describe(0), "; dynamic_slice_sizes=", DimsText(sizes), " should have one size per dimension, ",
                   x.rank());
  }
  std::vector<Dim> out(sizes.size());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (sizes[d] < 0 || (!IsUnknown(x.dim(d)) && sizes[d] > x.dim(d))) {
      return c.Error(c.Describe(0), "; dynamic_slice_sizes=", DimsText(sizes), " should be between 0 and ", x.dim(d),
                     " in dimension ", d);
    }
    out[d] = {sizes[d], x.is_dynamic_dim(d) && sizes[d] == x.dim(d)};
  }
  return MakeShape(x.type(), out);
}

absl::StatusOr<Shape> InferDynamicUpdateSlice(const Context& c) {
  if (c.operand_count() < 2) {
    return c.Error("has ", c.operand_count(), " operands, should have an array, an update and start indices");
  }
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_RETURN_IF_ERROR(CheckStartIndices(c, 2));
  const Shape &x = c.operand(0), &update = c.operand(1);
  if (x.type() != update.type() || x.rank() != update.rank()) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should have the same element type and rank");
  }
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!IsUnknown(x.dim(d)) && !IsUnknown(update.dim(d)) && update.dim(d) > x.dim(d)) {
      return c.Error(c.Describe(0), " and ", c.Describe(1), "; the update should be no larger than the operand");
    }
  }
  return Plain(x);
}

absl::StatusOr<Shape> InferGetDimensionSize(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(OneDimension(c, c.operand(0).rank()).status());
  return Shape::Scalar(ElementType::kS32);
}

absl::StatusOr<Shape> InferSetDimensionSize(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  XC_ASSIGN_OR_RETURN(int64_t dim, OneDimension(c, c.operand(0).rank()));
  if (c.operand(1).type() != ElementType::kS32 || !c.operand(1).IsScalar()) {
    return c.Error(c.Describe(1), ", should be s32[]");
  }
  Shape out = Plain(c.operand(0));
  // The size may be a constant equal to the bound; whoever knows says so by giving a static dimension.
  out.set_dynamic_dim(dim, c.given() == nullptr || !c.given()->IsArray() || c.given()->rank() != out.rank() ||
                               c.given()->is_dynamic_dim(dim));
  return out;
}

}  // namespace xc::shape_inference
