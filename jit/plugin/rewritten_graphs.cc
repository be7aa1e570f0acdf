#include "jit/plugin/rewritten_graphs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "jit/mark/encapsulate.h"
#include "jit/mark/rewrite.h"
#include "jit/plugin/hosted_cluster.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr size_t kMaxGraphs = 64;  // kept for reports, the latest ones

struct Reason {
  int count = 0;
  std::string example;  // a node, with its source line where the graph has one
};

struct GraphSummary {
  int number = 0, nodes = 0;
  std::vector<RewrittenCluster> clusters;
  std::map<std::pair<std::string, std::string>, Reason> left_out;  // by op and reason
};

struct History {
  std::mutex mutex;
  int rewritten = 0;
  std::deque<GraphSummary> graphs;
};

History& TheHistory() {
  static auto* history = new History;
  return *history;
}

bool IsLaunched(const GraphDef& def) {
  return std::any_of(def.node().begin(), def.node().end(), [](const NodeDef& n) { return n.op() == kLaunchOp; });
}

void Dump(const PluginSettings& settings, int number, const char* what, const std::string& bytes) {
  if (settings.dump_dir.empty()) return;
  absl::Status status = MakeDirectories(settings.dump_dir);
  if (status.ok()) status = WriteFile(Format("%s/graph_%03d.%s.pb", settings.dump_dir, number, what), bytes);
  if (!status.ok()) LogOnce(std::string(status.message()));
}

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// Text, or the same as HTML tables.
class Writer {
 public:
  explicit Writer(bool html) : html_(html) {
    if (html_) {
      out_ =
          "<!doctype html><meta charset=utf-8><title>xla.tf report</title>"
          "<style>body{font:14px sans-serif}table{border-collapse:collapse;margin:0 0 1em}"
          "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}.yes{background:#dfd}.no{background:#fdd}"
          "</style>\n";
    }
  }
  void Title(int level, const std::string& text) {
    absl::StrAppend(&out_, html_ ? Format("<h%d>%s</h%d>", level, Escape(text), level) : text, "\n");
  }
  void Begin(const std::vector<std::string>& head) {
    if (html_) absl::StrAppend(&out_, "<table>");
    Row(head, "", "th");
  }
  void Row(const std::vector<std::string>& cells, const char* style = "", const char* tag = "td") {
    if (html_) {
      absl::StrAppend(&out_, "<tr class=\"", style, "\">");
      for (const std::string& c : cells) absl::StrAppend(&out_, "<", tag, ">", Escape(c), "</", tag, ">");
      absl::StrAppend(&out_, "</tr>\n");
      return;
    }
    absl::StrAppend(&out_, "  ");
    for (size_t i = 0; i < cells.size(); ++i) absl::StrAppend(&out_, i ? " | " : "", cells[i]);
    absl::StrAppend(&out_, "\n");
  }
  void End() {
    if (html_) absl::StrAppend(&out_, "</table>\n");
  }
  std::string Take() { return std::move(out_); }

 private:
  bool html_;
  std::string out_;
};

std::string Millis(double seconds) { return Format("%.1f", seconds * 1e3); }
std::string Micros(int64_t ns) { return ns == 0 ? "-" : Format("%.1f", static_cast<double>(ns) * 1e-3); }

void WriteSettings(Writer& out) {
  out.Title(2, "Settings");
  out.Begin({"setting", "value"});
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(DescribePluginSettings(), '\n', absl::SkipEmpty()))) {
    out.Row(absl::StrSplit(line, absl::MaxSplits('=', 1)));
  }
  out.End();
}

void WriteClusters(Writer& out) {
  out.Title(2, "Clusters");
  for (const auto& cluster : HostedCluster::All()) {
    std::map<std::string, int> ops;
    for (int id = 0; id < cluster->graph().size(); ++id) {
      const std::string& op = cluster->graph().node(id).op;
      if (op != "_Arg" && op != "_Retval" && op != "Const") ++ops[op];
    }
    std::string text = cluster->name() + ":";
    for (const auto& [op, n] : ops) absl::StrAppend(&text, " ", op, n > 1 ? absl::StrCat("*", n) : "");
    out.Title(3, text);
    out.Begin({"shapes", "state", "compile ms", "runs", "best us", "host runs", "host best us", "temporary bytes"});
    for (const auto& r : cluster->Report()) {
      const bool waits = r.problem == "not compiled yet";
      const std::string state = r.compiled || waits ? r.State() : absl::StrCat("on the host: ", r.problem);
      out.Row({r.arguments, state, Millis(r.compile_seconds), absl::StrCat(r.runs), Micros(r.best_ns),
               absl::StrCat(r.host_runs), Micros(r.host_best_ns), absl::StrCat(r.temp_bytes)},
              r.compiled ? "yes" : "no");
    }
    out.End();
  }
}

void WriteGraphs(Writer& out) {
  History& history = TheHistory();
  std::lock_guard<std::mutex> lock(history.mutex);
  for (const GraphSummary& graph : history.graphs) {
    out.Title(2,
              absl::StrCat("Graph ", graph.number, ": ", graph.nodes, " nodes, ", graph.clusters.size(), " clusters"));
    if (!graph.clusters.empty()) {
      out.Begin({"launch node", "nodes"});
      for (const RewrittenCluster& c : graph.clusters) {
        std::string names;
        for (const std::string& n : c.nodes) absl::StrAppend(&names, names.empty() ? "" : " ", n);
        out.Row({c.launch, names}, "yes");
      }
      out.End();
    }
    if (graph.left_out.empty()) continue;
    out.Begin({"left out", "nodes", "why", "for example"});
    for (const auto& [key, reason] : graph.left_out) {
      out.Row({key.first, absl::StrCat(reason.count), key.second, reason.example}, "no");
    }
    out.End();
  }
}

}  // namespace

absl::StatusOr<std::string> RewriteHostGraph(const std::string& graph_def, std::set<std::string> preserve,
                                             std::set<std::string> fed) {
  PluginSettings settings = CurrentPluginSettings();
  if (!settings.enabled) return std::string();
  GraphDef def;
  if (!def.ParseFromString(graph_def)) return absl::InvalidArgumentError("the graph is not a GraphDef");
  // The host asks again for what was rewritten before.
  if (IsLaunched(def)) return std::string();
  RewriteOptions options;
  options.mark = settings.mark;
  options.preserve = std::move(preserve);
  options.fed = std::move(fed);
  XC_ASSIGN_OR_RETURN(RewriteResult result, RewriteGraphDef(def, options));
  GraphSummary summary;
  summary.nodes = def.node_size();
  summary.clusters = result.clusters;
  for (const LeftOut& left : result.left_out) {
    if (left.reason.empty()) continue;
    Reason& reason = summary.left_out[{left.op, left.reason}];
    if (reason.count++ == 0) {
      reason.example = left.source.empty() ? left.node : absl::StrCat(left.node, " (", left.source, ")");
    }
  }
  Counters().ops.fetch_add(result.ops_inside + result.ops_outside);
  Counters().clustered_ops.fetch_add(result.ops_inside);
  History& history = TheHistory();
  int number;
  {
    std::lock_guard<std::mutex> lock(history.mutex);
    number = summary.number = ++history.rewritten;
    history.graphs.push_back(std::move(summary));
    if (history.graphs.size() > kMaxGraphs) history.graphs.pop_front();
  }
  Dump(settings, number, "before", graph_def);
  if (result.clusters.empty()) return std::string();
  Counters().graphs.fetch_add(1);
  std::string out = result.graph.SerializeAsString();
  Dump(settings, number, "after", out);
  return out;
}

std::string PluginReport(bool html) {
  const PluginCounters& c = Counters();
  const LaunchCounters& l = c.launch;
  Writer out(html);
  out.Title(1, "xla.tf");
  out.Begin({"graphs rewritten", "ops in clusters", "clusters", "launches", "of them with code for a larger batch",
             "host runs", "compilations", "of them after shared code", "failures", "slower", "compile ms",
             "us per launch", "of them in compiled code", "arguments per launch"});
  int64_t launches = std::max<int64_t>(l.launches, 1);
  out.Row({absl::StrCat(c.graphs.load()), absl::StrCat(c.clustered_ops.load(), " of ", c.ops.load()),
           absl::StrCat(c.clusters.load()), absl::StrCat(l.launches.load()), absl::StrCat(l.shared_launches.load()),
           absl::StrCat(l.host_runs.load()), absl::StrCat(l.compilations.load()), absl::StrCat(l.exact_later.load()),
           absl::StrCat(l.failures.load()), absl::StrCat(l.slower_signatures.load()),
           Millis(static_cast<double>(l.compile_ns.load()) * 1e-9), Micros(l.launch_ns / launches),
           Micros(l.compiled_ns / launches),
           Format("%.1f", static_cast<double>(l.arguments) / static_cast<double>(launches))});
  out.End();
  WriteSettings(out);
  WriteClusters(out);
  WriteGraphs(out);
  return out.Take();
}

}  // namespace xc
