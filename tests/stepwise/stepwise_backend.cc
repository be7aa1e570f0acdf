#include "tests/stepwise/stepwise_backend.h"

#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/evaluator.h"
#include "backends/program/dynamic_shapes.h"
#include "backends/program/executable.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

absl::StatusOr<Literal> EvaluateOne(const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
  return Evaluator().EvaluateInstruction(instruction, operands);
}

// One run: a frame, and the steps of the plan on it.
class StepRun {
 public:
  StepRun(const plan::Plan& plan, const BufferAssignment& buffers, const Frame& frame)
      : plan_(plan), buffers_(buffers), frame_(frame) {}

  absl::Status Computation(int number) {
    const plan::Computation& computation = plan_.computations[number];
    for (const plan::Step& step : computation.steps) {
      const absl::Status status =
          std::visit([&](const auto& action) { return Do(*step.instruction, action); }, step.action);
      if (!status.ok())
        return absl::Status(status.code(), absl::StrCat(step.instruction->name(), ": ", status.message()));
    }
    return absl::OkStatus();
  }

 private:
  char* At(const BufferSlice& slice) const {
    switch (slice.kind) {
      case BufferSlice::Kind::kNone:
        return nullptr;
      case BufferSlice::Kind::kArena:
        return frame_.arena + slice.offset;
      case BufferSlice::Kind::kParameter:
        return static_cast<char*>(frame_.parameters[slice.index]) + slice.offset;
      case BufferSlice::Kind::kOutput:
        return static_cast<char*>(frame_.outputs[slice.index]) + slice.offset;
      case BufferSlice::Kind::kConstant:
        return const_cast<char*>(static_cast<const char*>(frame_.constants[slice.index])) + slice.offset;
    }
    return nullptr;
  }
  std::vector<void*> All(const std::vector<BufferSlice>& slices) const {
    std::vector<void*> pointers;
    for (const BufferSlice& slice : slices) pointers.push_back(At(slice));
    return pointers;
  }

  absl::Status Do(const HloInstruction&, const plan::Alias&) { return absl::OkStatus(); }
  absl::Status Do(const HloInstruction&, const plan::Copy& copy) {
    std::memmove(At(copy.to), At(copy.from), copy.bytes.constant());
    return absl::OkStatus();
  }
  absl::Status Do(const HloInstruction&, const plan::Clear& clear) {
    std::memset(At(clear.to), 0, clear.bytes.constant());
    return absl::OkStatus();
  }

  // The expression's operands lie where the kernel's inputs are; those that it knows are constants.
  absl::Status Do(const HloInstruction& instruction, const plan::Kernel& kernel) {
    const bool fusion = instruction.opcode() == HloOpcode::kFusion;
    std::vector<const void*> inputs;
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      const HloInstruction* leaf = fusion ? instruction.fused_computation()->parameter(i) : instruction.operand(i);
      const void* place = nullptr;
      for (const auto& [input, argument] : kernel.inputs) {
        if (input == leaf) place = At(kernel.arguments[argument].slice);
      }
      if (place == nullptr && instruction.operand(i)->IsConstant()) place = instruction.operand(i)->literal().bytes();
      inputs.push_back(place);
    }
    std::vector<void*> outputs;
    for (int argument : kernel.outputs) outputs.push_back(At(kernel.arguments[argument].slice));
    return EvaluateInto(&EvaluateOne, instruction, inputs.data(), outputs.data());
  }

  // There is no library here: the instruction is evaluated on its own operands.
  absl::Status Do(const HloInstruction& instruction, const plan::LibraryCall&) {
    std::vector<const void*> inputs;
    for (const HloInstruction* operand : instruction.operands()) {
      for (int64_t leaf = 0; leaf < operand->shape().LeafCount(); ++leaf) {
        inputs.push_back(At(buffers_.Slice(operand, leaf)));
      }
    }
    std::vector<void*> outputs;
    for (int64_t leaf = 0; leaf < instruction.shape().LeafCount(); ++leaf) {
      outputs.push_back(At(buffers_.Slice(&instruction, leaf)));
    }
    return EvaluateInto(&EvaluateOne, instruction, inputs.data(), outputs.data());
  }

  absl::Status Do(const HloInstruction&, const plan::CustomCall& call) {
    auto* context = static_cast<RunContext*>(frame_.context);
    return frame_.calls->calls[call.call].Run(context, All(call.inputs).data(), All(call.outputs).data());
  }
  absl::Status Do(const HloInstruction&, const plan::Evaluate& evaluate) {
    return frame_.calls->RunSite(evaluate.site, All(evaluate.inputs).data(), All(evaluate.outputs).data());
  }
  absl::Status Do(const HloInstruction&, const plan::Loop& loop) {
    for (;;) {
      XC_RETURN_IF_ERROR(Computation(loop.condition));
      if (*At(loop.more) == 0) return absl::OkStatus();
      XC_RETURN_IF_ERROR(Computation(loop.body));
    }
  }
  absl::Status Do(const HloInstruction&, const plan::Branch& branch) {
    const int64_t last = static_cast<int64_t>(branch.branches.size()) - 1;
    int32_t chosen = 0;
    if (branch.by_pred) {
      chosen = *At(branch.selector) ? 0 : 1;
    } else {
      std::memcpy(&chosen, At(branch.selector), sizeof(chosen));
    }
    return Computation(branch.branches[chosen < 0 || chosen > last ? last : chosen]);
  }
  absl::Status Do(const HloInstruction&, const plan::Call& call) { return Computation(call.callee); }

  const plan::Plan& plan_;
  const BufferAssignment& buffers_;
  const Frame& frame_;
};

class StepwiseExecutable : public ProgramExecutable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                             const CompileOptions& options, const TargetInfo& target) {
    auto executable = std::make_unique<StepwiseExecutable>();
    executable->SetSignature(*module);
    XC_ASSIGN_OR_RETURN(PlannedModule planned, PlanModule(std::move(module), options, target, &EvaluateOne));
    executable->buffers_ = planned.buffers;
    XC_RETURN_IF_ERROR(executable->SetProgram(&planned, options));
    executable->plan_ = std::move(planned.plan);
    executable->Prepare(&EvaluateOne);
    return std::unique_ptr<Executable>(std::move(executable));
  }
  int64_t size_bytes() const override { return program_.constant_bytes; }

 protected:
  void Start(const Frame& frame) const override {
    const int entry = static_cast<int>(plan_.computations.size()) - 1;
    static_cast<RunContext*>(frame.context)->Record(StepRun(plan_, buffers_, frame).Computation(entry));
  }

 private:
  plan::Plan plan_;
  BufferAssignment buffers_;
};

class Stepwise : public Backend {
 public:
  absl::string_view name() const override { return "stepwise"; }
  absl::StatusOr<TargetInfo> Target(const CompileOptions&) const override { return TargetInfo(); }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    return CompileDynamic(std::move(module), options,
                          [&](std::unique_ptr<HloModule> m) -> absl::StatusOr<std::unique_ptr<Executable>> {
                            XC_ASSIGN_OR_RETURN(const TargetInfo target, Target(options));
                            return StepwiseExecutable::Compile(std::move(m), options, target);
                          });
  }
};

}  // namespace

Backend* StepwiseBackend() {
  static Stepwise* const kBackend = new Stepwise();
  return kBackend;
}

}  // namespace xc
