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

constexpr int kMaxDrawnNodes = 4000;

bool IsPort(const Node& n) { return n.op == "_Arg" || n.op == "_Retval"; }

struct ClusterSummary {
  int count = 0;
  std::vector<std::string> names;
  std::string ops;  // "AddV2×3 MatMul"
};

ClusterSummary Summarize(const GraphExecutor& executor, int k) {
  const Graph& graph = executor.original();
  std::map<std::string, int> ops;
  ClusterSummary out;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id) || executor.marking().nodes[id].cluster != k) continue;
    ++ops[graph.node(id).op];
    ++out.count;
    out.names.push_back(graph.node(id).name);
  }
  for (const auto& [op, n] : ops) {
    absl::StrAppend(&out.ops, out.ops.empty() ? "" : " ", op, n > 1 ? absl::StrCat("×", n) : "");
  }
  return out;
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
  AppendFormat(out, "graph '%s': %d clusters\n", graph.name, marking.num_clusters);
  for (int k = 0; k < marking.num_clusters; ++k) {
    ClusterSummary c = Summarize(executor, k);
    AppendFormat(out, "  cluster %d: %d ops: %s\n", k, c.count, c.ops);
    for (const std::string& name : c.names) absl::StrAppend(out, "    ", name, "\n");
    const ClusterLaunch& launch = *executor.clusters()[k];
    for (const SignatureReport& r : launch.Report()) absl::StrAppend(out, "    for ", SignatureText(r), "\n");
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

std::string Escaped(absl::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Colour(int cluster) {
  if (cluster < 0) return "#e4e4e4";
  return Format("hsl(%d,70%%,78%%)", (cluster * 137) % 360);
}

// Nodes in rows by the longest way from an input; constants are left out.
void Draw(const GraphExecutor& executor, std::string* out) {
  const Graph& graph = executor.original();
  const Marking& marking = executor.marking();
  auto order = graph.TopologicalOrder();
  if (!order.ok()) return;
  std::vector<int> level(graph.size(), -1), column(graph.size(), 0);
  std::vector<int> width;
  int drawn = 0;
  for (int id : *order) {
    const Node& n = graph.node(id);
    if (n.op == "Const") continue;
    int row = 0;
    for (const OutputRef& in : n.inputs) row = std::max(row, level[in.node] + 1);
    level[id] = row;
    if (static_cast<int>(width.size()) <= row) width.resize(row + 1, 0);
    column[id] = width[row]++;
    ++drawn;
  }
  if (drawn > kMaxDrawnNodes) {
    absl::StrAppend(out, "<p>", drawn, " nodes are too many to draw.</p>\n");
    return;
  }
  constexpr int kWide = 128, kHigh = 44, kBoxWide = 116, kBoxHigh = 24;
  int columns = width.empty() ? 1 : *std::max_element(width.begin(), width.end());
  AppendFormat(out, "<div class=\"graph\"><svg width=\"%d\" height=\"%d\">\n", columns * kWide,
               static_cast<int>(width.size()) * kHigh + 8);
  std::string boxes;
  for (int id : *order) {
    if (level[id] < 0) continue;
    const Node& n = graph.node(id);
    int x = column[id] * kWide + 4, y = level[id] * kHigh + 4;
    for (const OutputRef& in : n.inputs) {
      if (level[in.node] < 0) continue;
      AppendFormat(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>", column[in.node] * kWide + 4 + kBoxWide / 2,
                   level[in.node] * kHigh + 4 + kBoxHigh, x + kBoxWide / 2, y);
    }
    int k = marking.nodes[id].cluster;
    std::string about = k >= 0 ? absl::StrCat("cluster ", k) : absl::StrCat("host: ", marking.nodes[id].reason);
    AppendFormat(&boxes,
                 "<g><title>%s (%s)\n%s%s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" "
                 "fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text></g>\n",
                 Escaped(n.name), Escaped(n.op), Escaped(about), n.source.empty() ? "" : "\n" + Escaped(n.source), x, y,
                 kBoxWide, kBoxHigh, Colour(k), x + kBoxWide / 2, y + 16, Escaped(n.op.substr(0, 17)));
  }
  absl::StrAppend(out, "\n", boxes, "</svg></div>\n");
}

void Html(const GraphExecutor& executor, std::string* out) {
  const Graph& graph = executor.original();
  const Marking& marking = executor.marking();
  AppendFormat(out, "<h2>%s: %d clusters</h2>\n", Escaped(graph.name), marking.num_clusters);
  Draw(executor, out);
  if (marking.num_clusters > 0) {
    absl::StrAppend(out, "<table><tr><th>cluster</th><th>ops</th><th>arguments</th><th>compile ms</th><th>runs</th>",
                    "<th>best ms</th><th>host best ms</th><th>code bytes</th><th>temporary bytes</th><th></th></tr>\n");
  }
  for (int k = 0; k < marking.num_clusters; ++k) {
    ClusterSummary c = Summarize(executor, k);
    const ClusterLaunch& launch = *executor.clusters()[k];
    std::vector<SignatureReport> reports = launch.Report();
    if (reports.empty()) reports.emplace_back();
    for (size_t i = 0; i < reports.size(); ++i) {
      const SignatureReport& r = reports[i];
      std::string first =
          i > 0 ? "<td></td><td></td>"
                : Format("<td style=\"background:%s\">%d</td><td>%d: %s</td>", Colour(k), k, c.count, Escaped(c.ops));
      AppendFormat(out,
                   "<tr>%s<td>%s</td><td>%.1f</td><td>%d</td><td>%.3f</td><td>%.3f</td><td>%d</td><td>%d</td>"
                   "<td>%s</td></tr>\n",
                   first, Escaped(r.arguments), r.compile_seconds * 1e3, r.runs, Millis(r.best_ns),
                   Millis(r.host_best_ns), r.code_bytes, r.temp_bytes, Escaped(r.State()));
    }
    if (std::string why = launch.LimitReached(); !why.empty()) {
      absl::StrAppend(out, "<tr><td></td><td colspan=\"9\">further signatures fall back to the host: ", Escaped(why),
                      "</td></tr>\n");
    }
  }
  if (marking.num_clusters > 0) absl::StrAppend(out, "</table>\n");
  std::string rows;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    const Node& n = graph.node(id);
    if (marking.nodes[id].cluster >= 0 || IsPort(n) || n.op == "Const") continue;
    const std::string& reason = marking.nodes[id].reason;
    absl::StrAppend(&rows, "<tr><td>", Escaped(n.name), "</td><td>", Escaped(n.op), "</td><td>", Escaped(reason),
                    "</td><td>", Escaped(WhatWouldChange(reason)), "</td><td>", Escaped(n.source), "</td></tr>\n");
  }
  if (!rows.empty()) {
    absl::StrAppend(out, "<table><tr><th>on the host</th><th>op</th><th>why</th><th>what would change it</th>",
                    "<th>source</th></tr>\n", rows, "</table>\n");
  }
  for (const GraphExecutor* f : executor.functions()) Html(*f, out);
}

}  // namespace

std::string WhatWouldChange(const std::string& reason) {
  static const std::vector<std::pair<const char*, const char*>> kAdvice = {
      {"on the deny list", "take the op off the deny list"},
      {"not on the allow list", "add the op to the allow list"},
      {"that compute something, fewer than", "a smaller minimum cluster size, or neighbours that compile"},
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

std::string ExplainHtml(const GraphExecutor& executor) {
  std::string out =
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>clusters</title><style>\n"
      "body{font:14px sans-serif;margin:16px}table{border-collapse:collapse;margin:12px 0}\n"
      "td,th{border:1px solid #ccc;padding:3px 8px;text-align:left;vertical-align:top}\n"
      ".graph{overflow:auto;max-height:70vh;border:1px solid #ccc}line{stroke:#999}rect{stroke:#555}\n"
      "svg text{font-size:11px;text-anchor:middle}\n</style></head><body>\n";
  LaunchStats s = executor.stats();
  AppendFormat(&out,
               "<p>%d compilations in %.2f s, %d cache hits, %d runs on the host instead (%d before code was "
               "ready, %d since code would not pay).</p>\n",
               s.compilations, s.compile_seconds, s.cache_hits, s.fallbacks, s.deferred, s.unprofitable);
  Html(executor, &out);
  out += "</body></html>\n";
  return out;
}

}  // namespace xc
