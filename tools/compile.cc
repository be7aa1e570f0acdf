// `xla compile`: compiles ahead of time.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/ahead_of_time.h"
#include "service/files.h"
#include "tools/commands.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

struct Settings {
  std::string out, cpu, constants, format = "program", name, shapes, signature = "serving_default", disable;
  bool excess_precision = false;
};

// Makes the entry's last parameters constants: those whose number N has a file `directory`/N.npy.
absl::Status BindParameters(const std::string& directory, HloModule* module) {
  HloComputation* const entry = module->entry();
  int64_t bound = 0;
  for (; entry->parameter_count() > 0; ++bound) {
    const int64_t last = entry->parameter_count() - 1;
    const std::string path = absl::StrCat(directory, "/", last, ".npy");
    if (!FileExists(path)) break;
    HloInstruction* const parameter = entry->parameter(last);
    if (!parameter->shape().IsArray() || parameter->shape().is_dynamic()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", last, " is ", parameter->shape().ToString(false),
                                                     ", which no constant can take the place of"));
    }
    XC_ASSIGN_OR_RETURN(Literal value, ReadArray(path, parameter->shape()));
    HloInstruction* const constant = entry->Add(HloInstruction::CreateConstant(std::move(value)));
    parameter->ReplaceAllUsesWith(constant);
    if (entry->root() == parameter) entry->set_root(constant);
    entry->RemoveParameter(last);
    if (module->config().has_entry_layout) module->config().entry_parameter_layouts.pop_back();
  }
  if (bound > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(directory, " has no ", entry->parameter_count() - 1, ".npy for the last parameter"));
}

absl::Status CompileFile(const std::string& path, const Settings& s) {
  const absl::Time start = absl::Now();
  if (absl::StrContains(s.shapes, ';')) {
    return absl::InvalidArgumentError(
        "a program compiled ahead of time has code for one set of shapes: --shapes takes one list. Code for several "
        "sizes needs the compiler (xc_general_code_new of libxc)");
  }
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, ReadModule({path, s.shapes, s.signature}));
  if (!s.constants.empty()) XC_RETURN_IF_ERROR(BindParameters(s.constants, module.get()));
  std::vector<std::string> cpus = absl::StrSplit(s.cpu, ',', absl::SkipEmpty());
  if (cpus.empty()) {
    XC_ASSIGN_OR_RETURN(std::string best, BestCpuHere());
    cpus.push_back(std::move(best));
  }
  CompileOptions options;
  options.disabled_passes = absl::StrSplit(s.disable, ',', absl::SkipEmpty());
  options.excess_precision = s.excess_precision;
  std::string program;
  {
    const Progress progress(absl::StrCat("compiling for ", absl::StrJoin(cpus, ", ")));
    XC_ASSIGN_OR_RETURN(program, CompileAheadOfTime(*module, options, cpus));
  }
  JsonList written;
  const auto write = [&](const std::string& file, const std::string& bytes) {
    written.Add(JsonText(file));
    return WriteFile(file, bytes);
  };
  if (s.format == "object") {
    const std::string base(absl::StripSuffix(s.out, ".o"));
    const std::string name = s.name.empty() ? BaseName(base, "") : s.name;
    XC_ASSIGN_OR_RETURN(const std::string object, ProgramObject(name, program));
    XC_ASSIGN_OR_RETURN(const std::string header, ProgramHeader(name, program));
    XC_RETURN_IF_ERROR(write(base + ".o", object));
    XC_RETURN_IF_ERROR(write(base + ".h", header));
  } else {
    XC_RETURN_IF_ERROR(write(s.out, program));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  Report& report = Report::Get();
  report.fields.Add("module", module->name()).Add("compile_s", seconds);
  report.fields.Add("bytes", static_cast<int64_t>(program.size())).AddJson("written", written.ToString());
  report.Line(absl::StrCat(module->name(), " compiled for ", absl::StrJoin(cpus, ", "), " in ", HumanSeconds(seconds),
                           ": ", HumanBytes(static_cast<int64_t>(program.size()))));
  return absl::OkStatus();
}

}  // namespace

int CompileCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags("xla compile FILE -o MODEL.xcp [flags]",
                "Compiles an HLO or StableHLO module, or a signature of a SavedModel, ahead of time, to a file that "
                "libxcrt (without a compiler), libxc "
                "and xla.load run.\n\nexamples:\n"
                "  xla compile module.hlo -o model.xcp --cpu=x86-64-v2,x86-64-v3,x86-64-v4\n"
                "  xla compile module.hlo -o model.o --format=object     model.o and model.h, for a C program\n"
                "  xla compile saved_model/ -o model.xcp --shapes=[1,224,224,3]");
  flags.Add("o", &s.out, "the file to write");
  flags.Add("cpu", &s.cpu,
            absl::StrCat("processors to have code for, separated by commas: ", absl::StrJoin(AheadOfTimeCpus(), ", "),
                         " (default: the best of them that this machine is)"));
  flags.Add("format", &s.format, "`program`: a file to load; `object`: an object file and a header to link with");
  flags.Add("name", &s.name, "of the functions in the header (default: the file's)");
  flags.Add("constants", &s.constants,
            "directory with N.npy: the last parameters that it has files for become constants of the program");
  flags.Add("shapes", &s.shapes, kShapesHelp);
  flags.Add("signature", &s.signature, kSignatureHelp);
  flags.Add("disable", &s.disable, "names of passes not to run, separated by commas");
  flags.Add("excess_precision", &s.excess_precision, "compute in f32 what is written in f16 or bf16");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1 || s.out.empty()) {
    return Fail(absl::InvalidArgumentError("`xla compile` takes one FILE and -o MODEL"));
  }
  if (s.format != "program" && s.format != "object") {
    return Fail(absl::InvalidArgumentError("--format should be `program` or `object`"));
  }
  if (absl::Status status = CompileFile(flags.positional()[0], s); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
