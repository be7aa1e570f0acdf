// Instructions that pass values on, make tuples, call computations or talk to the outside, and the way to all others.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/dynamic_dimensions.h"
#include "backends/interpreter/run.h"
#include "backends/interpreter/strided.h"
#include "hlo/base/status.h"
#include "hlo/devices/participants.h"
#include "hlo/ops/known_calls.h"
#include "hlo/ops/permute_slices.h"

namespace xc::interp {
namespace {

Value TupleOf(std::vector<Value> elements) {
  return {nullptr, std::make_shared<std::vector<Value>>(std::move(elements))};
}

Literal TokenLiteral() { return Literal(Shape::Token()); }

// The value's shape, without layouts.
bool HasShape(const Value& value, const Shape& shape) {
  if (!value.IsTuple()) return !shape.IsTuple() && SameShape(value.array->shape(), shape);
  if (!shape.IsTuple() || static_cast<int64_t>(value.tuple->size()) != shape.tuple_size()) return false;
  for (int64_t i = 0; i < shape.tuple_size(); ++i) {
    if (!HasShape((*value.tuple)[i], shape.tuple_shape(i))) return false;
  }
  return true;
}

absl::Status Named(const HloInstruction& instruction, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(OpcodeName(instruction.opcode()), " ", instruction.name(), ": ", status.message()));
}

// One value for all operands: the operand itself if there is one, else their tuple.
Value OperandsAsResult(std::vector<Value>& operands) {
  return operands.size() == 1 ? std::move(operands[0]) : TupleOf(std::move(operands));
}

// The values without tuples: their elements, in order.
std::vector<Value> LeavesOf(std::vector<Value> values) {
  std::vector<Value> leaves;
  const std::function<void(Value)> add = [&](Value value) {
    if (!value.IsTuple()) {
      leaves.push_back(std::move(value));
    } else {
      for (const Value& element : *value.tuple) add(element);
    }
  };
  for (Value& value : values) add(std::move(value));
  return leaves;
}

}  // namespace

absl::StatusOr<Value> Run::While(const HloInstruction& instruction, Value state) {
  while (true) {
    XC_RETURN_IF_ERROR(CheckTime());
    XC_ASSIGN_OR_RETURN(Value go_on, RunComputation(*instruction.while_condition(), {state}));
    if (go_on.array == nullptr || go_on.array->GetInt(0) == 0) return state;
    std::vector<Value> arguments;
    arguments.push_back(std::move(state));
    XC_ASSIGN_OR_RETURN(state, RunComputation(*instruction.while_body(), std::move(arguments)));
  }
}

absl::StatusOr<Value> Run::Conditional(const HloInstruction& instruction, std::vector<Value>& operands) {
  const int64_t branches = static_cast<int64_t>(instruction.called_computations().size());
  if (branches == 0 || static_cast<int64_t>(operands.size()) != branches + 1) {
    return absl::InvalidArgumentError("needs a selector and one operand per branch");
  }
  const Literal& selector = *operands[0].array;
  int64_t branch = selector.GetInt(0);
  if (selector.shape().type() == ElementType::kPred) {
    branch = branch != 0 ? 0 : 1;
  } else if (branch < 0 || branch >= branches) {
    branch = branches - 1;
  }
  std::vector<Value> arguments;
  arguments.push_back(std::move(operands[branch + 1]));
  operands.clear();
  return RunComputation(*instruction.called(branch), std::move(arguments));
}

absl::StatusOr<Value> Run::TakeFromHost(const Shape& shape) {
  if (options_.infeed == nullptr) return absl::FailedPreconditionError("this run has no infeed");
  if (shape.IsTuple()) {
    std::vector<Value> elements;
    for (const Shape& element : shape.tuple_shapes()) {
      XC_ASSIGN_OR_RETURN(Value value, TakeFromHost(element));
      elements.push_back(std::move(value));
    }
    return TupleOf(std::move(elements));
  }
  Literal literal(Plain(shape));
  if (!shape.IsArray()) return Own(std::move(literal));
  std::string bytes;
  XC_RETURN_IF_ERROR(options_.infeed->Pop(&bytes));
  if (static_cast<int64_t>(bytes.size()) != literal.byte_size()) {
    return absl::InvalidArgumentError(absl::StrCat("the infeed gave ", bytes.size(), " bytes for ",
                                                   shape.ToString(false), ", which takes ", literal.byte_size()));
  }
  std::memcpy(literal.mutable_bytes(), bytes.data(), bytes.size());
  return Own(std::move(literal));
}

absl::Status Run::GiveToHost(const Value& value) {
  if (options_.outfeed == nullptr) return absl::FailedPreconditionError("this run has no outfeed");
  if (value.IsTuple()) {
    for (const Value& element : *value.tuple) XC_RETURN_IF_ERROR(GiveToHost(element));
  } else if (value.array->shape().IsArray()) {
    options_.outfeed->Push(std::string(reinterpret_cast<const char*>(value.array->bytes()), value.array->byte_size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Run::Receive(const HloInstruction& done) {
  const Shape& shape = done.shape().tuple_shape(0);
  if (done.attr_or<AttrKind::kIsHostTransfer>(false)) return TakeFromHost(shape);
  const int64_t of_start = done.operand(0)->attr_or<AttrKind::kChannelId>(0);
  auto& waiting = channels_[done.attr_or<AttrKind::kChannelId>(of_start)];
  if (waiting.empty()) return absl::FailedPreconditionError("nothing was sent on its channel before");
  Value data = std::move(waiting.front());
  waiting.pop_front();
  if (!HasShape(data, shape)) return absl::InvalidArgumentError("what was sent on its channel has another shape");
  return data;
}

Value Run::Zeros(const Shape& shape) {
  if (!shape.IsTuple()) return Own(Literal(shape.IsArray() ? Plain(shape) : shape));
  std::vector<Value> elements;
  for (const Shape& element : shape.tuple_shapes()) elements.push_back(Zeros(element));
  return TupleOf(std::move(elements));
}

// The outputs after the slices of the inputs have arrived, which happens if `sent`.
absl::StatusOr<Value> Run::PermuteInPlace(const HloInstruction& permute, const std::vector<Int64List>& sizes,
                                          const std::vector<Value>& operands, bool sent) {
  if (!sent) return operands[1];
  std::vector<const Shape*> shapes;
  for (const HloInstruction* operand : permute.operands()) shapes.push_back(&operand->shape());
  XC_ASSIGN_OR_RETURN(const std::vector<PermuteSlice> slices, PermuteSlices(shapes, sizes));
  std::vector<Literal> results;
  const bool tuple = operands[1].IsTuple();
  for (size_t b = 0; b < (tuple ? operands[1].tuple->size() : 1); ++b) {
    const Literal& output = tuple ? *(*operands[1].tuple)[b].array : *operands[1].array;
    XC_RETURN_IF_ERROR(CheckMemory(output.byte_size()));
    results.push_back(output.Clone());
  }
  for (const PermuteSlice& slice : slices) {
    const Literal& in = slice.buffer < 0 ? *operands[0].array : *(*operands[0].tuple)[slice.buffer].array;
    Literal& out = results[std::max<int64_t>(slice.buffer, 0)];
    const int bytes = StorageBytes(in.shape().type());
    const Dims strides[] = {RowMajorStrides(in.shape().dims()), RowMajorStrides(out.shape().dims())};
    int64_t offsets[] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      Value starts = operands[2 + side];
      for (int64_t i : slice.starts) starts = Value((*starts.tuple)[i]);
      const Shape& whole = side == 0 ? in.shape() : out.shape();
      for (size_t d = 0; d < slice.sizes.size(); ++d) {
        const int64_t start = (*starts.tuple)[d].array->GetInt(0);
        offsets[side] += std::clamp<int64_t>(start, 0, whole.dim(d) - slice.sizes[d]) * strides[side][d];
      }
    }
    StridedCopy(bytes, slice.sizes, strides[0], strides[1])
        .Run(in.bytes() + offsets[0] * bytes, out.mutable_bytes() + offsets[1] * bytes);
  }
  if (!tuple) return Own(std::move(results[0]));
  std::vector<Value> values;
  for (Literal& result : results) values.push_back(Own(std::move(result)));
  return TupleOf(std::move(values));
}

// Collectives among one participant.
absl::StatusOr<Value> Run::Collective(const HloInstruction& instruction, std::vector<Value>& operands) {
  Value result;
  const absl::Status several = absl::UnimplementedError("needs several devices: there is one here");
  if (ParticipantCount(instruction) > 1) return several;
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduceDone:
      return std::move(operands[0]);
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kCollectivePermuteDone:
      if (!operands[0].IsTuple() || operands[0].tuple->size() < 2) {
        return absl::InvalidArgumentError("its operand is not a start op's result");
      }
      return (*operands[0].tuple)[1];
    case HloOpcode::kAllGatherStart: {
      Value all = OperandsAsResult(operands);
      result = TupleOf({all, all});
      break;
    }
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart: {
      const auto& pairs = instruction.attr<AttrKind::kSourceTargetPairs>();
      bool sent = false;
      for (const Int64List& pair : pairs) sent = sent || pair == Int64List{0, 0};
      const bool start = instruction.opcode() == HloOpcode::kCollectivePermuteStart;
      const auto* sizes = instruction.FindAttr<AttrKind::kSliceSizesList>();
      Value input, received;
      if (sizes != nullptr && !sizes->empty()) {
        XC_ASSIGN_OR_RETURN(received, PermuteInPlace(instruction, *sizes, operands, sent));
        input = operands[0];
      } else {
        input = OperandsAsResult(operands);
        received = sent ? input : Zeros(start ? instruction.shape().tuple_shape(1) : instruction.shape());
      }
      if (!start) {
        result = received;
      } else {
        std::vector<Value> parts = {input, received};
        for (int64_t i = 2; i < instruction.shape().tuple_size(); ++i) {
          parts.push_back(Own(Literal(instruction.shape().tuple_shape(i))));
        }
        result = TupleOf(std::move(parts));
      }
      break;
    }
    case HloOpcode::kRaggedAllToAll: {
      // operand, output, input_offsets, send_sizes, output_offsets, recv_sizes; rows of the major dimension.
      const Literal& in = *operands[0].array;
      Literal out = operands[1].array->Clone();
      const int64_t row = in.shape().dim(0) == 0 ? 0 : in.byte_size() / in.shape().dim(0);
      for (int64_t i = 0; i < operands[2].array->size(); ++i) {
        const int64_t from = operands[2].array->GetInt(i), count = operands[3].array->GetInt(i);
        const int64_t to = operands[4].array->GetInt(i);
        const bool inside =
            from >= 0 && to >= 0 && count >= 0 && from <= in.shape().dim(0) - count && to <= out.shape().dim(0) - count;
        if (!inside) return absl::InvalidArgumentError("offsets or sizes lie outside of the arrays");
        std::memcpy(out.mutable_bytes() + to * row, in.bytes() + from * row, count * row);
      }
      result = Own(std::move(out));
      break;
    }
    default: {
      const bool tuple = instruction.shape().IsTuple();
      result = tuple ? TupleOf(std::move(operands)) : OperandsAsResult(operands);
    }
  }
  if (!HasShape(result, instruction.shape())) return several;
  return result;
}

absl::StatusOr<bool> Run::RunStructural(const HloInstruction& instruction, std::vector<Value>& operands,
                                        Value* result) {
  switch (instruction.opcode()) {
    case HloOpcode::kConstant:
      if (instruction.literal().elided()) {
        return absl::FailedPreconditionError("its elements were left out of the text as {...}: it cannot be evaluated");
      }
      if (instruction.literal().IsTuple()) {
        *result = Borrow(instruction.literal());
      } else {
        *result = {instruction.shared_literal(), nullptr};
      }
      return true;
    case HloOpcode::kParameter:
      return absl::InvalidArgumentError("a parameter has no value outside of a call");
    case HloOpcode::kTuple:
      *result = TupleOf(std::move(operands));
      return true;
    case HloOpcode::kGetTupleElement: {
      const int64_t index = instruction.tuple_index();
      if (!operands[0].IsTuple() || index < 0 || index >= static_cast<int64_t>(operands[0].tuple->size())) {
        return absl::InvalidArgumentError("its operand has no such element");
      }
      *result = (*operands[0].tuple)[index];
      return true;
    }
    case HloOpcode::kCall:
    case HloOpcode::kFusion: {
      XC_ASSIGN_OR_RETURN(*result, RunComputation(*instruction.called(0), std::move(operands)));
      return true;
    }
    case HloOpcode::kWhile: {
      Value state = std::move(operands[0]);
      operands.clear();
      XC_ASSIGN_OR_RETURN(*result, While(instruction, std::move(state)));
      return true;
    }
    case HloOpcode::kConditional: {
      XC_ASSIGN_OR_RETURN(*result, Conditional(instruction, operands));
      return true;
    }
    case HloOpcode::kCopy:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kAddDependency:
    case HloOpcode::kDomain:
      *result = std::move(operands[0]);
      return true;
    case HloOpcode::kCustomCall:  // an annotation: it passes its operand on
      if (operands.size() == 1 && HasShape(operands[0], instruction.shape())) {
        *result = std::move(operands[0]);
      } else if (instruction.shape().IsTuple() && instruction.shape().tuple_size() == 0) {
        *result = TupleOf({});
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat(instruction.custom_call_target(), " should give the shape of its operand"));
      }
      return true;
    case HloOpcode::kAfterAll:
    case HloOpcode::kSendDone:
      *result = Own(TokenLiteral());
      return true;
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId: {
      Literal id(instruction.shape());
      const RunDevice& device = run_context_.device;
      id.SetInt(0, instruction.opcode() == HloOpcode::kPartitionId ? device.partition_id : device.replica_id);
      *result = Own(std::move(id));
      return true;
    }
    case HloOpcode::kInfeed: {
      XC_ASSIGN_OR_RETURN(Value data, TakeFromHost(instruction.shape().tuple_shape(0)));
      *result = TupleOf({std::move(data), Own(TokenLiteral())});
      return true;
    }
    case HloOpcode::kOutfeed:
      XC_RETURN_IF_ERROR(GiveToHost(operands[0]));
      *result = Own(TokenLiteral());
      return true;
    case HloOpcode::kCopyStart:
      *result = TupleOf({operands[0], operands[0], Own(Literal(instruction.shape().tuple_shape(2)))});
      return true;
    case HloOpcode::kCopyDone:
      *result = (*operands[0].tuple)[0];
      return true;
    case HloOpcode::kAsyncStart: {
      std::vector<Value> arguments = operands;
      XC_ASSIGN_OR_RETURN(Value value, RunComputation(*instruction.called(0), std::move(arguments)));
      std::vector<Value> parts = {TupleOf(std::move(operands)), std::move(value)};
      for (int64_t i = 2; i < instruction.shape().tuple_size(); ++i) {
        parts.push_back(Own(Literal(instruction.shape().tuple_shape(i))));
      }
      *result = TupleOf(std::move(parts));
      return true;
    }
    case HloOpcode::kAsyncUpdate:
      *result = std::move(operands[0]);
      return true;
    case HloOpcode::kAsyncDone:
      *result = (*operands[0].tuple)[1];
      return true;
    case HloOpcode::kSend:
      if (instruction.attr_or<AttrKind::kIsHostTransfer>(false)) {
        XC_RETURN_IF_ERROR(GiveToHost(operands[0]));
      } else {
        channels_[instruction.attr_or<AttrKind::kChannelId>(0)].push_back(operands[0]);
      }
      *result = TupleOf({operands[0], Own(Literal(Shape::Scalar(ElementType::kU32))), Own(TokenLiteral())});
      return true;
    case HloOpcode::kRecv:
      // The data comes with recv-done: what is sent in between arrives.
      *result = Zeros(instruction.shape());
      return true;
    case HloOpcode::kRecvDone: {
      XC_ASSIGN_OR_RETURN(Value data, Receive(instruction));
      *result = TupleOf({std::move(data), Own(TokenLiteral())});
      return true;
    }
    default:
      break;
  }
  if (IsCollective(instruction.opcode())) {
    XC_ASSIGN_OR_RETURN(*result, Collective(instruction, operands));
    return true;
  }
  return false;
}

Run::Prepared Run::Prepare(const HloInstruction& instruction) {
  Prepared prepared;
  if (IsAnnotation(instruction)) return prepared;
  for (auto find : {FindDataMovement, FindIndexing, FindReduction, FindContraction, FindNumeric}) {
    if (prepared.fn == nullptr) prepared.fn = find(instruction.opcode());
  }
  if (prepared.fn == nullptr && IsElementwise(instruction.opcode()) && instruction.shape().IsArray()) {
    // What cannot be bound says so when it runs.
    if (absl::StatusOr<ElementwiseOp> op = BindElementwise(instruction); op.ok()) prepared.elementwise = *op;
  }
  return prepared;
}

absl::StatusOr<Value> Run::RunPrepared(const HloInstruction& instruction, const Prepared& prepared,
                                       std::vector<Value>& operands) {
  if (++ticks_ % 16 == 0) XC_RETURN_IF_ERROR(CheckTime());
  if (!prepared.elementwise && prepared.fn == nullptr) {
    Value result;
    const absl::StatusOr<bool> structural = RunStructural(instruction, operands, &result);
    if (structural.ok() && *structural) return result;
    // Errors from within a called computation name the instruction there.
    if (!structural.ok()) {
      return instruction.called_computations().empty() ? Named(instruction, structural.status()) : structural.status();
    }
    if (IsElementwise(instruction.opcode())) return BindElementwise(instruction).status();
    return Named(instruction, absl::UnimplementedError("the interpreter does not have this op"));
  }
  if (instruction.opcode() == HloOpcode::kCustomCall) operands = LeavesOf(std::move(operands));
  for (const Value& operand : operands) {
    if (operand.array == nullptr) {
      return Named(instruction, absl::UnimplementedError("a tuple as operand is not supported"));
    }
  }
  XC_RETURN_IF_ERROR(Named(instruction, CheckMemory(instruction.shape().TotalByteSize())));
  Operands arrays{absl::MakeSpan(operands)};
  const auto evaluate = [&](const HloInstruction& op, Operands& of) {
    return prepared.elementwise ? RunElementwise(*prepared.elementwise, op.shape(), of) : prepared.fn(op, of, *this);
  };
  OpResult literal = HasDynamicDimensions(instruction, arrays) ? RunOnDynamicDimensions(instruction, arrays, evaluate)
                                                               : evaluate(instruction, arrays);
  if (!literal.ok()) return Named(instruction, literal.status());
  operands.clear();
  return Own(*std::move(literal));
}

}  // namespace xc::interp
