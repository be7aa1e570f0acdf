#include "compiler/sharding/parts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "compiler/sharding/partition_rules.h"
#include "hlo/base/status.h"

namespace xc {

using O = HloOpcode;

HloInstruction* DeviceParts::StartOf(HloComputation* computation, const DeviceTiling& tiling, int64_t d, int64_t size) {
  if (tiling.dim(d).empty()) return make::ScalarInt(computation, ElementType::kS32, 0);
  Literal table{Shape(ElementType::kS32, {devices_})};
  for (int64_t device = 0; device < devices_; ++device) table.SetInt(device, tiling.TileOf(device, d) * size);
  HloInstruction* starts = computation->Add(HloInstruction::CreateConstant(std::move(table)));
  HloInstruction*& partition = partition_ids_[computation];
  if (partition == nullptr) partition = computation->Add(O::kPartitionId, Shape::Scalar(ElementType::kU32), {});
  HloInstruction* start = computation->Add(O::kDynamicSlice, Shape(ElementType::kS32, {1}), {starts, partition});
  start->set_attr<AttrKind::kDynamicSliceSizes>({1});
  return make::Reshape(start, {});
}

absl::StatusOr<HloInstruction*> DeviceParts::Part(HloInstruction* whole, const DeviceTiling& tiling) {
  if (tiling.IsReplicated()) return whole;
  XC_ASSIGN_OR_RETURN(const Shape shape, tiling.ShardShape(WithoutLayout(whole->shape())));
  // Of what is the same along the dimensions that are cut, a smaller one.
  bool spreads = whole->opcode() == O::kBroadcast;
  for (int64_t d = 0; spreads && d < tiling.rank(); ++d) {
    spreads = tiling.dim(d).empty() || !HasDim(whole->dimensions(), d);
  }
  if (spreads) return whole->parent()->Add(whole->CloneWith(shape, {whole->operand(0)}));
  std::vector<HloInstruction*> operands = {whole};
  for (int64_t d = 0; d < tiling.rank(); ++d) {
    operands.push_back(StartOf(whole->parent(), tiling, d, shape.dim(d)));
  }
  HloInstruction* part = whole->parent()->Add(O::kDynamicSlice, shape, operands);
  part->set_attr<AttrKind::kDynamicSliceSizes>(shape.dims());
  return part;
}

absl::StatusOr<HloInstruction*> DeviceParts::FromStart(HloInstruction* iota, const DeviceTiling& tiling) {
  const int64_t d = iota->attr<AttrKind::kIotaDimension>();
  if (tiling.dim(d).empty()) return iota;
  // Counted in integers, so that numbers that the type does not have are rounded as in the whole array.
  HloInstruction* const numbers = iota->parent()->Add(O::kIota, Shape(ElementType::kS32, iota->shape().dims()), {});
  numbers->set_attr<AttrKind::kIotaDimension>(d);
  HloInstruction* const start = StartOf(iota->parent(), tiling, d, iota->shape().dim(d));
  const Int64List& dims = iota->shape().dims();
  return make::Convert(make::Binary(O::kAdd, numbers, make::Broadcast(start, dims, {})), iota->type());
}

absl::StatusOr<HloInstruction*> DeviceParts::Offset(HloInstruction* indices, int64_t index_vector_dim,
                                                    const std::vector<std::pair<int64_t, int64_t>>& offsets,
                                                    const DeviceTiling& tiling, const Shape& whole) {
  XC_ASSIGN_OR_RETURN(const Shape part, tiling.ShardShape(WithoutLayout(whole)));
  HloComputation* const computation = indices->parent();
  const bool is_vector = index_vector_dim < indices->shape().rank();
  const int64_t numbers = is_vector ? indices->shape().dim(index_vector_dim) : 1;
  std::vector<HloInstruction*> starts;
  for (int64_t n = 0; n < numbers; ++n) {
    HloInstruction* start = make::ScalarInt(computation, ElementType::kS32, 0);
    for (const auto& [number, d] : offsets) {
      if (number == n) start = StartOf(computation, tiling, d, part.dim(d));
    }
    starts.push_back(make::Reshape(start, {1}));
  }
  HloInstruction* all = starts[0];
  if (numbers > 1) {
    all = computation->Add(O::kConcatenate, Shape(ElementType::kS32, {numbers}), starts);
    all->set_attr<AttrKind::kDimensions>({0});
  }
  // Wide enough for what is less than nothing, and for every index of an unsigned type.
  HloInstruction* const wide = make::Convert(indices, ElementType::kS64);
  all = make::Convert(all, ElementType::kS64);
  if (!is_vector) all = make::Reshape(all, {});
  return make::Binary(
      O::kSubtract, wide,
      make::Broadcast(all, wide->shape().dims(), is_vector ? Int64List{index_vector_dim} : Int64List{}));
}

void CutResultLayouts(HloModule* module, const std::vector<DeviceTiling>& results) {
  ModuleConfig& config = module->config();
  if (!config.has_entry_layout) return;
  const auto put = [&](const DeviceTiling& tiling, Shape* shape) {
    if (absl::StatusOr<Shape> part = tiling.ShardShape(*shape); part.ok()) *shape = *std::move(part);
  };
  if (!config.entry_result_layout.IsTuple()) {
    put(results[0], &config.entry_result_layout);
    return;
  }
  size_t leaf = 0;
  for (Shape& shape : config.entry_result_layout.mutable_tuple_shapes()) {
    if (!shape.IsTuple()) put(results[leaf], &shape);
    leaf += shape.LeafCount();
  }
}

absl::Status ForEachArrayParameter(
    const HloModule& module, const std::vector<DeviceTiling>& tilings,
    absl::FunctionRef<absl::Status(HloInstruction* parameter, const DeviceTiling& tiling)> cut) {
  size_t leaf = 0;
  for (HloInstruction* parameter : module.entry()->parameters()) {
    if (parameter->shape().IsArray()) {
      XC_RETURN_IF_ERROR(cut(parameter, tilings[leaf++]));
      continue;
    }
    for (int64_t l = 0; l < parameter->shape().LeafCount(); ++l, ++leaf) {
      if (!tilings[leaf].IsReplicated()) {
        return absl::UnimplementedError(absl::StrCat(parameter->name(), ": a tuple that lies on several devices"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HloInstruction*> CutParameter(HloInstruction* parameter, const DeviceTiling& tiling) {
  XC_ASSIGN_OR_RETURN(Shape part, tiling.ShardShape(parameter->shape()));
  ModuleConfig& config = parameter->module()->config();
  if (config.has_entry_layout) {
    Shape& shape = config.entry_parameter_layouts[parameter->parameter_number()];
    XC_ASSIGN_OR_RETURN(shape, tiling.ShardShape(shape));
  }
  HloInstruction* const stand_in = parameter->parent()->Add(O::kCustomCall, WithoutLayout(parameter->shape()), {});
  stand_in->set_attr<AttrKind::kCustomCallTarget>("xc.whole");
  parameter->ReplaceAllUsesWith(stand_in);
  *parameter->mutable_shape() = std::move(part);
  return stand_in;
}

}  // namespace xc
