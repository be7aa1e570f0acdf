#include "tools/hoist_constants.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/interpreter/evaluator.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;
using Literals = std::vector<std::shared_ptr<const Literal>>;

class Hoister {
 public:
  explicit Hoister(HloModule* module) : module_(*module) {}

  absl::StatusOr<Literals> Run() {
    module_.RemoveUnusedComputations();
    const std::vector<HloComputation*> order = module_.ComputationPostOrder();
    FindOpen(order);
    for (HloComputation* computation : order) {
      if (!open_.contains(computation)) continue;
      XC_RETURN_IF_ERROR(EvaluateIotas(computation));
      SplitTuples(computation);
      for (HloInstruction* instruction : Instructions(*computation)) PassToCallees(instruction);
    }
    const Literals values = AppendParameters(module_.entry());
    ModuleConfig& config = module_.config();
    if (config.has_entry_layout) {
      for (const auto& value : values) config.entry_parameter_layouts.push_back(value->shape());
    }
    return values;
  }

 private:
  static std::vector<HloInstruction*> Instructions(const HloComputation& computation) {
    std::vector<HloInstruction*> instructions;
    for (const auto& instruction : computation.instructions()) instructions.push_back(instruction.get());
    return instructions;
  }

  // Those to which values can be passed: the entry, and what only open computations call; once, unless by calls.
  void FindOpen(const std::vector<HloComputation*>& order) {
    absl::flat_hash_map<const HloComputation*, std::vector<const HloInstruction*>> sites;
    for (const HloComputation* computation : order) {
      for (const auto& instruction : computation->instructions()) {
        for (const HloComputation* callee : instruction->called_computations()) {
          sites[callee].push_back(instruction.get());
        }
      }
    }
    open_.insert(module_.entry());
    for (auto it = order.rbegin(); it != order.rend(); ++it) {  // callers first
      const auto& callers = sites[*it];
      if (callers.empty()) continue;
      const bool all_calls = std::all_of(callers.begin(), callers.end(),
                                         [](const HloInstruction* caller) { return caller->opcode() == O::kCall; });
      const O only = callers.front()->opcode();
      const bool passes = all_calls || (callers.size() == 1 && (only == O::kWhile || only == O::kConditional));
      if (passes && std::all_of(callers.begin(), callers.end(),
                                [&](const HloInstruction* caller) { return open_.contains(caller->parent()); })) {
        open_.insert(*it);
      }
    }
  }

  // Iotas become constants where a user of theirs has nothing else to depend on, and would be folded.
  absl::Status EvaluateIotas(HloComputation* computation) {
    absl::flat_hash_set<const HloInstruction*> fixed;
    std::vector<HloInstruction*> folding;
    for (HloInstruction* instruction : computation->PostOrder()) {
      const bool derived = instruction->operand_count() > 0 && !instruction->HasSideEffect() &&
                           std::all_of(instruction->operands().begin(), instruction->operands().end(),
                                       [&](const HloInstruction* operand) { return fixed.contains(operand); });
      if (instruction->opcode() == O::kIota || derived) fixed.insert(instruction);
    }
    for (HloInstruction* instruction : Instructions(*computation)) {
      if (instruction->opcode() != O::kIota || instruction->shape().is_dynamic()) continue;
      if (std::any_of(instruction->users().begin(), instruction->users().end(),
                      [&](const HloInstruction* user) { return fixed.contains(user); })) {
        folding.push_back(instruction);
      }
    }
    for (HloInstruction* iota : folding) {
      XC_ASSIGN_OR_RETURN(Literal value, Evaluator().EvaluateInstruction(*iota, {}));
      computation->ReplaceWithNew(iota, HloInstruction::CreateConstant(std::move(value)));
    }
    return absl::OkStatus();
  }

  void SplitTuples(HloComputation* computation) {
    for (HloInstruction* instruction : Instructions(*computation)) {
      if (instruction->IsConstant() && instruction->shape().IsTuple() && !instruction->literal().elided()) {
        computation->Replace(instruction, Split(computation, instruction->literal()));
      }
    }
  }

  HloInstruction* Split(HloComputation* computation, const Literal& literal) {
    if (!literal.IsTuple()) return computation->Add(HloInstruction::CreateConstant(literal.Clone()));
    std::vector<HloInstruction*> elements;
    for (const Literal& element : literal.tuple()) elements.push_back(Split(computation, element));
    return computation->Add(O::kTuple, literal.shape(), elements);
  }

  // What is to be passed to a computation from outside: its constants.
  static std::vector<HloInstruction*> Constants(const HloComputation& computation) {
    std::vector<HloInstruction*> constants;
    for (HloInstruction* instruction : Instructions(computation)) {
      if (instruction->IsConstant() && instruction->shape().IsArray() && !instruction->literal().elided()) {
        constants.push_back(instruction);
      }
    }
    return constants;
  }

  Literals AppendParameters(HloComputation* computation) {
    Literals values;
    for (HloInstruction* constant : Constants(*computation)) {
      values.push_back(constant->shared_literal());
      computation->ReplaceWithNew(
          constant, HloInstruction::CreateParameter(computation->parameter_count(), values.back()->shape(), "hoisted"));
    }
    return values;
  }

  // Makes the one parameter a tuple of what it was and `values`, of which those from `first` on are the constants here.
  void PackParameter(HloComputation* computation, const Literals& values, size_t first) {
    HloInstruction* parameter = computation->parameter(0);
    const std::vector<HloInstruction*> constants = Constants(*computation);
    const Shape before = parameter->shape();
    *parameter->mutable_shape() = Packed(before, values);
    parameter->mutable_attributes()->Erase(AttrKind::kSharding);
    parameter->ReplaceAllUsesWith(Element(parameter, 0, before));
    for (size_t i = 0; i < constants.size(); ++i) {
      const size_t at = first + i;
      computation->Replace(constants[i], Element(parameter, static_cast<int64_t>(at) + 1, values[at]->shape()));
    }
  }

  static HloInstruction* Element(HloInstruction* tuple, int64_t index, const Shape& shape) {
    auto element = HloInstruction::Create(O::kGetTupleElement, shape, {tuple});
    element->set_attr<AttrKind::kIndex>(index);
    return tuple->parent()->Add(std::move(element));
  }

  static Shape Packed(const Shape& before, const Literals& values) {
    std::vector<Shape> shapes = {before};
    for (const auto& value : values) shapes.push_back(value->shape());
    return Shape::Tuple(std::move(shapes));
  }

  // A tuple of `operand` and of `values`, as constants of the caller.
  static HloInstruction* PackOperand(HloInstruction* operand, const Literals& values) {
    HloComputation* caller = operand->parent();
    std::vector<HloInstruction*> elements = {operand};
    for (const auto& value : values) elements.push_back(caller->Add(HloInstruction::CreateConstant(value)));
    return caller->Add(O::kTuple, Packed(operand->shape(), values), elements);
  }

  static void AppendValues(const HloComputation& computation, Literals* values) {
    for (const HloInstruction* constant : Constants(computation)) values->push_back(constant->shared_literal());
  }

  void PassToCallees(HloInstruction* instruction) {
    switch (instruction->opcode()) {
      case O::kCall:
        PassToCall(instruction);
        break;
      case O::kWhile:
        PassToLoop(instruction);
        break;
      case O::kConditional:
        PassToBranches(instruction);
        break;
      default:
        break;
    }
  }

  void PassToCall(HloInstruction* call) {
    HloComputation* callee = call->to_apply();
    if (!open_.contains(callee)) return;
    const auto [it, first_site] = appended_.try_emplace(callee);
    if (first_site) it->second = AppendParameters(callee);
    for (const auto& value : it->second) {
      call->AppendOperand(call->parent()->Add(HloInstruction::CreateConstant(value)));
    }
  }

  void PassToLoop(HloInstruction* loop) {
    HloComputation *condition = loop->while_condition(), *body = loop->while_body();
    if (!open_.contains(condition) || !open_.contains(body)) return;
    Literals values;
    AppendValues(*condition, &values);
    const size_t of_condition = values.size();
    AppendValues(*body, &values);
    if (values.empty()) return;
    PackParameter(condition, values, 0);
    PackParameter(body, values, of_condition);
    std::vector<HloInstruction*> state = {body->root()};
    for (size_t i = 0; i < values.size(); ++i) {
      state.push_back(Element(body->parameter(0), static_cast<int64_t>(i) + 1, values[i]->shape()));
    }
    body->set_root(body->Add(O::kTuple, Packed(body->root()->shape(), values), state));
    const Shape before = loop->shape();
    loop->ReplaceOperand(0, PackOperand(loop->operand(0), values));
    *loop->mutable_shape() = Packed(before, values);
    loop->mutable_attributes()->Erase(AttrKind::kSharding);
    loop->ReplaceAllUsesWith(Element(loop, 0, before));
  }

  void PassToBranches(HloInstruction* conditional) {
    for (size_t i = 0; i < conditional->called_computations().size(); ++i) {
      HloComputation* branch = conditional->called(static_cast<int64_t>(i));
      if (!open_.contains(branch)) continue;
      Literals values;
      AppendValues(*branch, &values);
      if (values.empty()) continue;
      PackParameter(branch, values, 0);
      const int64_t operand = static_cast<int64_t>(i) + 1;  // behind the selector
      conditional->ReplaceOperand(operand, PackOperand(conditional->operand(operand), values));
    }
  }

  HloModule& module_;
  absl::flat_hash_set<const HloComputation*> open_;
  absl::flat_hash_map<const HloComputation*, Literals> appended_;
};

}  // namespace

absl::StatusOr<Literals> HoistConstants(HloModule* module) { return Hoister(module).Run(); }

bool OnlyHandsOut(const HloModule& module) {
  const auto& instructions = module.entry()->instructions();
  return std::all_of(instructions.begin(), instructions.end(), [](const auto& instruction) {
    switch (instruction->opcode()) {
      case O::kBitcast:
      case O::kConstant:
      case O::kCopy:
      case O::kGetTupleElement:
      case O::kParameter:
      case O::kTuple:
        return true;
      default:
        return false;
    }
  });
}

}  // namespace xc
