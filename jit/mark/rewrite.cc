#include "jit/mark/rewrite.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/serialize.h"
#include "jit/mark/encapsulate.h"

namespace xc {
namespace {

// An Identity of every output of `node` under its name, so that others find them where they were.
NodeDef Stub(const Node& node, const std::vector<std::string>& sources) {
  NodeDef stub;
  stub.set_name(node.name);
  stub.set_device(node.device);
  if (sources.size() == 1) {
    stub.set_op("Identity");
    (*stub.mutable_attr())["T"].set_type(node.output_types[0]);
  } else {
    stub.set_op(sources.empty() ? "NoOp" : "IdentityN");
    auto* types = sources.empty() ? nullptr : (*stub.mutable_attr())["T"].mutable_list();
    for (size_t i = 0; i < sources.size(); ++i) types->add_type(node.output_types[i]);
  }
  for (const std::string& source : sources) stub.add_input(source);
  return stub;
}

}  // namespace

absl::StatusOr<RewriteResult> RewriteGraphDef(const GraphDef& def, const RewriteOptions& options) {
  ImportOptions import;
  import.allow_unknown_ops = true;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportGraphDef(def, import));
  XC_ASSIGN_OR_RETURN(Marking marking, MarkForCompilation(*graph, options.mark));
  RewriteResult out;
  for (int id = 0; id < graph->size(); ++id) {
    const Node& node = graph->node(id);
    if (marking.nodes[id].cluster < 0 && node.op != "Const") {
      out.left_out.push_back({node.name, node.op, marking.nodes[id].reason, node.source});
    }
  }
  if (marking.num_clusters == 0) {
    out.graph = def;
    return out;
  }
  // What must be found under its name is a result of its cluster: an extra user makes it one.
  std::map<std::string, std::string> users;  // stand-in to preserved node
  for (const std::string& name : options.preserve) {
    const Node* node = graph->FindNode(name);
    if (node == nullptr || marking.nodes[node->id].cluster < 0) continue;
    Node user;
    user.name = graph->UniqueName(absl::StrCat(name, "/kept"));
    user.op = "IdentityN";
    user.output_types = user.input_types = node->output_types;
    for (int i = 0; i < node->num_outputs(); ++i) user.inputs.push_back({node->id, i});
    user.control_inputs.push_back(node->id);
    users[user.name] = name;
    graph->Add(std::move(user));
    marking.nodes.emplace_back();
  }
  XC_ASSIGN_OR_RETURN(Encapsulated encapsulated, Encapsulate(*graph, marking));
  std::vector<std::string> serialized;
  for (const auto& cluster : encapsulated.clusters) {
    XC_ASSIGN_OR_RETURN(std::string bytes, SerializeGraph(*cluster));
    serialized.push_back(std::move(bytes));
  }
  out.clusters.resize(serialized.size());
  std::map<std::string, const NodeDef*> originals;
  for (const NodeDef& node : def.node()) originals[node.name()] = &node;
  GraphDef rewritten = ExportGraphDef(*encapsulated.graph);
  *rewritten.mutable_library() = def.library();
  *rewritten.mutable_versions() = def.versions();
  rewritten.set_version(def.version());
  for (NodeDef& node : *rewritten.mutable_node()) {
    if (auto user = users.find(node.name()); user != users.end()) {
      const Node& kept = *graph->FindNode(user->second);
      std::vector<std::string> sources(node.input().begin(), node.input().begin() + kept.num_outputs());
      NodeDef stub = Stub(kept, sources);
      for (int i = kept.num_outputs(); i < node.input_size(); ++i) stub.add_input(node.input(i));
      node = std::move(stub);
    } else if (auto original = originals.find(node.name()); original != originals.end()) {
      NodeDef copy = *original->second;
      *copy.mutable_input() = node.input();
      node = std::move(copy);
    } else if (node.op() == kLaunchOp) {
      int k = std::stoi(node.attr().at("cluster").s());
      out.clusters[k].launch = node.name();
      (*node.mutable_attr())["cluster"].set_s(serialized[k]);
    }
  }
  for (int id = 0; id < static_cast<int>(marking.nodes.size()); ++id) {
    int k = marking.nodes[id].cluster;
    if (k >= 0) out.clusters[k].nodes.push_back(graph->node(id).name);
  }
  out.graph = std::move(rewritten);
  return out;
}

}  // namespace xc
