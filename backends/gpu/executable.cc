// A compiled module: a program whose memory is a device's and whose kernels are started from the host, step by step.
#include "backends/program/executable.h"

#include <algorithm>
#include <functional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/gpu/device_run.h"
#include "backends/gpu/emitter.h"
#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/module.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

// Whether a step without kernels stands for a computation: the others alias, or lead to other steps.
bool ComputedByHost(const plan::Step& step) {
  return std::holds_alternative<plan::Kernel>(step.action) || std::holds_alternative<plan::LibraryCall>(step.action) ||
         std::holds_alternative<plan::CustomCall>(step.action) || std::holds_alternative<plan::Evaluate>(step.action);
}

class GpuExecutable : public ProgramExecutable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                             const CompileOptions& options, Evaluate evaluate) {
    auto executable = std::make_unique<GpuExecutable>();
    XC_RETURN_IF_ERROR(executable->DoCompile(std::move(module), options, std::move(evaluate)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  int64_t temp_bytes() const override { return code_.arena_bytes + code_.scratch_bytes; }
  int64_t size_bytes() const override { return code_bytes_ + program_.constant_bytes; }
  std::optional<DeviceStarts> device_starts() const override {
    DeviceStarts starts;
    for (const plan::Computation& computation : code_.plan.computations) {
      for (const plan::Step& step : computation.steps) {
        if (auto it = code_.launches.find(&step); it != code_.launches.end()) {
          starts.kernels += static_cast<int64_t>(it->second.size());
          if (code_.products.Find(&step) != nullptr) ++starts.library_products;
        } else if (std::holds_alternative<plan::Copy>(step.action) ||
                   std::holds_alternative<plan::Clear>(step.action)) {
          ++starts.copies;
        } else if (ComputedByHost(step)) {
          ++starts.evaluated;
        }
      }
    }
    return starts;
  }
  std::string Text(absl::string_view name) const override {
    if (name == "llvm_ir") return absl::StrJoin(ir_, "\n");
    if (name == "asm") return absl::StrJoin(ptx_, "\n");
    if (name == "products") return code_.products.Report();
    if (name == "runs") return code_.kept->Report();
    return ProgramExecutable::Text(name);
  }

 protected:
  void Start(const Frame& frame) const override {
    static_cast<RunContext*>(frame.context)->Record(RunOnDevice(code_, program_, frame));
  }

 private:
  absl::Status DoCompile(std::unique_ptr<HloModule> module, const CompileOptions& options, Evaluate evaluate) {
    SetSignature(*module);
    XC_ASSIGN_OR_RETURN(code_.device, Device::Open(0, options.emulate));
    XC_ASSIGN_OR_RETURN(const Target target, TargetOfCapability(code_.device->info().compute_capability));
    XC_ASSIGN_OR_RETURN(PlannedModule planned, PlanModule(std::move(module), options, TargetInfoOf(target), evaluate));
    code_.products.Use(code_.device, options.emulate, options.gpu_libraries);
    const auto take = [this](const plan::Step& step, const MatmulDesc& desc, const ProductArrays& arrays) {
      return code_.products.Take(step, desc, arrays);
    };
    XC_ASSIGN_OR_RETURN(EmittedPlan emitted,
                        EmitPlan(planned.plan, target, {options.deadline, options.keep_texts, take}));
    std::vector<std::shared_ptr<Module>> modules;
    for (const std::string& ptx : emitted.ptx) {
      if (options.dump) options.dump(absl::StrCat("kernels_", modules.size(), ".ptx"), ptx);
      XC_ASSIGN_OR_RETURN(modules.emplace_back(), Module::Load(code_.device, ptx));
      code_bytes_ += static_cast<int64_t>(ptx.size());
    }
    for (const KernelCode& kernel : emitted.kernels) {
      XC_ASSIGN_OR_RETURN(Kernel function, modules[kernel.module]->GetKernel(kernel.name));
      LaunchDims dims;
      dims.grid[0] = static_cast<uint32_t>(kernel.blocks);
      dims.block[0] = static_cast<uint32_t>(kernel.threads);
      code_.kernels.push_back({std::move(function), dims});
    }
    code_.modules = std::move(modules);
    code_.launches = std::move(emitted.launches);
    code_.scratch_bytes = code_.products.workspace_bytes();
    for (const auto& [step, launches] : code_.launches) {
      for (const Launch& launch : launches) code_.scratch_bytes = std::max(code_.scratch_bytes, launch.scratch_bytes);
    }
    if (options.keep_texts) {
      ptx_ = std::move(emitted.ptx);
      ir_ = std::move(emitted.ir);
    }
    code_.buffers = planned.buffers;
    code_.arena_bytes = planned.buffers.arena_bytes();
    XC_RETURN_IF_ERROR(SetProgram(&planned, options));
    program_.arena_bytes = 0;  // it lies on the device
    code_.plan = std::move(planned.plan);
    XC_RETURN_IF_ERROR(UploadConstants(&code_, program_));
    code_.kept = std::make_unique<KeptMemory>(code_.device, NoGraphReason(code_, program_));
    Prepare(std::move(evaluate));
    // What runs on the host, in the order of the plan.
    std::vector<EvaluatedPart> parts = evaluated();
    for (const plan::Computation& computation : code_.plan.computations) {
      for (const plan::Step& step : computation.steps) {
        const auto add = [&](std::string reason) {
          parts.push_back(
              {absl::StrCat(OpcodeName(step.instruction->opcode()), " ", step.instruction->name()), std::move(reason)});
        };
        if (std::holds_alternative<plan::CustomCall>(step.action)) add("custom calls run on the host");
        if (RunsOnHost(step)) continue;
        if (auto it = emitted.reasons.find(&step); it != emitted.reasons.end()) add(it->second);
      }
    }
    SetEvaluated(std::move(parts));
    return absl::OkStatus();
  }

  DeviceProgram code_;
  int64_t code_bytes_ = 0;
  std::vector<std::string> ptx_, ir_;  // on request
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const CompileOptions& options, Evaluate evaluate) {
  return GpuExecutable::Compile(std::move(module), options, std::move(evaluate));
}

}  // namespace xc::gpu
