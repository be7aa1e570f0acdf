// Layout normalization.
#include "backends/cpu/layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/backend.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

bool AllRowMajor(const Shape& shape) {
  for (const Shape& element : shape.tuple_shapes()) {
    if (!AllRowMajor(element)) return false;
  }
  return !shape.IsArray() || shape.IsRowMajor();
}

// Dimensions from major to minor.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  std::vector<int64_t> order = shape.layout_or_default().minor_to_major;
  std::reverse(order.begin(), order.end());
  return order;
}

// The row-major shape of the same bytes.
Shape Physical(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int64_t d : MajorToMinor(shape)) dims.push_back(shape.dim(d));
  return WithDefaultLayout(Shape(shape.type(), std::move(dims)));
}

HloInstruction* AddTranspose(HloInstruction* operand, const Shape& shape, std::vector<int64_t> permutation) {
  HloInstruction* transpose =
      operand->parent()->Add(HloOpcode::kTranspose, WithDefaultLayout(WithoutLayout(shape)), {operand});
  transpose->set_attr<AttrKind::kDimensions>(std::move(permutation));
  return transpose;
}

HloInstruction* ToPhysical(HloInstruction* value, const Shape& shape) {
  if (shape.IsRowMajor()) return value;
  return AddTranspose(value, Physical(shape), MajorToMinor(shape));
}

HloInstruction* ToLogical(HloInstruction* physical, const Shape& shape) {
  if (shape.IsRowMajor()) return physical;
  const std::vector<int64_t> order = MajorToMinor(shape);
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return AddTranspose(physical, shape, std::move(inverse));
}

void NormalizeBitcast(HloInstruction* bitcast) {
  const Shape from = bitcast->operand(0)->shape(), to = bitcast->shape();
  if (from.IsRowMajor() && to.IsRowMajor()) return;
  HloComputation* computation = bitcast->parent();
  HloInstruction* value = ToPhysical(bitcast->operand(0), from);
  Shape middle = Physical(to);
  HloInstruction* same = computation->Add(HloOpcode::kBitcast, middle, {value});
  HloInstruction* result = ToLogical(same, to);
  bitcast->ReplaceAllUsesWith(result);
}

// Makes all users of `value` but `except` use `other`.
void RedirectUsers(HloInstruction* value, HloInstruction* other) {
  std::vector<HloInstruction*> users = value->users();
  for (HloInstruction* user : users) {
    if (user == other) continue;
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == value) user->ReplaceOperand(i, other);
    }
  }
  if (value->parent()->root() == value) value->parent()->set_root(other);
}

HloInstruction* ResultInEntryLayout(HloInstruction* value, const Shape& shape) {
  if (AllRowMajor(shape)) return value;
  if (!shape.IsTuple()) return ToPhysical(value, shape);
  std::vector<HloInstruction*> elements;
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < shape.tuple_size(); ++i) {
    HloInstruction* element = value->parent()->Add(HloOpcode::kGetTupleElement, value->shape().tuple_shape(i), {value});
    element->set_attr<AttrKind::kIndex>(i);
    elements.push_back(ResultInEntryLayout(element, shape.tuple_shape(i)));
    shapes.push_back(elements.back()->shape());
  }
  return value->parent()->Add(HloOpcode::kTuple, Shape::Tuple(std::move(shapes)), elements);
}

}  // namespace

absl::StatusOr<bool> NormalizeLayouts(HloModule* module) {
  HloComputation* entry = module->entry();
  std::vector<Shape> parameters;
  bool changed = false;
  for (int64_t i = 0; i < entry->parameter_count(); ++i) parameters.push_back(EntryParameterShape(*module, i));
  const Shape result = EntryResultShape(*module);
  for (const auto& computation : module->computations()) {
    std::vector<HloInstruction*> bitcasts;
    for (const auto& i : computation->instructions()) {
      changed |= !AllRowMajor(i->shape());
      if (i->opcode() == HloOpcode::kBitcast) bitcasts.push_back(i.get());
    }
    for (HloInstruction* bitcast : bitcasts) NormalizeBitcast(bitcast);
  }
  for (const auto& computation : module->computations()) {
    for (const auto& i : computation->instructions()) *i->mutable_shape() = WithDefaultLayout(i->shape());
  }
  for (int64_t i = 0; i < entry->parameter_count(); ++i) {
    if (AllRowMajor(parameters[i])) continue;
    HloInstruction* parameter = entry->parameter(i);
    if (!parameters[i].IsArray()) {
      return absl::UnimplementedError(
          absl::StrCat("tuple parameter ", parameter->name(),
                       " of the entry computation has a layout that is not row-major: ", parameters[i].ToString()));
    }
    changed = true;
    *parameter->mutable_shape() = Physical(parameters[i]);
    RedirectUsers(parameter, ToLogical(parameter, parameters[i]));
  }
  if (!AllRowMajor(result)) {
    changed = true;
    entry->set_root(ResultInEntryLayout(entry->root(), result));
  }
  ModuleConfig& config = module->config();
  config.has_entry_layout = false;
  config.entry_parameter_layouts.clear();
  if (changed) {
    for (const auto& computation : module->computations()) computation->RemoveDead();
    module->schedule().clear();
  }
  return changed;
}

}  // namespace xc::cpu
