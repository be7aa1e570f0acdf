// A compiled module: code, constants, arenas, and how a run is set up.
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
#include "backends/runtime/arena.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/symbols.h"
#include "compiler/expand/expand.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/schedule.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using Entry = int32_t (*)(const Frame*);

std::vector<Symbol> AllSymbols() {
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

class CpuExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(std::unique_ptr<HloModule> module,
                                                            const xc::CompileOptions& options, Evaluate evaluate) {
    auto executable = std::make_unique<CpuExecutable>();
    XC_RETURN_IF_ERROR(executable->Compile(std::move(module), options, std::move(evaluate)));
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
    for (size_t i = 0; i < buffers_.parameters().size(); ++i) {
      if (!buffers_.parameters()[i].donated) continue;
      XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(buffers_.parameters()[i].size));
      std::memcpy(block.data(), inputs[i], buffers_.parameters()[i].size);
      inputs[i] = block.data();
      donated.push_back(std::move(block));
    }
    Frame frame{&context, inputs.data(), results.data(), lease.data(), constants_.data(), &fallback_};
    entry_(&frame);
    XC_RETURN_IF_ERROR(context.status());
    for (size_t i = 0; i < buffers_.outputs().size(); ++i) {
      const BufferAssignment::OutputLeaf& leaf = buffers_.outputs()[i];
      if (leaf.slice.kind == BufferSlice::Kind::kParameter && leaf.size > 0) {
        std::memcpy(results[i], static_cast<char*>(inputs[leaf.slice.index]) + leaf.slice.offset, leaf.size);
      }
    }
    return absl::OkStatus();
  }

  int64_t temp_bytes() const override { return buffers_.arena_bytes(); }
  int64_t size_bytes() const override { return code_->object_bytes() + constant_bytes_; }
  std::string Text(absl::string_view name) const override {
    if (name == "optimized_hlo") return module_->ToString();
    if (name == "pass_times") return pass_report_;
    if (name == "buffer_assignment") return buffers_.Report();
    if (name == "fallbacks") {
      return absl::StrJoin(fallback_.sites, "\n", [](std::string* out, const HloInstruction* i) {
        absl::StrAppend(out, OpcodeName(i->opcode()), " ", i->name());
      });
    }
    if (name == "llvm_ir") return absl::StrJoin(code_->text().ir, "\n");
    if (name == "llvm_ir_optimized") return absl::StrJoin(code_->text().optimized_ir, "\n");
    if (name == "asm") return absl::StrJoin(code_->text().assembly, "\n");
    return "";
  }

 private:
  absl::Status Compile(std::unique_ptr<HloModule> module, const xc::CompileOptions& options, Evaluate evaluate) {
    module_ = std::move(module);
    SetSignature(*module_);
    XC_ASSIGN_OR_RETURN(Target target, GetTarget(options.cpu));
    XC_ASSIGN_OR_RETURN(pass_report_, RunPasses(module_.get(), options, evaluate));
    // Emitters take arrays to be row-major, whichever passes were left out.
    PassContext layouts;
    XC_RETURN_IF_ERROR(AssignLayouts(module_.get(), layouts).status());
    for (const auto& computation : module_->computations()) computation->RemoveDead();
    XC_RETURN_IF_ERROR(FlattenCalls(module_.get()).status());
    XC_RETURN_IF_ERROR(ScheduleModule(module_.get()));
    XC_ASSIGN_OR_RETURN(buffers_, AssignBuffers(module_.get()));
    if (options.max_memory_bytes > 0 && buffers_.arena_bytes() > options.max_memory_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the program needs ", buffers_.arena_bytes(),
                                                       " bytes of temporary memory; the limit is ",
                                                       options.max_memory_bytes));
    }
    if (options.deadline != absl::InfiniteFuture() && absl::Now() > options.deadline) {
      return absl::DeadlineExceededError("buffer assignment took longer than the compile deadline allows");
    }
    IrEmitter emitter(*module_, buffers_, target);
    XC_ASSIGN_OR_RETURN(EmittedProgram program, emitter.Emit());
    cpu::CompileOptions code_options;
    code_options.target = target;
    code_options.threads = options.compile_threads > 0 ? options.compile_threads : AvailableCpus();
    code_options.deadline = options.deadline;
    code_options.keep_ir = code_options.keep_assembly = options.keep_texts;
    const std::vector<Symbol> symbols = AllSymbols();
    XC_ASSIGN_OR_RETURN(code_, CompileModules(std::move(program.modules), symbols, {program.entry}, code_options));
    entry_ = reinterpret_cast<Entry>(code_->Find(program.entry));
    if (entry_ == nullptr) return absl::InternalError("the program's entry was not linked");
    fallback_.evaluate = std::move(evaluate);
    fallback_.sites = std::move(program.fallbacks);
    fallback_.calls = std::move(program.custom_calls);
    auto add = [&](const std::shared_ptr<const Literal>& literal) -> absl::Status {
      if (literal->elided()) {
        return absl::InvalidArgumentError(absl::StrCat("a constant of shape ", literal->shape().ToString(),
                                                       " has no elements (`{...}`): the program cannot run"));
      }
      constant_bytes_ += literal->byte_size();
      constants_.push_back(literal->bytes());
      literals_.push_back(literal);
      return absl::OkStatus();
    };
    for (const auto& literal : buffers_.constants()) XC_RETURN_IF_ERROR(add(literal));
    for (const auto& literal : program.extra_constants) XC_RETURN_IF_ERROR(add(literal));
    arenas_ = std::make_unique<ArenaPool>(buffers_.arena_bytes());
    guarded_ = std::make_unique<ArenaPool>(buffers_.arena_bytes(), /*guard=*/true);
    return absl::OkStatus();
  }

  std::unique_ptr<HloModule> module_;
  std::string pass_report_;
  BufferAssignment buffers_;
  std::unique_ptr<CompiledCode> code_;
  Entry entry_ = nullptr;
  FallbackTable fallback_;
  std::vector<const void*> constants_;
  std::vector<std::shared_ptr<const Literal>> literals_;
  int64_t constant_bytes_ = 0;
  std::unique_ptr<ArenaPool> arenas_, guarded_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const xc::CompileOptions& options, Evaluate evaluate) {
  return CpuExecutable::Create(std::move(module), options, std::move(evaluate));
}

}  // namespace xc::cpu
