#include "backends/gpu/device_run.h"

#include <cstring>
#include <functional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "backends/program/calls.h"
#include "backends/runtime/rng.h"
#include "backends/runtime/run_context.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

// The host's copy of a slice.
class HostCopy {
 public:
  absl::Status Read(Stream& stream, uint64_t from, int64_t bytes) {
    bytes_.resize(bytes);
    return bytes == 0 ? absl::OkStatus() : stream.CopyToHost(bytes_.data(), from, bytes);
  }
  void Resize(int64_t bytes) { bytes_.resize(bytes); }
  void* data() { return bytes_.empty() ? nullptr : bytes_.data(); }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::vector<char> bytes_;
};

bool IsRandom(const plan::LibraryCall& call) {
  return call.function == "xc_rt_rng_uniform" || call.function == "xc_rt_rng_normal";
}

class DeviceRun {
 public:
  DeviceRun(const DeviceProgram& code, const Program& program, const Frame& frame)
      : code_(code), program_(program), frame_(frame), context_(static_cast<RunContext*>(frame.context)) {}

  absl::Status Run() {
    memory_ = code_.kept->Take();
    const bool kept = memory_ != nullptr;
    if (!kept) {
      XC_ASSIGN_OR_RETURN(memory_, RunMemory::Allocate(code_.device, program_, code_.arena_bytes, code_.scratch_bytes));
    }
    stream_ = memory_->stream.get();
    for (size_t i = 0; i < program_.parameters.size(); ++i) {
      XC_RETURN_IF_ERROR(CopyIn(memory_->parameters[i].pointer(), frame_.parameters[i], program_.parameters[i].bytes));
    }
    XC_RETURN_IF_ERROR(kept ? StartGraph() : StartSteps());
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (program_.outputs[i].parameter >= 0) continue;
      XC_RETURN_IF_ERROR(CopyOut(frame_.outputs[i], memory_->outputs[i].pointer(), program_.outputs[i].bytes));
    }
    for (size_t i = 0; i < program_.parameters.size(); ++i) {
      if (!program_.parameters[i].donated) continue;
      XC_RETURN_IF_ERROR(CopyOut(frame_.parameters[i], memory_->parameters[i].pointer(), program_.parameters[i].bytes));
    }
    XC_RETURN_IF_ERROR(stream_->Synchronize());
    code_.kept->Keep(std::move(memory_));
    return absl::OkStatus();
  }

 private:
  absl::Status Entry() { return Computation(static_cast<int>(code_.plan.computations.size()) - 1); }
  absl::Status StartSteps() {
    code_.kept->CountSteps();
    return Entry();
  }
  // On memory that an earlier run had: then the driver has loaded all code, which it may not do in a capture.
  absl::Status StartGraph() {
    absl::Status status;
    if (memory_->graph == nullptr) {
      absl::StatusOr<std::unique_ptr<Graph>> graph = Graph::Capture(stream_, [&] { return Entry(); });
      status = graph.status();
      if (graph.ok()) memory_->graph = *std::move(graph);
    }
    if (status.ok()) status = memory_->graph->Launch(stream_);
    if (status.ok()) {
      code_.kept->CountGraph(memory_->graph->nodes());
      return status;
    }
    if (code_.device->lost()) return status;
    code_.kept->Refuse(absl::StrCat("as a graph: ", absl::string_view(status.message())));
    return StartSteps();
  }
  absl::Status CopyIn(uint64_t to, const void* from, int64_t bytes) {
    return bytes == 0 ? absl::OkStatus() : stream_->CopyToDevice(to, from, bytes);
  }
  absl::Status CopyOut(void* to, uint64_t from, int64_t bytes) {
    return bytes == 0 ? absl::OkStatus() : stream_->CopyToHost(to, from, bytes);
  }

  uint64_t At(const BufferSlice& slice) const {
    switch (slice.kind) {
      case BufferSlice::Kind::kNone:
        return 0;
      case BufferSlice::Kind::kArena:
        return memory_->arena.pointer() + slice.offset;
      case BufferSlice::Kind::kParameter:
        return memory_->parameters[slice.index].pointer() + slice.offset;
      case BufferSlice::Kind::kOutput:
        return memory_->outputs[slice.index].pointer() + slice.offset;
      case BufferSlice::Kind::kConstant:
        return code_.constants[slice.index].pointer() + slice.offset;
    }
    return 0;
  }

  absl::Status Computation(int number) {
    for (const plan::Step& step : code_.plan.computations[number].steps) {
      const auto launches = code_.launches.find(&step);
      const absl::Status status = launches != code_.launches.end()
                                      ? Start(step, launches->second)
                                      : std::visit([&](const auto& action) { return Do(step, action); }, step.action);
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat(step.instruction->name(), ": ", absl::string_view(status.message())));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Start(const plan::Step& step, const std::vector<Launch>& launches) {
    if (const LibraryProducts::Product* product = code_.products.Find(&step)) {
      const ProductArrays& arrays = product->arrays;
      XC_RETURN_IF_ERROR(
          product->product->Start(stream_, At(arrays.a), At(arrays.b), At(arrays.result), memory_->scratch.pointer()));
    }
    for (const Launch& launch : launches) {
      std::vector<uint64_t> values;
      for (const BufferSlice& slice : launch.arguments) values.push_back(At(slice));
      if (launch.scratch_bytes > 0) values.push_back(memory_->scratch.pointer());
      std::vector<void*> pointers;
      for (uint64_t& value : values) pointers.push_back(&value);
      const DeviceProgram::Function& function = code_.kernels[launch.kernel];
      XC_RETURN_IF_ERROR(stream_->Launch(function.kernel, function.dims, pointers));
    }
    return absl::OkStatus();
  }

  // Calls `body` with the host's copies of `inputs` and with room for `outputs`, which are copied back.
  absl::Status OnHost(const std::vector<BufferSlice>& inputs, const std::vector<BufferSlice>& outputs,
                      const std::function<absl::Status(const std::vector<void*>&, const std::vector<void*>&)>& body) {
    std::vector<HostCopy> in(inputs.size()), out(outputs.size());
    std::vector<void*> in_pointers, out_pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      XC_RETURN_IF_ERROR(in[i].Read(*stream_, At(inputs[i]), inputs[i].size));
      in_pointers.push_back(in[i].data());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      out[i].Resize(outputs[i].size);
      out_pointers.push_back(out[i].data());
    }
    XC_RETURN_IF_ERROR(stream_->Synchronize());
    XC_RETURN_IF_ERROR(body(in_pointers, out_pointers));
    for (size_t i = 0; i < outputs.size(); ++i) {
      XC_RETURN_IF_ERROR(CopyIn(At(outputs[i]), out[i].data(), out[i].size()));
    }
    return stream_->Synchronize();
  }

  absl::Status Do(const plan::Step&, const plan::Alias&) { return absl::OkStatus(); }
  absl::Status Do(const plan::Step&, const plan::Copy& copy) {
    const int64_t bytes = copy.bytes.constant();
    return bytes == 0 ? absl::OkStatus() : stream_->CopyOnDevice(At(copy.to), At(copy.from), bytes);
  }
  absl::Status Do(const plan::Step&, const plan::Clear& clear) {
    const int64_t bytes = clear.bytes.constant();
    return bytes == 0 ? absl::OkStatus() : stream_->Fill(At(clear.to), 0, bytes);
  }

  // The operands of an evaluated kernel's expression lie where the kernel's inputs are; those that it has as part of
  // its code are constants.
  absl::Status Do(const plan::Step& step, const plan::Kernel& kernel) {
    return EvaluateKernel(*step.instruction, kernel);
  }

  absl::Status EvaluateKernel(const HloInstruction& instruction, const plan::Kernel& kernel) {
    std::vector<BufferSlice> inputs, outputs;
    std::vector<const void*> known;
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      const HloInstruction* operand = instruction.operand(i);
      const HloInstruction* leaf =
          instruction.opcode() == HloOpcode::kFusion ? instruction.fused_computation()->parameter(i) : operand;
      BufferSlice place;
      for (const auto& [input, argument] : kernel.inputs) {
        if (input == leaf) place = kernel.arguments[argument].slice;
      }
      const bool constant = place.kind == BufferSlice::Kind::kNone && operand->IsConstant();
      inputs.push_back(place);
      known.push_back(constant ? operand->literal().bytes() : nullptr);
    }
    for (int argument : kernel.outputs) outputs.push_back(kernel.arguments[argument].slice);
    return OnHost(inputs, outputs, [&](const std::vector<void*>& in, const std::vector<void*>& out) {
      std::vector<const void*> all(in.begin(), in.end());
      for (size_t i = 0; i < all.size(); ++i) {
        if (known[i] != nullptr) all[i] = known[i];
      }
      return EvaluateInto(program_.calls.evaluate, instruction, all.data(), out.data());
    });
  }

  absl::Status Do(const plan::Step& step, const plan::LibraryCall& call) {
    if (RunsOnHost(step) || IsRandom(call)) return CallOnHost(call);
    const HloInstruction& instruction = *step.instruction;
    std::vector<BufferSlice> inputs, outputs;
    for (const HloInstruction* operand : instruction.operands()) {
      for (int64_t leaf = 0; leaf < operand->shape().LeafCount(); ++leaf) {
        inputs.push_back(code_.buffers.Slice(operand, leaf));
      }
    }
    for (int64_t leaf = 0; leaf < instruction.shape().LeafCount(); ++leaf) {
      outputs.push_back(code_.buffers.Slice(&instruction, leaf));
    }
    XC_RETURN_IF_ERROR(OnHost(inputs, outputs, [&](const std::vector<void*>& in, const std::vector<void*>& out) {
      return EvaluateInto(program_.calls.evaluate, instruction, in.data(), out.data());
    }));
    return call.then == nullptr ? absl::OkStatus() : EvaluateKernel(*call.then_of, *call.then);
  }

  // The functions of the run's queues and counters.
  absl::Status CallOnHost(const plan::LibraryCall& call) {
    const auto& a = call.arguments;
    const auto slice = [&](size_t i) { return std::vector<BufferSlice>{std::get<BufferSlice>(a[i])}; };
    const auto number = [&](size_t i) { return std::get<int64_t>(a[i]); };
    const auto status = [&](int failed) { return failed != 0 ? context_->status() : absl::OkStatus(); };
    const std::string& f = call.function;
    using Pointers = const std::vector<void*>&;
    if (f == "xc_rt_infeed") {
      return OnHost({}, slice(0),
                    [&](Pointers, Pointers out) { return status(xc_rt_infeed(context_, out[0], number(1))); });
    }
    if (f == "xc_rt_outfeed") {
      return OnHost(slice(0), {},
                    [&](Pointers in, Pointers) { return status(xc_rt_outfeed(context_, in[0], number(1))); });
    }
    if (f == "xc_rt_send") {
      return OnHost(slice(1), {},
                    [&](Pointers in, Pointers) { return status(xc_rt_send(context_, number(0), in[0], number(2))); });
    }
    if (f == "xc_rt_recv") {
      return OnHost({}, slice(1),
                    [&](Pointers, Pointers out) { return status(xc_rt_recv(context_, number(0), out[0], number(2))); });
    }
    if (f == "xc_rt_rng_get_and_update_state") {
      return OnHost({}, slice(0), [&](Pointers, Pointers out) {
        xc_rt_rng_get_and_update_state(context_, static_cast<uint64_t*>(out[0]), number(1));
        return absl::OkStatus();
      });
    }
    if (f == "xc_rt_rng_uniform" || f == "xc_rt_rng_normal") {
      return OnHost({std::get<BufferSlice>(a[2]), std::get<BufferSlice>(a[3])}, slice(4),
                    [&](Pointers in, Pointers out) {
                      const auto function = f == "xc_rt_rng_uniform" ? &xc_rt_rng_uniform : &xc_rt_rng_normal;
                      return status(function(context_, std::get<int32_t>(a[0]), number(1), in[0], in[1], out[0]));
                    });
    }
    return OnHost({}, {call.result}, [&](Pointers, Pointers out) {
      const uint32_t id = f == "xc_rt_replica_id" ? xc_rt_replica_id(context_) : xc_rt_partition_id(context_);
      std::memcpy(out[0], &id, sizeof(id));
      return absl::OkStatus();
    });
  }

  absl::Status Do(const plan::Step&, const plan::CustomCall& call) {
    return OnHost(call.inputs, call.outputs, [&](const std::vector<void*>& in, const std::vector<void*>& out) {
      return frame_.calls->calls[call.call].Run(context_, in.data(), out.data());
    });
  }
  absl::Status Do(const plan::Step&, const plan::Evaluate& evaluate) {
    return OnHost(evaluate.inputs, evaluate.outputs, [&](const std::vector<void*>& in, const std::vector<void*>& out) {
      return frame_.calls->RunSite(evaluate.site, in.data(), out.data());
    });
  }

  template <typename T>
  absl::StatusOr<T> Value(const BufferSlice& slice) {
    T value{};
    XC_RETURN_IF_ERROR(stream_->CopyToHost(&value, At(slice), sizeof(T)));
    XC_RETURN_IF_ERROR(stream_->Synchronize());
    return value;
  }
  absl::Status Do(const plan::Step&, const plan::Loop& loop) {
    for (;;) {
      XC_RETURN_IF_ERROR(Computation(loop.condition));
      XC_ASSIGN_OR_RETURN(const uint8_t more, Value<uint8_t>(loop.more));
      if (more == 0) return absl::OkStatus();
      XC_RETURN_IF_ERROR(Computation(loop.body));
    }
  }
  absl::Status Do(const plan::Step&, const plan::Branch& branch) {
    const int64_t last = static_cast<int64_t>(branch.branches.size()) - 1;
    int64_t chosen = 0;
    if (branch.by_pred) {
      XC_ASSIGN_OR_RETURN(const uint8_t first, Value<uint8_t>(branch.selector));
      chosen = first != 0 ? 0 : 1;
    } else {
      XC_ASSIGN_OR_RETURN(chosen, Value<int32_t>(branch.selector));
    }
    return Computation(branch.branches[chosen < 0 || chosen > last ? last : chosen]);
  }
  absl::Status Do(const plan::Step&, const plan::Call& call) { return Computation(call.callee); }

  const DeviceProgram& code_;
  const Program& program_;
  const Frame& frame_;
  RunContext* const context_;
  std::unique_ptr<RunMemory> memory_;
  Stream* stream_ = nullptr;  // the memory's
};

// What a computation starts on the device, or the step for which the host is needed.
struct DeviceStartsOf {
  int64_t count = 0;
  const plan::Step* of_host = nullptr;
};
DeviceStartsOf StartsOf(const DeviceProgram& code, int number) {
  DeviceStartsOf starts;
  for (const plan::Step& step : code.plan.computations[number].steps) {
    if (const auto launches = code.launches.find(&step); launches != code.launches.end()) {
      starts.count += static_cast<int64_t>(launches->second.size()) + (code.products.Find(&step) != nullptr ? 1 : 0);
    } else if (std::holds_alternative<plan::Copy>(step.action) || std::holds_alternative<plan::Clear>(step.action)) {
      ++starts.count;
    } else if (const auto* call = std::get_if<plan::Call>(&step.action)) {
      const DeviceStartsOf inner = StartsOf(code, call->callee);
      starts.count += inner.count;
      starts.of_host = inner.of_host;
    } else if (!std::holds_alternative<plan::Alias>(step.action)) {
      starts.of_host = &step;
    }
    if (starts.of_host != nullptr) return starts;
  }
  return starts;
}

}  // namespace

bool RunsOnHost(const plan::Step& step) {
  const auto* call = std::get_if<plan::LibraryCall>(&step.action);
  if (call == nullptr) return false;
  for (const char* function : {"xc_rt_infeed", "xc_rt_outfeed", "xc_rt_send", "xc_rt_recv",
                               "xc_rt_rng_get_and_update_state", "xc_rt_replica_id", "xc_rt_partition_id"}) {
    if (call->function == function) return true;
  }
  return false;
}

std::string NoGraphReason(const DeviceProgram& code, const Program& program) {
  const DeviceStartsOf starts = StartsOf(code, static_cast<int>(code.plan.computations.size()) - 1);
  if (starts.of_host != nullptr) {
    const HloInstruction& instruction = *starts.of_host->instruction;
    return absl::StrCat("the host has a part in ", OpcodeName(instruction.opcode()), " ", instruction.name());
  }
  if (starts.count < 2) return absl::StrCat("there is ", starts.count == 0 ? "nothing" : "one thing", " to start");
  int64_t bytes = code.arena_bytes + code.scratch_bytes;
  for (const Program::Parameter& parameter : program.parameters) bytes += parameter.bytes;
  for (const Program::Output& output : program.outputs) bytes += output.parameter >= 0 ? 0 : output.bytes;
  if (bytes <= kMostKeptBytes) return "";
  return absl::StrCat("its memory is ", bytes, " bytes, of which ", kMostKeptBytes, " are kept");
}

absl::Status UploadConstants(DeviceProgram* code, const Program& program) {
  XC_ASSIGN_OR_RETURN(code->stream, Stream::Make(code->device));
  for (const auto& literal : program.literals) {
    code->constants.emplace_back();
    const int64_t bytes = literal->byte_size();
    if (bytes == 0) continue;
    XC_ASSIGN_OR_RETURN(code->constants.back(), DeviceBuffer::Allocate(code->stream, bytes));
    XC_RETURN_IF_ERROR(code->stream->CopyToDevice(code->constants.back().pointer(), literal->bytes(), bytes));
  }
  return code->stream->Synchronize();
}

absl::Status RunOnDevice(const DeviceProgram& code, const Program& program, const Frame& frame) {
  return DeviceRun(code, program, frame).Run();
}

}  // namespace xc::gpu
