// Lowerings of functional control flow: If, Case, calls and assertions. Bodies are lowered by nested GraphLowerings.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/lowering/callees.h"

namespace xc {
namespace {

// Lowers `graph` where the call stands, with the inputs from `first` on.
absl::Status Inline(OpContext& c, const Graph& graph, int first) {
  std::vector<LoweredValue> args;
  for (int i = first; i < c.num_inputs(); ++i) args.push_back(c.value(i));
  XC_ASSIGN_OR_RETURN(std::vector<LoweredValue> results, LowerInline(c, graph, std::move(args), first));
  if (static_cast<int>(results.size()) != c.num_outputs()) return c.Error("the function has other results");
  for (int i = 0; i < c.num_outputs(); ++i) c.set_value(i, results[i]);
  return absl::OkStatus();
}

absl::Status Call(OpContext& c) {
  XC_ASSIGN_OR_RETURN(NameAttrList f, c.node.Func("f"));
  XC_ASSIGN_OR_RETURN(auto graph, Body(c, f));
  return Inline(c, *graph, 0);
}

// One branch as a computation from the tuple of arrays to the tuple of results, changed variables and checks.
struct Branch {
  HloComputation* computation = nullptr;
  std::vector<LoweredValue> results;
  std::vector<VariableSlot> slots;
  Val check = nullptr;
  std::unique_ptr<Emitter> emitter;
  std::unique_ptr<GraphLowering> lowering;
};

// Whether operand `i` is an argument of the graph as it is.
bool IsArgument(const Graph& graph, const Node& node, int i) {
  const Node* from = &graph.node(node.inputs[i].node);
  while (from->op == "Identity") from = &graph.node(from->inputs[0].node);
  return from->op == "_Arg";
}

absl::Status Conditional(OpContext& c, Val selector, const std::vector<std::shared_ptr<const Graph>>& graphs) {
  int n = c.num_inputs();
  std::vector<Val> leaves;
  std::vector<int> carried(n, -1);
  for (int i = 1; i < n; ++i) {
    LoweredValue& v = c.value(i);
    if (v.list != nullptr && v.list->items == nullptr && v.list->size != nullptr) {
      return c.Unimplemented("a branch on a growing TensorList whose element shape is not known");
    }
    if (v.constant != nullptr || (v.list != nullptr && v.list->items == nullptr)) continue;
    carried[i] = static_cast<int>(leaves.size());
    XC_RETURN_IF_ERROR(Flatten(c, c.graph, c.b, v, &leaves));
  }
  Val operand = c.b.Tuple(leaves);
  std::vector<Branch> branches(graphs.size());
  for (size_t k = 0; k < graphs.size(); ++k) {
    Branch& br = branches[k];
    br.computation = c.b.module()->AddComputation(ComputationName(*graphs[k]));
    br.emitter = std::make_unique<Emitter>(c.b.module(), br.computation);
    Val state = br.emitter->Parameter(0, operand->shape(), "arguments");
    br.lowering = std::make_unique<GraphLowering>(*graphs[k], *br.emitter, c.graph.depth() + 1);
    br.slots.resize(n);
    std::vector<LoweredValue> args;
    for (int i = 1; i < n; ++i) {
      if (carried[i] >= 0) {
        int at = carried[i];
        args.push_back(Rebuild(c.value(i), *br.emitter, state, &at, &br.slots[i]));
      } else {
        args.push_back(c.value(i));
        args.back().array = nullptr;
      }
    }
    auto results = br.lowering->Run(std::move(args));
    if (!results.ok()) return NestedError(c, *br.lowering, results.status(), 1);
    if (static_cast<int>(results->size()) != c.num_outputs()) return c.Error("a branch has other results");
    br.results = *std::move(results);
    br.check = br.lowering->TakeChecks(*br.emitter);
  }
  std::vector<int> written;
  bool checks = false;
  for (const Branch& br : branches) {
    checks |= br.check != nullptr;
    for (int i = 1; i < n; ++i) {
      if (br.slots[i].written && std::find(written.begin(), written.end(), i) == written.end()) written.push_back(i);
    }
  }
  std::vector<HloComputation*> computations;
  for (Branch& br : branches) {
    std::vector<Val> outs;
    for (LoweredValue& r : br.results) XC_RETURN_IF_ERROR(Flatten(c, *br.lowering, *br.emitter, r, &outs));
    for (int i : written) outs.push_back(br.lowering->Materialize(br.slots[i].value, *br.emitter));
    if (checks) outs.push_back(br.check != nullptr ? br.check : br.emitter->Scalar(ElementType::kPred, 0));
    br.computation->set_root(br.emitter->Tuple(outs));
    computations.push_back(br.computation);
    if (!SameShape(br.computation->root()->shape(), computations[0]->root()->shape())) {
      // As many codes as there are branches, where nothing is computed to choose one.
      if (IsArgument(c.graph.graph(), c.node, 0)) return c.graph.RequestConstant(c.node, 0);
      return c.Unimplemented(
          absl::StrCat("branches with different result shapes: ", computations[0]->root()->shape().ToString(false),
                       " and ", br.computation->root()->shape().ToString(false)));
    }
  }
  Val result = c.b.Conditional(selector, computations, std::vector<Val>(branches.size(), operand));
  int leaf = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    const LoweredValue& model = branches[0].results[i];
    if (model.variable != nullptr) return c.Unimplemented("a branch that gives a variable");
    for (const Branch& br : branches) {
      if (br.results[i].dynamic != nullptr) return c.Unimplemented("a branch that gives an array which grew in a loop");
      const ListValue* list = br.results[i].list.get();
      bool same = (list != nullptr) == (model.list != nullptr) &&
                  (list == nullptr || (list->size != nullptr) == (model.list->size != nullptr));
      if (!same) return c.Unimplemented(absl::StrCat("branches that give different lists as result ", i));
    }
    c.set_value(i, Rebuild(model, c.b, result, &leaf, nullptr));
  }
  for (int i : written) {
    VariableSlot& slot = *c.value(i).variable;
    slot.value = LoweredValue();
    slot.value.type = slot.type;
    slot.value.array = c.b.Get(result, leaf++);
    slot.value.dims = slot.value.array->shape().dims();
    slot.written = true;
  }
  if (checks) c.FailIf(c.b.Get(result, leaf));
  return absl::OkStatus();
}

absl::Status If(OpContext& c) {
  XC_ASSIGN_OR_RETURN(NameAttrList then_name, c.node.Func("then_branch"));
  XC_ASSIGN_OR_RETURN(NameAttrList else_name, c.node.Func("else_branch"));
  XC_ASSIGN_OR_RETURN(auto then_graph, Body(c, then_name));
  XC_ASSIGN_OR_RETURN(auto else_graph, Body(c, else_name));
  if (c.rank(0) != 0) {
    // Other shapes ask whether there are any elements.
    XC_ASSIGN_OR_RETURN(int64_t elements, CheckedNumElements(c.dims(0)));
    return Inline(c, elements != 0 ? *then_graph : *else_graph, 1);
  }
  if (c.IsConstant(0)) {
    XC_ASSIGN_OR_RETURN(Tensor t, c.Const(0));
    XC_ASSIGN_OR_RETURN(auto v, t.AsDoubles());
    return Inline(c, v[0] != 0 ? *then_graph : *else_graph, 1);
  }
  return Conditional(c, c.b.Convert(c.in(0), ElementType::kPred), {then_graph, else_graph});
}

absl::Status Case(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto names, c.node.Funcs("branches"));
  if (names.empty()) return c.Error("has no branches");
  XC_RETURN_IF_ERROR(c.RequireRank(0, 0));
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const NameAttrList& name : names) {
    XC_ASSIGN_OR_RETURN(auto graph, Body(c, name));
    graphs.push_back(std::move(graph));
  }
  if (c.IsConstant(0)) {
    XC_ASSIGN_OR_RETURN(int64_t k, c.Int(0));
    if (k < 0 || k >= static_cast<int64_t>(graphs.size())) k = static_cast<int64_t>(graphs.size()) - 1;
    return Inline(c, *graphs[k], 1);
  }
  return Conditional(c, c.in(0), graphs);
}

// A failed assertion makes the host run the ops, which gives its error and prints the data.
absl::Status Assert(OpContext& c) {
  c.FailIf(c.b.Not(c.b.Reshape(c.in(0), {})));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HloComputation*> LowerFunction(OpContext& c, const NameAttrList& function,
                                              const std::vector<DataType>& parameters) {
  XC_ASSIGN_OR_RETURN(auto body, Body(c, function));
  if (body->Args().size() != parameters.size()) {
    return c.Error(absl::StrCat("function '", function.name(), "' takes ", body->Args().size(), " arguments, expected ",
                                parameters.size()));
  }
  HloComputation* computation = c.b.module()->AddComputation(ComputationName(*body));
  Emitter e(c.b.module(), computation);
  GraphLowering nested(*body, e, c.graph.depth() + 1);
  std::vector<LoweredValue> args;
  for (size_t i = 0; i < parameters.size(); ++i) {
    LoweredValue v;
    v.type = parameters[i];
    v.array = e.Parameter(i, Shape::Scalar(ToElementType(parameters[i])), absl::StrCat("p", i));
    args.push_back(std::move(v));
  }
  XC_ASSIGN_OR_RETURN(auto results, nested.Run(std::move(args)));
  if (nested.TakeChecks(e) != nullptr) return c.Unimplemented("a function that may fail on its values");
  std::vector<Val> leaves;
  for (LoweredValue& r : results) XC_RETURN_IF_ERROR(Flatten(c, nested, e, r, &leaves));
  if (leaves.empty()) return c.Error(absl::StrCat("function '", function.name(), "' gives nothing"));
  computation->set_root(leaves.size() == 1 ? leaves[0] : e.Tuple(leaves));
  return computation;
}

void RegisterControlFlow(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  constexpr uint32_t kFlags = kControlFlow | kUsesLists | kUsesVariables;
  r.Add({"While", "StatelessWhile", "XlaWhile"}, kAny, LowerWhile, {}, kFlags);
  r.Add({"If", "StatelessIf", "XlaIf"}, kAny, If, {}, kFlags);
  r.Add({"Case", "StatelessCase"}, kAny, Case, {}, kFlags);
  r.Add({"Assert"}, kAny, Assert, {}, kUsesVariables);
  r.Add({"PartitionedCall", "StatefulPartitionedCall"}, kAny, Call, {}, kFlags);
}

}  // namespace xc
