// Operations that apply a region to elements: reductions, windows, sort and map.
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

namespace {

// One of `values` per dimension of the window, checked to be as many.
WindowAttr Window(OpLowering& op, const Int64List& sizes) {
  WindowAttr window;
  const Int64List ones(sizes.size(), 1);
  const auto each = [&](absl::string_view name) {
    Int64List values = op.attrs.Ints(name, ones);
    if (values.size() != sizes.size()) {
      op.Fail(absl::StrCat("attribute `", name, "` should have ", sizes.size(), " elements, as window_dimensions has"));
      values = ones;
    }
    return values;
  };
  const Int64List strides = each("window_strides"), base = each("base_dilations"), dilation = each("window_dilations");
  std::vector<Int64List> padding(sizes.size(), {0, 0});
  if (op.attrs.Has("padding")) padding = op.attrs.IntLists("padding");
  if (padding.size() != sizes.size()) {
    op.Fail(absl::StrCat("attribute `padding` should have ", sizes.size(), " pairs, as window_dimensions has sizes"));
    return window;
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (padding[d].size() != 2) {
      op.Fail("attribute `padding` should have two integers for each dimension");
      return window;
    }
    window.dims.push_back({sizes[d], strides[d], padding[d][0], padding[d][1], base[d], dilation[d], false});
  }
  return window;
}

}  // namespace

void LowerReduce(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kDimensions>(op.attrs.Ints("dimensions"));
  HloComputation* reducer = op.FlatRegion(0);
  op.Emit(O::kReduce, op.Operands(), std::move(attributes), {reducer});
}

void LowerReduceWindow(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kWindow>(Window(op, op.attrs.Ints("window_dimensions")));
  HloComputation* reducer = op.FlatRegion(0);
  op.Emit(O::kReduceWindow, op.Operands(), std::move(attributes), {reducer});
}

void LowerSelectAndScatter(OpLowering& op) {
  Attributes attributes;
  const Int64List ones(op.in(0).rank(), 1);
  attributes.Set<A::kWindow>(Window(op, op.attrs.Ints("window_dimensions", ones)));
  HloComputation* select = op.FlatRegion(0);
  HloComputation* scatter = op.FlatRegion(1);
  op.Emit(O::kSelectAndScatter, op.Operands(), std::move(attributes), {select, scatter});
}

void LowerSort(OpLowering& op) {
  if (op.op.operands.empty()) return op.Fail("expected an array at least");
  int64_t dimension = op.attrs.Int("dimension", -1);
  if (dimension < 0) dimension += op.in(0).rank();
  Attributes attributes;
  attributes.Set<A::kDimensions>({dimension});
  if (op.attrs.Bool("is_stable", false)) attributes.Set<A::kIsStable>(true);
  HloComputation* comparator = op.FlatRegion(0);
  op.Emit(O::kSort, op.Operands(), std::move(attributes), {comparator});
}

void LowerMap(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kDimensions>(op.attrs.Ints("dimensions"));
  HloComputation* function = op.FlatRegion(0);
  op.Emit(O::kMap, op.Operands(), std::move(attributes), {function});
}

}  // namespace xc::stablehlo
