// Makes every array row-major; other layouts at the entry and at custom calls become transposes beside them.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/ops/known_calls.h"

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
    HloInstruction* element =
        value->opcode() == HloOpcode::kTuple ? value->operand(i) : make::GetTupleElement(value, i);
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

// Gives a custom call the leaves of its tuple operands one by one, as its function gets them, in the layouts that it
// asks for. Returns whether there are tuples.
bool TakeTuplesApart(HloInstruction* call) {
  if (call->opcode() != HloOpcode::kCustomCall || IsAnnotation(*call)) return false;
  const bool tuples = std::any_of(call->operands().begin(), call->operands().end(),
                                  [](const HloInstruction* operand) { return operand->shape().IsTuple(); });
  if (!tuples) return false;
  std::vector<Shape> layouts;
  for (const Shape* leaf : CallOperandLeaves(*call)) layouts.push_back(*leaf);
  OutputOperandAliasing aliasing;
  const auto outputs = Leaves(call->shape());
  for (const CallAlias& alias : CallAliases(*call)) aliasing.push_back({outputs[alias.output].first, alias.input, {}});
  std::vector<HloInstruction*> leaves;
  for (HloInstruction* operand : std::vector<HloInstruction*>(call->operands().begin(), call->operands().end())) {
    for (const auto& [index, shape] : Leaves(operand->shape())) {
      HloInstruction* leaf = operand;
      for (int64_t i : index)
        leaf = leaf->opcode() == HloOpcode::kTuple ? leaf->operand(i) : make::GetTupleElement(leaf, i);
      leaves.push_back(leaf);
    }
  }
  call->DetachOperands();
  for (HloInstruction* leaf : leaves) call->AppendOperand(leaf);
  call->set_attr<AttrKind::kOperandLayoutConstraints>(std::move(layouts));
  if (call->FindAttr<AttrKind::kOutputToOperandAliasing>() != nullptr) {
    call->set_attr<AttrKind::kOutputToOperandAliasing>(std::move(aliasing));
  }
  return true;
}

// The custom calls of a computation and the layouts that their functions ask for. Operands reach them, and results
// leave them, as bitcasts between those layouts and the row-major arrays of the same bytes.
class CallLayouts {
 public:
  CallLayouts(HloComputation* computation, PassContext& context) : context_(context) {
    for (HloInstruction* call : computation->PostOrder()) {
      if (!AsksForLayouts(call)) continue;
      for (int64_t i = 0; i < call->operand_count(); ++i) {
        HloInstruction* x = call->operand(i);
        const Shape& wanted = Wanted(call, i);
        if (!wanted.IsArray() || wanted.is_dynamic() || wanted.IsRowMajor()) continue;
        if (IsWrapped(x)) {
          kept_.insert(x);
        } else {
          operands_.push_back({call, i, wanted});
        }
      }
      if (IsPlain(call->shape())) continue;
      kept_.insert(call);
      if (!IsWrapped(call, call->shape())) results_.push_back(call);
    }
  }

  // Whether the instruction keeps its layout: a call, an element of its result, or a bitcast beside it.
  bool Keeps(const HloInstruction* instruction) const { return kept_.contains(instruction); }

  bool Wrap() {
    for (const Operand& o : operands_) {
      HloInstruction* memory = ToLayout(o.call->operand(o.index), o.wanted);
      HloInstruction* bitcast = o.call->parent()->Add(HloOpcode::kBitcast, o.wanted, {memory});
      o.call->ReplaceOperand(o.index, bitcast);
      kept_.insert(bitcast);
      context_.Count("layouts.call_operand");
    }
    for (HloInstruction* call : results_) {
      const Shape shape = call->shape();
      const std::vector<HloInstruction*> users = call->users();
      const bool was_root = call->IsRoot();
      HloInstruction* plain = ForLeaves(call, shape, [&](HloInstruction* x, const Shape& leaf) {
        if (IsPlain(leaf)) return x;
        *x->mutable_shape() = leaf;
        kept_.insert(x);
        HloInstruction* memory = call->parent()->Add(HloOpcode::kBitcast, MemoryShape(leaf), {x});
        kept_.insert(memory);
        return FromLayout(memory, leaf);
      });
      ReplaceUsers(call, plain, users, was_root);
      context_.Count("layouts.call_result");
    }
    return !operands_.empty() || !results_.empty();
  }

 private:
  struct Operand {
    HloInstruction* call;
    int64_t index;
    Shape wanted;
  };

  // The rows of TopK are those of the array, whatever the order in memory; annotations pass values on.
  static bool AsksForLayouts(const HloInstruction* instruction) {
    return instruction->opcode() == HloOpcode::kCustomCall && !instruction->shape().is_dynamic() &&
           instruction->custom_call_target() != "TopK" && !IsAnnotation(*instruction);
  }

  // Operand `i` with the layout that the call asks for.
  static const Shape& Wanted(const HloInstruction* call, int64_t i) {
    const auto* constraints = call->FindAttr<AttrKind::kOperandLayoutConstraints>();
    return constraints != nullptr ? (*constraints)[i] : call->operand(i)->shape();
  }

  // Whether the operand `x` is a bitcast as Wrap makes them, for calls that all ask for its layout.
  static bool IsWrapped(const HloInstruction* x) {
    if (x->opcode() != HloOpcode::kBitcast || !IsPlain(x->operand(0)->shape()) || x->IsRoot()) return false;
    for (const HloInstruction* user : x->users()) {
      if (!AsksForLayouts(user)) return false;
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (user->operand(i) != x) continue;
        if (Wanted(user, i).layout_or_default() != x->shape().layout_or_default()) return false;
      }
    }
    return true;
  }

  // Whether every array in another layout that `value` has is only used by the bitcast that Wrap makes of it.
  bool IsWrapped(const HloInstruction* value, const Shape& shape) {
    if (value->IsRoot()) return false;
    for (const HloInstruction* user : value->users()) {
      if (shape.IsTuple() && user->opcode() == HloOpcode::kGetTupleElement) {
        const Shape& element = shape.tuple_shape(user->tuple_index());
        if (IsPlain(element)) continue;
        if (!IsWrapped(user, element)) return false;
      } else if (shape.IsTuple() || user->opcode() != HloOpcode::kBitcast || user->shape() != MemoryShape(shape)) {
        return false;
      }
      kept_.insert(user);
    }
    return true;
  }

  PassContext& context_;
  absl::flat_hash_set<const HloInstruction*> kept_;
  std::vector<Operand> operands_;
  std::vector<HloInstruction*> results_;
};

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
  // custom calls.
  for (const auto& computation : module->computations()) {
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (!TakeTuplesApart(instruction)) continue;
      context.Count("layouts.call_tuple");
      changed = true;
    }
    CallLayouts calls(computation.get(), context);
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != HloOpcode::kBitcast || calls.Keeps(instruction)) continue;
      HloInstruction* x = instruction->operand(0);
      if (!IsPlain(instruction->shape()) || !IsPlain(x->shape())) {
        const Int64List from = MajorToMinor(x->shape()), to = MajorToMinor(instruction->shape());
        HloInstruction* memory = make::Transpose(x, from);
        HloInstruction* bytes =
            memory->type() == instruction->type()
                ? make::Reshape(memory, Permuted(instruction->shape().dims(), to))
                : instruction->parent()->Add(HloOpcode::kBitcastConvert,
                                             Shape(instruction->type(), Permuted(instruction->shape().dims(), to)),
                                             {memory});
        instruction->ReplaceAllUsesWith(make::Transpose(bytes, make::InversePermutation(to)));
      } else if (instruction->type() == x->type()) {
        instruction->ReplaceAllUsesWith(make::Reshape(x, instruction->shape().dims()));
      } else {
        continue;
      }
      context.Count("layouts.bitcast");
      changed = true;
    }
    changed |= calls.Wrap();
    for (const auto& instruction : computation->instructions()) {
      if (IsPlain(instruction->shape()) || calls.Keeps(instruction.get())) continue;
      *instruction->mutable_shape() = WithDefaultLayout(instruction->shape());
      changed = true;
    }
    if (changed) computation->RemoveDead();
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
