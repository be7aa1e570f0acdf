#include "jit/host/explain.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"

namespace xc {
namespace {

bool IsPort(const Node& n) { return n.op == "_Arg" || n.op == "_Retval"; }

std::vector<std::string> NamesIn(const GraphExecutor& executor, int k) {
  const Graph& graph = executor.original();
  std::vector<std::string> names;
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id) && executor.marking().nodes[id].cluster == k) names.push_back(graph.node(id).name);
  }
  return names;
}

double Millis(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

std::string SignatureText(const SignatureReport& r) {
  std::string out = absl::StrCat("(", r.arguments, "): ", r.State());
  if (r.compiled) {
    AppendFormat(&out, "; %.1f ms to compile, %d bytes of code, %d bytes of temporary memory", r.compile_seconds * 1e3,
                 r.code_bytes, r.temp_bytes);
  }
  if (r.runs > 0) AppendFormat(&out, "; %d runs, best %.3f ms", r.runs, Millis(r.best_ns));
  if (r.host_runs > 0) AppendFormat(&out, "; host: %d runs, best %.3f ms", r.host_runs, Millis(r.host_best_ns));
  return out;
}

void Text(const GraphExecutor& executor, std::string* out) {
  const Graph& graph = executor.original();
  const Marking& marking = executor.marking();
  AppendFormat(out, "graph '%s': %d cluster%s\n", graph.name, marking.num_clusters,
               marking.num_clusters == 1 ? "" : "s");
  for (int k = 0; k < marking.num_clusters; ++k) {
    const std::vector<std::string> names = NamesIn(executor, k);
    AppendFormat(out, "  cluster %d: %d ops: %s\n", k, static_cast<int>(names.size()), ClusterOps(executor, k));
    for (const std::string& name : names) absl::StrAppend(out, "    ", name, "\n");
    const ClusterLaunch& launch = *executor.clusters()[k];
    for (const SignatureReport& r : launch.Report()) absl::StrAppend(out, "    for ", SignatureText(r), "\n");
    for (const std::string& line : launch.GeneralReport()) absl::StrAppend(out, "    ", line, "\n");
    if (std::string why = launch.LimitReached(); !why.empty()) {
      absl::StrAppend(out, "    further signatures fall back to the host: ", why, "\n");
    }
  }
  std::map<std::string, std::string> advice;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    const Node& n = graph.node(id);
    if (marking.nodes[id].cluster >= 0 || IsPort(n) || n.op == "Const") continue;
    const std::string& reason = marking.nodes[id].reason;
    std::string where = n.source.empty() ? "" : absl::StrCat(" [", n.source, "]");
    AppendFormat(out, "  host: '%s' (%s)%s: %s\n", n.name, n.op, where, reason);
    if (std::string what = WhatWouldChange(reason); !what.empty()) advice[reason] = what;
  }
  for (const auto& [reason, what] : advice) {
    absl::StrAppend(out, "  what would change '", reason, "': ", what, "\n");
  }
  for (const GraphExecutor* f : executor.functions()) Text(*f, out);
}

}  // namespace

std::string WhatWouldChange(const std::string& reason) {
  static const std::vector<std::pair<const char*, const char*>> kAdvice = {
      {"on the deny list", "take the op off the deny list"},
      {"not on the allow list", "add the op to the allow list"},
      {"too few ops to compile together", "a smaller minimum cluster size, or neighbours that compile"},
      {"works on strings", "nothing: strings have no compiled form; keep them at the edges of the program"},
      {"must be constant, but comes from", "compute the operand from shapes or constants"},
      {"a TensorList would cross", "let what stands on the other side of the list compile, too"},
      {"which has state", "a stateless op in its place"},
      {"stays with the host", "nothing: the host owns its variables"},
      {"no lowering", "a lowering of the op (docs/new_lowering.md)"},
      {"has type", "values of a numeric type"},
      {"not turned into", "loops and branches in the form that tf.while_loop and tf.cond give"},
      {"not compiled:", "what the message asks for; the rest of the graph is clustered around the op"},
      {"clustering is off", "run with clustering on"},
      {"unknown operation", "nothing: the op belongs to the host alone"},
  };
  for (const auto& [part, advice] : kAdvice) {
    if (absl::StrContains(reason, part)) return advice;
  }
  return "";
}

std::string ExplainText(const GraphExecutor& executor) {
  std::string out;
  Text(executor, &out);
  return out;
}

}  // namespace xc
