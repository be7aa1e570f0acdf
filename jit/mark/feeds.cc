#include "jit/mark/feeds.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using Feeds = std::set<int>;

void MakePlaceholder(const Node& like, const std::string& name, int output, NodeDef* def) {
  def->set_name(name);
  def->set_op("Placeholder");
  def->set_device(like.device);
  (*def->mutable_attr())["dtype"].set_type(like.output_types[output]);
  (*def->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
}

// What is wanted of a graph: nodes, and those fed nodes of which outputs that are not fed are wanted.
class Wanted {
 public:
  Wanted(const Graph& graph, const OutputsOfNodes& fed) : graph_(graph), fed_(fed) {
    node.resize(graph.size());
    computed.resize(graph.size());
  }

  void Want(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      auto parsed = ParseTensorName(name);
      if (!parsed.ok()) continue;
      const Node* found = graph_.FindNode(parsed->first);
      if (found == nullptr) continue;
      // The bare name of a fed node only says that it must be there.
      Take({found->id, found->name == name ? -1 : parsed->second});
    }
    while (!todo_.empty()) {
      const Node& n = graph_.node(todo_.back());
      todo_.pop_back();
      for (const OutputRef& in : n.inputs) Take(in);
      for (int c : n.control_inputs) Take({c, -1});
    }
  }

  std::vector<bool> node, computed;

 private:
  void Take(OutputRef ref) {
    auto fed = fed_.find(graph_.node(ref.node).name);
    bool follow =
        fed == fed_.end() ? !node[ref.node] : ref.index >= 0 && !fed->second.count(ref.index) && !computed[ref.node];
    node[ref.node] = true;
    if (!follow) return;
    computed[ref.node] = fed != fed_.end();
    todo_.push_back(ref.node);
  }

  const Graph& graph_;
  const OutputsOfNodes& fed_;
  std::vector<int> todo_;
};

}  // namespace

absl::StatusOr<OutputsOfNodes> ParseTensorNames(const std::set<std::string>& names) {
  OutputsOfNodes out;
  for (const std::string& name : names) {
    XC_ASSIGN_OR_RETURN(auto tensor, ParseTensorName(name));
    out[tensor.first].insert(tensor.second);
  }
  return out;
}

absl::StatusOr<GraphDef> CutAtFeeds(const GraphDef& def, const OutputsOfNodes& fed,
                                    const std::set<std::string>& names) {
  ImportOptions import;
  import.allow_unknown_ops = true;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportGraphDef(def, import));
  Wanted wanted(*graph, fed);
  wanted.Want(names);
  GraphDef out;
  *out.mutable_library() = def.library();
  *out.mutable_versions() = def.versions();
  out.set_version(def.version());
  for (const NodeDef& node : def.node()) {
    const Node* known = graph->FindNode(node.name());
    if (known == nullptr || !wanted.node[known->id]) continue;
    if (fed.count(node.name()) == 0 || wanted.computed[known->id]) {
      *out.add_node() = node;
      continue;
    }
    if (known->def == nullptr || known->num_outputs() == 0) {
      return absl::UnimplementedError(absl::StrCat("'", node.name(), "' (", node.op(), ") is fed"));
    }
    if (known->num_outputs() == 1) {
      MakePlaceholder(*known, node.name(), 0, out.add_node());
      continue;
    }
    NodeDef all;
    all.set_name(node.name());
    all.set_op("IdentityN");
    all.set_device(node.device());
    for (int i = 0; i < known->num_outputs(); ++i) {
      const std::string name = graph->UniqueName(absl::StrCat(node.name(), "/fed_", i));
      MakePlaceholder(*known, name, i, out.add_node());
      all.add_input(name);
      (*all.mutable_attr())["T"].mutable_list()->add_type(known->output_types[i]);
    }
    *out.add_node() = std::move(all);
  }
  return out;
}

absl::StatusOr<std::vector<int>> GroupByFeeds(const Graph& graph, const OutputsOfNodes& fed,
                                              const std::set<std::string>& names) {
  if (fed.size() < 2) return std::vector<int>();
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  std::vector<Feeds> needs(graph.size());
  auto sources = [&](int id) {
    std::vector<int> out = graph.node(id).control_inputs;
    for (const OutputRef& in : graph.node(id).inputs) out.push_back(in.node);
    return out;
  };
  for (const auto& name : fed) {
    if (const Node* node = graph.FindNode(name.first); node != nullptr) needs[node->id].insert(node->id);
  }
  // Loops lead back: until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (int id : order) {
      size_t before = needs[id].size();
      for (int source : sources(id)) needs[id].insert(needs[source].begin(), needs[source].end());
      changed |= needs[id].size() > before;
    }
  }
  // The feeds that all results need to which a node leads; nothing for one that leads to none.
  std::vector<std::optional<Feeds>> given(graph.size());
  auto narrow = [&](int id, const Feeds& feeds) {
    if (!given[id]) {
      given[id] = feeds;
      return true;
    }
    size_t before = given[id]->size();
    for (auto it = given[id]->begin(); it != given[id]->end();)
      it = feeds.count(*it) ? std::next(it) : given[id]->erase(it);
    return given[id]->size() < before;
  };
  for (const std::string& name : names) {
    const Node* node = graph.FindNode(name);
    if (node != nullptr && fed.count(name) == 0) narrow(node->id, needs[node->id]);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (!given[*id]) continue;
      for (int source : sources(*id)) changed |= narrow(source, *given[*id]);
    }
  }
  std::map<std::optional<Feeds>, int> numbers;
  std::vector<int> out(graph.size(), 0);
  for (int id : order) out[id] = numbers.emplace(given[id], static_cast<int>(numbers.size())).first->second;
  return out;
}

}  // namespace xc
