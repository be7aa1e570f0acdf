#include "jit/host/session.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "jit/graph/transforms/extract.h"
#include "jit/graph/transforms/functionalize.h"
#include "jit/host/explain.h"
#include "jit/host/ref_variables.h"
#include "jit/kernels/state/tables.h"

namespace xc {
namespace {

bool IsPlaceholder(const Node& n) { return n.op == "Placeholder" || n.op == "PlaceholderV2"; }

absl::Status CheckKnown(const Node& node) {
  if (node.def != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("node '", node.name, "' (", node.op, "): unknown operation '", node.op, "'"));
}

absl::Status CheckAllKnown(const Graph& graph) {
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id)) XC_RETURN_IF_ERROR(CheckKnown(graph.node(id)));
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputRef> Find(const Graph& graph, const std::string& name) {
  XC_ASSIGN_OR_RETURN(auto parsed, ParseTensorName(name));
  const Node* node = graph.FindNode(parsed.first);
  if (node != nullptr) XC_RETURN_IF_ERROR(CheckKnown(*node));
  if (node == nullptr || parsed.second < 0 || parsed.second >= node->num_outputs()) {
    return absl::NotFoundError(absl::StrCat("the graph has no tensor '", name, "'"));
  }
  return OutputRef{node->id, parsed.second};
}

// Which nodes `roots` need, themselves included.
std::vector<bool> Needed(const Graph& graph, const std::vector<int>& roots) {
  std::vector<bool> needed(graph.size(), false);
  std::vector<int> todo = roots;
  while (!todo.empty()) {
    int id = todo.back();
    todo.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    for (const OutputRef& in : graph.node(id).inputs) todo.push_back(in.node);
    for (int c : graph.node(id).control_inputs) todo.push_back(c);
  }
  return needed;
}

// Drops what no result needs.
void Prune(Graph& graph, const std::vector<int>& keep) {
  std::vector<bool> needed = Needed(graph, keep);
  for (int id = 0; id < graph.size(); ++id) {
    if (graph.has(id) && !needed[id]) graph.Remove(id);
  }
}

// Nodes that fill one of the tables among `needed` with constants.
std::vector<int> TableInitializers(const Graph& graph, const std::vector<bool>& needed) {
  auto source = [&](const Node& n, size_t i) {
    int at = n.inputs[i].node;
    while (graph.node(at).op == "Identity") at = graph.node(at).inputs[0].node;
    return at;
  };
  std::vector<int> found;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id) || !IsTableInitializer(graph.node(id).op)) continue;
    const Node& n = graph.node(id);
    bool fits = needed[source(n, 0)];
    for (size_t i = 1; i < n.inputs.size(); ++i) fits &= graph.node(source(n, i)).op == "Const";
    if (fits) found.push_back(id);
  }
  return found;
}

// Leaves what `nodes` need, in the form that executors take.
absl::Status Prepare(Graph& graph, const std::vector<int>& nodes) {
  Prune(graph, nodes);
  XC_RETURN_IF_ERROR(CheckAllKnown(graph));
  XC_RETURN_IF_ERROR(ReplaceRefVariables(graph));
  return FunctionalizeControlFlow(graph).status();
}

// Runs nodes of the graph, with nothing fed.
absl::Status RunOnce(std::unique_ptr<Graph> graph, const std::vector<int>& nodes, HostOptions options,
                     std::shared_ptr<ResourceStore> resources) {
  XC_RETURN_IF_ERROR(Prepare(*graph, nodes));
  options.mode = HostMode::kHost;
  options.prefer_kernels = true;
  XC_ASSIGN_OR_RETURN(auto executor, GraphExecutor::Create(std::shared_ptr<const Graph>(std::move(graph)), options,
                                                           std::move(resources)));
  return executor->Run({}).status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const GraphDef& def, SessionOptions options) {
  // Beside what the outputs need there may be anything, summaries of a training run for one.
  ImportOptions import;
  import.allow_unknown_ops = !options.outputs.empty();
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportGraphDef(def, import));
  auto session = std::unique_ptr<Session>(new Session);
  if (options.inputs.empty() && !options.feed_nothing) {
    for (int id = 0; id < graph->size(); ++id) {
      if (IsPlaceholder(graph->node(id))) options.inputs.push_back(graph->node(id).name + ":0");
    }
  }
  if (options.outputs.empty()) {
    std::vector<std::vector<int>> users = graph->Users();
    for (int id = 0; id < graph->size(); ++id) {
      const Node& n = graph->node(id);
      for (int i = 0; users[id].empty() && i < n.num_outputs() && n.op != "Const"; ++i) {
        options.outputs.push_back(absl::StrCat(n.name, ":", i));
      }
    }
  }
  if (options.outputs.empty()) return absl::InvalidArgumentError("the graph has no outputs");
  std::vector<int> keep;
  std::set<OutputRef> fed;
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    XC_ASSIGN_OR_RETURN(OutputRef ref, Find(*graph, options.inputs[i]));
    if (!fed.insert(ref).second)
      return absl::InvalidArgumentError(absl::StrCat("'", options.inputs[i], "' is fed twice"));
    const Node& n = graph->node(ref.node);
    TensorInfo info;
    info.name = i < options.input_names.size() ? options.input_names[i] : options.inputs[i];
    info.type = n.output_types[ref.index];
    if (n.FindAttr("shape") != nullptr) info.shape = n.ShapeAttr("shape").value_or(PartialShape());
    Node port = PortNode(*graph, "_Arg", absl::StrCat("feed_", i), info.type, static_cast<int>(i));
    // Marking looks at it: a loop may change the shape of what begins as this.
    if (const tf::AttrValue* shape = n.FindAttr("shape"); shape != nullptr && IsPlaceholder(n)) {
      port.attrs["shape"] = *shape;
    }
    int arg = graph->Add(std::move(port)).id;
    session->inputs_.push_back(std::move(info));
    graph->ReplaceOutput(ref, {arg, 0});
    if (IsPlaceholder(graph->node(ref.node))) graph->RedirectControl(ref.node, arg);
    keep.push_back(arg);
  }
  for (size_t i = 0; i < options.outputs.size(); ++i) {
    XC_ASSIGN_OR_RETURN(OutputRef ref, Find(*graph, options.outputs[i]));
    TensorInfo info;
    info.name = i < options.output_names.size() ? options.output_names[i] : options.outputs[i];
    info.type = graph->node(ref.node).output_types[ref.index];
    // An input that is fetched comes back as it was fed.
    for (size_t k = 0; k < options.inputs.size(); ++k) {
      if (options.inputs[k] == options.outputs[i]) ref = {keep[k], 0};
    }
    Node ret = PortNode(*graph, "_Retval", absl::StrCat("fetch_", i), info.type, static_cast<int>(i));
    ret.inputs.push_back(ref);
    keep.push_back(graph->Add(std::move(ret)).id);
    session->outputs_.push_back(std::move(info));
  }
  std::vector<int> initializers = TableInitializers(*graph, Needed(*graph, keep));
  auto find_nodes = [&](const std::vector<std::string>& names, std::vector<int>* ids) -> absl::Status {
    for (const std::string& name : names) {
      const Node* node = graph->FindNode(name);
      if (node == nullptr) return absl::NotFoundError(absl::StrCat("the graph has no node '", name, "'"));
      ids->push_back(node->id);
    }
    return absl::OkStatus();
  };
  XC_RETURN_IF_ERROR(find_nodes(options.initializers, &initializers));
  XC_RETURN_IF_ERROR(find_nodes(options.targets, &keep));
  std::unique_ptr<Graph> initial;
  if (!initializers.empty()) initial = std::make_unique<Graph>(graph->Clone());
  XC_RETURN_IF_ERROR(Prepare(*graph, keep));
  session->resources_ = std::make_shared<ResourceStore>();
  LaunchOptions& launch = options.host.launch;
  if (launch.client == nullptr) launch.client = Client::Default();
  if (launch.executor == nullptr) launch.executor = DefaultExecutor();
  if (launch.policy.when == CompileWhen::kBackground && launch.queue == nullptr) {
    launch.queue = std::make_shared<CompileQueue>(CompileQueue::kBehindCalls);
  }
  session->queue_ = launch.queue;
  if (options.restore != nullptr) XC_RETURN_IF_ERROR(options.restore(*session->resources_));
  if (initial != nullptr) {
    XC_RETURN_IF_ERROR(RunOnce(std::move(initial), initializers, options.host, session->resources_));
  }
  XC_ASSIGN_OR_RETURN(session->executor_, GraphExecutor::Create(std::shared_ptr<const Graph>(std::move(graph)),
                                                                options.host, session->resources_));
  return session;
}

absl::StatusOr<std::vector<Tensor>> Session::Run(const std::vector<Tensor>& args) {
  if (args.size() != inputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the graph takes ", inputs_.size(), " inputs, got ", args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorInfo& info = inputs_[i];
    if (args[i].dtype() != info.type || !info.shape.Accepts(args[i].dims())) {
      return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "' is ", args[i].ShapeString(),
                                                     ", expected ", DataTypeName(info.type), info.shape.ToString()));
    }
  }
  return executor_->Run(args);
}

std::string Session::Explain() const { return ExplainText(*executor_); }
std::string Session::ExplainAsHtml() const { return ExplainHtml(*executor_); }

}  // namespace xc
