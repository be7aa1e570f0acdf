#include "hlo/instruction.h"

#include <algorithm>

#include "hlo/module.h"

namespace xc {

std::unique_ptr<HloInstruction> HloInstruction::Create(HloOpcode opcode, Shape shape,
                                                       absl::Span<HloInstruction* const> operands) {
  std::unique_ptr<HloInstruction> instruction(new HloInstruction(opcode, std::move(shape)));
  instruction->operands_.reserve(operands.size());
  for (HloInstruction* operand : operands) instruction->AppendOperand(operand);
  return instruction;
}

std::unique_ptr<HloInstruction> HloInstruction::CreateConstant(std::shared_ptr<const Literal> literal) {
  auto instruction = Create(HloOpcode::kConstant, literal->shape());
  instruction->literal_ = std::move(literal);
  return instruction;
}

std::unique_ptr<HloInstruction> HloInstruction::CreateConstant(Literal literal) {
  return CreateConstant(std::make_shared<const Literal>(std::move(literal)));
}

std::unique_ptr<HloInstruction> HloInstruction::CreateParameter(int64_t number, Shape shape, absl::string_view name) {
  auto instruction = Create(HloOpcode::kParameter, std::move(shape));
  instruction->parameter_number_ = number;
  instruction->name_ = std::string(name);
  return instruction;
}

HloInstruction::~HloInstruction() {
  RemoveControlDependencies();
  DetachOperands();
}

std::unique_ptr<HloInstruction> HloInstruction::CloneWith(const Shape& shape,
                                                          absl::Span<HloInstruction* const> operands) const {
  auto clone = Create(opcode_, shape, operands);
  clone->name_ = name_;
  clone->attributes_ = attributes_;
  clone->called_ = called_;
  clone->literal_ = literal_;
  clone->parameter_number_ = parameter_number_;
  return clone;
}

HloModule* HloInstruction::module() const { return parent_ ? parent_->module() : nullptr; }

void HloInstruction::AddUser(HloInstruction* user) {
  // Room first: where memory runs out, list and index still agree.
  if (users_.size() == users_.capacity()) users_.reserve(std::max<size_t>(1, 2 * users_.size()));
  if (user_index_.emplace(user, users_.size()).second) users_.push_back(user);
}

void HloInstruction::RemoveUserIfUnused(HloInstruction* user) {
  if (std::find(user->operands_.begin(), user->operands_.end(), this) != user->operands_.end()) return;
  auto it = user_index_.find(user);
  if (it == user_index_.end()) return;
  const int64_t at = it->second;
  user_index_.erase(it);
  if (at + 1 != static_cast<int64_t>(users_.size())) {
    users_[at] = users_.back();
    user_index_[users_[at]] = at;
  }
  users_.pop_back();
}

void HloInstruction::ReplaceOperand(int64_t i, HloInstruction* operand) {
  HloInstruction* old = operands_[i];
  if (old == operand) return;
  operands_[i] = operand;
  if (operand != nullptr) operand->AddUser(this);
  if (old != nullptr) old->RemoveUserIfUnused(this);
}

void HloInstruction::AppendOperand(HloInstruction* operand) {
  operands_.push_back(operand);
  if (operand != nullptr) operand->AddUser(this);
}

void HloInstruction::DetachOperands() {
  std::vector<HloInstruction*> old = std::move(operands_);
  operands_.clear();
  for (HloInstruction* operand : old) {
    if (operand != nullptr) operand->RemoveUserIfUnused(this);
  }
}

bool HloInstruction::IsRoot() const { return parent_ != nullptr && parent_->root() == this; }

void HloInstruction::ReplaceAllUsesWith(HloInstruction* other) {
  const std::vector<HloInstruction*> users = users_;
  for (HloInstruction* user : users) {
    if (user == other) continue;  // `other` may be computed from this one
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operands_[i] == this) user->ReplaceOperand(i, other);
    }
  }
  if (IsRoot()) parent_->set_root(other);
}

void HloInstruction::AddControlPredecessor(HloInstruction* before) {
  if (std::find(control_predecessors_.begin(), control_predecessors_.end(), before) != control_predecessors_.end()) {
    return;
  }
  control_predecessors_.push_back(before);
  try {
    before->control_successors_.push_back(this);
  } catch (...) {  // no memory: none may know of what does not know of it
    control_predecessors_.pop_back();
    throw;
  }
}

void HloInstruction::RemoveControlDependencies() {
  for (HloInstruction* before : control_predecessors_) std::erase(before->control_successors_, this);
  for (HloInstruction* after : control_successors_) std::erase(after->control_predecessors_, this);
  control_predecessors_.clear();
  control_successors_.clear();
}

void HloInstruction::MoveControlDependenciesTo(HloInstruction* other) {
  const auto before = control_predecessors_;
  const auto after = control_successors_;
  RemoveControlDependencies();
  for (HloInstruction* i : before) {
    if (i != other) other->AddControlPredecessor(i);
  }
  for (HloInstruction* i : after) {
    if (i != other) i->AddControlPredecessor(other);
  }
}

const Metadata& HloInstruction::metadata() const {
  static const Metadata* const kNone = new Metadata();
  const Metadata* metadata = FindAttr<AttrKind::kMetadata>();
  return metadata ? *metadata : *kNone;
}

HloInstruction* HloInstruction::fused_root() const { return fused_computation()->root(); }

bool HloInstruction::HasSideEffect() const {
  if (OpcodeTraits(opcode_) & kSideEffect) return true;
  if (opcode_ == HloOpcode::kCustomCall) return attr_or<AttrKind::kCustomCallHasSideEffect>(false);
  for (const HloComputation* computation : called_) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->HasSideEffect()) return true;
    }
  }
  return false;
}

}  // namespace xc
