// Loop invariants, the copies at the edges of loops, branches and outputs, and one caller for each computation.
#include "compiler/memory/copy_insertion.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/in_place.h"

namespace xc {

int64_t FirstLeafOf(const Shape& shape, int64_t element) {
  int64_t first = 0;
  for (int64_t i = 0; i < element; ++i) first += shape.tuple_shape(i).LeafCount();
  return first;
}

LoopInvariants::LoopInvariants(const HloModule* module) {
  std::vector<HloComputation*> computations = EmittedComputations(module);
  std::reverse(computations.begin(), computations.end());  // inner loops first: outer ones look through them
  for (const HloComputation* computation : computations) {
    for (const auto& loop : computation->instructions()) {
      if (loop->opcode() != HloOpcode::kWhile) continue;
      const HloComputation* body = loop->while_body();
      std::vector<bool> invariant(loop->shape().LeafCount());
      for (int64_t k = 0; k < static_cast<int64_t>(invariant.size()); ++k) {
        invariant[k] = Resolve({body->root(), k}) == LeafRef{body->parameter(0), k};
      }
      invariant_[loop.get()] = std::move(invariant);
    }
  }
}

bool LoopInvariants::IsInvariant(const HloInstruction* loop, int64_t leaf) const {
  auto it = invariant_.find(loop);
  return it != invariant_.end() && it->second[leaf];
}

LeafRef LoopInvariants::Resolve(LeafRef ref) const {
  while (true) {
    const HloInstruction* at = ref.instruction;
    if (at->opcode() == HloOpcode::kTuple) {
      int64_t i = 0;
      while (ref.leaf >= at->operand(i)->shape().LeafCount()) ref.leaf -= at->operand(i++)->shape().LeafCount();
      ref.instruction = at->operand(i);
    } else if (at->opcode() == HloOpcode::kGetTupleElement) {
      ref.leaf += FirstLeafOf(at->operand(0)->shape(), at->tuple_index());
      ref.instruction = at->operand(0);
    } else if (IsForwarding(at) && at->operand_count() > 0 && at->opcode() != HloOpcode::kAfterAll) {
      ref.instruction = at->operand(0);
    } else if (at->opcode() == HloOpcode::kWhile && IsInvariant(at, ref.leaf)) {
      ref.instruction = at->operand(0);
    } else if (at->opcode() == HloOpcode::kCall) {
      const LeafRef inner = Resolve({at->to_apply()->root(), ref.leaf});
      if (inner.instruction->opcode() != HloOpcode::kParameter) return ref;
      ref = {at->operand(inner.instruction->parameter_number()), inner.leaf};
    } else {
      return ref;
    }
  }
}

namespace {

// Collects what is inserted into one computation and splices it into the schedule at once.
class Inserter {
 public:
  Inserter(HloComputation* computation, const LoopInvariants& invariants)
      : computation_(computation), invariants_(invariants) {}

  // New instructions go before `anchor` (nullptr: at the end).
  void At(const HloInstruction* anchor) { list_ = &lists_[anchor]; }

  HloInstruction* Copy(HloInstruction* source) {
    copies_.push_back(Push(computation_->Add(HloOpcode::kCopy, source->shape(), {source})));
    return copies_.back();
  }

  // The instruction whose whole result is leaf `leaf` of `value`.
  HloInstruction* LeafOf(HloInstruction* value, int64_t leaf) {
    while (value->shape().IsTuple()) {
      int64_t i = 0;
      while (leaf >= value->shape().tuple_shape(i).LeafCount()) leaf -= value->shape().tuple_shape(i++).LeafCount();
      if (value->opcode() == HloOpcode::kTuple) {
        value = value->operand(i);
        continue;
      }
      HloInstruction* element =
          Push(computation_->Add(HloOpcode::kGetTupleElement, value->shape().tuple_shape(i), {value}));
      element->set_attr<AttrKind::kIndex>(i);
      value = element;
    }
    return value;
  }

  HloInstruction* Tuple(const Shape& shape, const std::vector<HloInstruction*>& leaves, size_t* next) {
    if (!shape.IsTuple()) return leaves[(*next)++];
    std::vector<HloInstruction*> elements;
    for (const Shape& element : shape.tuple_shapes()) elements.push_back(Tuple(element, leaves, next));
    return Push(computation_->Add(HloOpcode::kTuple, shape, elements));
  }

  // Replaces `value` (an init or a root) leaf by leaf; `stages[k]` copies are made of leaf k. All first copies of
  // leaves with two precede all last copies.
  HloInstruction* CopyLeaves(HloInstruction* value, const std::vector<int>& stages) {
    const auto leaves = Leaves(value->shape());
    std::vector<HloInstruction*> parts;
    for (size_t k = 0; k < leaves.size(); ++k) parts.push_back(LeafOf(value, k));
    for (int stage : {2, 1}) {
      for (size_t k = 0; k < leaves.size(); ++k) {
        if (stages[k] >= stage) parts[k] = Copy(parts[k]);
      }
    }
    if (std::all_of(stages.begin(), stages.end(), [](int s) { return s == 0; })) return value;
    size_t next = 0;
    return Tuple(value->shape(), parts, &next);
  }

  void ReplaceRoot(const std::vector<int>& stages) {
    At(nullptr);
    HloInstruction* old = computation_->root();
    computation_->set_root(CopyLeaves(old, stages));
  }

  void Finish(std::vector<HloInstruction*>* copies) {
    copies->insert(copies->end(), copies_.rbegin(), copies_.rend());
    if (lists_.empty()) return;
    auto& sequence = computation_->module()->schedule()[computation_];
    std::vector<HloInstruction*> merged;
    for (HloInstruction* instruction : sequence) {
      if (auto it = lists_.find(instruction); it != lists_.end()) {
        merged.insert(merged.end(), it->second.begin(), it->second.end());
      }
      merged.push_back(instruction);
    }
    if (auto it = lists_.find(nullptr); it != lists_.end()) {
      merged.insert(merged.end(), it->second.begin(), it->second.end());
    }
    // Tuples that were taken apart are dead now; users come after what they use, so one sweep from the end suffices.
    for (size_t i = merged.size(); i-- > 0;) {
      HloInstruction* instruction = merged[i];
      const bool bookkeeping =
          instruction->opcode() == HloOpcode::kTuple || instruction->opcode() == HloOpcode::kGetTupleElement;
      if (bookkeeping && instruction->IsDead() && instruction->control_successors().empty()) {
        computation_->Remove(instruction);
        merged[i] = nullptr;
      }
    }
    std::erase(merged, nullptr);
    sequence = std::move(merged);
  }

 private:
  HloInstruction* Push(HloInstruction* instruction) {
    list_->push_back(instruction);
    return instruction;
  }

  HloComputation* computation_;
  const LoopInvariants& invariants_;
  absl::flat_hash_map<const HloInstruction*, std::vector<HloInstruction*>> lists_;
  std::vector<HloInstruction*>* list_ = nullptr;
  std::vector<HloInstruction*> copies_;
};

}  // namespace

std::vector<HloInstruction*> InsertCopies(HloModule* module, const LoopInvariants& invariants) {
  // What the root of each computation needs: who calls it decides.
  absl::flat_hash_map<const HloComputation*, const HloInstruction*> callers;
  std::vector<HloComputation*> computations = EmittedComputations(module);
  for (const HloComputation* computation : computations) {
    for (const auto& instruction : computation->instructions()) {
      for (const HloComputation* callee : InlineCallees(instruction.get())) callers[callee] = instruction.get();
    }
  }
  std::vector<HloInstruction*> copies;
  std::reverse(computations.begin(), computations.end());  // innermost first
  for (HloComputation* computation : computations) {
    Inserter inserter(computation, invariants);
    std::vector<HloInstruction*> loops;
    for (HloInstruction* instruction : module->schedule()[computation]) {
      if (instruction->opcode() == HloOpcode::kWhile) loops.push_back(instruction);
    }
    // The root first: it decides on two stages by what it resolves to before any other copy stands in between.
    const auto leaves = Leaves(computation->root()->shape());
    std::vector<int> stages(leaves.size());
    auto it = callers.find(computation);
    const HloInstruction* caller = it == callers.end() ? nullptr : it->second;
    std::vector<ParameterLeafRef> aliased(leaves.size());
    if (caller == nullptr) {
      if (auto aliases = AliasedOutputs(module); aliases.ok()) aliased = *std::move(aliases);
    }
    for (size_t k = 0; k < leaves.size(); ++k) {
      if (!leaves[k].second->IsArray()) continue;
      const LeafRef from = invariants.Resolve({computation->root(), static_cast<int64_t>(k)});
      const bool is_parameter = from.instruction->opcode() == HloOpcode::kParameter;
      if (caller == nullptr) {
        const bool own =
            is_parameter && aliased[k].number == from.instruction->parameter_number() && aliased[k].leaf == from.leaf;
        stages[k] = own ? 0 : is_parameter ? 2 : 1;
      } else if (caller->opcode() == HloOpcode::kWhile) {
        if (computation == caller->while_condition() || invariants.IsInvariant(caller, k)) continue;
        stages[k] = is_parameter && !invariants.IsInvariant(caller, from.leaf) ? 2 : 1;
      } else if (caller->opcode() == HloOpcode::kConditional) {
        stages[k] = 1;
      }
    }
    inserter.ReplaceRoot(stages);
    for (HloInstruction* loop : loops) {
      const auto state = Leaves(loop->shape());
      std::vector<int> init(state.size());
      for (size_t k = 0; k < state.size(); ++k) {
        init[k] = state[k].second->IsArray() && !invariants.IsInvariant(loop, k);
      }
      inserter.At(loop);
      loop->ReplaceOperand(0, inserter.CopyLeaves(loop->operand(0), init));
    }
    inserter.Finish(&copies);
  }
  return copies;
}

absl::StatusOr<std::vector<ParameterLeafRef>> AliasedOutputs(const HloModule* module) {
  const HloComputation* entry = module->entry();
  const auto outputs = Leaves(entry->root()->shape());
  std::vector<ParameterLeafRef> aliased(outputs.size());
  absl::flat_hash_set<std::pair<int64_t, int64_t>> taken;
  for (const InputOutputAlias& alias : module->config().input_output_alias) {
    const std::string what =
        absl::StrCat("input_output_alias of output {", absl::StrJoin(alias.output_index, ","), "} with parameter ",
                     alias.parameter, " {", absl::StrJoin(alias.parameter_index, ","), "}");
    if (alias.parameter < 0 || alias.parameter >= entry->parameter_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the entry has ", entry->parameter_count(), " parameters"));
    }
    const auto find = [](const auto& leaves, const ShapeIndex& index) -> int64_t {
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (leaves[i].first == index) return i;
      }
      return -1;
    };
    const auto inputs = Leaves(entry->parameter(alias.parameter)->shape());
    const int64_t output = find(outputs, alias.output_index);
    const int64_t input = find(inputs, alias.parameter_index);
    if (output < 0 || input < 0) return absl::InvalidArgumentError(absl::StrCat(what, ": no such array"));
    if (outputs[output].second->ByteSize() != inputs[input].second->ByteSize()) {
      // A may-alias of different sizes asks for nothing that can be had.
      if (!alias.must_alias) continue;
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", inputs[input].second->ToString(), " and ",
                                                     outputs[output].second->ToString(), " differ in size"));
    }
    if (!taken.insert({alias.parameter, input}).second) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": that parameter is aliased twice"));
    }
    aliased[output] = {alias.parameter, input};
  }
  return aliased;
}

absl::StatusOr<bool> FlattenCalls(HloModule* module) {
  absl::flat_hash_set<const HloComputation*> called;
  bool changed = false;
  // Callers before callees; clones are appended, since their own callees are then called twice.
  std::vector<HloComputation*> work = EmittedComputations(module);
  for (size_t i = 0; i < work.size(); ++i) {
    if (i > 100000)
      return absl::ResourceExhaustedError("calls nest too often: more than 100000 copies of computations");
    for (const auto& instruction : work[i]->instructions()) {
      if (InlineCallees(instruction.get()).empty()) continue;
      for (size_t c = 0; c < instruction->called_computations().size(); ++c) {
        HloComputation* callee = instruction->called(c);
        if (called.insert(callee).second) continue;
        HloComputation* clone = module->CloneComputation(callee, "clone");
        instruction->SetCalledComputation(c, clone);
        called.insert(clone);
        work.push_back(clone);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace xc
