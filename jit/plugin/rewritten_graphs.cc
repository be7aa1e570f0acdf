#include "jit/plugin/rewritten_graphs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "jit/mark/encapsulate.h"
#include "jit/mark/rewrite.h"
#include "jit/plugin/hosted_cluster.h"
#include "service/files.h"

namespace xc {
namespace {

constexpr size_t kMaxGraphs = 64;  // kept for reports, the latest ones

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
    GraphSummary::Reason& reason = summary.left_out[{left.op, left.reason}];
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

std::vector<GraphSummary> RewrittenGraphs() {
  std::lock_guard<std::mutex> lock(TheHistory().mutex);
  return {TheHistory().graphs.begin(), TheHistory().graphs.end()};
}

}  // namespace xc
