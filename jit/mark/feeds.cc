#include "jit/mark/feeds.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

absl::StatusOr<GraphDef> CutAtFeeds(const GraphDef& def, const std::set<std::string>& fed,
                                    const std::set<std::string>& preserve) {
  ImportOptions import;
  import.allow_unknown_ops = true;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportGraphDef(def, import));
  std::vector<int> todo;
  std::vector<bool> wanted(graph->size(), false);
  auto want = [&](int id) {
    if (!wanted[id]) todo.push_back(id);
    wanted[id] = true;
  };
  for (const std::string& name : preserve) {
    if (const Node* node = graph->FindNode(name); node != nullptr) want(node->id);
  }
  while (!todo.empty()) {
    const Node& node = graph->node(todo.back());
    todo.pop_back();
    if (fed.count(node.name)) continue;
    for (const OutputRef& in : node.inputs) want(in.node);
    for (int c : node.control_inputs) want(c);
  }
  GraphDef out;
  *out.mutable_library() = def.library();
  *out.mutable_versions() = def.versions();
  out.set_version(def.version());
  for (const NodeDef& node : def.node()) {
    const Node* known = graph->FindNode(node.name());
    if (known == nullptr || !wanted[known->id]) continue;
    NodeDef* copy = out.add_node();
    if (fed.count(node.name()) == 0) {
      *copy = node;
      continue;
    }
    if (known->def == nullptr || known->num_outputs() != 1) {
      return absl::UnimplementedError(absl::StrCat("'", node.name(), "' (", node.op(), ") is fed"));
    }
    copy->set_name(node.name());
    copy->set_op("Placeholder");
    copy->set_device(node.device());
    (*copy->mutable_attr())["dtype"].set_type(known->output_types[0]);
    (*copy->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  }
  return out;
}

}  // namespace xc
