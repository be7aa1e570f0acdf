// Programs of files as executables.
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/ahead_of_time.h"

namespace xc {
namespace {

Shape FromFile(const FileShape& shape) {
  const auto type = static_cast<ElementType>(shape.type);
  if (type == ElementType::kToken) return Shape::Token();
  Shape out(type, {shape.dims.begin(), shape.dims.end()});
  for (size_t d = 0; d < shape.dynamic.size(); ++d) out.set_dynamic_dim(static_cast<int64_t>(d), shape.dynamic[d]);
  out.mutable_layout()->minor_to_major.assign(shape.minor_to_major.begin(), shape.minor_to_major.end());
  return out;
}

class LoadedExecutable : public Executable {
 public:
  explicit LoadedExecutable(std::unique_ptr<LoadedProgram> program) : program_(std::move(program)) {
    std::vector<Shape> parameters, results;
    for (const FileShape& shape : program_->inputs()) parameters.push_back(FromFile(shape));
    for (const FileShape& shape : program_->outputs()) results.push_back(FromFile(shape));
    SetLeaves(std::move(parameters), std::move(results));
  }
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    std::vector<int32_t> sizes;
    XC_RETURN_IF_ERROR(program_->Run(parameters, results, options.executor, options.thread_limit, options.infeed,
                                     options.outfeed, &sizes));
    if (dynamic_sizes == nullptr) return absl::OkStatus();
    dynamic_sizes->assign(results.size(), {});
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& leaf = result_leaves()[i];
      if (!leaf.IsArray() || !leaf.is_dynamic()) continue;
      (*dynamic_sizes)[i] = {leaf.dims().begin(), leaf.dims().end()};
      for (int64_t d = 0; d < leaf.rank(); ++d) {
        if (leaf.is_dynamic_dim(d)) (*dynamic_sizes)[i][d] = sizes[next++];
      }
    }
    return absl::OkStatus();
  }
  int64_t temp_bytes() const override { return program_->temp_bytes(); }
  int64_t size_bytes() const override { return program_->code_bytes(); }
  bool loaded() const override { return true; }

  const LoadedProgram& program() const { return *program_; }

 private:
  std::unique_ptr<LoadedProgram> program_;
};

absl::StatusOr<std::unique_ptr<Executable>> MakeExecutable(std::unique_ptr<LoadedProgram> program) {
  for (const auto* shapes : {&program->inputs(), &program->outputs()}) {
    for (const FileShape& shape : *shapes) {
      const Shape as_shape = FromFile(shape);
      if (!as_shape.IsToken() && (!as_shape.IsArray() || as_shape.ByteSize() != shape.bytes)) {
        return absl::InvalidArgumentError("an array of it has a type that this library does not know");
      }
    }
  }
  return std::unique_ptr<Executable>(std::make_unique<LoadedExecutable>(std::move(program)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> LoadExecutable(ProgramBytes bytes) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, LoadedProgram::Load(std::move(bytes)));
  return MakeExecutable(std::move(program));
}

int64_t NumSizes(const Executable& executable) {
  const auto* loaded = dynamic_cast<const LoadedExecutable*>(&executable);
  return loaded == nullptr ? 1 : loaded->program().num_sizes();
}

absl::StatusOr<std::unique_ptr<Executable>> AtSizes(const Executable& executable, int64_t i) {
  const auto* loaded = dynamic_cast<const LoadedExecutable*>(&executable);
  if (loaded == nullptr) return absl::InvalidArgumentError("only compiled files have programs for several sizes");
  XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, loaded->program().At(i));
  return MakeExecutable(std::move(program));
}

absl::StatusOr<std::unique_ptr<Executable>> ForSizes(const Executable& executable, absl::Span<const int64_t> sizes) {
  const auto* loaded = dynamic_cast<const LoadedExecutable*>(&executable);
  if (loaded == nullptr) return absl::InvalidArgumentError("only compiled files have programs for several sizes");
  XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, loaded->program().For(sizes));
  return MakeExecutable(std::move(program));
}

}  // namespace xc
