#include "jit/plugin/fallback_graph.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "jit/graph/serialize.h"
#include "jit/mark/rewrite.h"
#include "jit/plugin/settings.h"

namespace xc {
namespace {

constexpr size_t kMaxLeftOut = 16;  // nodes of one cluster that are left out of clusters again

// The session that runs a cluster has one device, whatever the program's are called, and colocation names nodes that
// may be outside. Functional control flow runs quickest once it is lowered to its switches.
void AdaptToSession(NodeDef* node) {
  node->clear_device();
  node->mutable_attr()->erase("_class");
  for (const char* op : {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}) {
    if (node->op() == op) (*node->mutable_attr())["_lower_using_switch_merge"].set_b(true);
  }
}

// The type and index of an _Arg or _Retval; an absent attribute reads as 0.
std::pair<DataType, int64_t> PortOf(const NodeDef& node) {
  auto type = node.attr().find("T"), index = node.attr().find("index");
  return {type == node.attr().end() ? DT_INVALID : type->second.type(),
          index == node.attr().end() ? 0 : index->second.i()};
}

// The name of a cluster's node here, where xla_arg_N and xla_result_N are the arguments and results: a node can have
// such a name of its own, from the program or from the fallback graph of a larger cluster. Each name gives another one.
std::string NameHere(absl::string_view name) {
  constexpr absl::string_view kInner = "xla_inner/";
  absl::string_view rest = name;
  while (absl::ConsumePrefix(&rest, kInner)) {
  }
  const bool taken = absl::StartsWith(rest, "xla_arg_") || absl::StartsWith(rest, "xla_result_");
  return taken ? absl::StrCat(kInner, name) : std::string(name);
}

// The same for an input: a node, one of its outputs, or its having run.
std::string InputHere(absl::string_view input) {
  const bool control = absl::ConsumePrefix(&input, "^");
  return absl::StrCat(control ? "^" : "", NameHere(input));
}

GraphDef MakeHostGraph(const std::string& bytes) {
  GraphDef def;
  if (!def.ParseFromString(bytes)) return GraphDef();
  for (NodeDef& node : *def.mutable_node()) {
    node.set_name(NameHere(node.name()));
    for (std::string& input : *node.mutable_input()) input = InputHere(input);
  }
  for (NodeDef& node : *def.mutable_node()) {
    AdaptToSession(&node);
    std::string old = node.name();
    if (node.op() == "_Arg") {
      auto [type, index] = PortOf(node);
      std::string name = absl::StrCat("xla_arg_", index);
      node.clear_attr();
      node.set_op("Placeholder");
      (*node.mutable_attr())["dtype"].set_type(type);
      (*node.mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
      node.set_name(name);
    } else if (node.op() == "_Retval") {
      auto [type, index] = PortOf(node);
      node.set_name(absl::StrCat("xla_result_", index));
      node.clear_attr();
      node.set_op("Identity");
      (*node.mutable_attr())["T"].set_type(type);
    }
    if (node.name() == old) continue;
    for (NodeDef& user : *def.mutable_node()) {
      for (std::string& input : *user.mutable_input()) {
        if (input == old || input == old + ":0") input = node.name();
        if (input == "^" + old) input = "^" + node.name();
      }
    }
  }
  for (FunctionDef& f : *def.mutable_library()->mutable_function()) {
    for (NodeDef& node : *f.mutable_node_def()) AdaptToSession(&node);
  }
  return def;
}

// With launch nodes for what forms clusters without the nodes that do not compile; as it is where nothing does.
GraphDef ClusterAgain(GraphDef def, const std::map<std::string, std::string>& left_out) {
  RewriteOptions options;
  options.mark = CurrentPluginSettings().mark;
  for (const auto& [node, why] : left_out) options.left_out.emplace(NameHere(node), why);
  for (const NodeDef& node : def.node()) {
    if (absl::StartsWith(node.name(), "xla_result_")) options.preserve.insert(node.name());
  }
  auto result = RewriteGraphDef(def, options);
  return result.ok() ? std::move(result->graph) : def;
}

}  // namespace

const std::string& FallbackGraph::Get() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (outdated_) {
    GraphDef def = MakeHostGraph(cluster_);
    if (!left_out_.empty()) def = ClusterAgain(std::move(def), left_out_);
    made_.push_back(std::make_unique<const std::string>(def.SerializeAsString()));
    outdated_ = false;
  }
  return *made_.back();
}

void FallbackGraph::LeaveOut(const std::string& node, const std::string& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (left_out_.size() < kMaxLeftOut && left_out_.emplace(node, why).second) outdated_ = true;
}

}  // namespace xc
