#include "jit/host/executor.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "jit/host/bad_values.h"

namespace xc {
namespace {

constexpr int kMaxDepth = 64;
constexpr int64_t kSmallBytes = 1024;  // up to here a host kernel beats a launch

absl::Status AtNode(const Node& node, const absl::Status& status) {
  absl::string_view message = status.message();
  if (message.find(absl::StrCat("'", node.name, "'")) != absl::string_view::npos) return status;
  return absl::Status(status.code(), absl::StrCat("node '", node.name, "' (", node.op, "): ", message));
}

// Kernels that only look at shapes or share buffers: always run on the host.
bool IsFree(const Node& node) {
  static const std::set<std::string> kFree = {
      "Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot", "Shape",       "ShapeN",
      "Size",     "Rank",      "Reshape",      "ExpandDims",      "Squeeze",  "EnsureShape", "PlaceholderWithDefault"};
  return kFree.count(node.op) != 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GraphExecutor>> GraphExecutor::Create(std::shared_ptr<const Graph> graph,
                                                                     const HostOptions& options,
                                                                     std::shared_ptr<ResourceStore> resources,
                                                                     int depth, std::set<std::string> iteration_nodes) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("function '", graph->name, "' calls itself too deeply"));
  }
  auto executor = std::unique_ptr<GraphExecutor>(new GraphExecutor);
  executor->original_ = std::move(graph);
  executor->options_ = options;
  executor->resources_ = std::move(resources);
  executor->depth_ = depth;
  executor->iteration_nodes_ = std::move(iteration_nodes);
  XC_RETURN_IF_ERROR(executor->Plan());
  return executor;
}

absl::Status GraphExecutor::Plan() {
  if (options_.mode == HostMode::kJit) {
    // What has another shape on each iteration of a loop is compiled for each, and by itself.
    std::vector<int> groups;
    if (!iteration_nodes_.empty()) {
      groups.assign(original_->size(), 0);
      for (int id = 0; id < original_->size(); ++id) {
        groups[id] = original_->has(id) && iteration_nodes_.count(original_->node(id).name) != 0;
      }
    }
    XC_ASSIGN_OR_RETURN(marking_, MarkForCompilation(*original_, options_.mark, groups));
    iteration_nodes_.merge(marking_.iteration_nodes);
  } else {
    marking_.nodes.resize(original_->size());
    for (NodeMark& m : marking_.nodes) m.reason = "clustering is off";
  }
  XC_ASSIGN_OR_RETURN(Encapsulated encapsulated, Encapsulate(*original_, marking_));
  graph_ = std::move(encapsulated.graph);
  cluster_graphs_ = std::move(encapsulated.clusters);
  for (const auto& cluster : cluster_graphs_) {
    clusters_.push_back(std::make_unique<ClusterLaunch>(cluster, options_.launch));
  }
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph_->TopologicalOrder());
  std::vector<int> first_slot(graph_->size(), -1);
  std::vector<int> last_use;
  for (int id : order) {
    const Node& node = graph_->node(id);
    Step step;
    step.node = &node;
    for (const OutputRef& in : node.inputs) step.inputs.push_back(first_slot[in.node] + in.index);
    step.first_output = first_slot[id] = num_slots_;
    num_slots_ += node.num_outputs();
    int position = static_cast<int>(steps_.size());
    last_use.resize(num_slots_, position);
    for (int slot : step.inputs) last_use[slot] = position;
    step.kernel = KernelRegistry::Get().Find(node.op);
    const Lowering* lowering = LoweringRegistry::Get().Find(node.op);
    if (node.op == "Const") {
      step.kind = Step::kConst;
    } else if (node.op == "_Arg") {
      step.kind = Step::kArg;
      num_args_ = std::max(num_args_, static_cast<int>(node.Int("index").value_or(0)) + 1);
    } else if (node.op == "_Retval") {
      step.kind = Step::kRetval;
      num_results_ = std::max(num_results_, static_cast<int>(node.Int("index").value_or(0)) + 1);
    } else if (node.op == kLaunchOp) {
      step.kind = Step::kCluster;
      XC_ASSIGN_OR_RETURN(std::string number, node.String("cluster"));
      step.cluster = std::atoi(number.c_str());
      step.mutex = std::make_unique<std::mutex>();
    } else if (node.op == "While" || node.op == "StatelessWhile" || node.op == "XlaWhile") {
      step.kind = Step::kWhile;
    } else if (node.op == "If" || node.op == "StatelessIf" || node.op == "XlaIf") {
      step.kind = Step::kIf;
    } else if (node.op == "Case" || node.op == "StatelessCase") {
      step.kind = Step::kCase;
    } else if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall" || node.op == "BatchFunction") {
      step.kind = Step::kCall;  // (BatchFunction may run its function on several callers' batches at once, or on one)
    } else if (node.op == "VarHandleOp") {
      step.kind = Step::kVariable;
    } else if (node.op == "Placeholder" || node.op == "PlaceholderV2") {
      step.kind = Step::kPlaceholder;
    } else if (step.kernel != nullptr || lowering != nullptr) {
      step.kind = lowering != nullptr ? Step::kSingle : Step::kKernel;
      if (lowering != nullptr) {
        step.single = std::make_unique<ClusterLaunch>(std::shared_ptr<const Graph>(SingleNodeGraph(*graph_, node)),
                                                      options_.launch);
      }
    } else {
      return absl::UnimplementedError(absl::StrCat("node '", node.name, "': op ", node.op,
                                                   " has neither a lowering nor a host kernel",
                                                   node.pinned.empty() ? "" : "; it is ", node.pinned));
    }
    steps_.push_back(std::move(step));
  }
  for (int slot = 0; slot < num_slots_; ++slot) steps_[last_use[slot]].dead.push_back(slot);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> GraphExecutor::Run(const std::vector<Tensor>& args) {
  if (static_cast<int>(args.size()) < num_args_) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph '", original_->name, "' takes ", num_args_, " arguments, got ", args.size()));
  }
  std::vector<Tensor> slots(num_slots_), results(num_results_);
  for (Step& step : steps_) {
    absl::Status status = RunStep(step, args, slots, results);
    if (!status.ok()) return AtNode(*step.node, status);
    for (int slot : step.dead) slots[slot] = Tensor();
  }
  return results;
}

absl::Status GraphExecutor::RunStep(Step& step, const std::vector<Tensor>& args, std::vector<Tensor>& slots,
                                    std::vector<Tensor>& results) {
  const Node& node = *step.node;
  switch (step.kind) {
    case Step::kConst:
      slots[step.first_output] = node.constant->tensor;
      return absl::OkStatus();
    case Step::kArg:
      slots[step.first_output] = args[node.Int("index").value_or(0)];
      return absl::OkStatus();
    case Step::kRetval:
      results[node.Int("index").value_or(0)] = slots[step.inputs[0]];
      return absl::OkStatus();
    case Step::kVariable: {
      XC_ASSIGN_OR_RETURN(std::string name, node.String("shared_name"));
      XC_ASSIGN_OR_RETURN(DataType type, node.Type("dtype"));
      slots[step.first_output] = Tensor::FromVariable(resources_->GetVariable(name.empty() ? node.name : name, type));
      return absl::OkStatus();
    }
    case Step::kPlaceholder:
      return absl::InvalidArgumentError("the placeholder is not fed");
    default:
      break;
  }
  std::vector<Tensor> inputs, outputs;
  inputs.reserve(step.inputs.size());
  for (int slot : step.inputs) {
    if (!slots[slot].initialized()) return absl::InternalError("an input was not computed");
    inputs.push_back(slots[slot]);
  }
  switch (step.kind) {
    case Step::kCluster:
      XC_RETURN_IF_ERROR(RunCluster(step, inputs, &outputs));
      break;
    case Step::kWhile:
      XC_RETURN_IF_ERROR(RunWhile(node, std::move(inputs), &outputs));
      break;
    case Step::kIf: {
      bool yes = inputs[0].num_elements() > 0;
      if (inputs[0].rank() == 0) {
        if (inputs[0].dtype() == DT_STRING) {
          yes = !inputs[0].strings()[0].empty();
        } else {
          XC_ASSIGN_OR_RETURN(auto v, inputs[0].AsDoubles());
          yes = v[0] != 0;
        }
      }
      XC_ASSIGN_OR_RETURN(NameAttrList branch, node.Func(yes ? "then_branch" : "else_branch"));
      inputs.erase(inputs.begin());
      XC_ASSIGN_OR_RETURN(outputs, RunFunction(branch, inputs));
      break;
    }
    case Step::kCase: {
      XC_ASSIGN_OR_RETURN(auto branches, node.Funcs("branches"));
      if (branches.empty()) return absl::InvalidArgumentError("Case without branches");
      XC_ASSIGN_OR_RETURN(auto index, inputs[0].AsInt64s());
      int64_t last = static_cast<int64_t>(branches.size()) - 1;
      int64_t k = index.empty() || index[0] < 0 || index[0] > last ? last : index[0];
      inputs.erase(inputs.begin());
      XC_ASSIGN_OR_RETURN(outputs, RunFunction(branches[k], inputs));
      break;
    }
    case Step::kCall: {
      XC_ASSIGN_OR_RETURN(NameAttrList f, node.Func("f"));
      XC_ASSIGN_OR_RETURN(outputs, RunFunction(f, inputs));
      break;
    }
    default:
      XC_RETURN_IF_ERROR(RunOp(step, inputs, &outputs));
      break;
  }
  if (static_cast<int>(outputs.size()) < node.num_outputs()) {
    return absl::InternalError(absl::StrCat("gave ", outputs.size(), " results of ", node.num_outputs()));
  }
  for (int i = 0; i < node.num_outputs(); ++i) slots[step.first_output + i] = std::move(outputs[i]);
  return absl::OkStatus();
}

absl::StatusOr<GraphExecutor*> GraphExecutor::Fallback(Step& step, const std::string& left_out,
                                                       const std::string& why) {
  std::lock_guard<std::mutex> lock(*step.mutex);
  std::unique_ptr<GraphExecutor>& slot = step.fallbacks[left_out];
  if (slot == nullptr) {
    HostOptions options = options_;
    std::shared_ptr<const Graph> graph = cluster_graphs_[step.cluster];
    if (left_out.empty()) {
      options.mode = HostMode::kHost;
      options.prefer_kernels = options.launch.policy.when != CompileWhen::kNow;
      options.launch.policy.when = CompileWhen::kNow;
    } else {
      auto copy = std::make_shared<Graph>(graph->Clone());
      copy->FindNode(left_out)->pinned = absl::StrCat("not compiled: ", why);
      graph = std::move(copy);
    }
    XC_ASSIGN_OR_RETURN(slot, Create(std::move(graph), options, resources_, depth_ + 1));
  }
  return slot.get();
}

absl::Status GraphExecutor::RunCluster(Step& step, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  ClusterLaunch& launch = *clusters_[step.cluster];
  ClusterLaunch::Fallback why;
  absl::Status status = launch.Run(inputs, outputs, &why);
  if (status.ok() || !why.needed) return status;
  // Without the node that does not compile the rest may; an op that fails on its values gives its error on the host.
  const Node* failed = cluster_graphs_[step.cluster]->FindNode(why.failed_node);
  bool leave_out = status.code() == absl::StatusCode::kUnimplemented && failed != nullptr && depth_ < kMaxDepth / 2;
  XC_ASSIGN_OR_RETURN(GraphExecutor * fallback,
                      Fallback(step, leave_out ? why.failed_node : "", std::string(status.message())));
  auto start = std::chrono::steady_clock::now();
  XC_ASSIGN_OR_RETURN(*outputs, fallback->Run(inputs));
  if (status.code() == absl::StatusCode::kUnavailable) {
    launch.HostRan(why, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return absl::OkStatus();
}

absl::Status GraphExecutor::RunOp(Step& step, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  const Node& node = *step.node;
  auto by_kernel = [&]() -> absl::Status {
    KernelContext context(node, inputs);
    context.resources = resources_.get();
    XC_RETURN_IF_ERROR(step.kernel->fn(context));
    *outputs = std::move(context.outputs);
    return absl::OkStatus();
  };
  bool dense = true;
  int64_t bytes = 0;
  for (const Tensor& t : inputs) {
    dense &= t.raw() != nullptr || t.variable() != nullptr;
    bytes += t.byte_size();
  }
  for (DataType t : node.output_types) dense &= ToElementType(t) != ElementType::kInvalid;
  bool prefer_kernel = step.kernel != nullptr && (step.single == nullptr || !dense || IsFree(node) ||
                                                  bytes <= kSmallBytes || options_.prefer_kernels);
  absl::Status status = absl::UnimplementedError("no host kernel");
  if (prefer_kernel) {
    status = by_kernel();
    if (status.code() != absl::StatusCode::kUnimplemented) return status;
  }
  if (step.single == nullptr) return status;
  ClusterLaunch::Fallback fallback;
  fallback.missing = step.kernel == nullptr || prefer_kernel;
  status = step.single->Run(inputs, outputs, &fallback);
  if (status.ok()) return status;
  if (step.kernel != nullptr && !prefer_kernel) {
    absl::Status kernel_status = by_kernel();
    if (kernel_status.code() != absl::StatusCode::kUnimplemented) return kernel_status;
  }
  if (status.code() == absl::StatusCode::kOutOfRange) XC_RETURN_IF_ERROR(FindBadValue(node, inputs));
  return status;
}

absl::Status GraphExecutor::RunWhile(const Node& node, std::vector<Tensor> state, std::vector<Tensor>* outputs) {
  XC_ASSIGN_OR_RETURN(NameAttrList condition, node.Func("cond"));
  XC_ASSIGN_OR_RETURN(NameAttrList body, node.Func("body"));
  for (;;) {
    XC_ASSIGN_OR_RETURN(std::vector<Tensor> go, RunFunction(condition, state));
    if (go.size() != 1 || go[0].num_elements() != 1 || go[0].dtype() != DT_BOOL) {
      return absl::InvalidArgumentError("the loop condition does not give one bool");
    }
    if (!go[0].data<uint8_t>()[0]) break;
    XC_ASSIGN_OR_RETURN(state, RunFunction(body, state));
  }
  *outputs = std::move(state);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> GraphExecutor::RunFunction(const NameAttrList& name,
                                                               const std::vector<Tensor>& args) {
  std::shared_ptr<GraphExecutor> executor;
  {
    std::lock_guard<std::mutex> lock(functions_mutex_);
    auto it = functions_.find(name.name());
    if (it != functions_.end() && name.attr().empty()) executor = it->second;
  }
  if (executor == nullptr) {
    const auto library = original_->library();
    if (library == nullptr) return absl::NotFoundError("the graph has no function library");
    XC_ASSIGN_OR_RETURN(auto graph, library->Instantiate(name, library));
    XC_ASSIGN_OR_RETURN(executor, Create(graph, options_, resources_, depth_ + 1, iteration_nodes_));
    std::lock_guard<std::mutex> lock(functions_mutex_);
    auto [it, fresh] = functions_.emplace(name.name(), executor);
    if (!fresh && name.attr().empty()) executor = it->second;
  }
  return executor->Run(args);
}

LaunchStats GraphExecutor::stats() const {
  LaunchStats total;
  auto add = [&](const LaunchStats& s) { total.Add(s); };
  for (const auto& c : clusters_) add(c->stats());
  for (const Step& step : steps_) {
    if (step.single != nullptr) add(step.single->stats());
    if (step.mutex == nullptr) continue;
    std::lock_guard<std::mutex> lock(*step.mutex);
    for (const auto& f : step.fallbacks) add(f.second->stats());
  }
  std::lock_guard<std::mutex> lock(functions_mutex_);
  for (const auto& f : functions_) add(f.second->stats());
  return total;
}

std::vector<const GraphExecutor*> GraphExecutor::functions() const {
  std::lock_guard<std::mutex> lock(functions_mutex_);
  std::vector<const GraphExecutor*> out;
  for (const auto& f : functions_) out.push_back(f.second.get());
  return out;
}

}  // namespace xc
