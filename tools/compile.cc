// `xla compile`: compiles ahead of time.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "hlo/base/status.h"
#include "service/ahead_of_time.h"
#include "service/files.h"
#include "tools/commands.h"
#include "tools/compile_sizes.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

struct Settings {
  CompileSources sources;
  std::string out, cpu, format = "program", name, disable;
  bool excess_precision = false;
};

absl::Status CompileFiles(const Settings& s) {
  const absl::Time start = absl::Now();
  std::vector<std::string> notes;
  XC_ASSIGN_OR_RETURN(const SizesAhead sizes, SizesOf(s.sources, &notes));
  std::vector<std::string> cpus = absl::StrSplit(s.cpu, ',', absl::SkipEmpty());
  if (cpus.empty()) {
    XC_ASSIGN_OR_RETURN(std::string best, BestCpuHere());
    cpus.push_back(std::move(best));
  }
  CompileOptions options;
  options.disabled_passes = absl::StrSplit(s.disable, ',', absl::SkipEmpty());
  options.excess_precision = s.excess_precision;
  std::string program;
  AheadStats stats;
  {
    const Progress progress(absl::StrCat("compiling for ", absl::StrJoin(cpus, ", ")));
    XC_ASSIGN_OR_RETURN(program, CompileAheadOfTime(sizes, options, cpus, &stats));
  }
  JsonList written, ends;
  for (const std::string& note : notes) ends.Add(JsonText(note));
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
  report.fields.Add("module", stats.module).Add("compile_s", seconds);
  report.fields.Add("sizes", stats.general + stats.own).Add("own_code", stats.own).Add("refusal", stats.refusal);
  report.fields.Add("bytes", static_cast<int64_t>(program.size())).AddJson("written", written.ToString());
  report.fields.AddJson("ends", ends.ToString());
  const std::string many = stats.general + stats.own == 1
                               ? ""
                               : absl::StrCat(" at ", HumanCount(stats.general + stats.own, "size"), ", ", stats.own,
                                              " with code of their own");
  report.Line(absl::StrCat(stats.module, " compiled for ", absl::StrJoin(cpus, ", "), many, " in ",
                           HumanSeconds(seconds), ": ", HumanBytes(static_cast<int64_t>(program.size()))));
  for (const std::string& note : notes) report.Line(absl::StrCat("the program is for ", note));
  if (!stats.refusal.empty()) {
    report.Line(absl::StrCat("code for several sizes does not serve all of them; the last one: ", stats.refusal));
  }
  return absl::OkStatus();
}

}  // namespace

int CompileCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags(
      "xla compile FILE... -o MODEL.xcp [flags]",
      "Compiles an HLO or StableHLO module, or a signature of a SavedModel, ahead of time, to a file that "
      "libxcrt (without a compiler), libxc "
      "and xla.load run. Of several FILEs, modules that differ in sizes alone, the file has each.\n\nexamples:\n"
      "  xla compile module.hlo -o model.xcp --cpu=x86-64-v2,x86-64-v3,x86-64-v4\n"
      "  xla compile module.hlo -o model.o --format=object     model.o and model.h, for a C program\n"
      "  xla compile saved_model/ -o model.xcp --shapes=[1,224,224,3]\n"
      "  xla compile module.hlo -o model.xcp --shapes=\"[1,64]; [b=2..32,64]\"     one size and a range");
  flags.Add("o", &s.out, "the file to write");
  flags.Add("cpu", &s.cpu,
            absl::StrCat("processors to have code for, separated by commas: ", absl::StrJoin(AheadOfTimeCpus(), ", "),
                         " (default: the best of them that this machine is)"));
  flags.Add("format", &s.format, "`program`: a file to load; `object`: an object file and a header to link with");
  flags.Add("name", &s.name, "of the functions in the header (default: the file's)");
  flags.Add("constants", &s.sources.constants,
            "directory with N.npy: the last parameters that it has files for become constants of the program");
  flags.Add("constants_beside", &s.sources.constants_beside, "the same, each FILE's in the folder that it is in");
  flags.Add("samples", &s.sources.samples,
            "modules like the FILEs, separated by commas, of which code is made that the FILEs share");
  flags.Add("pieces", &s.sources.pieces,
            "of FILEs that differ in one size: its value in each, from 1 on, so that the program is for any size; the "
            "last FILE is only compared");
  flags.Add(
      "shapes", &s.sources.shapes,
      "of the inputs where the file leaves sizes open, as [8,4],[8], or the values of its symbols, as b=8,n=17; "
      "several, separated by `;`, get code each; ranges, as [b=1..64,4],[b], b=1..64,n=8..128:8 or, without an end, "
      "b=1.., share code");
  flags.Add("signature", &s.sources.signature, kSignatureHelp);
  flags.Add("disable", &s.disable, "names of passes not to run, separated by commas");
  flags.Add("excess_precision", &s.excess_precision, "compute in f32 what is written in f16 or bf16");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  s.sources.paths = flags.positional();
  if (s.sources.paths.empty() || s.out.empty()) {
    return Fail(absl::InvalidArgumentError("`xla compile` takes a FILE and -o MODEL"));
  }
  if (s.format != "program" && s.format != "object") {
    return Fail(absl::InvalidArgumentError("--format should be `program` or `object`"));
  }
  if (absl::Status status = CompileFiles(s); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
