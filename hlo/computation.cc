// Computations: adding and removing instructions, the root, post order, cloning.
#include <algorithm>
#include <bit>
#include <utility>

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

namespace {

// Which instructions were met. Passes ask for orders all the time: a table of pointers with one look at each takes less
// than half of what a hash map of states does.
class MetInstructions {
 public:
  explicit MetInstructions(size_t expected) : table_(std::bit_ceil(2 * expected + 2)) {}

  // Whether it was not met before.
  bool Insert(const HloInstruction* instruction) {
    const HloInstruction** place = Find(instruction);
    if (*place != nullptr) return false;
    *place = instruction;
    if (2 * ++count_ > table_.size()) Grow();  // operands of other computations, in what is not verified yet
    return true;
  }

 private:
  const HloInstruction** Find(const HloInstruction* instruction) {
    const uint64_t mixed = reinterpret_cast<uintptr_t>(instruction) * uint64_t{0x9e3779b97f4a7c15};
    size_t at = mixed >> 32 & (table_.size() - 1);
    while (table_[at] != nullptr && table_[at] != instruction) at = (at + 1) & (table_.size() - 1);
    return &table_[at];
  }
  void Grow() {
    std::vector<const HloInstruction*> old(2 * table_.size());
    std::swap(old, table_);
    for (const HloInstruction* instruction : old) {
      if (instruction != nullptr) *Find(instruction) = instruction;
    }
  }

  std::vector<const HloInstruction*> table_;
  size_t count_ = 0;
};

}  // namespace

std::vector<HloInstruction*> HloComputation::PostOrder() const {
  std::vector<HloInstruction*> order;
  order.reserve(instructions_.size());
  MetInstructions met(instructions_.size());
  struct Frame {
    HloInstruction* instruction;
    size_t next;
  };
  std::vector<Frame> stack;
  for (const auto& start : instructions_) {
    if (!met.Insert(start.get())) continue;
    stack.push_back({start.get(), 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      HloInstruction* instruction = frame.instruction;
      const size_t operand_count = instruction->operands().size();
      const size_t total = operand_count + instruction->control_predecessors().size();
      HloInstruction* below = nullptr;
      while (below == nullptr && frame.next < total) {
        const size_t i = frame.next++;
        HloInstruction* before =
            i < operand_count ? instruction->operands()[i] : instruction->control_predecessors()[i - operand_count];
        if (met.Insert(before)) below = before;
      }
      if (below != nullptr) {
        stack.push_back({below, 0});
      } else {
        order.push_back(instruction);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace xc
