// Operations that move elements: shapes, slices, gather and scatter.
#include <numeric>

#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

namespace {

template <AttrKind kKind>
Attributes With(AttrType<kKind> value) {
  Attributes attributes;
  attributes.Set<kKind>(std::move(value));
  return attributes;
}

}  // namespace

// New dimensions in front.
void LowerBroadcast(OpLowering& op) {
  const Int64List sizes = op.attrs.Ints("broadcast_sizes");
  Int64List dims(op.in(0).rank());
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(sizes.size()));
  Int64List result = sizes;
  result.insert(result.end(), op.in(0).dims().begin(), op.in(0).dims().end());
  op.result();
  if (op.ok()) op.Bind(op.b.Broadcast(op.in(0), result, dims));
}

// Also dynamic_broadcast_in_dim, whose second operand has the sizes of the result.
void LowerBroadcastInDim(OpLowering& op) {
  const Int64List dims = op.attrs.Ints("broadcast_dimensions");
  op.attrs.Find("known_expanding_dimensions");
  op.attrs.Find("known_nonexpanding_dimensions");
  const Int64List sizes = op.op.operands.size() == 1 ? op.result().dims() : ResultSizes(op, 1);
  if (op.ok()) op.Bind(op.b.BroadcastInDim(op.in(0), sizes, dims));
}

void LowerReshape(OpLowering& op) { op.Emit(O::kReshape, {op.in(0)}); }

void LowerTranspose(OpLowering& op) {
  op.Emit(O::kTranspose, op.Operands(), With<A::kDimensions>(op.attrs.Ints("permutation")));
}

void LowerReverse(OpLowering& op) {
  op.Emit(O::kReverse, op.Operands(), With<A::kDimensions>(op.attrs.Ints("dimensions")));
}

void LowerConcatenate(OpLowering& op) {
  op.Emit(O::kConcatenate, op.Operands(), With<A::kDimensions>({op.attrs.Int("dimension")}));
}

void LowerSlice(OpLowering& op) {
  SliceAttr slice{op.attrs.Ints("start_indices"), op.attrs.Ints("limit_indices"), op.attrs.Ints("strides")};
  op.Emit(O::kSlice, op.Operands(), With<A::kSlice>(std::move(slice)));
}

void LowerPad(OpLowering& op) {
  const Int64List low = op.attrs.Ints("edge_padding_low"), high = op.attrs.Ints("edge_padding_high"),
                  interior = op.attrs.Ints("interior_padding");
  if (low.size() != high.size() || low.size() != interior.size()) {
    return op.Fail("edge_padding_low, edge_padding_high and interior_padding should be equally long");
  }
  PaddingAttr padding;
  for (size_t d = 0; d < low.size(); ++d) padding.dims.push_back({low[d], high[d], interior[d]});
  op.Emit(O::kPad, op.Operands(), With<A::kPadding>(std::move(padding)));
}

// dynamic_slice; dynamic_update_slice has no sizes.
void LowerDynamicSlice(OpLowering& op) {
  Attributes attributes;
  if (op.op.row->opcode == O::kDynamicSlice) attributes.Set<A::kDynamicSliceSizes>(op.attrs.Ints("slice_sizes"));
  op.Emit(op.op.row->opcode, op.Operands(), std::move(attributes));
}

// get_dimension_size and set_dimension_size.
void LowerDimensionSize(OpLowering& op) {
  const int64_t dimension = op.attrs.Int("dimension");
  const Op x = op.in(0);
  if (op.lowering.refines() && x && dimension >= 0 && dimension < x.rank() && x.dim(dimension) > INT32_MAX) {
    return op.Fail(absl::StrCat("size ", x.dim(dimension), " is too large for its result, which has 32 bits"));
  }
  op.Emit(op.op.row->opcode, op.Operands(), With<A::kDimensions>({dimension}));
}

// Also dynamic_gather, whose third operand has the sizes of slices.
void LowerGather(OpLowering& op) {
  AttrReader fields = op.Fields("dimension_numbers");
  GatherDims dims;
  dims.offset_dims = fields.Ints("offset_dims", Int64List());
  dims.collapsed_slice_dims = fields.Ints("collapsed_slice_dims", Int64List());
  dims.operand_batching_dims = fields.Ints("operand_batching_dims", Int64List());
  dims.start_indices_batching_dims = fields.Ints("start_indices_batching_dims", Int64List());
  dims.start_index_map = fields.Ints("start_index_map", Int64List());
  dims.index_vector_dim = fields.Int("index_vector_dim", 0);
  op.Finish(fields, "dimension_numbers");
  Attributes attributes = With<A::kGatherDims>(std::move(dims));
  const bool dynamic = op.op.operands.size() == 3;
  attributes.Set<A::kSliceSizes>(dynamic ? KnownInts(op, 2, "slices' sizes") : op.attrs.Ints("slice_sizes"));
  if (op.attrs.Bool("indices_are_sorted", false)) attributes.Set<A::kIndicesAreSorted>(true);
  op.Emit(O::kGather, op.Operands(0, 2), std::move(attributes));
}

void LowerScatter(OpLowering& op) {
  AttrReader fields = op.Fields("scatter_dimension_numbers");
  ScatterDims dims;
  dims.update_window_dims = fields.Ints("update_window_dims", Int64List());
  dims.inserted_window_dims = fields.Ints("inserted_window_dims", Int64List());
  dims.input_batching_dims = fields.Ints("input_batching_dims", Int64List());
  dims.scatter_indices_batching_dims = fields.Ints("scatter_indices_batching_dims", Int64List());
  dims.scatter_dims_to_operand_dims = fields.Ints("scatter_dims_to_operand_dims", Int64List());
  dims.index_vector_dim = fields.Int("index_vector_dim", 0);
  op.Finish(fields, "scatter_dimension_numbers");
  Attributes attributes = With<A::kScatterDims>(std::move(dims));
  if (op.attrs.Bool("indices_are_sorted", false)) attributes.Set<A::kIndicesAreSorted>(true);
  if (op.attrs.Bool("unique_indices", false)) attributes.Set<A::kUniqueIndices>(true);
  HloComputation* combine = op.FlatRegion(0);
  op.Emit(O::kScatter, op.Operands(), std::move(attributes), {combine});
}

}  // namespace xc::stablehlo
