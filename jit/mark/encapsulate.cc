#include "jit/mark/encapsulate.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/extract.h"

namespace xc {
namespace {

// Builds one cluster's function: nodes are added in topological order.
class ClusterBuilder {
 public:
  ClusterBuilder(const Graph& from, std::string name) : from_(from), graph_(std::make_shared<Graph>()) {
    graph_->name = std::move(name);
    graph_->set_library(from.library());
  }

  void AddNode(const Node& node, const std::vector<int>& waits, const std::vector<bool>& member) {
    Node copy = node;
    copy.inputs.clear();
    copy.control_inputs.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      copy.inputs.push_back(Input(node.inputs[i], node.input_types[i], member));
    }
    for (int c : waits) {
      if (member[c]) {
        copy.control_inputs.push_back(inside_.at(c));
      } else if (std::find(controls_.begin(), controls_.end(), c) == controls_.end()) {
        controls_.push_back(c);
      }
    }
    inside_[node.id] = graph_->Add(std::move(copy)).id;
  }

  // The number of the result that gives `ref`, adding it if needed.
  int Result(OutputRef ref) {
    auto [it, fresh] = results_.emplace(ref, static_cast<int>(results_.size()));
    if (fresh) {
      DataType type = from_.node(ref.node).output_types[ref.index];
      Node ret = PortNode(*graph_, "_Retval", absl::StrCat("result", it->second), type, it->second);
      ret.inputs.push_back({inside_.at(ref.node), ref.index});
      graph_->Add(std::move(ret));
      result_types_.push_back(type);
    }
    return it->second;
  }

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  const std::vector<OutputRef>& args() const { return args_; }
  const std::vector<int>& controls() const { return controls_; }
  const std::vector<DataType>& arg_types() const { return arg_types_; }
  const std::vector<DataType>& result_types() const { return result_types_; }

 private:
  // `type` is what the user takes: ops that the importer does not know have outputs of unknown types.
  OutputRef Input(OutputRef ref, DataType type, const std::vector<bool>& member) {
    if (member[ref.node]) return {inside_.at(ref.node), ref.index};
    const Node& src = from_.node(ref.node);
    if (src.op == "Const" && src.constant != nullptr) {
      auto [it, fresh] = constants_.emplace(ref.node, -1);
      if (fresh) {
        Node copy = src;
        // Inside a frame its control edges say in which one the cluster runs.
        if (!IsFreeConstant(src))
          controls_.insert(controls_.end(), src.control_inputs.begin(), src.control_inputs.end());
        copy.control_inputs.clear();
        copy.name = graph_->UniqueName(copy.name);
        it->second = graph_->Add(std::move(copy)).id;
      }
      return {it->second, 0};
    }
    auto [it, fresh] = arg_nodes_.emplace(ref, -1);
    if (fresh) {
      int index = static_cast<int>(args_.size());
      args_.push_back(ref);
      arg_types_.push_back(type);
      it->second = graph_->Add(PortNode(*graph_, "_Arg", absl::StrCat("arg", index), type, index)).id;
    }
    return {it->second, 0};
  }

  const Graph& from_;
  std::shared_ptr<Graph> graph_;
  std::map<int, int> inside_;
  std::map<int, int> constants_;
  std::map<OutputRef, int> arg_nodes_;
  std::vector<OutputRef> args_;
  std::vector<DataType> arg_types_;
  std::vector<int> controls_;
  std::map<OutputRef, int> results_;
  std::vector<DataType> result_types_;
};

// Whether the graph has variables that are assigned in place: arguments may share their memory.
bool HasReferences(const Graph& graph, const std::vector<int>& order) {
  return std::any_of(order.begin(), order.end(), [&](int id) {
    const OpSignature* def = graph.node(id).def;
    return def != nullptr && std::any_of(def->outputs.begin(), def->outputs.end(),
                                         [](const ArgSignature& output) { return output.is_ref; });
  });
}

}  // namespace

absl::StatusOr<Encapsulated> Encapsulate(const Graph& graph, const Marking& marking) {
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  XC_ASSIGN_OR_RETURN(const auto waits, WaitsFor(graph));
  int n = marking.num_clusters;
  std::vector<std::vector<bool>> member(n, std::vector<bool>(graph.size(), false));
  for (int id : order) {
    if (marking.nodes[id].cluster >= 0) member[marking.nodes[id].cluster][id] = true;
  }
  std::vector<ClusterBuilder> builders;
  for (int k = 0; k < n; ++k) builders.emplace_back(graph, absl::StrCat("cluster_", k));
  for (int id : order) {
    int k = marking.nodes[id].cluster;
    if (k >= 0) builders[k].AddNode(graph.node(id), waits[id], member[k]);
  }
  // Results: what nodes outside use.
  for (int id : order) {
    for (const OutputRef& in : graph.node(id).inputs) {
      int k = marking.nodes[in.node].cluster;
      if (k >= 0 && marking.nodes[id].cluster != k) builders[k].Result(in);
    }
  }
  Encapsulated out;
  out.graph = std::make_unique<Graph>();
  out.graph->name = graph.name;
  out.graph->set_library(graph.library());
  // Nodes first (all launch nodes and what stays), then edges.
  const bool own_results = HasReferences(graph, order);
  std::vector<int> launch(n, -1), moved(graph.size(), -1);
  for (int id : order) {
    int k = marking.nodes[id].cluster;
    if (k < 0) {
      Node copy = graph.node(id);
      copy.inputs.clear();
      copy.control_inputs.clear();
      moved[id] = out.graph->Add(std::move(copy)).id;
    } else if (launch[k] < 0) {
      Node node;
      node.name = out.graph->UniqueName(graph.FindNode(builders[k].graph()->name) ? absl::StrCat("launch_", k)
                                                                                  : builders[k].graph()->name);
      node.op = kLaunchOp;
      node.def = FindOpDef(kLaunchOp);
      node.device = graph.node(id).device;
      node.attrs["cluster"].set_s(absl::StrCat(k));
      if (own_results) node.attrs["own_results"].set_b(true);
      auto* arg_types = node.attrs["Targs"].mutable_list();
      for (DataType t : builders[k].arg_types()) arg_types->add_type(t);
      auto* result_types = node.attrs["Tresults"].mutable_list();
      for (DataType t : builders[k].result_types()) result_types->add_type(t);
      XC_RETURN_IF_ERROR(ResolveSignature(node));
      launch[k] = out.graph->Add(std::move(node)).id;
    }
  }
  auto data = [&](OutputRef ref) {
    int k = marking.nodes[ref.node].cluster;
    return k < 0 ? OutputRef{moved[ref.node], ref.index} : OutputRef{launch[k], builders[k].Result(ref)};
  };
  auto control = [&](int id) {
    int k = marking.nodes[id].cluster;
    return k < 0 ? moved[id] : launch[k];
  };
  auto add_control = [](Node& node, int from) {
    if (from == node.id) return;
    auto& list = node.control_inputs;
    if (std::find(list.begin(), list.end(), from) == list.end()) list.push_back(from);
  };
  for (int id : order) {
    if (moved[id] < 0) continue;
    Node& node = out.graph->node(moved[id]);
    for (const OutputRef& in : graph.node(id).inputs) node.inputs.push_back(data(in));
    for (int c : waits[id]) add_control(node, control(c));
  }
  for (int k = 0; k < n; ++k) {
    Node& node = out.graph->node(launch[k]);
    for (const OutputRef& arg : builders[k].args()) node.inputs.push_back(data(arg));
    for (int c : builders[k].controls()) add_control(node, control(c));
    out.clusters.push_back(builders[k].graph());
  }
  XC_RETURN_IF_ERROR(out.graph->TopologicalOrder().status());
  return out;
}

std::unique_ptr<Graph> SingleNodeGraph(const Graph& graph, const Node& node) {
  auto out = std::make_unique<Graph>();
  out->name = node.name;
  out->set_library(graph.library());
  Node copy = node;
  copy.inputs.clear();
  copy.control_inputs.clear();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    std::string name = absl::StrCat(node.name, "/arg", i);
    copy.inputs.push_back({out->Add(PortNode(*out, "_Arg", name, node.input_types[i], static_cast<int>(i))).id, 0});
  }
  int id = out->Add(std::move(copy)).id;
  for (int i = 0; i < node.num_outputs(); ++i) {
    Node ret = PortNode(*out, "_Retval", absl::StrCat(node.name, "/result", i), node.output_types[i], i);
    ret.inputs.push_back({id, i});
    out->Add(std::move(ret));
  }
  return out;
}

}  // namespace xc
