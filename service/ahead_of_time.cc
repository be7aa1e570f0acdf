#include "service/ahead_of_time.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/loader/link_image.h"
#include "backends/plan/plan.h"
#include "hlo/base/status.h"
#include "hlo/wire/shape_proto.h"
#include "proto/program.pb.h"
#include "service/client.h"

namespace xc {
namespace {

// Code in a file holds descriptors as the runtime's functions take them.
template <typename... T>
constexpr size_t SumOfSizes(const std::variant<T...>*) {
  return (sizeof(T) + ...);
}
static_assert(ProgramFile::kVersion == 2 && SumOfSizes(static_cast<const plan::Descriptor*>(nullptr)) == 1304,
              "descriptors have changed: raise ProgramFile::kVersion, or files of older libraries are misread");

constexpr const char* kCpus[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

FileShape ToFile(const Shape& shape) {
  FileShape out;
  out.type = static_cast<int32_t>(shape.type());
  if (!shape.IsArray()) return out;
  out.dims = {shape.dims().begin(), shape.dims().end()};
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Descending(shape.rank());
  out.minor_to_major = {layout.minor_to_major.begin(), layout.minor_to_major.end()};
  for (int64_t d = 0; d < shape.rank(); ++d) out.dynamic.push_back(shape.is_dynamic_dim(d));
  out.bytes = shape.ByteSize();
  return out;
}

Shape FromFile(const FileShape& shape) {
  const auto type = static_cast<ElementType>(shape.type);
  if (type == ElementType::kToken) return Shape::Token();
  Shape out(type, {shape.dims.begin(), shape.dims.end()});
  for (size_t d = 0; d < shape.dynamic.size(); ++d) out.set_dynamic_dim(static_cast<int64_t>(d), shape.dynamic[d]);
  out.mutable_layout()->minor_to_major.assign(shape.minor_to_major.begin(), shape.minor_to_major.end());
  return out;
}

template <typename Protos>
absl::StatusOr<std::vector<FileShape>> ToFile(const Protos& protos) {
  std::vector<FileShape> shapes;
  for (const pb::ShapeProto& proto : protos) {
    XC_ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(proto));
    shapes.push_back(ToFile(shape));
  }
  return shapes;
}

// What a file's parts are views of, until it is written.
struct Parts {
  std::deque<std::string> bytes;
  std::map<absl::string_view, int64_t> constants;
};

absl::StatusOr<FileVariant> MakeVariant(pb::ProgramProto* program, const std::string& cpu, ProgramFile* file,
                                        Parts* parts) {
  FileVariant v;
  v.cpu = cpu;
  v.arena_bytes = program->arena_bytes();
  for (const auto& p : program->parameters()) v.parameters.push_back({p.bytes(), p.donated()});
  for (const auto& o : program->outputs()) {
    v.outputs.push_back({o.bytes(), o.in_parameter() ? o.parameter() : -1, o.offset()});
  }
  for (std::string& constant : *program->mutable_constants()) {
    auto it = parts->constants.find(constant);
    if (it == parts->constants.end()) {
      parts->bytes.push_back(std::move(constant));
      it = parts->constants.emplace(parts->bytes.back(), static_cast<int64_t>(file->constants.size())).first;
      file->constants.push_back(parts->bytes.back());
    }
    v.constants.push_back(it->second);
  }
  for (const auto& c : program->calls()) {
    FileCall call;
    call.target = c.target();
    call.backend_config = c.backend_config();
    call.tuple_result = c.tuple_result();
    XC_ASSIGN_OR_RETURN(call.inputs, ToFile(c.inputs()));
    XC_ASSIGN_OR_RETURN(call.outputs, ToFile(c.outputs()));
    v.calls.push_back(std::move(call));
  }
  const std::vector<std::string> objects(program->objects().begin(), program->objects().end());
  std::string& image = parts->bytes.emplace_back();
  XC_ASSIGN_OR_RETURN(v.code, LinkImage(objects, program->entry(), &image));
  return v;
}

absl::Status WhyEvaluated(const std::vector<EvaluatedPart>& evaluated) {
  std::vector<std::string> lines;
  for (const EvaluatedPart& part : evaluated) {
    if (lines.size() == 5) {
      lines.push_back(absl::StrCat("and ", evaluated.size() - 5, " more"));
      break;
    }
    lines.push_back(absl::StrCat(part.what, " (", part.reason, ")"));
  }
  return absl::UnimplementedError(
      absl::StrCat("there is no native code for ", absl::StrJoin(lines, "; "),
                   ": it runs on the interpreter, which a program compiled ahead of time does not have"));
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

 private:
  std::unique_ptr<LoadedProgram> program_;
};

}  // namespace

absl::Span<const char* const> AheadOfTimeCpus() { return kCpus; }

absl::StatusOr<std::string> BestCpuHere() {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(DefaultPlatform()));
  for (size_t i = std::size(kCpus); i-- > 0;) {
    CompileOptions options;
    options.cpu = kCpus[i];
    if (backend->Target(options).ok()) return std::string(kCpus[i]);
  }
  return absl::FailedPreconditionError("this processor is none that code can be compiled for ahead of time");
}

absl::StatusOr<std::string> CompileAheadOfTime(const HloModule& module, const CompileOptions& options,
                                               std::vector<std::string> cpus) {
  // The most demanding first, which is how the loader chooses.
  std::sort(cpus.begin(), cpus.end(), std::greater<>());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  if (cpus.empty()) return absl::InvalidArgumentError("a program needs a processor to be compiled for");
  ProgramFile file;
  Parts parts;
  file.name = module.name();
  file.made_by = "xc";
  for (const std::string& cpu : cpus) {
    if (std::find(std::begin(kCpus), std::end(kCpus), cpu) == std::end(kCpus)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown CPU \"", cpu, "\"; known: ", absl::StrJoin(kCpus, ", ")));
    }
    CompileOptions own = options;
    own.cpu = cpu;
    own.other_machine = true;
    std::string stored;
    own.store = [&stored](std::string program) { stored = std::move(program); };
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                        Client::Default()->Compile(module.Clone(), DefaultPlatform(), own));
    if (!executable->evaluated().empty()) return WhyEvaluated(executable->evaluated());
    pb::ProgramProto program;
    if (stored.empty() || !program.ParseFromString(stored)) {
      return absl::UnimplementedError("the program cannot be kept: a custom call of it has no function here");
    }
    stored = std::string();
    if (file.variants.empty()) {
      for (const Shape& leaf : executable->parameter_leaves()) file.inputs.push_back(ToFile(leaf));
      for (const Shape& leaf : executable->result_leaves()) file.outputs.push_back(ToFile(leaf));
    }
    XC_ASSIGN_OR_RETURN(FileVariant variant, MakeVariant(&program, cpu, &file, &parts));
    file.variants.push_back(std::move(variant));
  }
  return WriteProgramFile(file);
}

absl::StatusOr<std::unique_ptr<Executable>> LoadExecutable(ProgramBytes bytes) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, LoadedProgram::Load(std::move(bytes)));
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

}  // namespace xc
