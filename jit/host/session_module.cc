#include "jit/host/session_module.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/extract.h"
#include "jit/lowering/emitter.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {
namespace {

absl::StatusOr<std::vector<ClusterArg>> InputArgs(const Session& session, const std::vector<Dims>& dims) {
  const std::vector<TensorInfo>& inputs = session.inputs();
  if (!dims.empty() && dims.size() != inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph takes ", inputs.size(), " inputs, but ", dims.size(), " shapes are given"));
  }
  std::vector<ClusterArg> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& input = inputs[i];
    ClusterArg arg;
    arg.type = input.type;
    arg.dims = dims.empty() ? input.shape.dims : dims[i];
    bool open = dims.empty() && !input.shape.known_rank;
    for (int64_t d : arg.dims) open |= d < 0;
    if (open) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", DataTypeName(input.type),
                                                     input.shape.ToString(),
                                                     ", with open sizes: give shapes of all inputs (--shapes)"));
    }
    if (!input.shape.Accepts(arg.dims)) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", DataTypeName(input.type),
                                                     input.shape.ToString(), ", but another shape is given"));
    }
    if (ToElementType(input.type) == ElementType::kInvalid) {
      return absl::UnimplementedError(
          absl::StrCat("input '", input.name, "' is ", DataTypeName(input.type), ", which HLO has no type for"));
    }
    args.push_back(std::move(arg));
  }
  return args;
}

// Makes handles of variables arguments of `graph`, with the variables' values as constants.
absl::Status FreezeVariables(ResourceStore& resources, Graph& graph, std::vector<ClusterArg>* args) {
  std::map<std::string, OutputRef> handles;
  for (int id = 0, size = graph.size(); id < size; ++id) {
    if (!graph.has(id) || graph.node(id).op != "VarHandleOp") continue;
    XC_ASSIGN_OR_RETURN(std::string name, graph.node(id).String("shared_name"));
    XC_ASSIGN_OR_RETURN(const DataType type, graph.node(id).Type("dtype"));
    if (name.empty()) name = graph.node(id).name;
    auto [it, fresh] = handles.emplace(name, OutputRef{});
    if (fresh) {
      const std::shared_ptr<Variable> variable = resources.GetVariable(name, type);
      Tensor value;
      {
        std::lock_guard<std::mutex> lock(variable->mutex);
        value = variable->value;
      }
      if (!value.initialized()) {
        return absl::FailedPreconditionError(absl::StrCat("the variable '", name, "' has no value"));
      }
      ClusterArg arg;
      arg.type = type;
      arg.dims = value.dims();
      arg.constant = std::make_shared<const HostConstant>(std::move(value));
      arg.is_variable = true;
      Node port =
          PortNode(graph, "_Arg", absl::StrCat("variable_", args->size()), DT_RESOURCE, static_cast<int>(args->size()));
      it->second = {graph.Add(std::move(port)).id, 0};
      args->push_back(std::move(arg));
    }
    graph.ReplaceOutput({id, 0}, it->second);
    graph.RedirectControl(id, it->second.node);
    graph.Remove(id);
  }
  return absl::OkStatus();
}

// The parameter of an argument; made where nothing reads it.
HloInstruction* ParameterOf(const LoweredCluster& lowered, int argument) {
  for (size_t p = 0; p < lowered.parameter_args.size(); ++p) {
    if (lowered.parameter_args[p] == argument) return lowered.module->entry()->parameter(static_cast<int64_t>(p));
  }
  return nullptr;
}

// Puts the results in the session's order at the module's root.
absl::Status SetResults(const Session& session, LoweredCluster* lowered) {
  HloComputation* const entry = lowered->module->entry();
  Emitter emitter(lowered->module.get(), entry);
  const HloInstruction* const root = entry->root();
  std::vector<Val> results;
  for (size_t i = 0; i < lowered->results.size(); ++i) {
    const ClusterResult& result = lowered->results[i];
    const std::string& name = session.outputs()[i].name;
    if (result.size_output >= 0) {
      return absl::UnimplementedError(absl::StrCat("the length of output '", name, "' is known to the run only"));
    }
    if (result.output >= 0) {
      results.push_back(root->operand(result.output));
    } else if (result.constant != nullptr) {
      results.push_back(emitter.Constant(LiteralOf(*result.constant)));
    } else if (Val parameter = ParameterOf(*lowered, result.argument); parameter != nullptr) {
      results.push_back(parameter);
    } else {
      return absl::UnimplementedError(absl::StrCat("output '", name, "' is a variable's handle"));
    }
  }
  entry->set_root(results.size() == 1 ? results[0] : emitter.Tuple(results));
  entry->RemoveDead();
  lowered->module->RemoveUnusedComputations();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SessionModule> LowerSession(Session& session, const std::vector<Dims>& dims) {
  XC_ASSIGN_OR_RETURN(std::vector<ClusterArg> args, InputArgs(session, dims));
  Graph graph = session.executor().original().Clone();
  XC_RETURN_IF_ERROR(FreezeVariables(session.resources(), graph, &args));
  std::set<int> needed;
  absl::StatusOr<LoweredCluster> lowered = LowerCluster(graph, args, &needed);
  if (!lowered.ok() && !needed.empty() && *needed.begin() < static_cast<int>(session.inputs().size())) {
    return absl::FailedPreconditionError(absl::StrCat("the value of input '", session.inputs()[*needed.begin()].name,
                                                      "' must be known to compile it: ", lowered.status().message()));
  }
  XC_RETURN_IF_ERROR(lowered.status());
  if (!lowered->variable_updates.empty()) {
    return absl::UnimplementedError("the graph writes variables, which a program ahead of time has none of");
  }
  if (lowered->module == nullptr) {
    return absl::UnimplementedError("all outputs are constants or inputs: there is nothing to compile");
  }
  XC_RETURN_IF_ERROR(SetResults(session, &*lowered));
  return SessionModule{std::move(lowered->module), lowered->check_output >= 0};
}

}  // namespace xc
