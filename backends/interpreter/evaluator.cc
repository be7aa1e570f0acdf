// Entry points of the interpreter, and runs: plans, frames, limits.
#include "backends/interpreter/evaluator.h"

#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/interpreter/run.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"

namespace xc {
namespace interp {
namespace {

// More than the verifier lets through.
constexpr int kMaxDepth = 600;
// Bounds on values kept between the runs of a computation.
constexpr int64_t kMaxKeptValue = 1 << 20, kMaxKept = 64 << 20;

// Counts its bytes among the live ones as long as it exists, wherever its elements have gone meanwhile.
struct CountedLiteral : Literal {
  CountedLiteral(Literal literal, int64_t* live) : Literal(std::move(literal)), live_bytes(live), bytes(byte_size()) {
    *live_bytes += bytes;
  }
  ~CountedLiteral() { *live_bytes -= bytes; }
  int64_t* live_bytes;
  int64_t bytes;
};

// Gives the literal the layouts of `shape`.
void SetShape(const Shape& shape, Literal* literal) {
  if (!literal->IsTuple()) {
    *literal->mutable_shape() = shape;
    return;
  }
  std::vector<Literal> elements = std::move(literal->mutable_tuple());
  for (size_t i = 0; i < elements.size(); ++i) SetShape(shape.tuple_shape(i), &elements[i]);
  *literal = Literal::Tuple(std::move(elements));
}

}  // namespace

Run::Run(const EvaluatorOptions& options)
    : options_(options),
      max_bytes_(options.max_bytes > 0 ? options.max_bytes : AvailableMemory() / 4 * 3),
      deadline_(absl::Now() + options.time_limit) {
  run_context_.device = options.device;
}

Value Run::Borrow(const Literal& literal) {
  if (!literal.IsTuple()) {
    // The second reference keeps the literal from ever looking unshared.
    borrowed_.emplace_back(&literal, [](const Literal*) {});
    return {borrowed_.back(), nullptr};
  }
  auto elements = std::make_shared<std::vector<Value>>();
  for (const Literal& element : literal.tuple()) elements->push_back(Borrow(element));
  return {nullptr, std::move(elements)};
}

Value Run::Own(Literal literal) {
  if (!literal.IsTuple()) {
    return {std::make_shared<CountedLiteral>(std::move(literal), &live_bytes_), nullptr};
  }
  auto elements = std::make_shared<std::vector<Value>>();
  for (Literal& element : literal.mutable_tuple()) elements->push_back(Own(std::move(element)));
  return {nullptr, std::move(elements)};
}

Literal Run::ToLiteral(Value value) {
  if (!value.IsTuple()) {
    if (value.array.use_count() != 1) return value.array->Clone();
    return std::move(const_cast<Literal&>(*value.array));
  }
  std::vector<Literal> elements;
  const bool owned = value.tuple.use_count() == 1;
  auto& parts = const_cast<std::vector<Value>&>(*value.tuple);
  for (Value& part : parts) elements.push_back(ToLiteral(owned ? std::move(part) : part));
  return Literal::Tuple(std::move(elements));
}

absl::Status Run::CheckTime() {
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
    return absl::CancelledError("the run was cancelled");
  }
  if (deadline_ != absl::InfiniteFuture() && absl::Now() > deadline_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the run took longer than ", absl::FormatDuration(options_.time_limit)));
  }
  return absl::OkStatus();
}

absl::Status Run::CheckMemory(int64_t bytes) {
  if (bytes > max_bytes_ - live_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", bytes, " bytes more than the ", live_bytes_, " in use; the limit is ", max_bytes_));
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> Run::Call(const HloComputation& computation, std::vector<Literal> arguments) {
  std::vector<Value> values;
  for (Literal& argument : arguments) values.push_back(Own(std::move(argument)));
  XC_ASSIGN_OR_RETURN(Value result, RunComputation(computation, std::move(values)));
  return ToLiteral(std::move(result));
}

absl::StatusOr<ScalarFunction*> Run::Function(const HloComputation& computation, bool widen) {
  std::unique_ptr<ScalarFunction>& function = functions_[{&computation, widen}];
  if (function == nullptr) {
    XC_ASSIGN_OR_RETURN(
        auto made, ScalarFunction::Create(computation, widen, [this](const HloComputation& c, std::vector<Literal> a) {
          return Call(c, std::move(a));
        }));
    // Making it may have run nothing, so the reference into the map still holds.
    function = std::move(made);
  }
  return function.get();
}

Run::Plan& Run::PlanFor(const HloComputation& computation) {
  std::unique_ptr<Plan>& plan = plans_[&computation];
  if (plan != nullptr) return *plan;
  plan = std::make_unique<Plan>();
  absl::flat_hash_map<const HloInstruction*, int> slots;
  const std::vector<HloInstruction*> order = computation.PostOrder();

  // What the root needs, and what has effects, runs.
  absl::flat_hash_map<const HloInstruction*, bool> needed;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction* instruction = *it;
    bool need = instruction == computation.root() || (OpcodeTraits(instruction->opcode()) & kSideEffect) ||
                !instruction->called_computations().empty() || instruction->opcode() == HloOpcode::kCustomCall;
    for (const HloInstruction* user : instruction->users()) need = need || needed[user];
    needed[instruction] = need;
  }
  // An element is taken out as soon as its tuple is there: the tuple then lives no longer than it must, and its
  // elements can be updated in place.
  const std::function<void(const HloInstruction*)> add = [&](const HloInstruction* instruction) {
    if (!needed[instruction] || slots.contains(instruction)) return;
    slots[instruction] = static_cast<int>(plan->steps.size());
    plan->steps.push_back({instruction, Prepare(*instruction)});
    if (!instruction->shape().IsTuple()) return;
    for (const HloInstruction* user : instruction->users()) {
      if (user->opcode() == HloOpcode::kGetTupleElement && user->control_predecessors().empty()) add(user);
    }
  };
  // Whoever else reads a buffer that is about to be updated in place goes first, where dependencies allow, so that the
  // update need not copy it.
  const auto read_first = [&](const HloInstruction* reader, const HloInstruction* update) {
    std::vector<const HloInstruction*> found;
    absl::flat_hash_set<const HloInstruction*> seen;
    const std::function<bool(const HloInstruction*)> visit = [&](const HloInstruction* instruction) {
      if (slots.contains(instruction) || seen.contains(instruction)) return true;
      if (instruction == update || !needed[instruction] || seen.size() > 200) return false;
      seen.insert(instruction);
      for (const HloInstruction* before : instruction->control_predecessors()) {
        if (!visit(before)) return false;
      }
      for (const HloInstruction* operand : instruction->operands()) {
        if (!visit(operand)) return false;
      }
      found.push_back(instruction);
      return true;
    };
    if (!visit(reader)) return;
    for (const HloInstruction* instruction : found) add(instruction);
  };
  for (const HloInstruction* instruction : order) {
    const bool update =
        instruction->opcode() == HloOpcode::kDynamicUpdateSlice || instruction->opcode() == HloOpcode::kScatter;
    if (update && !slots.contains(instruction) && needed[instruction]) {
      for (const HloInstruction* reader : instruction->operand(0)->users()) read_first(reader, instruction);
    }
    add(instruction);
  }

  plan->root = slots[computation.root()];
  std::vector<bool> used(plan->steps.size(), false);
  used[plan->root] = true;
  for (size_t i = plan->steps.size(); i-- > 0;) {
    Step& step = plan->steps[i];
    step.drop_result = !used[i];
    const auto& operands = step.instruction->operands();
    step.operands.resize(operands.size());
    step.last_use.resize(operands.size());
    for (size_t j = operands.size(); j-- > 0;) {
      const int slot = slots[operands[j]];
      step.operands[j] = slot;
      step.last_use[j] = !used[slot];
      used[slot] = true;
    }
  }
  for (Step& step : plan->steps) {
    step.invariant = IsPure(*step.instruction);
    for (int operand : step.operands) step.invariant = step.invariant && plan->steps[operand].invariant;
  }
  return *plan;
}

bool Run::IsPure(const HloInstruction& instruction) {
  const HloOpcode opcode = instruction.opcode();
  if (opcode == HloOpcode::kParameter || opcode == HloOpcode::kCustomCall || opcode == HloOpcode::kWhile ||
      (OpcodeTraits(opcode) & kSideEffect)) {
    return false;
  }
  for (const HloComputation* called : instruction.called_computations()) {
    const auto [it, added] = pure_.try_emplace(called, true);
    if (added) {
      bool pure = true;
      for (const auto& inner : called->instructions()) {
        pure = pure && (inner->opcode() == HloOpcode::kParameter || IsPure(*inner));
      }
      pure_[called] = pure;
    }
    if (!pure_[called]) return false;
  }
  return true;
}

void Run::SkipInvariants(Plan* plan) {
  std::vector<bool> needed(plan->steps.size(), false);
  needed[plan->root] = true;
  for (size_t i = plan->steps.size(); i-- > 0;) {
    Step& step = plan->steps[i];
    if (!step.invariant) needed[i] = true;
    step.skip = !needed[i];
    if (step.skip || step.kept.array != nullptr) continue;
    for (int operand : step.operands) needed[operand] = true;
  }
}

absl::StatusOr<Value> Run::RunComputation(const HloComputation& computation, std::vector<Value> arguments) {
  if (static_cast<int64_t>(arguments.size()) != computation.parameter_count()) {
    return absl::InvalidArgumentError(absl::StrCat("computation ", computation.name(), " takes ",
                                                   computation.parameter_count(), " arguments, ", arguments.size(),
                                                   " were given"));
  }
  if (++depth_ > kMaxDepth) {
    return absl::ResourceExhaustedError(absl::StrCat("calls are nested deeper than ", kMaxDepth));
  }
  Plan& plan = PlanFor(computation);
  // A first run may stay the only one; the second keeps values of invariant steps for those after it.
  const bool keep = ++plan.runs == 2;
  std::vector<Value> frame(plan.steps.size());
  std::vector<Value> operands;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    absl::Status status = RunStep(plan.steps[i], keep, arguments, operands, frame.data(), &frame[i]);
    if (!status.ok()) {
      --depth_;
      return status;
    }
  }
  if (keep) SkipInvariants(&plan);
  --depth_;
  return std::move(frame[plan.root]);
}

absl::Status Run::RunStep(Step& step, bool keep, std::vector<Value>& arguments, std::vector<Value>& operands,
                          Value* frame, Value* result) {
  const HloInstruction& instruction = *step.instruction;
  if (instruction.opcode() == HloOpcode::kParameter) {
    *result = std::move(arguments[instruction.parameter_number()]);
    return absl::OkStatus();
  }
  if (step.skip) return absl::OkStatus();
  if (step.kept.array != nullptr) {
    *result = step.kept;
    return absl::OkStatus();
  }
  operands.clear();
  for (size_t j = 0; j < step.operands.size(); ++j) {
    Value& value = frame[step.operands[j]];
    operands.push_back(step.last_use[j] ? std::move(value) : value);
  }
  XC_ASSIGN_OR_RETURN(Value value, RunPrepared(instruction, step.prepared, operands));
  if (keep && step.invariant && !value.IsTuple() && !instruction.IsConstant()) {
    const int64_t bytes = value.array->byte_size();
    if (bytes <= kMaxKeptValue && kept_bytes_ + bytes <= kMaxKept) {
      kept_bytes_ += bytes;
      step.kept = value;
    }
  }
  if (!step.drop_result) *result = std::move(value);
  return absl::OkStatus();
}

}  // namespace interp

absl::StatusOr<Literal> Evaluator::Evaluate(const HloModule& module, absl::Span<const Literal* const> arguments) const {
  if (module.entry() == nullptr) return absl::InvalidArgumentError("the module has no entry computation");
  return EvaluateComputation(*module.entry(), arguments);
}

absl::StatusOr<Literal> Evaluator::EvaluateComputation(const HloComputation& computation,
                                                       absl::Span<const Literal* const> arguments) const {
  interp::Run run(options_);
  std::vector<interp::Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (static_cast<int64_t>(i) < computation.parameter_count() &&
        !Compatible(arguments[i]->shape(), computation.parameter(i)->shape())) {
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is ", arguments[i]->shape().ToString(false),
                                                     ", the parameter is ",
                                                     computation.parameter(i)->shape().ToString(false)));
    }
    values.push_back(run.Borrow(*arguments[i]));
  }
  XC_ASSIGN_OR_RETURN(interp::Value result, run.RunComputation(computation, std::move(values)));
  Literal literal = interp::Run::ToLiteral(std::move(result));
  interp::SetShape(computation.root()->shape(), &literal);
  return literal;
}

absl::StatusOr<Literal> Evaluator::EvaluateInstruction(const HloInstruction& instruction,
                                                       absl::Span<const Literal* const> operands) const {
  interp::Run run(options_);
  std::vector<interp::Value> values;
  for (const Literal* operand : operands) values.push_back(run.Borrow(*operand));
  XC_ASSIGN_OR_RETURN(interp::Value result, run.RunInstruction(instruction, values));
  Literal literal = interp::Run::ToLiteral(std::move(result));
  interp::SetShape(instruction.shape(), &literal);
  return literal;
}

}  // namespace xc
