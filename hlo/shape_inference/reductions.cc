// Shape rules of ops that apply a computation along dimensions: reduce, reduce-window, select-and-scatter, sort, map,
// ….
#include <algorithm>

#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

// n arrays with the same dimensions, then n initial scalars.
absl::StatusOr<int64_t> CheckInputs(const Context& c) {
  if (c.operand_count() < 2 || c.operand_count() % 2 != 0) {
    return c.Error("has ", c.operand_count(), " operands, should have n arrays and n initial values");
  }
  XC_RETURN_IF_ERROR(c.NeedArrays());
  int64_t n = c.operand_count() / 2;
  for (int64_t i = 1; i < n; ++i) {
    if (!DimsAgree(c.operand(0).dims(), c.operand(i).dims())) {
      return c.Error(c.Describe(0), " and ", c.Describe(i), "; both should have the same dimensions");
    }
  }
  return n;
}

Shape OneOrTuple(const Context& c, int64_t n, absl::Span<const Dim> dims) {
  if (n == 1) return MakeShape(c.operand(0).type(), dims);
  std::vector<Shape> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(MakeShape(c.operand(i).type(), dims));
  return Shape::Tuple(std::move(out));
}

}  // namespace

absl::Status CheckReducer(const Context& c, const HloComputation& computation, absl::Span<const Shape* const> inputs,
                          absl::Span<const Shape* const> inits) {
  int64_t n = static_cast<int64_t>(inputs.size());
  std::vector<Shape> scalars;
  for (const Shape* input : inputs) scalars.push_back(Shape::Scalar(input->type()));
  for (size_t i = 0; i < inits.size(); ++i) {
    if (!Agree(*inits[i], scalars[i])) {
      return c.Error("initial value ", i, " is ", inits[i]->ToString(false), ", should be ", scalars[i].ToString(false),
                     " as its array is ", inputs[i]->ToString(false));
    }
  }
  std::vector<const Shape*> arguments;
  for (int half = 0; half < 2; ++half) {
    for (const Shape& scalar : scalars) arguments.push_back(&scalar);
  }
  XC_RETURN_IF_ERROR(CheckSignature(c, "to_apply", computation, arguments));
  XC_ASSIGN_OR_RETURN(Shape root, RootShape(c, "to_apply", computation));
  // A computation for one value may return the value or a tuple of one.
  Shape want = n == 1 && !root.IsTuple() ? scalars[0] : Shape::Tuple(scalars);
  if (!Agree(root, want)) {
    return c.Error("to_apply=", computation.name(), " returns ", root.ToString(false), ", should return ",
                   want.ToString(false));
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> InferReduce(const Context& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, CheckInputs(c));
  const Shape& x = c.operand(0);
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  XC_RETURN_IF_ERROR(c.CheckDims("dimensions", dims, x.rank()));
  XC_RETURN_IF_ERROR(CheckReducer(c, c.called(0), c.operands().subspan(0, n), c.operands().subspan(n)));
  std::vector<Dim> out;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(DimOf(x, d));
  }
  return OneOrTuple(c, n, out);
}

absl::StatusOr<Shape> InferReduceWindow(const Context& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, CheckInputs(c));
  const Shape& x = c.operand(0);
  auto sizes = WindowedSizes(x.dims(), c.attr<AttrKind::kWindow>());
  if (!sizes.ok()) return c.Error(sizes.status().message());
  XC_RETURN_IF_ERROR(CheckReducer(c, c.called(0), c.operands().subspan(0, n), c.operands().subspan(n)));
  std::vector<Dim> out;
  for (int64_t d = 0; d < x.rank(); ++d) out.push_back({(*sizes)[d], x.is_dynamic_dim(d)});
  return OneOrTuple(c, n, out);
}

absl::StatusOr<Shape> InferSelectAndScatter(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape &x = c.operand(0), &source = c.operand(1), &init = c.operand(2);
  const WindowAttr& window = c.attr<AttrKind::kWindow>();
  auto sizes = WindowedSizes(x.dims(), window);
  if (!sizes.ok()) return c.Error(sizes.status().message());
  for (const WindowDim& w : window.dims) {
    if (w.base_dilation != 1 || w.window_dilation != 1) return c.Error("its window has dilation, should have none");
  }
  if (source.type() != x.type() || !DimsAgree(source.dims(), *sizes)) {
    return c.Error(c.Describe(1), ", should be ", Shape(x.type(), *sizes).ToString(false),
                   ", one element per place of the window on ", x.ToString(false));
  }
  Shape scalar = Shape::Scalar(x.type());
  if (!Agree(init, scalar)) return c.Error(c.Describe(2), ", should be ", scalar.ToString(false));
  const Shape* two[] = {&scalar, &scalar};
  XC_RETURN_IF_ERROR(CheckSignature(c, "select", c.called(0), two));
  XC_RETURN_IF_ERROR(CheckSignature(c, "scatter", c.called(1), two));
  XC_ASSIGN_OR_RETURN(Shape select, RootShape(c, "select", c.called(0)));
  if (!Agree(select, Shape::Scalar(ElementType::kPred))) {
    return c.Error("select=", c.called(0).name(), " returns ", select.ToString(false), ", should return pred[]");
  }
  XC_ASSIGN_OR_RETURN(Shape scatter, RootShape(c, "scatter", c.called(1)));
  if (!Agree(scatter, scalar)) {
    return c.Error("scatter=", c.called(1).name(), " returns ", scatter.ToString(false), ", should return ",
                   scalar.ToString(false));
  }
  return Plain(x);
}

absl::StatusOr<Shape> InferSort(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  if (dims.size() != 1) {
    return c.Error("dimensions=", DimsText(dims), " names ", dims.size(), " dimensions, should name one");
  }
  XC_RETURN_IF_ERROR(c.CheckDim("dimensions", dims[0], c.operand(0).rank()));
  std::vector<Shape> scalars;
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (!DimsAgree(c.operand(0).dims(), c.operand(i).dims())) {
      return c.Error(c.Describe(0), " and ", c.Describe(i), "; both should have the same dimensions");
    }
    scalars.push_back(Shape::Scalar(c.operand(i).type()));
  }
  std::vector<const Shape*> arguments;
  for (const Shape& scalar : scalars) arguments.insert(arguments.end(), 2, &scalar);
  XC_RETURN_IF_ERROR(CheckSignature(c, "to_apply", c.called(0), arguments));
  XC_ASSIGN_OR_RETURN(Shape less, RootShape(c, "to_apply", c.called(0)));
  if (!Agree(less, Shape::Scalar(ElementType::kPred))) {
    return c.Error("to_apply=", c.called(0).name(), " returns ", less.ToString(false), ", should return pred[]");
  }
  if (c.operand_count() == 1) return Plain(c.operand(0));
  return InferTuple(c);
}

absl::StatusOr<Shape> InferTopk(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0, 1));
  const Shape& x = c.operand(0);
  int64_t k = c.attr<AttrKind::kK>(), last = x.rank() - 1;
  if (IsComplex(x.type())) return c.Error(c.Describe(0), "; complex numbers have no order");
  if (k < 0 || (!IsUnknown(x.dim(last)) && k > x.dim(last))) {
    return c.Error(c.Describe(0), " and k is ", k, "; k should be between 0 and the size of the last dimension");
  }
  Shape values = Plain(x);
  values.set_dim(last, k);
  values.set_dynamic_dim(last, false);
  Shape indices = WithType(values, ElementType::kS32);
  return Shape::Tuple({std::move(values), std::move(indices)});
}

absl::StatusOr<Shape> InferMap(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape& x = c.operand(0);
  std::vector<Shape> scalars;
  std::vector<Dim> out(x.rank());
  for (int64_t d = 0; d < x.rank(); ++d) out[d] = DimOf(x, d);
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (!DimsAgree(x.dims(), c.operand(i).dims())) {
      return c.Error(c.Describe(0), " and ", c.Describe(i), "; both should have the same dimensions");
    }
    for (int64_t d = 0; d < x.rank(); ++d) out[d] = MergeDims(out[d], DimOf(c.operand(i), d));
    scalars.push_back(Shape::Scalar(c.operand(i).type()));
  }
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  for (int64_t d = 0; d < std::max<int64_t>(x.rank(), dims.size()); ++d) {
    if (static_cast<int64_t>(dims.size()) != x.rank() || dims[d] != d) {
      return c.Error("dimensions=", DimsText(dims), ", should be all ", x.rank(),
                     " dimensions of the operands in order");
    }
  }
  std::vector<const Shape*> arguments;
  for (const Shape& scalar : scalars) arguments.push_back(&scalar);
  XC_RETURN_IF_ERROR(CheckSignature(c, "to_apply", c.called(0), arguments));
  XC_ASSIGN_OR_RETURN(Shape root, RootShape(c, "to_apply", c.called(0)));
  if (!root.IsScalar()) {
    return c.Error("to_apply=", c.called(0).name(), " returns ", root.ToString(false), ", should return a scalar");
  }
  return MakeShape(root.type(), out);
}

absl::StatusOr<Shape> InferScan(const Context& c) {
  if (c.operand_count() == 0) return c.Error("has no operands, should have at least one");
  const Int64List& dims = c.attr<AttrKind::kDimensions>();
  if (dims.size() != 1) {
    return c.Error("dimensions=", DimsText(dims), " names ", dims.size(), " dimensions, should name one");
  }
  XC_RETURN_IF_ERROR(c.NeedArrays());
  int64_t carries = c.attr_or<AttrKind::kNumCarries>(0);
  if (carries < 0 || carries > c.operand_count()) {
    return c.Error("num_carries is ", carries, ", should be between 0 and the number of operands, ", c.operand_count());
  }
  for (int64_t i = 0; i < c.operand_count() - carries; ++i) {
    XC_RETURN_IF_ERROR(c.CheckDim("dimensions", dims[0], c.operand(i).rank()));
  }
  if (c.called(0).parameter_count() != c.operand_count()) {
    return c.Error("to_apply=", c.called(0).name(), " has ", c.called(0).parameter_count(),
                   " parameters, should have one per operand, ", c.operand_count());
  }
  return InferGiven(c);
}

absl::StatusOr<std::vector<int64_t>> WindowedSizesImpl(absl::Span<const int64_t> dims, const WindowAttr& window) {
  if (window.dims.size() != dims.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its window has ", window.dims.size(), " dimensions, should have ", dims.size()));
  }
  std::vector<int64_t> out(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const WindowDim& w = window.dims[d];
    auto error = [&](absl::string_view what, int64_t have, absl::string_view want) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " of window dimension ", d, " is ", have, ", should be ", want));
    };
    if (w.size < 1) return error("size", w.size, "at least 1");
    if (w.stride < 1) return error("stride", w.stride, "at least 1");
    if (w.base_dilation < 1) return error("lhs_dilate", w.base_dilation, "at least 1");
    if (w.window_dilation < 1) return error("rhs_dilate", w.window_dilation, "at least 1");
    if (IsUnknown(dims[d])) {
      out[d] = Shape::kUnknownSize;
      continue;
    }
    __int128 base = dims[d] == 0 ? 0 : static_cast<__int128>(dims[d] - 1) * w.base_dilation + 1;
    __int128 padded = base + w.padding_low + w.padding_high;
    __int128 span = static_cast<__int128>(w.size - 1) * w.window_dilation + 1;
    if (padded < 0) {
      return absl::InvalidArgumentError(absl::StrCat("padding ", w.padding_low, "_", w.padding_high,
                                                     " of window dimension ", d, " makes size ", dims[d],
                                                     " negative, should leave at least 0"));
    }
    std::optional<int64_t> size = Narrow(padded < span ? 0 : (padded - span) / w.stride + 1);
    if (!size) return absl::InvalidArgumentError(absl::StrCat("the result of window dimension ", d, " is too large"));
    out[d] = *size;
  }
  return out;
}

}  // namespace xc::shape_inference

namespace xc {

absl::StatusOr<std::vector<int64_t>> WindowedSizes(absl::Span<const int64_t> dims, const WindowAttr& window) {
  return shape_inference::WindowedSizesImpl(dims, window);
}

}  // namespace xc
