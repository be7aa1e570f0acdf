// Flattens computations on scalars into lists of elementwise steps and runs them.
#include "backends/interpreter/scalar_function.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

constexpr int kSlotBytes = 16 * kLanes;
// Bounds on what calls within calls may add up to when they are laid out as one list.
constexpr int kMaxSteps = 4096, kMaxVisited = 1 << 16;

bool IsAssociative(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
    case HloOpcode::kMultiply:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

int ScalarFunction::NewSlot(ElementType type) {
  slot_types_.push_back(type);
  return static_cast<int>(slot_types_.size()) - 1;
}

bool ScalarFunction::Build(const HloComputation& computation, const std::vector<Slots>& arguments, Slots* result) {
  absl::flat_hash_map<const HloInstruction*, Slots> values;
  for (const HloInstruction* instruction : computation.PostOrder()) {
    if (steps_.size() > kMaxSteps || ++visited_ > kMaxVisited) return false;
    Slots slots;
    const auto operand = [&](int64_t i) -> const Slots& { return values[instruction->operand(i)]; };
    const bool scalar = instruction->shape().IsScalar();
    switch (instruction->opcode()) {
      case HloOpcode::kParameter: {
        const int64_t number = instruction->parameter_number();
        if (number < 0 || number >= static_cast<int64_t>(arguments.size())) return false;
        slots = arguments[number];
        break;
      }
      case HloOpcode::kConstant: {
        if (!scalar || instruction->literal().elided()) return false;
        const int slot = NewSlot(instruction->type());
        slots = {slot};
        const int width = StorageBytes(instruction->type());
        buffer_.resize(slot_types_.size() * kSlotBytes);
        for (int64_t i = 0; i < kLanes; ++i) {
          std::memcpy(&buffer_[int64_t{slot} * kSlotBytes + i * width], instruction->literal().bytes(), width);
        }
        break;
      }
      case HloOpcode::kTuple:
        for (int64_t i = 0; i < instruction->operand_count(); ++i) {
          if (instruction->operand(i)->shape().IsTuple()) return false;
          slots.push_back(operand(i)[0]);
        }
        break;
      case HloOpcode::kGetTupleElement: {
        const int64_t index = instruction->tuple_index();
        if (index < 0 || index >= static_cast<int64_t>(operand(0).size())) return false;
        slots = {operand(0)[index]};
        break;
      }
      case HloOpcode::kCall:
      case HloOpcode::kFusion: {
        std::vector<Slots> inner;
        for (int64_t i = 0; i < instruction->operand_count(); ++i) inner.push_back(operand(i));
        if (instruction->called_computations().size() != 1 || !Build(*instruction->called(0), inner, &slots)) {
          return false;
        }
        break;
      }
      case HloOpcode::kBroadcast:
      case HloOpcode::kReshape:
      case HloOpcode::kBitcast:
      case HloOpcode::kCopy:
        if (!scalar || !instruction->operand(0)->shape().IsScalar() ||
            instruction->operand(0)->type() != instruction->type()) {
          return false;
        }
        slots = operand(0);
        break;
      default: {
        if (!scalar || !IsElementwise(instruction->opcode())) return false;
        absl::StatusOr<ElementwiseOp> op = BindElementwise(*instruction);
        if (!op.ok()) return false;
        Step step{*op, {}, NewSlot(instruction->type())};
        for (int i = 0; i < op->operands; ++i) {
          if (!instruction->operand(i)->shape().IsScalar()) return false;
          step.in[i] = operand(i)[0];
        }
        slots = {step.out};
        steps_.push_back(step);
      }
    }
    values[instruction] = std::move(slots);
  }
  *result = values[computation.root()];
  return true;
}

absl::StatusOr<std::unique_ptr<ScalarFunction>> ScalarFunction::Create(const HloComputation& computation, bool widen,
                                                                       Caller caller) {
  auto function = std::make_unique<ScalarFunction>();
  function->computation_ = &computation;
  function->caller_ = std::move(caller);
  std::vector<Slots> arguments;
  for (const HloInstruction* parameter : computation.parameters()) {
    if (!parameter->shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("computation ", computation.name(), ": parameter ", parameter->name(), " is not a scalar"));
    }
    function->input_types_.push_back(parameter->type());
    arguments.push_back({function->NewSlot(parameter->type())});
  }
  const Shape& result = computation.root()->shape();
  for (int64_t i = 0; i < (result.IsTuple() ? result.tuple_size() : 1); ++i) {
    const Shape& shape = result.IsTuple() ? result.tuple_shape(i) : result;
    if (!shape.IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("computation ", computation.name(), " gives ", result.ToString(), " where scalars are needed"));
    }
    function->output_types_.push_back(shape.type());
  }
  function->by_calls_ = !function->Build(computation, arguments, &function->outputs_);
  if (function->by_calls_) return function;
  function->buffer_.resize(function->slot_types_.size() * kSlotBytes);
  function->location_.resize(function->slot_types_.size());
  if (function->steps_.size() == 1 && !result.IsTuple() && arguments.size() == 2) {
    Step& step = function->steps_[0];
    const bool both = step.op.operands == 2 && step.in[0] + step.in[1] == 1 && step.in[0] != step.in[1];
    function->single_ =
        both && IsAssociative(step.op.opcode) && step.op.in[0] == step.op.out && function->outputs_ == Slots{step.out};
    const bool rounds = step.op.opcode == HloOpcode::kAdd || step.op.opcode == HloOpcode::kMultiply;
    if (function->single_ && widen && rounds && IsFloating(step.op.out)) {
      step.op.in[0] = step.op.in[1] = step.op.out = ElementType::kF64;
      XC_RETURN_IF_ERROR(BindElementwise(&step.op));
      function->input_types_ = {ElementType::kF64, ElementType::kF64};
      function->output_types_ = {ElementType::kF64};
      for (ElementType& type : function->slot_types_) type = ElementType::kF64;
    }
  }
  return function;
}

const ElementwiseOp* ScalarFunction::single_compare(bool* swapped) const {
  if (by_calls_ || steps_.size() != 1 || steps_[0].op.opcode != HloOpcode::kCompare) return nullptr;
  const Step& step = steps_[0];
  if (outputs_ != Slots{step.out} || step.in[0] + step.in[1] != 1) return nullptr;
  *swapped = step.in[0] == 1;
  return &step.op;
}

absl::Status ScalarFunction::Run(int64_t n, const uint8_t* const* in, uint8_t* const* out) {
  if (by_calls_) return RunByCalls(n, in, out);
  if (steps_.size() == 1 && outputs_.size() == 1 && outputs_[0] == steps_[0].out) {
    const Step& step = steps_[0];
    const uint8_t* operands[3];
    for (int i = 0; i < step.op.operands; ++i) {
      operands[i] = step.in[i] < input_count() ? in[step.in[i]] : &buffer_[int64_t{step.in[i]} * kSlotBytes];
    }
    step.op.fn(step.op, operands, out[0], n);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < location_.size(); ++i) {
    location_[i] = i < input_types_.size() ? in[i] : &buffer_[i * kSlotBytes];
  }
  for (const Step& step : steps_) {
    const uint8_t* operands[3];
    for (int i = 0; i < step.op.operands; ++i) operands[i] = location_[step.in[i]];
    step.op.fn(step.op, operands, &buffer_[int64_t{step.out} * kSlotBytes], n);
  }
  // Outputs may overlap inputs that are outputs too: those go through their own slots first.
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int slot = outputs_[i];
    if (slot < input_count()) {
      uint8_t* copy = &buffer_[int64_t{slot} * kSlotBytes];
      if (location_[slot] != copy) std::memcpy(copy, location_[slot], n * StorageBytes(slot_types_[slot]));
      location_[slot] = copy;
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int slot = outputs_[i];
    std::memcpy(out[i], location_[slot], n * StorageBytes(slot_types_[slot]));
  }
  return absl::OkStatus();
}

absl::Status ScalarFunction::RunByCalls(int64_t n, const uint8_t* const* in, uint8_t* const* out) {
  std::vector<std::vector<uint8_t>> results(output_types_.size());
  for (int64_t lane = 0; lane < n; ++lane) {
    std::vector<Literal> arguments;
    for (int i = 0; i < input_count(); ++i) {
      Literal argument(Shape::Scalar(input_types_[i]));
      std::memcpy(argument.mutable_bytes(), in[i] + lane * argument.byte_size(), argument.byte_size());
      arguments.push_back(std::move(argument));
    }
    XC_ASSIGN_OR_RETURN(Literal result, caller_(*computation_, std::move(arguments)));
    for (int i = 0; i < output_count(); ++i) {
      const Literal& part = result.IsTuple() ? result.tuple()[i] : result;
      results[i].insert(results[i].end(), part.bytes(), part.bytes() + part.byte_size());
    }
  }
  for (int i = 0; i < output_count(); ++i) std::memcpy(out[i], results[i].data(), results[i].size());
  return absl::OkStatus();
}

}  // namespace xc::interp
