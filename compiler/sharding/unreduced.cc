#include "compiler/sharding/unreduced.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;

// The tiling with the summands along a first dimension; how many there are.
int64_t Stack(DeviceTiling* tiling) {
  DeviceTiling stacked = DeviceTiling::Replicated(tiling->rank() + 1);
  stacked.set_order(tiling->order());
  for (const DeviceTiling::Digit& digit : tiling->unreduced()) stacked.Append(0, digit);
  for (int64_t d = 0; d < tiling->rank(); ++d) {
    for (const DeviceTiling::Digit& digit : tiling->dim(d)) stacked.Append(d + 1, digit);
  }
  *tiling = std::move(stacked);
  return tiling->Tiles(0);
}

// Of other dimensions, laid out in order where `shape` has a layout.
Shape WithDims(const Shape& shape, const Int64List& dims) {
  Shape changed(shape.type(), dims);
  if (shape.has_layout()) {
    Layout layout = Layout::Descending(changed.rank());
    layout.memory_space = shape.layout().memory_space;
    changed.set_layout(std::move(layout));
  }
  return changed;
}

Shape Stacked(const Shape& shape, int64_t count) {
  Int64List dims = shape.dims();
  dims.insert(dims.begin(), count);
  return WithDims(shape, dims);
}

// Makes `value` stand where the parameter did, for all that used it before.
void StandIn(HloInstruction* parameter, const std::vector<HloInstruction*>& users, bool is_root,
             HloInstruction* value) {
  for (HloInstruction* user : users) {
    for (int64_t o = 0; o < user->operand_count(); ++o) {
      if (user->operand(o) == parameter) user->ReplaceOperand(o, value);
    }
  }
  if (is_root) parameter->parent()->set_root(value);
}

void StackParameter(HloInstruction* parameter, DeviceTiling* tiling) {
  HloComputation* const entry = parameter->parent();
  const std::vector<HloInstruction*> users = parameter->users();
  const bool is_root = parameter->IsRoot();
  const int64_t count = Stack(tiling);
  *parameter->mutable_shape() = Stacked(parameter->shape(), count);
  parameter->mutable_attributes()->Erase(AttrKind::kSharding);
  ModuleConfig& config = parameter->module()->config();
  if (config.has_entry_layout) {
    Shape& shape = config.entry_parameter_layouts[parameter->parameter_number()];
    shape = Stacked(shape, count);
  }
  HloInstruction* const sum = make::Reduce(parameter, make::Scalar(entry, parameter->type(), 0), {0},
                                           make::Combiner(parameter->module(), O::kAdd, parameter->type()));
  StandIn(parameter, users, is_root, sum);
}

// A product's summands, along a first dimension: those over one part after the other of what is contracted. Null where
// the parts would differ in size.
HloInstruction* DotSummands(const HloInstruction& dot, int64_t count) {
  DotDims dims = dot.dot_dims();
  if (dot.operand_count() != 2 || dims.lhs_contracting.empty() || dot.type() == ElementType::kPred) return nullptr;
  HloInstruction* parts[] = {dot.operand(0), dot.operand(1)};
  Int64List* const contracting[] = {&dims.lhs_contracting, &dims.rhs_contracting};
  Int64List* const batch[] = {&dims.lhs_batch, &dims.rhs_batch};
  for (int side : {0, 1}) {
    const int64_t split = contracting[side]->front();
    Int64List sizes = parts[side]->shape().dims();
    if (sizes[split] % count != 0) return nullptr;
    sizes[split] /= count;
    sizes.insert(sizes.begin() + split, count);
    parts[side] = make::Reshape(parts[side], sizes);
    for (Int64List* list : {contracting[side], batch[side]}) {
      for (int64_t& d : *list) d += d >= split ? 1 : 0;
    }
    batch[side]->insert(batch[side]->begin(), split);
  }
  HloInstruction* const products =
      dot.parent()->Add(dot.CloneWith(Stacked(WithoutLayout(dot.shape()), count), {parts[0], parts[1]}));
  products->mutable_attributes()->Erase(AttrKind::kSharding);
  products->set_attr<AttrKind::kDotDims>(std::move(dims));
  return products;
}

// Summands of a value along a first dimension: of products as each device would have them, of sums those of both sides,
// of anything else all of it and zeros.
HloInstruction* Summands(HloInstruction* whole, int64_t count, int depth) {
  constexpr int kMaxDepth = 8;  // of sums and annotations: both sides of a sum are followed
  if (whole->opcode() == O::kCustomCall && whole->custom_call_target() == "Sharding" && depth < kMaxDepth) {
    return Summands(whole->operand(0), count, depth + 1);
  }
  if (whole->opcode() == O::kAdd && depth < kMaxDepth) {
    return make::Binary(O::kAdd, Summands(whole->operand(0), count, depth + 1),
                        Summands(whole->operand(1), count, depth + 1));
  }
  if (whole->opcode() == O::kDot) {
    if (HloInstruction* const products = DotSummands(*whole, count)) return products;
  }
  HloInstruction* const first = make::Reshape(whole, Stacked(WithoutLayout(whole->shape()), 1).dims());
  HloInstruction* const all = whole->parent()->Add(O::kPad, Stacked(WithoutLayout(whole->shape()), count),
                                                   {first, make::Scalar(whole->parent(), whole->type(), 0)});
  PaddingAttr padding;
  padding.dims.resize(first->shape().rank());
  padding.dims[0].high = count - 1;
  all->set_attr<AttrKind::kPadding>(std::move(padding));
  return all;
}

}  // namespace

Shape WithoutStack(const Shape& shape) {
  return WithDims(shape, Int64List(shape.dims().begin() + 1, shape.dims().end()));
}

absl::Status StackUnreduced(HloModule* module, EntryTilings* tilings) {
  HloComputation* const entry = module->entry();
  size_t leaf = 0;
  for (HloInstruction* parameter : entry->parameters()) {
    const int64_t leaves = parameter->shape().LeafCount();
    for (const size_t end = leaf + leaves; leaf < end; ++leaf) {
      if (tilings->parameters[leaf].unreduced().empty()) continue;
      if (!parameter->shape().IsArray()) {
        return absl::UnimplementedError(
            absl::StrCat(parameter->name(), ": devices have summands of a part of a tuple"));
      }
      StackParameter(parameter, &tilings->parameters[leaf]);
    }
  }
  HloInstruction* const root = entry->root();
  ModuleConfig& config = module->config();
  if (!root->shape().IsTuple()) {
    if (tilings->results.empty() || tilings->results[0].unreduced().empty()) return absl::OkStatus();
    HloInstruction* const all = Summands(root, Stack(&tilings->results[0]), 0);
    if (config.has_entry_layout) config.entry_result_layout = Stacked(config.entry_result_layout, all->shape().dim(0));
    entry->set_root(all);
    entry->RemoveDead();  // the result as it was
    return absl::OkStatus();
  }
  std::vector<HloInstruction*> elements;
  bool any = false;
  leaf = 0;
  for (int64_t e = 0; e < root->shape().tuple_size(); ++e) {
    HloInstruction* element = root->opcode() == O::kTuple ? root->operand(e) : make::GetTupleElement(root, e);
    const int64_t leaves = element->shape().LeafCount();
    for (int64_t l = 0; l < leaves; ++l, ++leaf) {
      if (tilings->results[leaf].unreduced().empty()) continue;
      if (!element->shape().IsArray()) {
        return absl::UnimplementedError(absl::StrCat(root->name(), ": devices have summands of a part of a tuple"));
      }
      element = Summands(element, Stack(&tilings->results[leaf]), 0);
      any = true;
      if (config.has_entry_layout) {
        Shape& shape = config.entry_result_layout.mutable_tuple_shapes()[e];
        shape = Stacked(shape, element->shape().dim(0));
      }
    }
    elements.push_back(element);
  }
  if (any) {
    entry->set_root(make::Tuple(entry, elements));
    entry->RemoveDead();  // the results as they were
  }
  return absl::OkStatus();
}

void DropStacks(HloModule* module, const EntryTilings& before) {
  HloComputation* const entry = module->entry();
  ModuleConfig& config = module->config();
  size_t leaf = 0;
  for (HloInstruction* parameter : entry->parameters()) {
    const size_t first = leaf;
    leaf += parameter->shape().LeafCount();
    if (!parameter->shape().IsArray() || before.parameters[first].unreduced().empty()) continue;
    const std::vector<HloInstruction*> users = parameter->users();
    const bool is_root = parameter->IsRoot();
    const Int64List stacked = parameter->shape().dims();
    *parameter->mutable_shape() = WithoutStack(parameter->shape());
    if (config.has_entry_layout) {
      Shape& shape = config.entry_parameter_layouts[parameter->parameter_number()];
      shape = WithoutStack(shape);
    }
    StandIn(parameter, users, is_root, make::Reshape(parameter, stacked));
  }
  HloInstruction* const root = entry->root();
  const auto drop = [](HloInstruction* value) {
    const Int64List& dims = value->shape().dims();
    return make::Reshape(value, Int64List(dims.begin() + 1, dims.end()));
  };
  if (!root->shape().IsTuple()) {
    if (before.results.empty() || before.results[0].unreduced().empty()) return;
    entry->set_root(drop(root));
    if (config.has_entry_layout) config.entry_result_layout = WithoutStack(config.entry_result_layout);
    return;
  }
  std::vector<HloInstruction*> elements;
  bool any = false;
  leaf = 0;
  for (int64_t e = 0; e < root->shape().tuple_size(); ++e) {
    HloInstruction* element = root->opcode() == O::kTuple ? root->operand(e) : make::GetTupleElement(root, e);
    const size_t first = leaf;
    leaf += element->shape().LeafCount();
    if (element->shape().IsArray() && !before.results[first].unreduced().empty()) {
      element = drop(element);
      any = true;
      if (config.has_entry_layout) {
        Shape& shape = config.entry_result_layout.mutable_tuple_shapes()[e];
        shape = WithoutStack(shape);
      }
    }
    elements.push_back(element);
  }
  if (any) entry->set_root(make::Tuple(entry, elements));
}

}  // namespace xc
