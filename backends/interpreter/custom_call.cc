// custom-call: top-k exact and approximate, and what the runtime's registry has (LAPACK, the user's own).
#include "backends/runtime/custom_call.h"

#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/interpreter/numeric.h"
#include "backends/interpreter/reduction.h"
#include "hlo/base/status.h"
#include "hlo/ops/known_calls.h"

namespace xc::interp {
namespace {

// A leaf in the memory order of `shape`, which is what registered functions take and give.
struct Memory {
  explicit Memory(const Shape& s) : shape(s) {
    if (!shape.IsArray()) return;
    layout = shape.layout_or_default().minor_to_major;
    bytes.resize(shape.ByteSize());
  }
  CallBuffer Buffer() {
    if (!shape.IsArray()) return {static_cast<RtType>(shape.type()), {}, {}, nullptr};
    return {static_cast<RtType>(shape.type()), shape.dims(), layout, bytes.data()};
  }
  const Shape& shape;
  std::vector<int64_t> layout;
  std::vector<uint8_t> bytes;
};

OpResult CallRegistered(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  std::vector<Memory> inputs, outputs;
  for (const Shape* shape : CallOperandLeaves(instruction)) {
    const Literal& operand = operands[inputs.size()];
    Memory& memory = inputs.emplace_back(*shape);
    if (!shape->IsArray()) continue;
    if (!SameDims(*shape, operand.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("operand ", inputs.size() - 1, " has other sizes than its layout"));
    }
    XC_RETURN_IF_ERROR(context.CheckMemory(2 * shape->ByteSize()));
    Literal literal = operand.Clone();
    *literal.mutable_shape() = *shape;
    literal.ToLayout(memory.bytes.data());
  }
  for (const auto& [index, shape] : Leaves(instruction.shape())) outputs.emplace_back(*shape);
  std::vector<CallBuffer> input_buffers, output_buffers;
  for (Memory& memory : inputs) input_buffers.push_back(memory.Buffer());
  for (Memory& memory : outputs) output_buffers.push_back(memory.Buffer());
  for (const CallAlias& alias : CallAliases(instruction)) {
    outputs[alias.output].bytes = inputs[alias.input].bytes;
    input_buffers[alias.input].data = output_buffers[alias.output].data = outputs[alias.output].bytes.data();
  }
  CallArgs args;
  args.target = instruction.custom_call_target();
  args.inputs = input_buffers;
  args.outputs = output_buffers;
  args.tuple_result = instruction.shape().IsTuple();
  if (const auto* config = instruction.FindAttr<AttrKind::kBackendConfig>()) args.backend_config = config->text;
  XC_ASSIGN_OR_RETURN(const PreparedCall call, PreparedCall::Make(args));
  std::vector<void*> input_data, output_data;
  for (const CallBuffer& buffer : input_buffers) input_data.push_back(buffer.data);
  for (const CallBuffer& buffer : output_buffers) output_data.push_back(buffer.data);
  XC_RETURN_IF_ERROR(call.Run(context.run_context(), input_data.data(), output_data.data()));
  size_t next = 0;
  Literal result(instruction.shape());
  const std::function<void(Literal*)> fill = [&](Literal* literal) {
    if (literal->IsTuple()) {
      for (Literal& element : literal->mutable_tuple()) fill(&element);
    } else {
      const Memory& memory = outputs[next++];
      if (memory.shape.IsArray()) literal->FromLayout(memory.bytes.data());
    }
  };
  fill(&result);
  return result;
}

// The first elements of the sorted arrays; initial values where there are not as many.
OpResult ApproxTopK(const HloInstruction& call, Operands& operands, OpContext& context) {
  XC_ASSIGN_OR_RETURN(const ApproxTopKForm form, ApproxTopKOf(call));
  XC_ASSIGN_OR_RETURN(std::vector<Literal> sorted,
                      SortArrays(*call.called(0), form.dimension, operands, form.arrays, context));
  std::vector<Literal> results;
  for (int64_t i = 0; i < form.arrays; ++i) {
    Literal& result = results.emplace_back(Plain(call.shape().tuple_shape(i)));
    const int bytes = StorageBytes(result.shape().type());
    for (int64_t e = 0; e < result.size(); ++e) {
      std::memcpy(result.mutable_bytes() + e * bytes, operands[form.arrays + i].bytes(), bytes);
    }
    Dims taken = result.shape().dims();
    taken[form.dimension] = std::min(form.kept, sorted[i].shape().dim(form.dimension));
    StridedCopy(bytes, taken, RowMajorStrides(sorted[i].shape().dims()), RowMajorStrides(result.shape().dims()))
        .Run(sorted[i].bytes(), result.mutable_bytes());
  }
  return Literal::Tuple(std::move(results));
}

// (array, s32 size of each dimension) to the array of those sizes; its shape's dimensions are their bounds.
OpResult SliceToDynamic(const HloInstruction& call, Operands& operands, OpContext&) {
  const Shape& shape = call.shape();
  bool fits = shape.IsArray() && static_cast<int64_t>(operands.size()) == shape.rank() + 1 &&
              call.operand(0)->type() == shape.type() && SameDims(call.operand(0)->shape(), shape);
  for (int64_t i = 0; fits && i < shape.rank(); ++i) {
    fits = call.operand(i + 1)->shape().IsScalar() && IsIntegral(call.operand(i + 1)->type());
  }
  if (!fits) {
    return absl::InvalidArgumentError("SliceToDynamic takes an array of the result's bounds and a size per dimension");
  }
  Dims sizes(shape.rank());
  for (int64_t i = 0; i < shape.rank(); ++i) {
    sizes[i] = operands[i + 1].GetInt(0);
    if (sizes[i] < 0 || sizes[i] > shape.dim(i) || (!shape.is_dynamic_dim(i) && sizes[i] != shape.dim(i))) {
      return absl::InvalidArgumentError(absl::StrCat("SliceToDynamic: size ", sizes[i], " of dimension ", i,
                                                     " does not fit ", shape.ToString(false)));
    }
  }
  Literal out = operands.Take(0);
  out.set_dynamic_sizes(std::move(sizes));
  *out.mutable_shape() = Plain(shape);
  return out;
}

// (array) to (the array with its bounds for sizes, s32 size of each dimension).
OpResult PadToStatic(const HloInstruction& call, Operands& operands, OpContext&) {
  const Shape& shape = call.shape();
  bool fits = operands.size() == 1 && shape.IsTuple() && shape.tuple_size() == operands[0].shape().rank() + 1 &&
              !shape.tuple_shape(0).is_dynamic() && Compatible(shape.tuple_shape(0), call.operand(0)->shape());
  for (int64_t i = 1; fits && i < shape.tuple_size(); ++i) {
    fits = shape.tuple_shape(i).IsScalar() && shape.tuple_shape(i).type() == ElementType::kS32;
  }
  if (!fits) {
    return absl::InvalidArgumentError("PadToStatic gives its array and the s32 size of each of the array's dimensions");
  }
  const Dims sizes = SizesOf(operands[0]);
  std::vector<Literal> results;
  results.push_back(operands.Take(0));
  results[0].set_dynamic_sizes({});
  *results[0].mutable_shape() = Plain(shape.tuple_shape(0));
  for (int64_t size : sizes) {
    results.push_back(Literal::Scalar<int32_t>(ElementType::kS32, static_cast<int32_t>(size)));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace

OpResult CustomCall(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const std::string& target = instruction.custom_call_target();
  if (IsApproxTopK(instruction)) return ApproxTopK(instruction, operands, context);
  if (target == "SliceToDynamic") return SliceToDynamic(instruction, operands, context);
  if (target == "PadToStatic") return PadToStatic(instruction, operands, context);
  if (target == "TopK") {
    if (operands.size() != 1 || !instruction.shape().IsTuple() || instruction.shape().tuple_size() != 2 ||
        operands[0].shape().rank() == 0 || operands[0].shape().rank() != instruction.shape().tuple_shape(0).rank()) {
      return absl::InvalidArgumentError("TopK takes an array and gives its largest elements and their indices");
    }
    const auto* config = instruction.FindAttr<AttrKind::kBackendConfig>();
    const bool smallest = config != nullptr && absl::StrContains(config->text, "largest = false");
    return TopKOf(operands[0], !smallest, instruction.shape());
  }
  if (HasCustomCall(target)) return CallRegistered(instruction, operands, context);
  return absl::UnimplementedError(absl::StrCat(
      "custom call target \"", target, "\" is not known",
      absl::StrContains(target, "python") ? ": it calls back into the Python process that made the module" : ""));
}

}  // namespace xc::interp
