#include "jit/lowering/unrolled_loop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/lowering/callees.h"
#include "jit/lowering/loop_sizes.h"

namespace xc {
namespace {

constexpr int64_t kMaxInstructions = 16384;       // of the computation that takes the iterations in
constexpr int64_t kMaxBytes = int64_t{64} << 20;  // of an array whose shape changes
constexpr int64_t kMaxNestedNodes = 4 * kMaxUnrolledNodes;
constexpr int kMaxDepth = 32;

// Of the outermost such loop that this thread lowers: nodes of all iterations so far, with those of loops inside of it.
// What folds to constants leaves no instructions that could be counted instead.
thread_local int64_t nodes_so_far = 0;
thread_local int open_loops = 0;
struct OpenLoop {
  OpenLoop() {
    if (open_loops++ == 0) nodes_so_far = 0;
  }
  ~OpenLoop() { --open_loops; }
};

void CountNodes(const Graph& graph, int depth, int64_t* count) {
  if (depth > kMaxDepth) return;
  for (int id = 0; id < graph.size() && *count <= kMaxUnrolledNodes; ++id) {
    if (!graph.has(id)) continue;
    const Node& n = graph.node(id);
    if (n.op == "Const" || n.op == "_Arg" || n.op == "_Retval" || n.op == "Identity" || n.op == "NoOp") continue;
    ++*count;
    for (const NameAttrList& f : CalleesOf(n)) {
      if (graph.library() == nullptr) break;
      if (auto callee = graph.library()->Instantiate(f, graph.library()); callee.ok()) {
        CountNodes(**callee, depth + 1, count);
      }
    }
  }
}

// Whether the loop goes on after the iterations so far.
absl::StatusOr<bool> GoesOn(OpContext& c, const Graph& condition, const Graph& body,
                            const std::vector<LoweredValue>& state, bool first) {
  XC_ASSIGN_OR_RETURN(std::vector<LoweredValue> go, LowerInline(c, condition, state, 0));
  if (go.size() != 1 || go[0].type != DT_BOOL || !go[0].dims.empty()) {
    return c.Unimplemented("a loop condition that is not one bool");
  }
  if (go[0].constant != nullptr) return go[0].constant->tensor.data<uint8_t>()[0] != 0;
  bool all = false;
  const std::set<int> counters = TurnCounters(condition, body, &all);
  absl::Status asked = absl::OkStatus();
  for (int i : counters) {
    if (first && all && c.value(i).dims.empty() && !c.IsConstant(i)) asked = c.graph.RequestConstant(c.node, i);
  }
  if (!asked.ok() && c.graph.needs_args()) return asked;
  return c.Unimplemented("the trip count is not known while compiling");
}

absl::Status CheckSizes(OpContext& c, const std::vector<LoweredValue>& before, const std::vector<LoweredValue>& after) {
  if (after.size() != before.size()) return c.Error("the body's signature differs from the loop's");
  for (size_t i = 0; i < after.size(); ++i) {
    const LoweredValue& v = after[i];
    if (v.type != before[i].type) return c.Error(absl::StrCat("loop variable ", i, " changes its type"));
    if (v.dims == before[i].dims || v.list != nullptr || v.variable != nullptr) continue;
    const auto elements = CheckedNumElements(v.dims);
    if (!elements.ok() || *elements > kMaxBytes / std::max<int64_t>(1, DataTypeSize(v.type))) {
      return c.Unimplemented(absl::StrCat("loop variable ", i, " becomes too large"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t TurnNodes(const Graph& condition, const Graph& body) {
  int64_t count = 0;
  CountNodes(condition, 0, &count);
  CountNodes(body, 0, &count);
  return std::max<int64_t>(count, 1);
}

absl::Status LowerUnrolled(OpContext& c, const Graph& condition, const Graph& body, std::vector<LoweredValue> state) {
  const int64_t nodes = TurnNodes(condition, body);
  const OpenLoop open;
  // Weights are one instruction for all iterations.
  for (LoweredValue& v : state) {
    if (v.constant != nullptr && v.constant->tensor.num_elements() > 16) c.graph.Materialize(v, c.b);
  }
  for (int64_t iterations = 0;; ++iterations) {
    XC_ASSIGN_OR_RETURN(const bool more, GoesOn(c, condition, body, state, iterations == 0));
    if (!more) break;
    nodes_so_far += nodes;
    if ((iterations + 1) * nodes > kMaxUnrolledNodes || nodes_so_far > kMaxNestedNodes ||
        c.b.computation()->instruction_count() > kMaxInstructions) {
      return c.Unimplemented(
          absl::StrCat("more than ", iterations, " iterations of ", nodes, " nodes would be too much code"));
    }
    XC_ASSIGN_OR_RETURN(std::vector<LoweredValue> next, LowerInline(c, body, state, 0));
    XC_RETURN_IF_ERROR(CheckSizes(c, state, next));
    state = std::move(next);
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_value(i, state[i]);
  return absl::OkStatus();
}

}  // namespace xc
