// The CPU backend behind the common interface. Arrays of sizes that only a run knows are compiled as arrays of their
// bounds; modules that have no such form are evaluated as they are written.
#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/interpreter/evaluator.h"
#include "compiler/expand/expand.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// The interpreter under this backend's name.
class EvaluatedExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(std::unique_ptr<HloModule> module,
                                                            const CompileOptions& options, absl::string_view why) {
    auto executable = std::make_unique<EvaluatedExecutable>();
    executable->why_ = std::string(why);
    executable->SetSignature(*module);
    XC_ASSIGN_OR_RETURN(executable->executable_, InterpreterBackend()->Compile(std::move(module), options));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    return executable_->Run(parameters, results, options, dynamic_sizes);
  }
  int64_t temp_bytes() const override { return executable_->temp_bytes(); }
  int64_t size_bytes() const override { return executable_->size_bytes(); }
  std::string Text(absl::string_view name) const override {
    if (name == "fallbacks") return absl::StrCat("module with sizes that only a run knows: ", why_);
    return executable_->Text(name);
  }

 private:
  std::unique_ptr<Executable> executable_;
  std::string why_;
};

// A module of arrays of bounds (compiler/expand/run_time_sizes.cc), with the sizes that its result has as sizes.
class SizedExecutable : public Executable {
 public:
  SizedExecutable(const HloModule& module, std::unique_ptr<Executable> executable)
      : executable_(std::move(executable)) {
    SetSignature(module);
  }
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    if (results.size() != result_leaves().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("program gives ", result_leaves().size(), " buffers, called with ", results.size()));
    }
    std::vector<int32_t> sizes(executable_->result_leaves().size() - results.size());
    std::vector<void*> all;
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      all.push_back(results[i]);
      for (int64_t d = 0; d < result_leaves()[i].rank(); ++d) {
        if (result_leaves()[i].is_dynamic_dim(d)) all.push_back(&sizes[next++]);
      }
    }
    XC_RETURN_IF_ERROR(executable_->Run(parameters, absl::MakeSpan(all), options, nullptr));
    if (dynamic_sizes == nullptr) return absl::OkStatus();
    dynamic_sizes->assign(results.size(), {});
    next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& leaf = result_leaves()[i];
      if (!leaf.IsArray() || !leaf.is_dynamic()) continue;
      (*dynamic_sizes)[i] = leaf.dims();
      for (int64_t d = 0; d < leaf.rank(); ++d) {
        if (leaf.is_dynamic_dim(d)) (*dynamic_sizes)[i][d] = sizes[next++];
      }
    }
    return absl::OkStatus();
  }
  bool loaded() const override { return executable_->loaded(); }
  int64_t temp_bytes() const override { return executable_->temp_bytes(); }
  int64_t size_bytes() const override { return executable_->size_bytes(); }
  std::string Text(absl::string_view name) const override { return executable_->Text(name); }

 private:
  std::unique_ptr<Executable> executable_;
};

absl::StatusOr<Literal> Evaluate(const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
  return Evaluator().EvaluateInstruction(instruction, operands);
}

class CpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    if (!HasRunTimeSizes(*module)) return cpu::CompileModule(std::move(module), options, &Evaluate);
    std::unique_ptr<HloModule> expanded = module->Clone();
    PassContext context;
    context.options.deadline = cpu::PassDeadline(options);
    const absl::Status status = ExpandRunTimeSizes(expanded.get(), context).status();
    if (absl::IsUnimplemented(status)) {
      return EvaluatedExecutable::Create(std::move(module), options, status.message());
    }
    XC_RETURN_IF_ERROR(status);
    XC_ASSIGN_OR_RETURN(auto executable, cpu::CompileModule(std::move(expanded), options, &Evaluate));
    return std::unique_ptr<Executable>(std::make_unique<SizedExecutable>(*module, std::move(executable)));
  }
  std::string Identity(const CompileOptions& options) const override { return cpu::CodeIdentity(options); }
  absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view program) override {
    if (!HasRunTimeSizes(module)) return cpu::LoadModule(module, program, &Evaluate);
    std::unique_ptr<HloModule> expanded = module.Clone();
    PassContext context;
    XC_RETURN_IF_ERROR(ExpandRunTimeSizes(expanded.get(), context).status());
    XC_ASSIGN_OR_RETURN(auto executable, cpu::LoadModule(*expanded, program, &Evaluate));
    return std::unique_ptr<Executable>(std::make_unique<SizedExecutable>(module, std::move(executable)));
  }
};

}  // namespace

Backend* CpuBackend() {
  static CpuBackendImpl* backend = new CpuBackendImpl;
  return backend;
}

}  // namespace xc
