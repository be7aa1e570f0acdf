// Clustering as a page: the graph and the bodies of the functions that ran, with compiled ops in green, and tables.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "jit/host/explain.h"
#include "service/page/page.h"

namespace xc {
namespace {

std::string MillisText(int64_t ns) { return ns == 0 ? "" : Format("%.3f", static_cast<double>(ns) * 1e-6); }

bool IsArgumentOrResult(const Node& n) { return n.op == "_Arg" || n.op == "_Retval"; }

std::string TypesOf(const Node& n) {
  std::string out;
  for (DataType type : n.output_types) absl::StrAppend(&out, out.empty() ? "" : ", ", DataTypeName(type));
  return out;
}

// The functions that a node's attributes name.
std::vector<std::string> CalledBy(const Node& n) {
  std::vector<std::string> names;
  for (const auto& [key, value] : n.attrs) {
    if (value.has_func()) names.push_back(value.func().name());
    for (const auto& f : value.list().func()) names.push_back(f.name());
  }
  return names;
}

class PageOfGraphs {
 public:
  explicit PageOfGraphs(const GraphExecutor& executor) {
    page_.title = "clusters";
    page_.unit = "ops";
    Number(executor);
    AddAll(executor);
    int compiled = 0, ops = 0;
    for (const PageGraph& graph : page_.graphs) {
      for (const PageNode& n : graph.nodes) {
        compiled += n.kind == "compiled";
        ops += n.kind == "compiled" || n.kind == "host";
      }
    }
    const LaunchStats s = executor.stats();
    page_.headline = Format("%d of %d ops compiled%s", compiled, ops, Speed(executor));
    page_.facts = {
        Format("%d compilation%s in %.2f s", s.compilations, s.compilations == 1 ? "" : "s", s.compile_seconds),
        Format("%d runs of code that was there already", s.cache_hits)};
    if (s.fallbacks > 0) {
      page_.facts.push_back(
          Format("%d runs on the host's kernels instead: %d before code was ready, %d since code would "
                 "not pay",
                 s.fallbacks, s.deferred, s.unprofitable));
    }
    if (!waiting_.rows.empty()) page_.tables.push_back(std::move(waiting_));
  }

  Page Take() { return std::move(page_); }

 private:
  // How much quicker the compiled clusters are that both the host and their code have run; "" if there are none.
  static std::string Speed(const GraphExecutor& executor) {
    int64_t host = 0, code = 0;
    for (const auto& launch : executor.clusters()) {
      for (const SignatureReport& r : launch->Report()) {
        if (r.best_ns == 0 || r.host_best_ns == 0) continue;
        host += r.host_best_ns;
        code += r.best_ns;
      }
    }
    if (code == 0) return "";
    return Format(", %.1f times as fast as the host's kernels", static_cast<double>(host) / static_cast<double>(code));
  }

  void Number(const GraphExecutor& executor) {
    numbers_.emplace(executor.original().name, static_cast<int>(numbers_.size()));
    for (const GraphExecutor* f : executor.functions()) {
      if (numbers_.count(f->original().name) == 0) Number(*f);
    }
  }

  void AddAll(const GraphExecutor& executor) {
    page_.graphs.resize(numbers_.size());
    PageGraph& graph = page_.graphs[numbers_.at(executor.original().name)];
    if (!graph.label.empty()) return;
    Add(executor, &graph);
    AddClusters(executor);
    for (const GraphExecutor* f : executor.functions()) AddAll(*f);
  }

  void Add(const GraphExecutor& executor, PageGraph* out) {
    const Graph& graph = executor.original();
    const int clusters = executor.marking().num_clusters;
    out->label = absl::StrCat(graph.name, ": ", clusters, clusters == 1 ? " cluster" : " clusters");
    auto order = graph.TopologicalOrder();
    if (!order.ok()) return;
    std::map<int, int> places;
    for (int id : *order) {
      const Node& n = graph.node(id);
      PageNode node = NodeOf(executor, n);
      for (const OutputRef& in : n.inputs) {
        // What a loop hands to its next iteration has no place before it.
        if (auto at = places.find(in.node); at != places.end()) node.inputs.push_back(at->second);
      }
      places[id] = static_cast<int>(out->nodes.size());
      out->nodes.push_back(std::move(node));
    }
  }

  PageNode NodeOf(const GraphExecutor& executor, const Node& n) {
    const auto& mark = executor.marking().nodes[n.id];
    PageNode node;
    node.name = n.name;
    node.opcode = n.op;
    node.shape = TypesOf(n);
    node.kind = n.op == "Const"         ? "constant"
                : n.op == "_Arg"        ? "parameter"
                : mark.cluster >= 0     ? "compiled"
                : IsArgumentOrResult(n) ? "other"
                                        : "host";
    if (mark.cluster >= 0) node.details.emplace_back("compiled in", absl::StrCat("cluster ", mark.cluster));
    if (node.kind == "host") {
      node.details.emplace_back("not compiled", mark.reason);
      const std::string change = WhatWouldChange(mark.reason);
      if (!change.empty()) node.details.emplace_back("would change it", change);
      waiting_.rows.push_back({n.name, n.op, mark.reason, change, n.source});
      waiting_.styles.push_back("no");
    }
    if (!n.source.empty()) node.details.emplace_back("source", n.source);
    for (const std::string& name : CalledBy(n)) {
      if (auto at = numbers_.find(name); at != numbers_.end()) node.calls.push_back(at->second);
    }
    return node;
  }

  void AddClusters(const GraphExecutor& executor) {
    if (executor.marking().num_clusters == 0) return;
    PageTable table;
    table.title = absl::StrCat("Clusters of ", executor.original().name);
    table.columns = {"cluster",     "ops",       "arguments",   "state",         "compiled in ms", "runs",
                     "best run ms", "host runs", "its best ms", "bytes of code", "temporary bytes"};
    for (int k = 0; k < executor.marking().num_clusters; ++k) {
      const ClusterLaunch& launch = *executor.clusters()[k];
      std::vector<SignatureReport> reports = launch.Report();
      if (reports.empty()) reports.emplace_back().problem = "was not run";
      for (const SignatureReport& r : reports) {
        table.rows.push_back({absl::StrCat(k), ClusterOps(executor, k), r.arguments, r.State(),
                              Format("%.1f", r.compile_seconds * 1e3), absl::StrCat(r.runs), MillisText(r.best_ns),
                              absl::StrCat(r.host_runs), MillisText(r.host_best_ns), absl::StrCat(r.code_bytes),
                              absl::StrCat(r.temp_bytes)});
        table.styles.push_back(r.compiled ? "yes" : "no");
      }
      for (const std::string& line : launch.GeneralReport()) {
        absl::StrAppend(&table.note, "Cluster ", k, " ", line, ". ");
      }
      if (std::string why = launch.LimitReached(); !why.empty()) {
        absl::StrAppend(&table.note, "Further signatures of cluster ", k, " run on the host's kernels: ", why, ". ");
      }
    }
    page_.tables.push_back(std::move(table));
  }

  Page page_;
  std::map<std::string, int> numbers_;  // of the graphs, by name
  PageTable waiting_ = {
      "Ops that are not compiled", "", {"node", "op", "why", "what would change it", "source"}, {}, {}};
};

}  // namespace

std::string ClusterOps(const GraphExecutor& executor, int k) {
  const Graph& graph = executor.original();
  std::map<std::string, int> ops;
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id) && executor.marking().nodes[id].cluster == k) ++ops[graph.node(id).op];
  }
  std::string out;
  for (const auto& [op, n] : ops) absl::StrAppend(&out, out.empty() ? "" : " ", op, n > 1 ? absl::StrCat("×", n) : "");
  return out;
}

std::string ExplainHtml(const GraphExecutor& executor) { return ToHtml(PageOfGraphs(executor).Take()); }

}  // namespace xc
