// `xla opt`: runs the pass list on a module and prints the result.
#include <cstdio>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/plan/planner.h"
#include "backends/plan/prepare.h"
#include "backends/registry.h"
#include "compiler/driver.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"
#include "importers/io.h"
#include "service/files.h"
#include "tools/commands.h"
#include "tools/folder.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"

namespace xc {
namespace {

struct Settings {
  std::string platform = DefaultPlatform(), passes = "all", until, disable, print_after, out, shapes,
              signature = "serving_default";
  bool stats = false, list = false, excess_precision = false, plan = false;
};

// The rows that --passes selects, in the table's order.
absl::StatusOr<std::vector<PipelineRow>> SelectedRows(absl::string_view passes) {
  std::vector<PipelineRow> rows;
  if (passes == "none") return rows;
  if (passes == "all") return std::vector<PipelineRow>(Pipeline().begin(), Pipeline().end());
  const std::vector<std::string> names = absl::StrSplit(passes, ',', absl::SkipEmpty());
  for (const std::string& name : names) {
    if (FindPass(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("there is no pass '", name, "'; `xla opt --list` names them"));
    }
  }
  for (const PipelineRow& row : Pipeline()) {
    if (std::find(names.begin(), names.end(), row.pass) != names.end()) rows.push_back(row);
  }
  return rows;
}

// The table as it is for the platform.
absl::Status ListPasses(const std::string& platform) {
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform));
  XC_ASSIGN_OR_RETURN(const TargetInfo target, backend->Target({}));
  JsonList passes;
  for (const PipelineRow& row : Pipeline()) {
    JsonObject pass;
    pass.Add("phase", row.phase).Add("pass", row.pass).Add("required", row.required);
    passes.Add(pass.Add("runs", row.RunsFor(target)).Add("why", row.why).ToString());
    Report::Get().Line(Format("%-12s %-28s %s%s%s", row.phase, row.pass, row.required ? "(Required.) " : "",
                              row.RunsFor(target) ? "" : absl::StrCat("(Not run for ", platform, ".) "), row.why));
  }
  Report::Get().fields.AddJson("passes", passes.ToString());
  return absl::OkStatus();
}

// The steps that a backend for `target` is given.
absl::StatusOr<std::string> PlanText(HloModule* module, const TargetInfo& target) {
  XC_ASSIGN_OR_RETURN(const BufferAssignment buffers, plan::Prepare(module));
  XC_ASSIGN_OR_RETURN(const plan::Plan plan, plan::MakePlan(*module, buffers, target));
  return plan::ToString(plan);
}

absl::Status Optimize(const std::string& path, const Settings& s) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule({path, s.shapes, s.signature}));
  XC_ASSIGN_OR_RETURN(std::vector<PipelineRow> rows, SelectedRows(s.passes));
  std::regex print_after;
  if (!s.print_after.empty()) {
    try {
      print_after = std::regex(s.print_after);
    } catch (const std::regex_error& error) {
      return absl::InvalidArgumentError(absl::StrCat("--print_after is not a regular expression: ", error.what()));
    }
  }
  XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(s.platform));
  Folder folder;
  PassContext context;
  XC_ASSIGN_OR_RETURN(context.target, backend->Target({}));
  context.evaluator = &folder;
  context.options.stop_after = s.until;
  context.options.excess_precision = s.excess_precision;
  context.options.disabled_passes = absl::StrSplit(s.disable, ',', absl::SkipEmpty());
  Report& out = Report::Get();
  JsonList stages;
  DriverCallbacks callbacks;
  callbacks.verify = [](const HloModule& m) { return VerifyModule(m); };
  callbacks.dump = [&](int number, absl::string_view pass, const HloModule& m) {
    if (s.print_after.empty() || !std::regex_search(std::string(pass), print_after)) return;
    out.Line(absl::StrCat("// after pass ", number, ", ", pass, "\n", m.ToString()));
    JsonObject stage;
    stage.Add("number", int64_t{number}).Add("pass", pass);
    stages.Add(stage.Add("module", m.ToString()).ToString());
  };
  const Progress progress("optimizing");
  XC_ASSIGN_OR_RETURN(PipelineReport report, RunPipeline(module.get(), context, callbacks, rows));
  JsonList passes;
  for (const PassRun& run : report.runs) {
    JsonObject pass;
    pass.Add("number", int64_t{run.number}).Add("pass", run.pass).Add("ms", run.milliseconds);
    pass.Add("changed", run.changed).Add("instructions_before", run.instructions_before);
    passes.Add(pass.Add("instructions_after", run.instructions_after).ToString());
  }
  JsonObject rules;
  for (const auto& [rule, count] : context.counters) rules.Add(rule, count);
  out.fields.Add("module", module->name()).Add("instructions", module->InstructionCount());
  out.fields.AddJson("passes", passes.ToString()).AddJson("rules", rules.ToString());
  if (!s.print_after.empty()) out.fields.AddJson("after", stages.ToString());
  if (s.stats) out.Line(std::string(absl::StripSuffix(report.ToString(context), "\n")));
  std::string text;
  if (s.plan) {
    XC_ASSIGN_OR_RETURN(text, PlanText(module.get(), context.target));
  } else {
    text = module->ToString();
  }
  if (!s.out.empty()) {
    out.fields.Add("written", s.out);
    return WriteFile(s.out, text);
  }
  if (s.stats) return absl::OkStatus();
  out.fields.Add(s.plan ? "plan" : "text", text);
  out.Line(text);
  return absl::OkStatus();
}

}  // namespace

int OptCommand(const std::vector<std::string>& args) {
  Settings s;
  FlagSet flags("xla opt FILE [flags]",
                "Runs the pass list on an HLO module and prints it.\n\nexamples:\n"
                "  xla opt module.hlo --passes=none            parse, verify and print\n"
                "  xla opt module.hlo --until=cse --print_after='simplify|cse'\n"
                "  xla opt module.hlo --stats                  times, and how often each rule fired\n"
                "  xla opt module.hlo --plan                   the steps that the backend makes code of");
  flags.Add("platform", &s.platform, "run the passes of this platform: " + PlatformNames());
  flags.Add("passes", &s.passes, "`all`, `none`, or names separated by commas (run in the table's order)");
  flags.Add("until", &s.until, "stop after this pass");
  flags.Add("disable", &s.disable, "names of passes not to run, separated by commas");
  flags.Add("print_after", &s.print_after, "print the module after passes whose name matches this expression");
  flags.Add("excess_precision", &s.excess_precision, "compute in f32 what is written in f16 or bf16");
  flags.Add("stats", &s.stats, "print times and rule counts instead of the module");
  flags.Add("plan", &s.plan, "print the plan of the result instead of the module");
  flags.Add("list", &s.list, "print the table of passes with the reason for each one's place");
  flags.Add("shapes", &s.shapes, kShapesHelp);
  flags.Add("signature", &s.signature, kSignatureHelp);
  flags.Add("o", &s.out, "write the module to this file");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (s.list && flags.positional().empty()) {
    if (absl::Status status = ListPasses(s.platform); !status.ok()) return Fail(status);
    return 0;
  }
  if (flags.positional().size() != 1 || s.list)
    return Fail(absl::InvalidArgumentError("`xla opt` takes one FILE, or --list"));
  if (absl::Status status = Optimize(flags.positional()[0], s); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
