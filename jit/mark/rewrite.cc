#include "jit/mark/rewrite.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/serialize.h"
#include "jit/graph/transforms/frames.h"
#include "jit/graph/transforms/functionalize.h"
#include "jit/mark/encapsulate.h"
#include "jit/mark/feeds.h"
#include "jit/mark/fold_reads.h"
#include "jit/mark/hoist_reads.h"

namespace xc {
namespace {

// What stands under the name of a preserved node that went into a cluster: an Identity of each of its outputs.
NodeDef Stub(const NodeDef& user, const std::string& name, const NodeDef& original, const Node& model) {
  NodeDef stub;
  stub.set_name(name);
  stub.set_device(original.device());
  *stub.mutable_input() = user.input();
  if (model.output_types.size() == 1) {
    stub.set_op("Identity");
    (*stub.mutable_attr())["T"].set_type(model.output_types[0]);
  } else if (model.output_types.empty()) {
    stub.set_op("NoOp");
  } else {
    stub.set_op("IdentityN");
    for (DataType type : model.output_types) (*stub.mutable_attr())["T"].mutable_list()->add_type(type);
  }
  return stub;
}

// A graph on its way: functionalized as far as that leads to clusters, and marked.
struct Marked {
  std::unique_ptr<Graph> graph;
  Marking marking;
  std::map<std::string, std::string> users;  // stand-ins for the users of preserved nodes, with those nodes' names
  bool is_function = false;
};

// What a graph is marked with besides the options.
struct Limits {
  OutputsOfNodes fed;
  std::map<std::string, std::string> keep;  // control flow that keeps its first form, with the reason
  std::set<std::string> barred;             // nodes whose clusters the host could not order
  std::set<std::string> iteration_nodes;    // nodes of loops that would need other code on each iteration
};

// A function gives its results through _Retval nodes: of other preserved nodes only the place in the order matters.
bool IsFunction(const GraphDef& def) {
  return std::any_of(def.node().begin(), def.node().end(),
                     [](const NodeDef& n) { return n.op() == "_Arg" || n.op() == "_Retval"; });
}

absl::StatusOr<Marked> MarkFunctionalized(const GraphDef& def, const RewriteOptions& options, const Limits& limits,
                                          std::map<std::string, std::string>* undo) {
  ImportOptions import;
  import.allow_unknown_ops = true;
  Marked out;
  XC_ASSIGN_OR_RETURN(out.graph, ImportGraphDef(def, import));
  if (!options.mark.resources) XC_RETURN_IF_ERROR(HoistVariableReads(*out.graph, options.preserve));
  out.is_function = IsFunction(def);
  // What must be found under its name has a user, so that it is a result of whatever takes its place.
  for (const std::string& name : options.preserve) {
    const Node* node = out.graph->FindNode(name);
    if (node == nullptr || node->def == nullptr) continue;
    Node user;
    user.name = out.graph->UniqueName(absl::StrCat(name, "/kept"));
    user.op = out.is_function ? "NoOp" : "IdentityN";
    user.device = node->device;
    if (!out.is_function) user.output_types = user.input_types = node->output_types;
    for (size_t i = 0; i < user.input_types.size(); ++i) user.inputs.push_back({node->id, static_cast<int>(i)});
    user.control_inputs.push_back(node->id);
    user.pinned = "the host asks for this node by its name";
    out.users[user.name] = name;
    out.graph->Add(std::move(user));
  }
  FunctionalizeOptions functionalize;
  functionalize.keep = limits.keep;
  XC_ASSIGN_OR_RETURN(FunctionalizeResult made, FunctionalizeControlFlow(*out.graph, functionalize));
  auto pin = [&](const std::string& name, const std::string& why) {
    if (Node* node = out.graph->FindNode(name); node != nullptr) node->pinned = why;
  };
  for (const auto& [name, why] : options.left_out) pin(name, absl::StrCat("not compiled: ", why));
  for (const auto& node : limits.fed) pin(node.first, "the caller may give its value");
  for (const std::string& name : limits.barred)
    pin(name, "compiled with its neighbours, it would wait for its own result");
  for (const std::string& name : limits.iteration_nodes)
    pin(name, "its shape changes from iteration to iteration of a loop");
  std::vector<int> groups;
  if (!out.is_function) {
    XC_ASSIGN_OR_RETURN(groups, GroupByFeeds(*out.graph, limits.fed, options.preserve));
  }
  XC_ASSIGN_OR_RETURN(out.marking, MarkForCompilation(*out.graph, options.mark, groups));
  for (const auto& [name, origin] : made.made) {
    const Node* node = out.graph->FindNode(name);
    if (node == nullptr) continue;
    const NodeMark& mark = out.marking.nodes[node->id];
    if (mark.cluster < 0) undo->emplace(origin, mark.reason);
  }
  return out;
}

// Fed nodes that would compute something if they were not.
OutputsOfNodes CutPoints(const GraphDef& def, const OutputsOfNodes& fed) {
  OutputsOfNodes out;
  for (const NodeDef& node : def.node()) {
    auto outputs = fed.find(node.name());
    // These are what the caller's values come in by.
    const bool entry = node.op() == "_Arg" || node.op() == "_Recv" || node.op() == "Placeholder";
    if (!entry && outputs != fed.end()) out.insert(*outputs);
  }
  return out;
}

// Functionalizes as far as that leads to clusters: the host has no library for new functions, so that control flow that
// does not end up in a cluster keeps its first form.
absl::StatusOr<Marked> MarkInTheEnd(const GraphDef& def, const RewriteOptions& options, Limits& limits) {
  for (;;) {
    std::map<std::string, std::string> undo;
    XC_ASSIGN_OR_RETURN(Marked marked, MarkFunctionalized(def, options, limits, &undo));
    size_t before = limits.keep.size();
    limits.keep.insert(undo.begin(), undo.end());
    limits.iteration_nodes.merge(marked.marking.iteration_nodes);
    if (undo.empty()) return marked;
    if (limits.keep.size() == before) return absl::InternalError("control flow that cannot be put back");
  }
}

// The graph with a launch node for each cluster, as a host takes it. An error where it would wait for itself: a host
// would run such a graph, and give nothing or anything.
absl::StatusOr<Encapsulated> EncapsulateInOrder(const Marked& marked, const Marking& marking,
                                                const RewriteOptions& options) {
  XC_ASSIGN_OR_RETURN(Encapsulated out, Encapsulate(*marked.graph, marking));
  if (!options.mark.resources) {
    static const std::set<std::string> kNone;
    XC_RETURN_IF_ERROR(FoldVariableReads(*out.graph, marked.is_function ? kNone : options.preserve));
  }
  XC_RETURN_IF_ERROR(OrderAroundLoops(*out.graph).status());
  return out;
}

// The names of the nodes of clusters that close a cycle, each with those before it that do not.
std::set<std::string> NodesOfCycles(const Marked& marked, const RewriteOptions& options) {
  const Graph& graph = *marked.graph;
  const Marking& marking = marked.marking;
  std::set<std::string> out;
  Marking some = marking;
  some.num_clusters = 0;
  for (NodeMark& mark : some.nodes) mark.cluster = -1;
  for (int k = 0; k < marking.num_clusters; ++k) {
    std::vector<int> members;
    for (int id = 0; id < graph.size(); ++id) {
      if (graph.has(id) && marking.nodes[id].cluster == k) members.push_back(id);
    }
    for (int id : members) some.nodes[id].cluster = some.num_clusters;
    ++some.num_clusters;
    if (EncapsulateInOrder(marked, some, options).ok()) continue;
    --some.num_clusters;
    for (int id : members) {
      some.nodes[id].cluster = -1;
      out.insert(graph.node(id).name);
    }
  }
  return out;
}

// A marked graph and what it becomes: nothing where it has no clusters. Clusters that close a cycle are given up.
struct Clustered {
  Marked marked;
  Encapsulated encapsulated;
};

absl::StatusOr<Clustered> Cluster(const GraphDef& def, const RewriteOptions& options, Limits& limits) {
  for (;;) {
    Clustered out;
    XC_ASSIGN_OR_RETURN(out.marked, MarkInTheEnd(def, options, limits));
    if (out.marked.marking.num_clusters == 0) return out;
    absl::StatusOr<Encapsulated> tried = EncapsulateInOrder(out.marked, out.marked.marking, options);
    if (tried.ok()) {
      out.encapsulated = *std::move(tried);
      return out;
    }
    const std::set<std::string> cycles = NodesOfCycles(out.marked, options);
    if (cycles.empty()) return tried.status();
    limits.barred.insert(cycles.begin(), cycles.end());
  }
}

absl::StatusOr<RewriteResult> RewriteOpen(const GraphDef& def, const RewriteOptions& options, Limits limits) {
  XC_ASSIGN_OR_RETURN(Clustered clustered, Cluster(def, options, limits));
  const Marked& marked = clustered.marked;
  const Encapsulated& encapsulated = clustered.encapsulated;
  const Graph& graph = *marked.graph;
  const Marking& marking = marked.marking;
  RewriteResult out;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id) || marked.users.count(graph.node(id).name)) continue;
    const Node& node = graph.node(id);
    int work = OpsThatCompute(graph, node);
    (marking.nodes[id].cluster < 0 ? out.ops_outside : out.ops_inside) += work;
    if (marking.nodes[id].cluster < 0 && node.op != "Const") {
      out.left_out.push_back({node.name, node.op, marking.nodes[id].reason, node.source});
    }
  }
  if (marking.num_clusters == 0) {
    out.graph = def;
    return out;
  }
  std::vector<std::string> serialized;
  for (const auto& cluster : encapsulated.clusters) {
    XC_ASSIGN_OR_RETURN(std::string bytes, SerializeGraph(*cluster));
    serialized.push_back(std::move(bytes));
  }
  out.clusters.resize(serialized.size());
  std::map<std::string, const NodeDef*> originals;
  for (const NodeDef& node : def.node()) originals[node.name()] = &node;
  GraphDef rewritten = ExportGraphDef(*encapsulated.graph);
  out.graph.mutable_library()->CopyFrom(def.library());
  out.graph.mutable_versions()->CopyFrom(def.versions());
  out.graph.set_version(def.version());
  for (NodeDef& node : *rewritten.mutable_node()) {
    if (auto user = marked.users.find(node.name()); user != marked.users.end()) {
      if (encapsulated.graph->FindNode(user->second) != nullptr) continue;  // still there itself
      *out.graph.add_node() = Stub(node, user->second, *originals.at(user->second), *graph.FindNode(user->first));
      continue;
    }
    if (auto original = originals.find(node.name()); original != originals.end()) {
      NodeDef copy = *original->second;
      *copy.mutable_input() = node.input();
      node = std::move(copy);
    } else if (node.op() == kLaunchOp) {
      int k = std::stoi(node.attr().at("cluster").s());
      out.clusters[k].launch = node.name();
      (*node.mutable_attr())["cluster"].set_s(serialized[k]);
    }
    *out.graph.add_node() = std::move(node);
  }
  for (int id = 0; id < graph.size(); ++id) {
    int k = marking.nodes[id].cluster;
    if (k >= 0) out.clusters[k].nodes.push_back(graph.node(id).name);
  }
  return out;
}

}  // namespace

absl::StatusOr<RewriteResult> RewriteGraphDef(const GraphDef& def, const RewriteOptions& options) {
  Limits limits;
  XC_ASSIGN_OR_RETURN(limits.fed, ParseTensorNames(options.fed));
  const OutputsOfNodes cut = CutPoints(def, limits.fed);
  if (cut.empty()) return RewriteOpen(def, options, std::move(limits));
  XC_ASSIGN_OR_RETURN(GraphDef open, CutAtFeeds(def, cut, options.preserve));
  return RewriteOpen(open, options, std::move(limits));
}

}  // namespace xc
