// Makes every array row-major; other layouts at the entry become transposes inside.
#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

// The dimensions of `shape` in memory order, major first.
Int64List MajorToMinor(const Shape& shape) {
  const Layout layout = shape.layout_or_default();
  return Int64List(layout.minor_to_major.rbegin(), layout.minor_to_major.rend());
}

Int64List Permuted(const Int64List& dims, const Int64List& order) {
  Int64List out;
  for (int64_t d : order) out.push_back(dims[d]);
  return out;
}

bool IsPlain(const Shape& shape) {
  for (const auto& [index, leaf] : Leaves(shape)) {
    if (leaf->IsArray() && !leaf->IsRowMajor()) return false;
  }
  return true;
}

// The row-major shape of the same bytes; tuples by elements.
Shape MemoryShape(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.tuple_shapes()) elements.push_back(MemoryShape(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.IsArray() || shape.IsRowMajor()) return WithDefaultLayout(shape);
  return WithDefaultLayout(Shape(shape.type(), Permuted(shape.dims(), MajorToMinor(shape))));
}

// `memory`, the bytes of an array in `layout_shape`'s layout seen row-major, as that array.
HloInstruction* FromLayout(HloInstruction* memory, const Shape& layout_shape) {
  if (!layout_shape.IsArray() || layout_shape.IsRowMajor()) return memory;
  return make::Transpose(memory, make::InversePermutation(MajorToMinor(layout_shape)));
}

// The array `x` with its elements in the order of `layout_shape`'s layout.
HloInstruction* ToLayout(HloInstruction* x, const Shape& layout_shape) {
  if (!layout_shape.IsArray() || layout_shape.IsRowMajor()) return x;
  return make::Transpose(x, MajorToMinor(layout_shape));
}

// Applies `convert` to every array leaf of `value`, which it takes apart and puts together again.
template <typename F>
HloInstruction* ForLeaves(HloInstruction* value, const Shape& shape, F convert) {
  if (!shape.IsTuple()) return convert(value, shape);
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < shape.tuple_size(); ++i) {
    HloInstruction* element = value->opcode() == HloOpcode::kTuple ? value->operand(i) : make::Element(value, i);
    elements.push_back(ForLeaves(element, shape.tuple_shape(i), convert));
  }
  return make::Tuple(value->parent(), elements);
}

void ReplaceUsers(HloInstruction* old, HloInstruction* replacement, const std::vector<HloInstruction*>& users,
                  bool was_root) {
  for (HloInstruction* user : users) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == old) user->ReplaceOperand(i, replacement);
    }
  }
  if (was_root) old->parent()->set_root(replacement);
}

// Layouts of parameters and result as the caller of the module has them.
Shape EntryShape(const Shape& shape, const Shape* declared) {
  return declared != nullptr && SameShape(*declared, shape) ? *declared : shape;
}

}  // namespace

absl::StatusOr<bool> AssignLayouts(HloModule* module, PassContext& context) {
  bool changed = false;
  ModuleConfig& config = module->config();
  HloComputation* entry = module->entry();
  std::vector<Shape> parameter_shapes;
  for (const HloInstruction* parameter : entry->parameters()) {
    const size_t number = parameter->parameter_number();
    const bool declared = config.has_entry_layout && number < config.entry_parameter_layouts.size();
    parameter_shapes.push_back(
        EntryShape(parameter->shape(), declared ? &config.entry_parameter_layouts[number] : nullptr));
  }
  const Shape result_shape =
      EntryShape(entry->root()->shape(), config.has_entry_layout ? &config.entry_result_layout : nullptr);

  // Inside, layouts say nothing that values depend on, except of bitcasts (which keep bytes, not elements) and of
  // custom calls that name layouts.
  for (const auto& computation : module->computations()) {
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == HloOpcode::kBitcast &&
          (!IsPlain(instruction->shape()) || !IsPlain(instruction->operand(0)->shape()))) {
        HloInstruction* x = instruction->operand(0);
        const Int64List from = MajorToMinor(x->shape()), to = MajorToMinor(instruction->shape());
        HloInstruction* memory = make::Transpose(x, from);
        HloInstruction* bytes =
            memory->type() == instruction->type()
                ? make::Reshape(memory, Permuted(instruction->shape().dims(), to))
                : instruction->parent()->Add(HloOpcode::kBitcastConvert,
                                             Shape(instruction->type(), Permuted(instruction->shape().dims(), to)),
                                             {memory});
        instruction->ReplaceAllUsesWith(make::Transpose(bytes, make::InversePermutation(to)));
        context.Count("layouts.bitcast");
        changed = true;
      } else if (instruction->opcode() == HloOpcode::kBitcast &&
                 instruction->type() == instruction->operand(0)->type()) {
        instruction->ReplaceAllUsesWith(make::Reshape(instruction->operand(0), instruction->shape().dims()));
        context.Count("layouts.bitcast");
        changed = true;
      }
    }
    if (changed) computation->RemoveDead();
  }
  for (const auto& computation : module->computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (IsPlain(instruction->shape())) continue;
      *instruction->mutable_shape() = WithDefaultLayout(instruction->shape());
      changed = true;
    }
  }
  for (HloInstruction* parameter : entry->parameters()) {
    const Shape& shape = parameter_shapes[parameter->parameter_number()];
    if (IsPlain(shape)) continue;
    const std::vector<HloInstruction*> users = parameter->users();
    const bool was_root = parameter->IsRoot();
    *parameter->mutable_shape() = MemoryShape(shape);
    ReplaceUsers(parameter,
                 ForLeaves(parameter, shape, [](HloInstruction* x, const Shape& s) { return FromLayout(x, s); }), users,
                 was_root);
    context.Count("layouts.parameter");
    changed = true;
  }
  if (!IsPlain(result_shape)) {
    entry->set_root(
        ForLeaves(entry->root(), result_shape, [](HloInstruction* x, const Shape& s) { return ToLayout(x, s); }));
    context.Count("layouts.result");
    changed = true;
  }
  // Parameters and result are now the arrays that the caller's bytes are.
  if (config.has_entry_layout) {
    config.has_entry_layout = false;
    config.entry_parameter_layouts.clear();
    changed = true;
  }
  return changed;
}

}  // namespace xc
