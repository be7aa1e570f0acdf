#include "backends/program/dynamic_shapes.h"

#include "absl/strings/str_cat.h"
#include "backends/program/passes.h"
#include "compiler/expand/expand.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// The interpreter under another backend's name.
class EvaluatedExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(std::unique_ptr<HloModule> module,
                                                            const CompileOptions& options, absl::string_view why) {
    auto executable = std::make_unique<EvaluatedExecutable>();
    executable->SetEvaluated({{"the module, whose sizes only a run knows", std::string(why)}});
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
    return name == "evaluated" ? Executable::Text(name) : executable_->Text(name);
  }

 private:
  std::unique_ptr<Executable> executable_;
};

// A module of arrays of bounds (compiler/expand/dynamic_dimensions.cc), with the sizes that its result has as sizes.
class DynamicExecutable : public Executable {
 public:
  DynamicExecutable(const HloModule& module, std::unique_ptr<Executable> executable)
      : executable_(std::move(executable)) {
    SetSignature(module);
    SetEvaluated(executable_->evaluated());
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
  const std::vector<ProfileSite>& profile_sites() const override { return executable_->profile_sites(); }

 private:
  std::unique_ptr<Executable> executable_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileDynamic(std::unique_ptr<HloModule> module,
                                                           const CompileOptions& options,
                                                           const CompileStatic& compile) {
  if (!HasDynamicDimensions(*module)) return compile(std::move(module));
  std::unique_ptr<HloModule> expanded = module->Clone();
  PassContext context;
  context.options.deadline = PassDeadline(options);
  const absl::Status status = ExpandDynamicDimensions(expanded.get(), context).status();
  if (absl::IsUnimplemented(status)) {
    return EvaluatedExecutable::Create(std::move(module), options, status.message());
  }
  XC_RETURN_IF_ERROR(status);
  XC_ASSIGN_OR_RETURN(auto executable, compile(std::move(expanded)));
  return std::unique_ptr<Executable>(std::make_unique<DynamicExecutable>(*module, std::move(executable)));
}

absl::StatusOr<std::unique_ptr<Executable>> LoadDynamic(const HloModule& module, const LoadStatic& load) {
  if (!HasDynamicDimensions(module)) return load(module);
  std::unique_ptr<HloModule> expanded = module.Clone();
  PassContext context;
  XC_RETURN_IF_ERROR(ExpandDynamicDimensions(expanded.get(), context).status());
  XC_ASSIGN_OR_RETURN(auto executable, load(*expanded));
  return std::unique_ptr<Executable>(std::make_unique<DynamicExecutable>(module, std::move(executable)));
}

}  // namespace xc
