// A compiled module: code, constants, arenas, and how a run is set up.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "backends/codegen/elementwise.h"
#include "backends/codegen/math.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/passes.h"
#include "backends/cpu/program.h"
#include "backends/plan/planner.h"
#include "backends/plan/prepare.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/build_id.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/symbols.h"
#include "compiler/memory/buffer_assignment.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using Entry = int32_t (*)(const Frame*);

std::vector<Symbol> MakeSymbols() {
  std::vector<Symbol> symbols;
  for (const RuntimeSymbol& s : RuntimeSymbols()) symbols.push_back({s.name, s.address});
  for (const codegen::MathSymbol& s : codegen::MathSymbols()) symbols.push_back({s.name, s.address});
  for (const codegen::MathSymbol& s : codegen::ComplexSymbols()) symbols.push_back({s.name, s.address});
  symbols.push_back({"xc_cpu_fallback", reinterpret_cast<void*>(&xc_cpu_fallback)});
  symbols.push_back({"xc_cpu_custom_call", reinterpret_cast<void*>(&xc_cpu_custom_call)});
  // What LLVM itself may call.
  symbols.push_back({"memcpy", reinterpret_cast<void*>(&memcpy)});
  symbols.push_back({"memset", reinterpret_cast<void*>(&memset)});
  symbols.push_back({"memmove", reinterpret_cast<void*>(&memmove)});
  symbols.push_back({"roundf", reinterpret_cast<void*>(static_cast<float (*)(float)>(&std::round))});
  symbols.push_back({"round", reinterpret_cast<void*>(static_cast<double (*)(double)>(&std::round))});
  return symbols;
}

const std::vector<Symbol>& AllSymbols() {
  static const auto* symbols = new std::vector<Symbol>(MakeSymbols());
  return *symbols;
}

class CpuExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                             const xc::CompileOptions& options, Evaluate evaluate) {
    auto executable = std::make_unique<CpuExecutable>();
    XC_RETURN_IF_ERROR(executable->DoCompile(std::move(module), options, std::move(evaluate)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  static absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view bytes,
                                                          Evaluate evaluate) {
    auto executable = std::make_unique<CpuExecutable>();
    XC_RETURN_IF_ERROR(executable->DoLoad(module, bytes, std::move(evaluate)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    if (parameters.size() != parameter_leaves().size() || results.size() != result_leaves().size()) {
      return absl::InvalidArgumentError(absl::StrCat("program takes ", parameter_leaves().size(), " buffers and gives ",
                                                     result_leaves().size(), ", called with ", parameters.size(),
                                                     " and ", results.size()));
    }
    if (dynamic_sizes != nullptr) dynamic_sizes->assign(results.size(), {});
    ArenaPool* pool = options.guard_pages ? guarded_.get() : arenas_.get();
    XC_ASSIGN_OR_RETURN(ArenaPool::Lease lease, pool->Acquire());
    RunContext context(lease.data(), options.executor, options.thread_limit);
    context.infeed = options.infeed;
    context.outfeed = options.outfeed;
    // Parameters that the module donates are written to.
    std::vector<void*> inputs;
    inputs.reserve(parameters.size());
    for (const void* p : parameters) inputs.push_back(const_cast<void*>(p));
    std::vector<Block> donated;
    for (size_t i = 0; i < program_.parameters.size(); ++i) {
      if (!program_.parameters[i].donated) continue;
      XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(program_.parameters[i].bytes));
      std::memcpy(block.data(), inputs[i], program_.parameters[i].bytes);
      inputs[i] = block.data();
      donated.push_back(std::move(block));
    }
    Frame frame{&context, inputs.data(), results.data(), lease.data(), program_.constants.data(), &program_.fallback};
    entry_(&frame);
    XC_RETURN_IF_ERROR(context.status());
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const Program::Output& output = program_.outputs[i];
      if (output.parameter >= 0 && output.bytes > 0) {
        std::memcpy(results[i], static_cast<char*>(inputs[output.parameter]) + output.offset, output.bytes);
      }
    }
    return absl::OkStatus();
  }

  bool loaded() const override { return loaded_; }
  int64_t temp_bytes() const override { return program_.arena_bytes; }
  int64_t size_bytes() const override { return code_->memory_bytes() + program_.constant_bytes; }
  std::string Text(absl::string_view name) const override {
    if (name == "optimized_hlo") return program_.module == nullptr ? "" : program_.module->ToString();
    if (name == "pass_times") return pass_report_;
    if (name == "plan") return plan_text_;
    if (name == "buffer_assignment") return buffers_.Report();
    if (name == "fallbacks") {
      std::vector<std::string> lines;
      for (size_t i = 0; i < program_.fallback.sites.size(); ++i) {
        const HloInstruction* site = program_.fallback.sites[i];
        lines.push_back(
            absl::StrCat(OpcodeName(site->opcode()), " ", site->name(), ": ", program_.fallback.reasons[i]));
      }
      return absl::StrJoin(lines, "\n");
    }
    if (name == "llvm_ir") return absl::StrJoin(code_->text().ir, "\n");
    if (name == "llvm_ir_optimized") return absl::StrJoin(code_->text().optimized_ir, "\n");
    if (name == "asm") return absl::StrJoin(code_->text().assembly, "\n");
    return "";
  }

 private:
  absl::Status DoCompile(std::unique_ptr<HloModule> module, const xc::CompileOptions& options, Evaluate evaluate) {
    program_.module = std::move(module);
    HloModule* const m = program_.module.get();
    SetSignature(*m);
    XC_ASSIGN_OR_RETURN(Target target, GetTarget(options.cpu));
    XC_ASSIGN_OR_RETURN(pass_report_, RunPasses(m, options, evaluate));
    XC_ASSIGN_OR_RETURN(buffers_, plan::Prepare(m, {options.max_memory_bytes, options.deadline}));
    PassContext context;
    context.target.vector_bytes = target.vector_bytes;
    XC_ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(*m, buffers_, context.target, options.deadline));
    if (options.dump) options.dump("plan.txt", plan::ToString(plan));
    if (options.keep_texts) plan_text_ = plan::ToString(plan);
    IrEmitter emitter(plan, target, options.deadline);
    XC_ASSIGN_OR_RETURN(EmittedProgram emitted, emitter.Emit());
    cpu::CompileOptions code_options;
    code_options.target = target;
    code_options.threads = options.compile_threads > 0 ? options.compile_threads : AvailableCpus();
    code_options.deadline = options.deadline;
    code_options.keep_ir = code_options.keep_assembly = options.keep_texts;
    std::vector<std::string> objects;
    if (options.store) code_options.objects = &objects;
    XC_ASSIGN_OR_RETURN(code_, CompileModules(std::move(emitted.modules), AllSymbols(), {emitted.entry}, code_options));
    program_.entry = std::move(emitted.entry);
    SetBuffers(buffers_, &program_);
    for (const plan::EvaluatedSite& site : plan.evaluated) {
      program_.fallback.sites.push_back(site.instruction);
      program_.fallback.reasons.push_back(site.reason);
    }
    program_.fallback.calls = std::move(plan.custom_calls);
    program_.literals = buffers_.constants();
    program_.literals.insert(program_.literals.end(), plan.constants.begin(), plan.constants.end());
    for (const auto& literal : program_.literals) {
      if (literal->elided()) {
        return absl::InvalidArgumentError(absl::StrCat("a constant of shape ", literal->shape().ToString(),
                                                       " has no elements (`{...}`): the program cannot run"));
      }
      program_.constant_bytes += literal->byte_size();
      program_.constants.push_back(literal->bytes());
    }
    XC_RETURN_IF_ERROR(Prepare(std::move(evaluate)));
    if (options.store) {
      absl::StatusOr<std::string> bytes = WriteProgram(program_, objects);
      if (bytes.ok()) options.store(*std::move(bytes));
    }
    return absl::OkStatus();
  }

  absl::Status DoLoad(const HloModule& module, absl::string_view bytes, Evaluate evaluate) {
    SetSignature(module);
    loaded_ = true;
    std::vector<std::string> objects;
    XC_ASSIGN_OR_RETURN(program_, ReadProgram(bytes, &objects));
    const auto sizes_match = [](const std::vector<Shape>& leaves, const auto& stored) {
      return std::equal(leaves.begin(), leaves.end(), stored.begin(), stored.end(),
                        [](const Shape& leaf, const auto& s) { return leaf.ByteSize() == s.bytes; });
    };
    if (!sizes_match(parameter_leaves(), program_.parameters) || !sizes_match(result_leaves(), program_.outputs)) {
      return absl::InvalidArgumentError("it has other parameters or results than the module");
    }
    XC_ASSIGN_OR_RETURN(code_, LinkObjects(std::move(objects), AllSymbols(), {program_.entry}));
    return Prepare(std::move(evaluate));
  }

  // What is left to do when the program and its code are there.
  absl::Status Prepare(Evaluate evaluate) {
    entry_ = reinterpret_cast<Entry>(code_->Find(program_.entry));
    if (entry_ == nullptr) return absl::InternalError("the program's entry was not linked");
    program_.fallback.evaluate = std::move(evaluate);
    arenas_ = std::make_unique<ArenaPool>(program_.arena_bytes);
    guarded_ = std::make_unique<ArenaPool>(program_.arena_bytes, /*guard=*/true);
    return absl::OkStatus();
  }

  Program program_;
  std::unique_ptr<CompiledCode> code_;
  Entry entry_ = nullptr;
  bool loaded_ = false;
  std::unique_ptr<ArenaPool> arenas_, guarded_;
  // For those who look inside: empty if the program was loaded.
  std::string pass_report_, plan_text_;
  BufferAssignment buffers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const xc::CompileOptions& options, Evaluate evaluate) {
  return CpuExecutable::Compile(std::move(module), options, std::move(evaluate));
}

absl::StatusOr<std::unique_ptr<Executable>> LoadModule(const HloModule& module, absl::string_view program,
                                                       Evaluate evaluate) {
  return CpuExecutable::Load(module, program, std::move(evaluate));
}

std::string CodeIdentity(const xc::CompileOptions& options) {
  const absl::StatusOr<Target> target = GetTarget(options.cpu);
  const std::string own = BuildId(reinterpret_cast<const void*>(&CodeIdentity)), llvm = LlvmIdentity();
  if (!target.ok() || own.empty() || llvm.empty()) return "";
  return absl::StrCat("build ", own, ", ", llvm, ", ", target->cpu, ":", target->features);
}

}  // namespace xc::cpu
