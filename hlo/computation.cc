// Computations: adding and removing instructions, the root, post order, cloning.
#include <algorithm>

#include "hlo/base/check.h"
#include "hlo/module.h"

namespace xc {

HloComputation::~HloComputation() {
  for (auto& instruction : instructions_) {
    instruction->DetachOperands();
    instruction->RemoveControlDependencies();
  }
}

bool HloComputation::IsEntry() const { return module_ != nullptr && module_->entry() == this; }

HloInstruction* HloComputation::Add(std::unique_ptr<HloInstruction> owned) {
  HloInstruction* instruction = owned.get();
  instruction->parent_ = this;
  if (module_ != nullptr) {
    if (instruction->id_ < 0) instruction->id_ = module_->NextId();
    instruction->name_ = module_->UniqueName(instruction->name_.empty() ? OpcodeName(instruction->opcode_)
                                                                        : absl::string_view(instruction->name_));
  }
  if (instruction->opcode_ == HloOpcode::kParameter) {
    const int64_t number = instruction->parameter_number_;
    XC_CHECK(number >= 0) << "parameter without a number";
    if (static_cast<int64_t>(parameters_.size()) <= number) parameters_.resize(number + 1);
    parameters_[number] = instruction;
  }
  instructions_.push_back(std::move(owned));
  where_[instruction] = std::prev(instructions_.end());
  return instruction;
}

HloInstruction* HloComputation::Add(HloOpcode opcode, Shape shape, absl::Span<HloInstruction* const> operands) {
  return Add(HloInstruction::Create(opcode, std::move(shape), operands));
}

void HloComputation::Remove(HloInstruction* instruction) {
  XC_CHECK(instruction->users().empty()) << instruction->name() << " still has users";
  XC_CHECK(instruction != root_) << instruction->name() << " is the root";
  XC_CHECK(instruction->opcode() != HloOpcode::kParameter) << instruction->name() << " is a parameter";
  auto it = where_.find(instruction);
  XC_CHECK(it != where_.end()) << instruction->name() << " is not in " << name_;
  auto at = it->second;
  where_.erase(it);
  instruction->RemoveControlDependencies();
  instruction->DetachOperands();
  instructions_.erase(at);
}

void HloComputation::RemoveParameter(int64_t number) {
  HloInstruction* parameter = parameters_[number];
  XC_CHECK(parameter->users().empty() && parameter != root_) << parameter->name() << " is still used";
  auto it = where_.find(parameter);
  auto at = it->second;
  where_.erase(it);
  parameter->RemoveControlDependencies();
  instructions_.erase(at);
  parameters_.erase(parameters_.begin() + number);
  for (int64_t i = number; i < parameter_count(); ++i) parameters_[i]->set_parameter_number(i);
}

void HloComputation::Replace(HloInstruction* old, HloInstruction* replacement) {
  XC_CHECK(old != replacement);
  if (!replacement->attributes().Has(AttrKind::kMetadata)) {
    if (const Metadata* metadata = old->FindAttr<AttrKind::kMetadata>()) {
      if (replacement->opcode() != HloOpcode::kParameter && replacement->opcode() != HloOpcode::kConstant) {
        replacement->set_attr<AttrKind::kMetadata>(*metadata);
      }
    }
  }
  old->ReplaceAllUsesWith(replacement);
  if (!old->control_predecessors().empty() || !old->control_successors().empty()) {
    old->MoveControlDependenciesTo(replacement);
  }
  std::vector<HloInstruction*> dead = {old};
  absl::flat_hash_set<HloInstruction*> gone;
  while (!dead.empty()) {
    HloInstruction* instruction = dead.back();
    dead.pop_back();
    if (gone.contains(instruction) || !instruction->IsDead() || instruction->opcode() == HloOpcode::kParameter)
      continue;
    if (instruction != old && (instruction->HasSideEffect() || !instruction->control_successors().empty() ||
                               !instruction->control_predecessors().empty())) {
      continue;
    }
    for (HloInstruction* operand : instruction->operands()) dead.push_back(operand);
    gone.insert(instruction);
    Remove(instruction);
  }
}

HloInstruction* HloComputation::ReplaceWithNew(HloInstruction* old, std::unique_ptr<HloInstruction> replacement) {
  HloInstruction* added = Add(std::move(replacement));
  Replace(old, added);
  return added;
}

bool HloComputation::RemoveDead() {
  // Of what is dead, something has no users: mostly nothing is.
  const auto dead = [this](const std::unique_ptr<HloInstruction>& i) {
    return i->users().empty() && i->control_successors().empty() && i.get() != root_ &&
           i->opcode() != HloOpcode::kParameter && !i->HasSideEffect();
  };
  if (std::none_of(instructions_.begin(), instructions_.end(), dead)) return false;
  absl::flat_hash_set<const HloInstruction*> live;
  live.reserve(instructions_.size());
  std::vector<HloInstruction*> work;
  const auto mark = [&](HloInstruction* instruction) {
    if (live.insert(instruction).second) work.push_back(instruction);
  };
  if (root_ != nullptr) mark(root_);
  for (const auto& instruction : instructions_) {
    if (instruction->opcode() == HloOpcode::kParameter || instruction->HasSideEffect()) mark(instruction.get());
  }
  while (!work.empty()) {
    HloInstruction* instruction = work.back();
    work.pop_back();
    for (HloInstruction* operand : instruction->operands()) mark(operand);
    for (HloInstruction* before : instruction->control_predecessors()) mark(before);
  }
  for (auto& instruction : instructions_) {
    if (live.contains(instruction.get())) continue;
    instruction->RemoveControlDependencies();
    instruction->DetachOperands();
  }
  for (auto it = instructions_.begin(); it != instructions_.end();) {
    if (live.contains(it->get())) {
      ++it;
    } else {
      where_.erase(it->get());
      it = instructions_.erase(it);
    }
  }
  return true;
}

std::vector<HloInstruction*> HloComputation::PostOrder() const {
  std::vector<HloInstruction*> order;
  order.reserve(instructions_.size());
  absl::flat_hash_map<const HloInstruction*, int> state;  // 1: entered, 2: done
  state.reserve(instructions_.size());
  struct Frame {
    HloInstruction* instruction;
    size_t next;
  };
  std::vector<Frame> stack;
  const auto visit = [&](HloInstruction* start) {
    if (state[start] != 0) return;
    state[start] = 1;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      HloInstruction* instruction = frame.instruction;
      const size_t operand_count = instruction->operands().size();
      const size_t total = operand_count + instruction->control_predecessors().size();
      bool descended = false;
      while (frame.next < total) {
        const size_t i = frame.next++;
        HloInstruction* before =
            i < operand_count ? instruction->operands()[i] : instruction->control_predecessors()[i - operand_count];
        int& s = state[before];
        if (s == 0) {
          s = 1;
          stack.push_back({before, 0});
          descended = true;
          break;
        }
      }
      if (descended) continue;
      state[instruction] = 2;
      order.push_back(instruction);
      stack.pop_back();
    }
  };
  for (const auto& instruction : instructions_) visit(instruction.get());
  return order;
}

}  // namespace xc
