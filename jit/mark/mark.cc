#include "jit/mark/mark.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/graph/fused.h"
#include "jit/graph/transforms/frames.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"
#include "jit/mark/cycles.h"
#include "jit/shapes/iteration_shapes.h"

namespace xc {
namespace {

constexpr int kMaxDepth = 32;

bool IsPort(const Node& n) {
  return n.op == "_Arg" || n.op == "_Retval" || n.op == "Placeholder" || n.op == "PlaceholderV2";
}

// Ops that cost nothing by themselves and do not make a cluster worth its launch.
bool IsTrivial(const Node& n) {
  static const std::set<std::string> kTrivial = {"Const",
                                                 "Identity",
                                                 "IdentityN",
                                                 "NoOp",
                                                 "Shape",
                                                 "ShapeN",
                                                 "Size",
                                                 "Rank",
                                                 "Reshape",
                                                 "ExpandDims",
                                                 "Squeeze",
                                                 "StopGradient",
                                                 "PreventGradient",
                                                 "Snapshot",
                                                 "PlaceholderWithDefault"};
  return kTrivial.count(n.op) != 0;
}

// Ops that compute something: of a call those of its functions.
int Work(const Graph& graph, const Node& n) {
  const Lowering* lowering = LoweringRegistry::Get().Find(n.op);
  if (lowering == nullptr || !(lowering->flags & kControlFlow) || graph.library() == nullptr) {
    return IsTrivial(n) ? 0 : static_cast<int>(OpsOf(n).size());
  }
  int work = 1;
  for (const auto& attr : n.attrs) {
    std::vector<NameAttrList> calls;
    if (attr.second.value_case() == tf::AttrValue::kFunc) calls.push_back(attr.second.func());
    if (attr.second.value_case() == tf::AttrValue::kList) {
      calls.assign(attr.second.list().func().begin(), attr.second.list().func().end());
    }
    for (const NameAttrList& call : calls) {
      auto body = graph.library()->Instantiate(call, graph.library());
      for (int id = 0; body.ok() && id < (*body)->size(); ++id) {
        work += (*body)->has(id) && !IsTrivial((*body)->node(id)) && !IsPort((*body)->node(id));
      }
    }
  }
  return work;
}

bool IsHeavy(const Node& n) {
  static const std::set<std::string> kHeavy = {"MatMul", "BatchMatMul", "BatchMatMulV2",  "BatchMatMulV3",
                                               "Einsum", "While",       "StatelessWhile", "XlaCallModule"};
  return kHeavy.count(OpsOf(n)[0]) != 0 || absl::StrContains(n.op, "Conv2D") || absl::StrContains(n.op, "Conv3D") ||
         absl::StrContains(n.op, "Conv2d");
}

bool AllowedType(DataType type, uint32_t flags) {
  if (type == DT_VARIANT) return flags & kUsesLists;
  if (type == DT_RESOURCE) return flags & kUsesVariables;
  return ToElementType(type) != ElementType::kInvalid;
}

bool HasResource(const Node& n) {
  return std::count(n.input_types.begin(), n.input_types.end(), DT_RESOURCE) +
             std::count(n.output_types.begin(), n.output_types.end(), DT_RESOURCE) >
         0;
}

class Marker {
 public:
  Marker(const Graph& graph, const MarkOptions& options) : graph_(graph), options_(options) {}

  std::string Why(const Node& node, int depth) const {
    if (IsPort(node)) return node.op == "_Retval" ? "result of the graph" : "argument of the graph";
    if (!node.pinned.empty()) return node.pinned;
    if (node.def == nullptr) return absl::StrCat("unknown operation ", node.op);
    for (const std::string& op : OpsOf(node)) {
      if (!options_.allow.empty() && options_.allow.count(op) == 0) return "not on the allow list";
      if (options_.deny.count(op) != 0) return "on the deny list";
      if (op != node.op && LoweringRegistry::Get().Find(op) == nullptr) {
        return absl::StrCat("no lowering for ", op, " in ", node.op);
      }
    }
    if (node.op == "Const" || node.op == "NoOp" || node.op == "ControlTrigger") {
      bool ok =
          node.op != "Const" || ToElementType(node.output_types[0]) != ElementType::kInvalid || OnlyForAssertions(node);
      return ok ? "" : absl::StrCat("a constant of type ", DataTypeName(node.output_types[0]));
    }
    const Lowering* lowering = LoweringRegistry::Get().Find(node.op);
    if (lowering == nullptr) {
      for (const auto& types : {node.input_types, node.output_types}) {
        for (DataType t : types) {
          if (t == DT_STRING) return absl::StrCat(node.op, " works on strings");
        }
      }
      return absl::StrCat("no lowering for ", node.op, node.stateful() ? ", which has state" : "");
    }
    if (!options_.resources && (lowering->flags & kUsesVariables) && HasResource(node)) {
      return "works on a variable, which stays with the host";
    }
    for (size_t i = 0; i < node.input_types.size(); ++i) {
      if (!AllowedType(node.input_types[i], lowering->flags) && !IsMessage(node, i)) {
        return absl::StrCat("operand ", i, " has type ", DataTypeName(node.input_types[i]));
      }
    }
    for (size_t i = 0; i < node.output_types.size(); ++i) {
      if (!AllowedType(node.output_types[i], lowering->flags)) {
        return absl::StrCat("result ", i, " has type ", DataTypeName(node.output_types[i]));
      }
    }
    if (!(lowering->flags & (kControlFlow | kUsesLists | kUsesVariables))) {
      DataType type = DT_INVALID;
      if (auto t = node.Type("T"); t.ok()) {
        type = *t;
      } else if (!node.output_types.empty()) {
        type = node.output_types[0];
      }
      if (type != DT_INVALID && !(lowering->types & TypeBit(type))) {
        return absl::StrCat("no lowering of ", node.op, " for ", DataTypeName(type));
      }
    }
    if (node.op.rfind("TensorList", 0) == 0 && node.FindAttr("element_dtype") != nullptr) {
      auto element = node.Type("element_dtype");
      if (element.ok() && ToElementType(*element) == ElementType::kInvalid) {
        return absl::StrCat("a TensorList of ", DataTypeName(*element));
      }
    }
    if (lowering->flags & kControlFlow) return WhyNotBodies(node, depth);
    for (int i : ConstantOperands(node, *lowering)) {
      std::string why = WhyNotConstant(node, i);
      if (!why.empty()) return why;
    }
    return "";
  }

 private:
  // A text that an assertion prints: the compiled form has no use for it.
  bool IsMessage(const Node& node, size_t operand) const {
    return node.op == "Assert" && operand > 0 && graph_.node(node.inputs[operand].node).op == "Const";
  }

  bool OnlyForAssertions(const Node& constant) const {
    if (users_.empty()) users_ = graph_.Users();
    for (int user : users_[constant.id]) {
      if (graph_.node(user).op != "Assert") return false;
    }
    return true;
  }

  std::string WhyNotBodies(const Node& node, int depth) const {
    if (auto must = node.Bool("_XlaMustCompile"); must.ok() && *must) return "jit_compile=True: the host compiles it";
    if (depth > kMaxDepth) return "functions are nested too deeply or recursive";
    const auto library = graph_.library();
    if (library == nullptr) return "the graph has no function library";
    for (const auto& attr : node.attrs) {
      std::vector<NameAttrList> calls;
      if (attr.second.value_case() == tf::AttrValue::kFunc) calls.push_back(attr.second.func());
      if (attr.second.value_case() == tf::AttrValue::kList) {
        calls.assign(attr.second.list().func().begin(), attr.second.list().func().end());
      }
      for (const NameAttrList& call : calls) {
        auto body = library->Instantiate(call, library);
        if (!body.ok()) return std::string(body.status().message());
        Marker inner(**body, options_);
        for (int id = 0; id < (*body)->size(); ++id) {
          if (!(*body)->has(id)) continue;
          const Node& n = (*body)->node(id);
          if (n.op == "_Arg" || n.op == "_Retval") continue;
          std::string why = inner.Why(n, depth + 1);
          if (!why.empty()) return absl::StrCat("node '", n.name, "' of '", call.name(), "': ", why);
        }
      }
    }
    return "";
  }

  // Walks back from a must-be-constant operand: shapes and small arithmetic may be evaluated while compiling, and what
  // comes from outside the cluster becomes part of the cache key.
  std::string WhyNotConstant(const Node& node, int operand) const {
    std::set<int> seen;
    std::vector<int> todo = {node.inputs[operand].node};
    while (!todo.empty()) {
      int id = todo.back();
      todo.pop_back();
      if (!seen.insert(id).second) continue;
      const Node& n = graph_.node(id);
      if (IsPort(n) || n.op == "Const") continue;
      const Lowering* lowering = LoweringRegistry::Get().Find(n.op);
      if (lowering == nullptr) continue;  // a host op: its result is an argument
      if (lowering->flags & kShapeOnly) continue;
      const HostKernel* kernel = KernelRegistry::Get().Find(n.op);
      if (kernel == nullptr || !kernel->foldable) {
        if (lowering->flags & kUsesVariables) continue;
        return absl::StrCat("operand ", operand, " must be constant, but comes from '", n.name, "' (", n.op, ")");
      }
      for (const OutputRef& in : n.inputs) todo.push_back(in.node);
    }
    return "";
  }

  const Graph& graph_;
  const MarkOptions& options_;
  mutable std::vector<std::vector<int>> users_;  // filled when first asked for
};

// Clusters grown along edges between nodes that are candidates, `order` an order of all nodes; gives each node's
// representative. `groups`: see MarkForCompilation.
std::vector<int> Grow(const Graph& graph, const std::vector<int>& order, const LoopOrder& loops,
                      const std::vector<std::vector<int>>& waits, const std::vector<bool>& candidate,
                      const std::vector<int>& groups) {
  ContractibleDag dag(loops.size, loops.order);
  for (const auto& [from, to] : loops.edges) dag.AddEdge(from, to);
  std::vector<std::pair<int, int>> edges;
  for (int id : order) {
    const Node& n = graph.node(id);
    auto add = [&](int src) {
      if (IsFreeConstant(graph.node(src))) return;
      if (IsBackEdge(graph.node(src), n)) return;  // the next iteration, not this one
      dag.AddEdge(src, id);
      const Node& from = graph.node(src);
      if (!candidate[src] || !candidate[id] || from.device != n.device || from.region != n.region) return;
      if (!groups.empty() && groups[src] != groups[id]) return;
      edges.emplace_back(src, id);
    };
    for (const OutputRef& in : n.inputs) add(in.node);
    for (int c : waits[id]) add(c);
  }
  // An edge that would close a cycle may be free to merge once others have: repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [src, dst] : edges) {
      int a = dag.Representative(src), b = dag.Representative(dst);
      if (a != b && dag.Contract(a, b)) changed = true;
    }
  }
  std::vector<int> representative(graph.size(), -1);
  for (int id : order) {
    if (candidate[id] && graph.node(id).op != "Const") representative[id] = dag.Representative(id);
  }
  return representative;
}

}  // namespace

std::string WhyNotCompilable(const Graph& graph, const Node& node, const MarkOptions& options) {
  return Marker(graph, options).Why(node, 0);
}

int OpsThatCompute(const Graph& graph, const Node& node) {
  static const std::set<std::string> kVariables = {"ReadVariableOp",      "AssignVariableOp", "AssignAddVariableOp",
                                                   "AssignSubVariableOp", "VarHandleOp",      "VarIsInitializedOp",
                                                   "DestroyResourceOp",   "VariableShape"};
  return IsPort(node) || kVariables.count(node.op) != 0 ? 0 : Work(graph, node);
}

bool IsFreeConstant(const Node& node) { return node.op == "Const" && node.region == 0; }

absl::StatusOr<std::vector<std::vector<int>>> WaitsFor(const Graph& graph) {
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  std::vector<std::vector<int>> waits(graph.size());
  for (int id : order) {
    const Node& n = graph.node(id);
    std::vector<int>& own = waits[id];
    auto inherit = [&](int src) { own.insert(own.end(), waits[src].begin(), waits[src].end()); };
    for (const OutputRef& in : n.inputs) {
      if (IsFreeConstant(graph.node(in.node))) inherit(in.node);
    }
    for (int c : n.control_inputs) {
      if (IsFreeConstant(graph.node(c))) {
        inherit(c);
      } else {
        own.push_back(c);
      }
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return waits;
}

absl::StatusOr<Marking> MarkForCompilation(const Graph& graph, const MarkOptions& options,
                                           const std::vector<int>& groups) {
  Marking marking;
  marking.nodes.resize(graph.size());
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  std::vector<bool> candidate(graph.size(), false);
  Marker marker(graph, options);
  IterationShapes iterations = FindIterationShapes(graph);
  marking.iteration_nodes = std::move(iterations.nodes);
  for (int id : order) {
    marking.nodes[id].reason = marker.Why(graph.node(id), 0);
    if (marking.nodes[id].reason.empty()) marking.nodes[id].reason = iterations.changing[id];
    candidate[id] = marking.nodes[id].reason.empty();
  }
  // TensorLists must not cross the border of a cluster: their nodes fall out together until all edges are inside.
  XC_ASSIGN_OR_RETURN(const LoopOrder loops, OrderAroundLoops(graph));
  XC_ASSIGN_OR_RETURN(const auto waits, WaitsFor(graph));
  std::vector<int> representative;
  for (;;) {
    representative = Grow(graph, order, loops, waits, candidate, groups);
    bool dropped = false;
    auto drop = [&](int id, const std::string& why) {
      if (!candidate[id]) return;
      candidate[id] = false;
      marking.nodes[id].reason = why;
      dropped = true;
    };
    for (int id : order) {
      const Node& n = graph.node(id);
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (n.input_types[i] != DT_VARIANT) continue;
        int src = n.inputs[i].node;
        if (candidate[src] && candidate[id] && representative[src] == representative[id]) continue;
        std::string why = absl::StrCat("a TensorList would cross between '", graph.node(src).name, "' and '", n.name,
                                       "', which do not compile together");
        drop(src, why);
        drop(id, why);
      }
    }
    if (!dropped) break;
  }
  // The cost gate.
  std::map<int, std::vector<int>> members;
  std::set<int> used;  // clusters whose results others take
  for (int id : order) {
    if (representative[id] >= 0) members[representative[id]].push_back(id);
    for (const OutputRef& in : graph.node(id).inputs) {
      if (representative[in.node] != representative[id]) used.insert(representative[in.node]);
    }
  }
  for (auto& [rep, ids] : members) {
    int work = 0;
    bool heavy = false;
    for (int id : ids) {
      work += Work(graph, graph.node(id));
      heavy |= IsHeavy(graph.node(id));
    }
    if (!options.resources && used.count(rep) == 0) {
      const char* why = "an assertion alone: nothing uses its results, so the host may drop it";
      for (int id : ids) marking.nodes[id].reason = why;
    } else if (work >= options.min_cluster_size || heavy) {
      for (int id : ids) marking.nodes[id].cluster = marking.num_clusters;
      ++marking.num_clusters;
    } else {
      for (int id : ids) {
        marking.nodes[id].reason = absl::StrCat("too few ops to compile together: ", work, " (min_cluster_size is ",
                                                options.min_cluster_size, ")");
      }
    }
  }
  for (int id : order) {
    if (graph.node(id).op == "Const") marking.nodes[id].reason = "constants are copied into clusters";
  }
  return marking;
}

}  // namespace xc
