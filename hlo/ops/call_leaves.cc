// The leaves of custom calls.
#include "hlo/ops/known_calls.h"

namespace xc {
namespace {

// The number of the first leaf below `index` in `shape`.
int64_t FirstLeafAt(const Shape& shape, const ShapeIndex& index) {
  int64_t leaf = 0;
  const Shape* part = &shape;
  for (int64_t i : index) {
    for (int64_t before = 0; before < i; ++before) leaf += part->tuple_shape(before).LeafCount();
    part = &part->tuple_shape(i);
  }
  return leaf;
}

}  // namespace

std::vector<const Shape*> CallOperandLeaves(const HloInstruction& call) {
  const auto* constraints = call.FindAttr<AttrKind::kOperandLayoutConstraints>();
  const bool constrained = constraints != nullptr && static_cast<int64_t>(constraints->size()) == call.operand_count();
  std::vector<const Shape*> leaves;
  for (int64_t i = 0; i < call.operand_count(); ++i) {
    for (const auto& [index, leaf] : Leaves(constrained ? (*constraints)[i] : call.operand(i)->shape())) {
      leaves.push_back(leaf);
    }
  }
  return leaves;
}

std::vector<CallAlias> CallAliases(const HloInstruction& call) {
  const auto* aliasing = call.FindAttr<AttrKind::kOutputToOperandAliasing>();
  if (aliasing == nullptr) return {};
  const std::vector<const Shape*> inputs = CallOperandLeaves(call);
  const auto outputs = Leaves(call.shape());
  std::vector<CallAlias> aliases;
  for (const OutputOperandAlias& alias : *aliasing) {
    int64_t input = FirstLeafAt(call.operand(alias.operand)->shape(), alias.operand_index);
    for (int64_t i = 0; i < alias.operand; ++i) input += call.operand(i)->shape().LeafCount();
    const int64_t output = FirstLeafAt(call.shape(), alias.output_index);
    const Shape* part = &call.shape();
    for (int64_t i : alias.output_index) part = &part->tuple_shape(i);
    for (int64_t i = 0; i < part->LeafCount(); ++i) {
      const Shape &in = *inputs[input + i], &out = *outputs[output + i].second;
      if (in.IsArray() && in.layout_or_default() == out.layout_or_default()) aliases.push_back({output + i, input + i});
    }
  }
  return aliases;
}

}  // namespace xc
