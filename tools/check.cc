// `xla check`: runs the self-checking programs that a manifest lists.
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/registry.h"
#include "hlo/base/status.h"
#include "hlo/text/parser.h"
#include "importers/io.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/files.h"
#include "service/inputs.h"
#include "tools/commands.h"
#include "tools/hoist_constants.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

struct Options {
  std::string platform = DefaultPlatform();
  CompileOptions compile;
  RunOptions run;
  bool parameters = false;
};

// What compilation made of a program.
struct Outcome {
  bool folded = false;                   // it left nothing to compute
  std::vector<EvaluatedPart> evaluated;  // what there is no code for
};

// OK if the program's pairs agree.
absl::Status CheckProgram(const std::string& path, bool exact, int64_t pairs, const Options& options,
                          Outcome* outcome) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModuleFile(path));
  std::vector<std::shared_ptr<const Literal>> hoisted;
  if (options.parameters) {
    XC_RETURN_IF_ERROR(VerifySource(path, *module));
    XC_ASSIGN_OR_RETURN(hoisted, HoistConstants(module.get()));
  }
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      Client::Default()->Compile(std::move(module), options.platform, options.compile));
  if (const std::string optimized = executable->Text("optimized_hlo"); !optimized.empty()) {
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> left, ParseModule(optimized));
    outcome->folded = OnlyHandsOut(*left);
  }
  outcome->evaluated = executable->evaluated();
  std::vector<Literal> inputs;
  const size_t own = executable->parameter_leaves().size() - hoisted.size();
  for (size_t i = 0; i < own; ++i) inputs.push_back(MakeInput(i, executable->parameter_leaves()[i]));
  for (const auto& value : hoisted) inputs.push_back(value->Clone());
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  XC_ASSIGN_OR_RETURN(std::vector<Literal> outputs, RunOnLiterals(*executable, pointers, options.run));
  if (static_cast<int64_t>(outputs.size()) != 2 * pairs) {
    return absl::InvalidArgumentError(
        absl::StrCat(outputs.size(), " results, but the manifest says ", pairs, " pairs of actual and expected"));
  }
  for (int64_t i = 0; i < pairs; ++i) {
    const std::string wrong =
        exact ? CompareExact(outputs[2 * i], outputs[2 * i + 1]) : CompareClose(outputs[2 * i], outputs[2 * i + 1]);
    if (!wrong.empty()) return absl::InternalError(absl::StrCat("wrong result: pair ", i, ": ", wrong));
  }
  return absl::OkStatus();
}

// Which programs of a manifest are run.
struct Selection {
  std::string only;
  int64_t skip = 0, stride = 1;
};

// What became of them.
struct Totals {
  int64_t passed = 0, failed = 0, evaluated = 0;
  std::vector<std::string> folded;
  JsonList failures;
};

// Runs the programs in `folder` of a manifest with this text. Errors: a line of it is malformed.
absl::StatusOr<Totals> CheckPrograms(const std::string& manifest, const std::string& text, const std::string& folder,
                                     const Selection& selection, const Options& options, bool explain) {
  Totals totals;
  int64_t number = 0;
  Progress progress("checking");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns[0] == "program") continue;
    int64_t pairs = 0;
    if (columns.size() < 3 || (columns[1] != "eq" && columns[1] != "close") || !absl::SimpleAtoi(columns[2], &pairs)) {
      return absl::InvalidArgumentError(
          absl::StrCat(manifest, ": a line is not `program<TAB>eq|close<TAB>pairs`: ", line));
    }
    if (columns[0].find(selection.only) == std::string::npos) continue;
    const int64_t n = number++;
    if (n < selection.skip || (n - selection.skip) % selection.stride != 0) continue;
    std::string path = absl::StrCat(folder, "/", columns[0], ".hlo");
    if (!std::filesystem::exists(path)) path = absl::StrCat(folder, "/", columns[0], ".mlir");
    Outcome outcome;
    const absl::Status status = CheckProgram(path, columns[1] == "eq", pairs, options, &outcome);
    if (outcome.folded) totals.folded.push_back(columns[0]);
    totals.evaluated += !outcome.evaluated.empty();
    for (const EvaluatedPart& part : outcome.evaluated) {
      if (explain) std::printf("%s: evaluated: %s: %s\n", columns[0].c_str(), part.what.c_str(), part.reason.c_str());
    }
    if (status.ok()) {
      ++totals.passed;
    } else {
      ++totals.failed;
      Report::Get().Line(absl::StrCat(columns[0], ": ", status.message()));
      std::fflush(stdout);
      totals.failures.Add(
          JsonObject().Add("program", columns[0]).Add("error", std::string(status.message())).ToString());
    }
    progress.Set(absl::StrCat(totals.passed, " passed, ", totals.failed, " failed"));
    Client::Default()->cache().Clear();
  }
  return totals;
}

}  // namespace

int CheckCommand(const std::vector<std::string>& args) {
  Options options;
  Selection selection;
  std::string passes = "all", disable, programs;
  int64_t threads = 0, max_folded = -1, max_evaluated = -1;
  bool guard_pages = false, explain = false;
  FlagSet flags(
      "xla check MANIFEST.tsv [flags]",
      "Runs the self-checking programs beside MANIFEST.tsv (columns program, check, pairs; the program NAME is "
      "NAME.hlo, or NAME.mlir where there is none).\nNames each that fails and ends with `N passed, N "
      "failed`.\n\nexample:\n"
      "  xla check programs/manifest.tsv --platform=interpreter");
  flags.Add("platform", &options.platform, PlatformNames());
  flags.Add("emulate", &options.compile.emulate, "with --platform=gpu: run on the emulator in place of a device");
  flags.Add("gpu_libraries", &options.compile.gpu_libraries,
            "with --platform=gpu: large products by NVIDIA's library, where there is one");
  flags.Add("cpu", &options.compile.cpu,
            "generate code for this CPU: x86-64-v2, x86-64-v3, x86-64-v4, or a CPU's name");
  flags.Add("passes", &passes, "`none`: only the passes that the backend cannot do without");
  flags.Add("disable", &disable, "names of passes not to run, separated by commas");
  flags.Add("parameters", &options.parameters,
            "make the programs' constants parameters of the run, so that nothing folds while compiling");
  flags.Add("max_folded", &max_folded,
            "fail if compilation leaves nothing to compute of more programs than this (-1: however many)", -1);
  flags.Add("max_evaluated", &max_evaluated,
            "fail if more programs than this have an instruction without code, which is evaluated (-1: however many)",
            -1);
  flags.Add("explain", &explain, "print each instruction that is evaluated, with the reason");
  flags.Add("threads", &threads, "threads to run with (0: all)");
  flags.Add("guard_pages", &guard_pages, "put temporary memory between pages that cannot be accessed");
  flags.Add("programs", &programs, "the folder of the programs, if it is not that of the manifest");
  flags.Add("only", &selection.only, "run programs whose name contains this");
  flags.Add("stride", &selection.stride, "run every n-th program only", 1);
  flags.Add("skip", &selection.skip, "programs to skip at the beginning");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1) return Fail(absl::InvalidArgumentError("`xla check` takes one MANIFEST.tsv"));
  if (passes != "all" && passes != "none") {
    return Fail(absl::InvalidArgumentError("--passes should be `all` or `none`"));
  }
  options.compile.disabled_passes = absl::StrSplit(disable, ',', absl::SkipEmpty());
  if (passes == "none") options.compile.disabled_passes.push_back("all");
  options.run.executor = DefaultExecutor();
  options.run.thread_limit = static_cast<int>(threads);
  options.run.guard_pages = guard_pages;
  if (options.compile.emulate && options.platform != "gpu") {
    return Fail(absl::InvalidArgumentError("--emulate is for --platform=gpu"));
  }
  if (auto backend = BackendByName(options.platform); !backend.ok()) return Fail(backend.status());
  const std::string manifest = flags.positional()[0];
  absl::StatusOr<std::string> text = ReadFile(manifest);
  if (!text.ok()) return Fail(text.status());
  const size_t slash = manifest.rfind('/');
  const std::string folder = !programs.empty()            ? programs
                             : slash == std::string::npos ? "."
                                                          : manifest.substr(0, slash);
  absl::StatusOr<Totals> totals = CheckPrograms(manifest, *text, folder, selection, options, explain);
  if (!totals.ok()) return Fail(totals.status());
  const auto& [passed, failed, evaluated, folded, failures] = *totals;
  if (passed + failed == 0) {
    return Fail(absl::InvalidArgumentError(absl::StrCat(manifest, ": there is no program to run")));
  }
  Report& report = Report::Get();
  // Their names where there should be few.
  if (!folded.empty()) {
    report.Line(absl::StrCat(folded.size(), " folded while compiling", options.parameters ? ": " : "",
                             options.parameters ? absl::StrJoin(folded, ", ") : ""));
  }
  const bool too_many = max_folded >= 0 && static_cast<int64_t>(folded.size()) > max_folded;
  if (too_many) report.Line(absl::StrCat("at most ", max_folded, " should fold"));
  if (evaluated > 0) report.Line(absl::StrCat(evaluated, " evaluate an instruction"));
  const bool slow = max_evaluated >= 0 && evaluated > max_evaluated;
  if (slow) report.Line(absl::StrCat("at most ", max_evaluated, " should evaluate one"));
  report.Line(absl::StrCat(passed, " passed, ", failed, " failed"));
  report.fields.Add("passed", passed).Add("failed", failed).Add("folded", static_cast<int64_t>(folded.size()));
  report.fields.Add("evaluated", evaluated).AddJson("failures", failures.ToString());
  return failed > 0 || too_many || slow ? 1 : 0;
}

}  // namespace xc
