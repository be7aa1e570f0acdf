#include "jit/plugin/report.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "hlo/base/format.h"
#include "jit/plugin/hosted_cluster.h"
#include "jit/plugin/rewritten_graphs.h"
#include "jit/plugin/settings.h"
#include "service/page/page.h"

namespace xc {
namespace {

using Clusters = std::vector<std::shared_ptr<HostedCluster>>;

std::string Millis(double seconds) { return Format("%.1f", seconds * 1e3); }
std::string Micros(int64_t ns) { return ns == 0 ? "-" : Format("%.1f", static_cast<double>(ns) * 1e-3); }

// "9 of 10 ops compiled, 2.4 times as fast as TensorFlow". The speed is that of the sets of shapes that code and
// TensorFlow's kernels have both run.
std::string Headline(const Clusters& clusters) {
  const PluginCounters& c = Counters();
  int64_t host = 0, code = 0;
  for (const auto& cluster : clusters) {
    for (const SignatureReport& r : cluster->Report()) {
      if (!r.compiled || r.best_ns == 0 || r.host_best_ns == 0) continue;
      host += r.host_best_ns;
      code += r.best_ns;
    }
  }
  std::string out = absl::StrCat(c.clustered_ops.load(), " of ", c.ops.load(), " ops compiled");
  if (code > 0) {
    AppendFormat(&out, ", %.1f times as fast as TensorFlow", static_cast<double>(host) / static_cast<double>(code));
  }
  return out;
}

PageTable Totals() {
  const PluginCounters& c = Counters();
  const LaunchCounters& l = c.launch;
  const int64_t launches = std::max<int64_t>(l.launches, 1);
  const auto text = [](int64_t number) { return absl::StrCat(number); };
  return {"Totals",
          "",
          {"what", "number"},
          {{"graphs with compiled parts", text(c.graphs)},
           {"different clusters (parts compiled as one)", text(c.clusters)},
           {"runs of compiled clusters", text(l.launches)},
           {"of these with code for a larger batch", text(l.shared_launches)},
           {"of these with code for all sizes", text(l.general_launches)},
           {"runs of clusters by TensorFlow's kernels", text(l.host_runs)},
           {"compilations", text(l.compilations)},
           {"of these for a batch size that had shared code before", text(l.exact_later)},
           {"of these for all sizes", text(l.general_codes)},
           {"sets of shapes that such code serves", text(l.general_signatures)},
           {"sets of shapes that it turned out not to serve", text(l.general_refusals)},
           {"sets of shapes that could not be compiled", text(l.failures)},
           {"sets of shapes for which TensorFlow's kernels were faster", text(l.slower_signatures)},
           {"time to compile, ms", Millis(static_cast<double>(l.compile_ns.load()) * 1e-9)},
           {"mean time of a run, µs", Micros(l.launch_ns / launches)},
           {"of this in compiled code, µs", Micros(l.compiled_ns / launches)},
           {"mean number of arguments of a run",
            Format("%.1f", static_cast<double>(l.arguments) / static_cast<double>(launches))}},
          {}};
}

PageTable Settings() {
  PageTable table{"Settings", "", {"setting", "value"}, {}, {}, /*closed=*/true};
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(DescribePluginSettings(), '\n', absl::SkipEmpty()))) {
    table.rows.push_back(absl::StrSplit(line, absl::MaxSplits('=', 1)));
  }
  return table;
}

// Of the arguments that have the same shape in all rows, an ellipsis is enough: models have hundreds of weights. The
// first row has all of them.
void LeaveOutWhatIsTheSame(std::vector<std::vector<std::string>>* rows) {
  std::vector<std::vector<std::string>> arguments;
  std::vector<bool> same;  // of each argument
  for (const auto& row : *rows) {
    arguments.push_back(absl::StrSplit(row[0], ", "));
    if (arguments.back().size() != arguments[0].size()) return;
    same.resize(arguments[0].size(), true);
    for (size_t i = 0; i < same.size(); ++i) same[i] = same[i] && arguments.back()[i] == arguments[0][i];
  }
  for (size_t r = 1; r < rows->size(); ++r) {
    std::vector<std::string> kept;
    for (size_t i = 0; i < same.size(); ++i) {
      if (!same[i]) kept.push_back(arguments[r][i]);
      if (same[i] && (kept.empty() || kept.back() != "…")) kept.push_back("…");
    }
    (*rows)[r][0] = absl::StrJoin(kept, ", ");
  }
}

PageTable ClusterTable(const HostedCluster& cluster) {
  std::map<std::string, int> ops;
  for (int id = 0; id < cluster.graph().size(); ++id) {
    const std::string& op = cluster.graph().node(id).op;
    if (op != "_Arg" && op != "_Retval" && op != "Const") ++ops[op];
  }
  const std::string text = absl::StrJoin(ops, " ", [](std::string* out, const auto& op) {
    absl::StrAppend(out, op.first, op.second > 1 ? absl::StrCat("*", op.second) : "");
  });
  std::vector<std::string> notes = cluster.GeneralReport();
  notes.insert(notes.begin(), text);
  PageTable table{absl::StrCat("Cluster ", cluster.name()),
                  absl::StrJoin(notes, "; "),
                  {"shapes of the arguments", "state", "compiled in ms", "runs", "best run µs", "runs by TensorFlow",
                   "its best run µs", "temporary bytes"},
                  {},
                  {}};
  for (const SignatureReport& r : cluster.Report()) {
    const bool waits = r.problem == "not compiled yet";
    const std::string state = r.compiled || waits ? r.State() : absl::StrCat("on the host: ", r.problem);
    table.rows.push_back({r.arguments, state, Millis(r.compile_seconds), absl::StrCat(r.runs), Micros(r.best_ns),
                          absl::StrCat(r.host_runs), Micros(r.host_best_ns), absl::StrCat(r.temp_bytes)});
    table.styles.push_back(r.compiled ? "yes" : "no");
  }
  LeaveOutWhatIsTheSame(&table.rows);
  return table;
}

void AddGraphs(Page* page) {
  for (const GraphSummary& graph : RewrittenGraphs()) {
    const std::string name = absl::StrCat("Graph ", graph.number, ": ", graph.nodes, " nodes, ", graph.clusters.size(),
                                          graph.clusters.size() == 1 ? " cluster" : " clusters");
    if (!graph.clusters.empty()) {
      PageTable table{name, "", {"compiled as", "nodes"}, {}, {}};
      for (const RewrittenCluster& c : graph.clusters) {
        table.rows.push_back({c.launch, absl::StrJoin(c.nodes, " ")});
        table.styles.push_back("yes");
      }
      page->tables.push_back(std::move(table));
    }
    if (graph.left_out.empty()) continue;
    PageTable table{
        absl::StrCat("Graph ", graph.number, ": not compiled"), "", {"op", "nodes", "why", "for example"}, {}, {}};
    for (const auto& [key, reason] : graph.left_out) {
      if (key.first == "_Arg" || key.first == "_Retval") continue;  // they compute nothing
      table.rows.push_back({key.first, absl::StrCat(reason.count), key.second, reason.example});
      table.styles.push_back("no");
    }
    if (!table.rows.empty()) page->tables.push_back(std::move(table));
  }
}

}  // namespace

std::string PluginReport(bool html) {
  const Clusters clusters = HostedCluster::All();
  Page page;
  page.title = "xla.tf";
  page.headline = Headline(clusters);
  page.tables.push_back(Totals());
  for (const auto& cluster : clusters) page.tables.push_back(ClusterTable(*cluster));
  AddGraphs(&page);
  page.tables.push_back(Settings());
  return html ? ToHtml(page) : ToText(page);
}

}  // namespace xc
