#include "jit/lowering/graph_lowering.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "hlo/base/choices.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/dynamic_array.h"

namespace xc {
namespace {

constexpr int64_t kMaxFoldedElements = 4096;
constexpr int kMaxDepth = 64;

// Whether the op makes an array as large as its operands say.
bool MakesArrays(const std::string& op) {
  static const auto* const kOps =
      new std::set<std::string>{"BroadcastTo", "Fill", "LinSpace", "OneHot", "Pad", "PadV2", "Range", "Tile"};
  return kOps->contains(op);
}

}  // namespace

std::shared_ptr<const Literal> LiteralOf(const HostConstant& constant) {
  std::lock_guard<std::mutex> lock(constant.mutex);
  if (constant.literal == nullptr) constant.literal = std::make_shared<const Literal>(ToLiteral(constant.tensor));
  return constant.literal;
}

Val GraphLowering::Materialize(LoweredValue& value, Emitter& emitter) {
  if (value.array != nullptr) return value.array;
  XC_CHECK(value.constant != nullptr);
  std::shared_ptr<const Literal> literal = LiteralOf(*value.constant);
  Val& slot = constants_[literal.get()];
  if (slot == nullptr) slot = emitter.Constant(literal);
  value.array = slot;
  return slot;
}

absl::Status GraphLowering::RequestConstant(const Node& node, int i) {
  // Backwards from the operand; what depends on shapes only ends the walk.
  std::set<int> seen;
  std::vector<int> todo = {node.inputs[i].node};
  std::set<int> found;
  while (!todo.empty()) {
    int id = todo.back();
    todo.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& n = graph_.node(id);
    if (n.op == "_Arg") {
      int index = static_cast<int>(n.Int("index").value_or(-1));
      if (index >= 0 && index < static_cast<int>(args_.size()) && args_[index].constant == nullptr) found.insert(index);
      continue;
    }
    const Lowering* lowering = LoweringRegistry::Get().Find(n.op);
    if (lowering != nullptr && (lowering->flags & kShapeOnly)) {
      for (int k : ConstantOperands(n, *lowering)) todo.push_back(n.inputs[k].node);
      continue;
    }
    for (const OutputRef& in : n.inputs) todo.push_back(in.node);
  }
  needed_args_.insert(found.begin(), found.end());
  return absl::FailedPreconditionError(absl::StrCat("node '", node.name, "' (", node.op, "): operand ", i, " ('",
                                                    graph_.node(node.inputs[i].node).name,
                                                    "') must be known when the cluster is compiled"));
}

bool GraphLowering::TryFold(const Node& node, const std::vector<LoweredValue>& inputs,
                            std::vector<LoweredValue>* outputs) {
  const HostKernel* kernel = KernelRegistry::Get().Find(node.op);
  if (kernel == nullptr || !kernel->foldable || node.stateful()) return false;
  std::vector<Tensor> tensors;
  int64_t elements = 0;
  for (const LoweredValue& v : inputs) {
    if (v.constant == nullptr) return false;
    elements += v.constant->tensor.num_elements();
    tensors.push_back(v.constant->tensor);
  }
  if (elements > kMaxFoldedElements) return false;
  KernelContext context(node, tensors);
  context.max_elements = kMaxFoldedElements;
  if (!kernel->fn(context).ok()) return false;  // the lowering reports what is wrong
  outputs->resize(node.num_outputs());
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (context.outputs[i].dtype() != node.output_types[i] ||
        ToElementType(node.output_types[i]) == ElementType::kInvalid) {
      return false;
    }
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    LoweredValue& out = (*outputs)[i];
    out.type = node.output_types[i];
    out.dims = context.outputs[i].dims();
    out.constant = std::make_shared<const HostConstant>(std::move(context.outputs[i]));
  }
  return true;
}

void GraphLowering::AlsoCompute(const Node& node, const std::vector<LoweredValue>& inputs,
                                std::vector<LoweredValue>* outputs) {
  bool arrays = MakesArrays(node.op);
  for (const LoweredValue& input : inputs) arrays |= input.array != nullptr;
  const Lowering* lowering = LoweringRegistry::Get().Find(node.op);
  if (!arrays || lowering == nullptr) return;
  OpContext context(node, emitter_, *this, inputs);
  if (!lowering->fn(context).ok()) return;  // they stay known
  for (size_t i = 0; i < outputs->size(); ++i) {
    LoweredValue& known = (*outputs)[i];
    const Val array = context.outputs()[i].array;
    const bool same =
        array != nullptr && array->type() == ToElementType(known.type) && array->shape().dims() == known.dims;
    if (same) known.array = array;
  }
}

void GraphLowering::AddCheck(Emitter& emitter, Val bad) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < bad->shape().rank(); ++i) dims.push_back(i);
  checks_.push_back(emitter.Reduce(bad, emitter.Scalar(ElementType::kPred, 0), dims, HloOpcode::kOr));
}

Val GraphLowering::TakeChecks(Emitter& emitter) {
  Val all = nullptr;
  for (Val check : checks_) all = all == nullptr ? check : emitter.Or(all, check);
  checks_.clear();
  return all;
}

absl::Status GraphLowering::LowerNode(const Node& node) {
  std::vector<LoweredValue>& outputs = values_[node.id];
  if (node.op == "_Arg") {
    XC_ASSIGN_OR_RETURN(int64_t index, node.Int("index"));
    if (index < 0 || index >= static_cast<int64_t>(args_.size())) {
      return absl::InternalError(absl::StrCat("argument ", index, " of '", graph_.name, "' is not given"));
    }
    outputs = {args_[index]};
    return absl::OkStatus();
  }
  std::vector<LoweredValue> inputs;
  for (const OutputRef& in : node.inputs) inputs.push_back(values_[in.node][in.index]);
  if (node.op == "_Retval") {
    XC_ASSIGN_OR_RETURN(int64_t index, node.Int("index"));
    if (index < 0 || index > 100000) return absl::InvalidArgumentError("bad result index");
    if (results_.size() <= static_cast<size_t>(index)) results_.resize(index + 1);
    results_[index] = inputs[0];
    return absl::OkStatus();
  }
  if (node.op == "Const") {
    LoweredValue value;
    value.type = node.output_types[0];
    value.dims = node.constant->tensor.dims();
    value.constant = node.constant;
    outputs = {value};
    return absl::OkStatus();
  }
  if (node.op == "NoOp" || node.op == "ControlTrigger") {
    return absl::OkStatus();
  }
  if (TryFold(node, inputs, &outputs)) {
    if (ForAllSizes()) AlsoCompute(node, inputs, &outputs);
    return absl::OkStatus();
  }
  const Lowering* lowering = LoweringRegistry::Get().Find(node.op);
  if (lowering == nullptr) {
    return absl::UnimplementedError(absl::StrCat("node '", node.name, "': no lowering for op ", node.op));
  }
  emitter_.SetSource(node.op, node.name);
  OpContext context(node, emitter_, *this, std::move(inputs));
  XC_RETURN_IF_ERROR(HasDynamicArray(context) ? LowerDynamicArray(context, lowering->fn) : lowering->fn(context));
  outputs = std::move(context.outputs());
  // A dynamic result would surface far away: every output was set, with the right type.
  for (int i = 0; i < node.num_outputs(); ++i) {
    const LoweredValue& out = outputs[i];
    if (out.array != nullptr && out.array->shape().type() != ToElementType(node.output_types[i])) {
      return absl::InternalError(absl::StrCat("node '", node.name, "' (", node.op, "): output ", i, " is ",
                                              out.array->shape().ToString(false), ", expected ",
                                              DataTypeName(node.output_types[i])));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LoweredValue>> GraphLowering::Run(std::vector<LoweredValue> args) {
  if (depth_ > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("function '", graph_.name, "' is nested too deeply"));
  }
  args_ = std::move(args);
  values_.assign(graph_.size(), {});
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph_.TopologicalOrder());
  for (int id : order) {
    absl::Status status = LowerNode(graph_.node(id));
    if (!status.ok()) {
      failed_node_ = graph_.node(id).name;
      return status;
    }
  }
  return std::move(results_);
}

absl::StatusOr<LoweredCluster> LowerCluster(const Graph& graph, const std::vector<ClusterArg>& args,
                                            std::set<int>* needed, std::string* failed_node) {
  LoweredCluster out;
  out.module = std::make_unique<HloModule>(graph.name);
  HloComputation* entry = out.module->AddComputation("main");
  out.module->set_entry(entry);
  Emitter emitter(out.module.get(), entry);
  std::vector<VariableSlot> variables(args.size());
  std::vector<LoweredValue> values;
  for (size_t i = 0; i < args.size(); ++i) {
    const ClusterArg& arg = args[i];
    LoweredValue value;
    value.type = arg.type;
    value.dims = arg.dims;
    value.constant = arg.constant;
    if (arg.constant == nullptr && arg.initialized) {
      value.array = emitter.Parameter(out.parameter_args.size(), MakeShape(arg.type, arg.dims), absl::StrCat("arg", i));
      out.parameter_args.push_back(static_cast<int>(i));
    }
    if (arg.is_variable) {
      variables[i].type = arg.type;
      variables[i].value = value;
      variables[i].initialized = arg.initialized;
      value = LoweredValue();
      value.type = DT_RESOURCE;
      value.variable = &variables[i];
    }
    values.push_back(std::move(value));
  }
  GraphLowering lowering(graph, emitter);
  auto results = lowering.Run(values);
  if (!results.ok()) {
    *needed = lowering.needed_args();
    if (failed_node != nullptr) *failed_node = lowering.failed_node();
    return results.status();
  }
  std::vector<Val> outputs;
  for (LoweredValue& r : *results) {
    ClusterResult result;
    if (r.array != nullptr) {
      for (size_t i = 0; i < values.size() && result.argument < 0; ++i) {
        // (Several host types share an element type.)
        if (values[i].array == r.array && values[i].type == r.type) result.argument = static_cast<int>(i);
      }
      if (result.argument < 0) {
        // A result that is there already is stored once.
        for (size_t j = 0; j < out.results.size() && result.output < 0; ++j) {
          if ((*results)[j].array == r.array && (*results)[j].type == r.type) result.output = out.results[j].output;
        }
        if (result.output < 0) {
          result.output = static_cast<int>(outputs.size());
          outputs.push_back(r.array);
        }
      }
    } else if (r.constant != nullptr) {
      result.constant = r.constant;
    } else if (r.dynamic != nullptr) {
      result.output = static_cast<int>(outputs.size());
      result.size_output = result.output + 1;
      result.size_axis = r.dynamic->axis;
      outputs.insert(outputs.end(), {r.dynamic->items, r.dynamic->size});
    } else {
      return absl::UnimplementedError(
          absl::StrCat("a result of cluster '", graph.name, "' is neither an array nor a constant"));
    }
    out.results.push_back(std::move(result));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!variables[i].written) continue;
    out.variable_updates.emplace_back(static_cast<int>(i), static_cast<int>(outputs.size()));
    outputs.push_back(lowering.Materialize(variables[i].value, emitter));
  }
  if (Val check = lowering.TakeChecks(emitter); check != nullptr) {
    out.check_output = static_cast<int>(outputs.size());
    outputs.push_back(check);
  }
  if (outputs.empty()) {
    out.module = nullptr;
    return out;
  }
  entry->set_root(emitter.Tuple(outputs));
  entry->RemoveDead();
  out.module->RemoveUnusedComputations();
  return out;
}

}  // namespace xc
