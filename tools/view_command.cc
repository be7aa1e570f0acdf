// `xla view`: draws a module.
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "compiler/driver.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/files.h"
#include "tools/commands.h"
#include "tools/folder.h"
#include "tools/progress.h"
#include "tools/read_module.h"
#include "tools/report.h"
#include "tools/view.h"

namespace xc {
namespace {

absl::Status View(const ModuleSource& source, const std::string& out, bool optimized, const std::string& platform,
                  const std::string& profile) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule(source));
  if (optimized) {
    Folder folder;
    XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform));
    PassContext context;
    XC_ASSIGN_OR_RETURN(context.target, backend->Target({}));
    context.evaluator = &folder;
    XC_RETURN_IF_ERROR(RunPipeline(module.get(), context, {}).status());
  }
  const Progress progress("drawing");
  std::string picture;
  if (absl::EndsWith(out, ".html")) {
    // A module that cannot be laid out in memory is drawn without it.
    absl::StatusOr<MemoryUse> memory = MemoryOf(*module);
    if (!memory.ok()) {
      std::fprintf(stderr, "note: no memory is drawn: %s\n", std::string(memory.status().message()).c_str());
    }
    std::string trace;
    if (!profile.empty()) {
      XC_ASSIGN_OR_RETURN(trace, ReadFile(profile));
      if (trace.empty() || (trace[0] != '{' && trace[0] != '[')) {
        return absl::InvalidArgumentError(
            absl::StrCat(profile, " is not a trace in JSON, as --profile=FILE.json writes"));
      }
    }
    picture = ToHtml(ViewPage(*module, memory.ok() ? *memory : MemoryUse(), trace));
  } else if (absl::EndsWith(out, ".svg")) {
    picture = ViewSvg(*module);
  } else if (absl::EndsWith(out, ".dot")) {
    picture = ViewDot(*module);
  } else {
    return absl::InvalidArgumentError("-o needs a file that ends with .html, .svg or .dot");
  }
  Report::Get().fields.Add("written", out).Add("bytes", static_cast<int64_t>(picture.size()));
  return WriteFile(out, picture);
}

}  // namespace

int ViewCommand(const std::vector<std::string>& args) {
  ModuleSource source;
  std::string out, profile, platform = DefaultPlatform();
  bool optimized = false;
  FlagSet flags("xla view FILE -o OUT.html|svg|dot",
                "Draws an HLO module: a page (graph, search, costs, memory over time), a drawing of the entry, or "
                "input for Graphviz.\n\nexamples:\n  xla view module.hlo --optimized -o module.html\n"
                "  xla replay module.hlo --profile=trace.json\n"
                "  xla view module.hlo --optimized --profile=trace.json -o module.html");
  flags.Add("o", &out, "the file to write");
  flags.Add("shapes", &source.shapes, kShapesHelp);
  flags.Add("signature", &source.signature, kSignatureHelp);
  flags.Add("optimized", &optimized, "draw the module after all passes: its fusions, its schedule and its memory");
  flags.Add("platform", &platform, "with --optimized: the passes of this platform: " + PlatformNames());
  flags.Add("profile", &profile, "with -o OUT.html: colour by the times of this trace, from `xla replay --profile`");
  int exit_status = 0;
  if (!ParseFlags(flags, args, &exit_status)) return exit_status;
  if (flags.positional().size() != 1 || out.empty()) {
    return Fail(absl::InvalidArgumentError("`xla view` takes one FILE and -o OUT"));
  }
  source.path = flags.positional()[0];
  if (absl::Status status = View(source, out, optimized, platform, profile); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace xc
