// `xla graph`: runs a host graph with or without clustering.
#include "backends/registry.h"
#include "jit/tool/graph_command.h"
#include "tools/commands.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"

namespace xc {

int GraphCommand(const std::vector<std::string>& args) {
  GraphCommandOptions options;
  FlagSet flags(
      "xla graph DIR|FILE.pb [flags]",
      "Runs a GraphDef. DIR holds graph.pb (or graph.pbtxt), meta.json and case0, case1, ... with input_N.npy "
      "and\nexpected_N.npy; every case runs and is compared (relative 1e-3, absolute 1e-4, integers exactly).\nDIR may "
      "also be a SavedModel: one signature runs, on case0, ... if there are, else on made-up inputs, once with and "
      "once "
      "without\nclustering, and the two are compared."
      "\n\nexamples:\n  xla graph graphs/mlp\n  xla graph graphs/mlp --mode=host --json\n"
      "  xla graph model.pb --explain");
  flags.Add("mode", &options.mode, "jit: clusters are compiled; host: every op by itself");
  flags.Add("signature", &options.signature, "which signature of a SavedModel to run");
  flags.Add("platform", &options.platform, PlatformNames());
  flags.Add("emulate", &options.emulate, "with --platform=gpu: run on the emulator in place of a device");
  flags.Add("explain", &options.explain, "print the clusters, and for every other op why it is in none");
  flags.Add("explain_html", &options.explain_html, "write a page with the clusters on the graph to this file");
  flags.Add(
      "policy", &options.policy,
      "when clusters are compiled: atonce, lazy (after three runs by the host's kernels) or background (these serve "
      "until the code is ready)");
  flags.Add("runs", &options.runs, "runs per case");
  flags.Add("threads", &options.threads, "threads to run with (0: all)");
  flags.Add("min_cluster_size", &options.min_cluster_size, "ops that a cluster must have at least");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1) return Fail(absl::InvalidArgumentError("`xla graph` takes one DIR or FILE.pb"));
  options.path = flags.positional()[0];
  options.name = SourceName(options.path);
  if (const absl::Status status = RefuseCompiled(options.path); !status.ok()) return Fail(status);
  options.json = Report::Get().json;
  options.fail = Fail;
  const Progress progress("running the graph");
  const int status = RunGraphCommand(options);
  if (status != 2) Report::Get().SetPrinted();  // its own line
  return status;
}

}  // namespace xc
