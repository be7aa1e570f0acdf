// `xla reduce`: shrinks a failing module.
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/argument_shapes.h"
#include "service/bundle.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/files.h"
#include "service/inputs.h"
#include "tools/commands.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/reduce.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

struct Settings {
  std::string platform = DefaultPlatform(), against = "interpreter", passes = "all", fault = "differs", command, shapes,
              out;
  double seconds = 600;
  bool exact = false;
};

absl::StatusOr<std::vector<Literal>> RunOn(const HloModule& module, const std::string& platform,
                                           const CompileOptions& options) {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, backend->Compile(module.Clone(), options));
  std::vector<Literal> inputs;
  std::vector<const Literal*> pointers;
  for (const Shape& leaf : executable->parameter_leaves()) {
    inputs.push_back(MakeInput(static_cast<int64_t>(inputs.size()), leaf));
  }
  for (const Literal& input : inputs) pointers.push_back(&input);
  return RunOnLiterals(*executable, pointers);
}

// Faults that have a name; --command has its own.
bool Fails(const HloModule& module, const Settings& s) {
  CompileOptions options;
  if (s.passes == "none") options.disabled_passes = {"all"};
  if (s.fault == "compile") {
    auto backend = BackendByName(s.platform);
    return backend.ok() && !(*backend)->Compile(module.Clone(), options).ok();
  }
  const auto actual = RunOn(module, s.platform, options);
  if (s.fault == "run") return !actual.ok();
  const auto expected = RunOn(module, s.against, {});
  if (!actual.ok() || !expected.ok() || actual->size() != expected->size()) return false;
  for (size_t i = 0; i < actual->size(); ++i) {
    const std::string wrong =
        s.exact ? CompareExact((*actual)[i], (*expected)[i]) : CompareNorm((*actual)[i], (*expected)[i]);
    if (!wrong.empty()) return true;
  }
  return false;
}

// Runs a command of the shell; its wait status. Unlike by std::system, Ctrl-C ends both.
absl::StatusOr<int> RunShell(const std::string& command) {
  const char* const arguments[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(arguments), environ) != 0) {
    return absl::InvalidArgumentError("there is no /bin/sh to run the command");
  }
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError("waiting for the command failed");
  }
  return status;
}

// Runs the command with the module's file as its last argument.
absl::StatusOr<bool> CommandFails(const HloModule& module, const std::string& command, const std::string& file) {
  XC_RETURN_IF_ERROR(WriteFile(file, module.ToString()));
  XC_ASSIGN_OR_RETURN(const int status, RunShell(absl::StrCat(command, " '", file, "' >/dev/null 2>&1")));
  // What a shell ends with that cannot run the command, or does not find it.
  if ((WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))) {
    return absl::InvalidArgumentError(absl::StrCat("the command `", command, "` cannot be run"));
  }
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

absl::Status Reduce(const std::string& path, const Settings& s) {
  std::unique_ptr<HloModule> module;
  if (IsDirectory(path)) {
    XC_ASSIGN_OR_RETURN(Bundle bundle, ReadBundle(path));
    module = std::move(bundle.module);
  } else {
    XC_RETURN_IF_ERROR(RefuseCompiled(path));
    XC_ASSIGN_OR_RETURN(module, ReadModuleOfShapes(path, s.shapes));
  }
  XC_RETURN_IF_ERROR(VerifySource(path, *module));
  char scratch[] = "/tmp/xla_reduce_XXXXXX";
  std::string file;
  if (!s.command.empty()) {
    const int descriptor = mkstemp(scratch);
    if (descriptor < 0) return absl::InternalError("no temporary file can be made");
    close(descriptor);
    file = scratch;
    RemoveOnInterrupt(file);
  }
  absl::Status error;
  const auto fails = [&](const HloModule& candidate) {
    if (s.command.empty()) return Fails(candidate, s);
    absl::StatusOr<bool> result = CommandFails(candidate, s.command, file);
    if (!result.ok()) error = result.status();
    return result.ok() && *result;
  };
  const int64_t before = module->InstructionCount();
  const bool failing = fails(*module);
  if (failing) {
    ReduceOptions options;
    options.deadline = absl::Now() + absl::Seconds(s.seconds);
    options.progress = [](const HloModule& smaller) {
      std::fprintf(stderr, "%s\n", HumanCount(smaller.InstructionCount(), "instruction").c_str());
    };
    module = ReduceModule(std::move(module), fails, options);
  }
  if (!file.empty()) unlink(file.c_str());
  RemoveOnInterrupt("");
  XC_RETURN_IF_ERROR(error);
  if (!failing) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " does not fail: there is nothing to reduce (see --fault, --command, and replay's --against)"));
  }
  std::fprintf(stderr, "reduced from %lld to %lld instructions\n", static_cast<long long>(before),
               static_cast<long long>(module->InstructionCount()));
  Report& report = Report::Get();
  report.fields.Add("instructions_before", before).Add("instructions_after", module->InstructionCount());
  if (!s.out.empty()) {
    report.fields.Add("written", s.out);
    return WriteFile(s.out, module->ToString());
  }
  report.fields.Add("text", module->ToString());
  report.Line(module->ToString());
  return absl::OkStatus();
}

}  // namespace

int ReduceCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags(
      "xla reduce FILE|BUNDLE [flags]",
      "Shrinks a failing module to a small one that fails in the same way, and prints it. Inputs are the "
      "deterministic ones of `xla replay`.\n\nexamples:\n"
      "  xla reduce module.hlo -o small.hlo                       it differs from the interpreter\n"
      "  xla reduce module.hlo --fault=compile                    it cannot be compiled\n"
      "  xla reduce module.hlo --command='./still_fails.sh'       exits non-zero (or crashes) given the file");
  flags.Add("platform", &s.platform, PlatformNames());
  flags.Add("against", &s.against, "the platform whose results are right");
  flags.Add("fault", &s.fault, "`differs` (from --against), `compile` or `run` (an error)");
  flags.Add("exact", &s.exact, "differences of rounding count");
  flags.Add("passes", &s.passes, "`none`: only the passes that the backend cannot do without");
  flags.Add("command", &s.command, "a command that exits non-zero for a failing module, whose file it is given");
  flags.Add("seconds", &s.seconds, "stop after this time with what has been reached");
  flags.Add("shapes", &s.shapes, kShapesHelp);
  flags.Add("o", &s.out, "write the module to this file");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1) {
    return Fail(absl::InvalidArgumentError("`xla reduce` takes one FILE or BUNDLE"));
  }
  if (s.passes != "all" && s.passes != "none") {
    return Fail(absl::InvalidArgumentError("--passes should be `all` or `none`"));
  }
  if (s.fault != "differs" && s.fault != "compile" && s.fault != "run") {
    return Fail(absl::InvalidArgumentError("--fault should be `differs`, `compile` or `run`"));
  }
  if (auto backend = BackendByName(s.platform); !backend.ok()) return Fail(backend.status());
  if (auto backend = BackendByName(s.against); !backend.ok()) return Fail(backend.status());
  if (absl::Status status = Reduce(flags.positional()[0], s); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
