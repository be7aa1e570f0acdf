#include "tools/read_module.h"

#include <atomic>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/loader/loaded_program.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"
#include "jit/host/session_module.h"
#include "jit/saved_model/saved_model.h"
#include "service/argument_shapes.h"
#include "service/files.h"
#include "tools/stdin_file.h"

namespace xc {
namespace {

// The signature's inputs, each on a line, for who has to give their shapes.
std::string Inputs(const Session& session) {
  std::string text;
  for (const TensorInfo& input : session.inputs()) {
    absl::StrAppend(&text, "\n  ", input.name, ": ", DataTypeName(input.type), input.shape.ToString());
  }
  return text;
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadSignature(const ModuleSource& source) {
  std::vector<Dims> dims;
  if (!source.shapes.empty()) {
    XC_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ParseArgumentShapes(source.shapes));
    for (const Shape& shape : shapes) dims.push_back(shape.dims());
  }
  SavedModelOptions options;
  options.signature = source.signature;
  options.host.mode = HostMode::kHost;
  options.host.prefer_kernels = true;
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, LoadSavedModel(source.path, std::move(options)));
  absl::StatusOr<SessionModule> lowered = LowerSession(*session, dims);
  if (!lowered.ok()) {
    return absl::Status(lowered.status().code(),
                        absl::StrCat(source.path, ", signature ", source.signature, ": ", lowered.status().message(),
                                     "; its inputs:", Inputs(*session)));
  }
  static std::atomic<bool> said = false;
  if (lowered->unchecked && !said.exchange(true)) {
    std::fprintf(stderr,
                 "note: some values that TensorFlow refuses, such as indices out of range, are not refused: the module "
                 "gives what HLO gives for them\n");
  }
  return std::move(lowered->module);
}

}  // namespace

std::string SourceName(const std::string& path, absl::string_view suffix) {
  return NameStdin(path) == path ? BaseName(path, suffix) : "stdin";
}

absl::Status RefuseCompiled(const std::string& path) {
  const absl::StatusOr<ProgramBytes> bytes = ProgramBytes::Map(path);
  if (!bytes.ok() || !BeginsProgramFile(bytes->bytes())) return absl::OkStatus();
  absl::StatusOr<ProgramFile> file = ReadProgramFile(bytes->bytes());
  if (!file.ok()) {
    return absl::Status(file.status().code(),
                        absl::StrCat(path, ": this is a compiled program, as `xla compile` ",
                                     "writes them, that cannot be read: ", file.status().message()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": this is a program that `xla compile` has compiled, for ", absl::StrJoin(file->cpus, ", "),
                   ", and no module or graph: xc_load_program, xc::Executable::Load and Python's xla.load run it"));
}

absl::Status VerifySource(const std::string& path, const HloModule& module) {
  const absl::Status status = VerifyModule(module);
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(const ModuleSource& source, ParseOptions options,
                                                      std::vector<Literal>* arguments) {
  if (IsSavedModel(source.path)) return ReadSignature(source);
  XC_RETURN_IF_ERROR(RefuseCompiled(source.path));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModuleOfShapes(source.path, source.shapes, std::move(options), arguments));
  XC_RETURN_IF_ERROR(VerifySource(source.path, *module));
  return module;
}

}  // namespace xc
