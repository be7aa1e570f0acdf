// Lowerings of functional control flow: While, If, Case and calls. Bodies are lowered by nested GraphLowerings; state
// that is a TensorList or a variable travels as its array.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jit/lowering/graph_lowering.h"
#include "jit/lowering/list_sizes.h"

namespace xc {
namespace {

// The name of a function as HLO's text takes it.
std::string ComputationName(const Graph& function) {
  std::string name = function.name;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
  }
  return name;
}

absl::StatusOr<std::shared_ptr<const Graph>> Body(OpContext& c, const NameAttrList& name) {
  const auto library = c.graph.graph().library();
  if (library == nullptr) return c.Error("calls a function, but the graph has no library");
  auto body = library->Instantiate(name, library);
  if (!body.ok()) return c.Error(std::string(body.status().message()));
  return *body;
}

// The arrays that a value consists of: one, or two for a list whose length changes.
absl::Status Flatten(OpContext& c, GraphLowering& graph, Emitter& b, LoweredValue& v, std::vector<Val>* leaves) {
  if (v.list != nullptr) {
    if (v.list->items == nullptr) return c.Unimplemented("a TensorList whose element shape is not known");
    leaves->push_back(v.list->items);
    if (v.list->size != nullptr) leaves->push_back(v.list->size);
  } else if (v.variable != nullptr) {
    if (!v.variable->initialized) return c.Unimplemented("a variable without a value");
    leaves->push_back(graph.Materialize(v.variable->value, b));
  } else if (v.array != nullptr || v.constant != nullptr) {
    leaves->push_back(graph.Materialize(v, b));
  } else {
    return c.Unimplemented("a value that is neither an array nor a TensorList");
  }
  return absl::OkStatus();
}

// A value like `model` made of other arrays: the leaves from `*at` on of the tuple. Variables get the slot `slot`.
LoweredValue Rebuild(const LoweredValue& model, Emitter& b, Val tuple, int* at, VariableSlot* slot) {
  LoweredValue v;
  v.type = model.type;
  Val leaf = b.Get(tuple, (*at)++);
  if (model.list != nullptr) {
    v.list = std::make_shared<ListValue>(*model.list);
    v.list->items = leaf;
    if (v.list->size != nullptr) v.list->size = b.Get(tuple, (*at)++);
  } else if (model.variable != nullptr) {
    slot->type = model.variable->type;
    slot->value = LoweredValue();
    slot->value.type = slot->type;
    slot->value.array = leaf;
    slot->value.dims = leaf->shape().dims();
    slot->initialized = true;
    slot->written = false;
    v.variable = slot;
  } else {
    v.array = leaf;
    v.dims = leaf->shape().dims();
  }
  return v;
}

// The error of a nested lowering; what it needs constant is asked of this graph's arguments, if they may be.
absl::Status NestedError(OpContext& c, const GraphLowering& nested, const absl::Status& status, int first_operand) {
  bool asked = false;
  for (int arg : nested.needed_args()) {
    int operand = arg + first_operand;
    if (operand < c.num_inputs() && c.value(operand).constant == nullptr && c.value(operand).list == nullptr) {
      (void)c.graph.RequestConstant(c.node, operand);
      asked = true;
    }
  }
  if (!nested.needed_args().empty() && !asked) {
    return absl::UnimplementedError(
        absl::StrCat(absl::string_view(status.message()), "; it is computed from a value that changes in the loop"));
  }
  return status;
}

// Whether result `i` of the body is its argument `i` unchanged.
bool IsInvariant(const Graph& body, const std::vector<int>& rets, int i) {
  if (i >= static_cast<int>(rets.size())) return false;
  OutputRef at = body.node(rets[i]).inputs[0];
  for (;;) {
    const Node& n = body.node(at.node);
    if (n.op == "_Arg") return n.Int("index").value_or(-1) == i;
    if (n.op != "Identity" && n.op != "StopGradient") return false;
    at = n.inputs[0];
  }
}

// One lowering of body or condition into a fresh computation. `carried[i]` is the leaf number of input i, -1 if it is
// passed as a constant or as a list that has no array yet.
struct LoopPart {
  HloComputation* computation = nullptr;
  std::vector<LoweredValue> results;
  bool has_checks = false;
};

class WhileLowering {
 public:
  WhileLowering(OpContext& c, std::shared_ptr<const Graph> condition, std::shared_ptr<const Graph> body)
      : c_(c), condition_(std::move(condition)), body_(std::move(body)) {}

  absl::Status Run() {
    int n = c_.num_inputs();
    std::vector<int> rets = body_->Retvals();
    if (static_cast<int>(rets.size()) != n || static_cast<int>(body_->Args().size()) != n) {
      return c_.Error("the body's signature differs from the loop's");
    }
    constant_.assign(n, false);
    for (int i = 0; i < n; ++i) constant_[i] = c_.IsConstant(i) && IsInvariant(*body_, rets, i);
    XC_RETURN_IF_ERROR(FixLengths());
    // Lists that start without an element shape take the one that the body gives them.
    for (int attempt = 0;; ++attempt) {
      bool open = false;
      for (int i = 0; i < n; ++i) open |= c_.value(i).list != nullptr && c_.value(i).list->items == nullptr;
      XC_RETURN_IF_ERROR(LowerBody(/*final=*/false));
      if (!open) break;
      if (attempt == 3) return c_.Unimplemented("a TensorList whose element shape the loop does not settle");
      for (int i = 0; i < n; ++i) {
        std::shared_ptr<ListValue> list = c_.value(i).list;
        if (list == nullptr || list->items != nullptr) continue;
        const std::shared_ptr<ListValue>& after = results_[i].list;
        if (after == nullptr || after->items == nullptr) continue;
        auto fresh = std::make_shared<ListValue>(*list);
        fresh->items = c_.b.Zeros(after->items->shape());
        c_.value(i).list = fresh;
      }
    }
    return Emit();
  }

 private:
  // Lists that the loop grows or shrinks get arrays of their greatest length, and a count that changes with the loop.
  absl::Status FixLengths() {
    int n = c_.num_inputs();
    final_length_.assign(n, -1);
    std::vector<int> changing;
    std::vector<Known> before(n);
    for (int i = 0; i < n; ++i) {
      const LoweredValue& v = c_.value(i);
      before[i].constant = v.constant;
      before[i].has_dims = v.list == nullptr && v.variable == nullptr;
      before[i].dims = v.dims;
      before[i].is_list = v.list != nullptr;
      if (v.list == nullptr || v.list->size != nullptr) continue;
      before[i].length = before[i].capacity = v.list->length;
      if (ChangesLength(*body_, i)) changing.push_back(i);
    }
    if (changing.empty()) return absl::OkStatus();
    LoopSizes sizes = FindLoopSizes(*condition_, *body_, before);
    if (sizes.after.empty()) {
      // Small integers may join the cache key; a bound that hangs on other values is none.
      bool askable = !sizes.wanted.empty();
      for (int i : sizes.wanted) {
        const LoweredValue& v = c_.value(i);
        askable &= (IsInteger(v.type) || v.type == DT_BOOL) && CheckedNumElements(v.dims).value_or(1 << 20) <= 16;
      }
      absl::Status status = absl::OkStatus();
      for (int i : sizes.wanted) {
        if (askable) status = c_.graph.RequestConstant(c_.node, i);
      }
      if (askable && c_.graph.needs_args()) return status;
      return c_.Unimplemented(absl::StrCat("a TensorList that changes its length in a loop: ", sizes.why));
    }
    known_after_ = sizes.after;
    for (int i : changing) {
      int64_t capacity = std::max<int64_t>(sizes.after[i].capacity, 1);
      if (!sizes.after[i].is_list || sizes.after[i].length < 0) {
        return c_.Unimplemented("a TensorList that changes its length in a loop in a way that is not known");
      }
      final_length_[i] = sizes.after[i].length;
      auto list = std::make_shared<ListValue>(*c_.value(i).list);
      list->size = c_.b.S32(list->length);
      if (list->items != nullptr && capacity > list->length) {
        Dims more = list->items->shape().dims();
        more[0] = capacity - list->length;
        Val zeros = c_.b.Full(ToElementType(list->element_type), more, 0);
        list->items = list->length == 0 ? zeros : c_.b.Concat({list->items, zeros}, 0);
      }
      list->length = capacity;
      c_.value(i).list = list;
    }
    return absl::OkStatus();
  }

  // The state as leaves and the arguments that a part sees, given the leaves' values in that part.
  absl::Status StateLeaves(std::vector<Val>* leaves) {
    carried_.assign(c_.num_inputs(), -1);
    for (int i = 0; i < c_.num_inputs(); ++i) {
      LoweredValue& v = c_.value(i);
      if (constant_[i] || (v.list != nullptr && v.list->items == nullptr)) continue;
      carried_[i] = static_cast<int>(leaves->size());
      XC_RETURN_IF_ERROR(Flatten(c_, c_.graph, c_.b, v, leaves));
    }
    return absl::OkStatus();
  }

  std::vector<LoweredValue> PartArguments(Emitter& e, Val state, std::vector<VariableSlot>* slots) {
    std::vector<LoweredValue> args;
    slots->resize(c_.num_inputs());
    for (int i = 0; i < c_.num_inputs(); ++i) {
      if (carried_[i] >= 0) {
        int at = carried_[i];
        args.push_back(Rebuild(c_.value(i), e, state, &at, &(*slots)[i]));
      } else {
        LoweredValue v = c_.value(i);
        v.array = nullptr;
        if (v.list != nullptr && v.list->size != nullptr) {
          v.list = std::make_shared<ListValue>(*v.list);
          v.list->size = e.S32(0);  // this lowering only looks for the element shape
        }
        args.push_back(std::move(v));
      }
    }
    return args;
  }

  // Lowers the body; the final one returns the state, the others are there to learn shapes and checks.
  absl::Status LowerBody(bool final) {
    std::vector<Val> leaves;
    if (!final) {
      XC_RETURN_IF_ERROR(StateLeaves(&leaves));
      shapes_.clear();
      for (Val v : leaves) shapes_.push_back(v->shape());
    }
    std::vector<Shape> shapes = shapes_;
    if (final && checks_) shapes.push_back(Shape::Scalar(ElementType::kPred));
    HloComputation* computation = c_.b.module()->AddComputation(ComputationName(*body_));
    Emitter e(c_.b.module(), computation);
    Val state = e.Parameter(0, Shape::Tuple(shapes), "state");
    GraphLowering nested(*body_, e, c_.graph.depth() + 1);
    std::vector<VariableSlot> slots;
    auto results = nested.Run(PartArguments(e, state, &slots));
    if (!results.ok()) return NestedError(c_, nested, results.status(), 0);
    Val check = nested.TakeChecks(e);
    if (!final) {
      checks_ = check != nullptr;
      // Shapes must not change from turn to turn.
      for (int i = 0; i < c_.num_inputs(); ++i) {
        if (carried_[i] < 0) continue;
        const LoweredValue& r = (*results)[i];
        const Shape& want = shapes_[carried_[i]];
        const Dims* got = r.list != nullptr       ? (r.list->items ? &r.list->items->shape().dims() : nullptr)
                          : r.variable != nullptr ? &r.variable->value.dims
                                                  : &r.dims;
        if (got == nullptr || *got != want.dims()) {
          return c_.Unimplemented(absl::StrCat("loop variable ", i, " changes its shape from ",
                                               DimsToString(want.dims()), " to ",
                                               got ? DimsToString(*got) : std::string("an unknown one")));
        }
      }
      results_ = *std::move(results);
      for (LoweredValue& r : results_) {
        // Only shapes are looked at from here on; the computation itself is dropped with the unused ones.
        if (r.list == nullptr) r.array = nullptr;
      }
      return absl::OkStatus();
    }
    std::vector<Val> next(shapes_.size());
    for (int i = 0; i < c_.num_inputs(); ++i) {
      if (carried_[i] < 0) continue;
      LoweredValue& r = (*results)[i];
      std::vector<Val> leaf;
      XC_RETURN_IF_ERROR(Flatten(c_, nested, e, r, &leaf));
      size_t want = c_.value(i).list != nullptr && c_.value(i).list->size != nullptr ? 2 : 1;
      if (leaf.size() != want) return c_.Unimplemented(absl::StrCat("loop variable ", i, " becomes another list"));
      std::copy(leaf.begin(), leaf.end(), next.begin() + carried_[i]);
      if (slots[i].written) written_.push_back(i);
    }
    if (checks_) next.push_back(e.Or(e.Get(state, shapes_.size()), check));
    computation->set_root(e.Tuple(next));
    body_computation_ = computation;
    return absl::OkStatus();
  }

  absl::Status Emit() {
    std::vector<Val> leaves;
    XC_RETURN_IF_ERROR(StateLeaves(&leaves));
    XC_RETURN_IF_ERROR(LowerBody(/*final=*/true));
    if (checks_) leaves.push_back(c_.b.Scalar(ElementType::kPred, 0));
    Val init = c_.b.Tuple(leaves);
    HloComputation* computation = c_.b.module()->AddComputation(ComputationName(*condition_));
    Emitter e(c_.b.module(), computation);
    Val state = e.Parameter(0, init->shape(), "state");
    GraphLowering nested(*condition_, e, c_.graph.depth() + 1);
    std::vector<VariableSlot> slots;
    auto results = nested.Run(PartArguments(e, state, &slots));
    if (!results.ok()) return NestedError(c_, nested, results.status(), 0);
    if (results->size() != 1 || !(*results)[0].dims.empty() || (*results)[0].type != DT_BOOL) {
      return c_.Unimplemented("a loop condition that is not one bool");
    }
    Val go = nested.Materialize((*results)[0], e);
    if (checks_) go = e.And(go, e.Not(e.Get(state, shapes_.size())));
    computation->set_root(go);
    Val loop = c_.b.While(computation, body_computation_, init);
    for (int i = 0; i < c_.num_outputs(); ++i) {
      if (carried_[i] < 0) {
        if (final_length_[i] >= 0) return c_.Unimplemented("a growing TensorList whose element shape is not known");
        c_.set_value(i, c_.value(i));
        continue;
      }
      const LoweredValue& model = c_.value(i);
      if (model.variable != nullptr) {
        Val leaf = c_.b.Get(loop, carried_[i]);
        if (std::find(written_.begin(), written_.end(), i) != written_.end()) {
          model.variable->value = LoweredValue();
          model.variable->value.type = model.variable->type;
          model.variable->value.array = leaf;
          model.variable->value.dims = leaf->shape().dims();
          model.variable->written = true;
        }
        c_.set_value(i, model);
      } else {
        int at = carried_[i];
        LoweredValue after = Rebuild(model, c_.b, loop, &at, nullptr);
        if (final_length_[i] >= 0) {
          // After the loop the length is known.
          if (final_length_[i] < after.list->length) {
            after.list->items = c_.b.SliceDim(after.list->items, 0, 0, final_length_[i]);
          }
          after.list->length = final_length_[i];
          after.list->size = nullptr;
        }
        // The counter of a loop tells that of its gradient.
        if (!known_after_.empty() && (IsInteger(model.type) || model.type == DT_BOOL)) {
          after.constant = known_after_[i].constant;
        }
        c_.set_value(i, std::move(after));
      }
    }
    if (checks_) c_.FailIf(c_.b.Get(loop, shapes_.size()));
    return absl::OkStatus();
  }

  OpContext& c_;
  std::shared_ptr<const Graph> condition_, body_;
  std::vector<bool> constant_;
  std::vector<int> carried_;
  std::vector<int64_t> final_length_;  // of lists whose length changes in the loop; -1 for all else
  std::vector<Known> known_after_;     // the state after the loop, where FixLengths found it
  std::vector<Shape> shapes_;
  std::vector<LoweredValue> results_;
  std::vector<int> written_;
  bool checks_ = false;
  HloComputation* body_computation_ = nullptr;
};

absl::Status While(OpContext& c) {
  XC_ASSIGN_OR_RETURN(NameAttrList condition, c.node.Func("cond"));
  XC_ASSIGN_OR_RETURN(NameAttrList body, c.node.Func("body"));
  XC_ASSIGN_OR_RETURN(auto condition_graph, Body(c, condition));
  XC_ASSIGN_OR_RETURN(auto body_graph, Body(c, body));
  return WhileLowering(c, condition_graph, body_graph).Run();
}

// Lowers `graph` where the call stands, with the inputs from `first` on.
absl::Status Inline(OpContext& c, const Graph& graph, int first) {
  GraphLowering nested(graph, c.b, c.graph.depth() + 1);
  std::vector<LoweredValue> args;
  for (int i = first; i < c.num_inputs(); ++i) args.push_back(c.value(i));
  auto results = nested.Run(std::move(args));
  if (!results.ok()) return NestedError(c, nested, results.status(), first);
  if (Val check = nested.TakeChecks(c.b); check != nullptr) c.FailIf(check);
  if (static_cast<int>(results->size()) != c.num_outputs()) return c.Error("the function has other results");
  for (int i = 0; i < c.num_outputs(); ++i) c.set_value(i, (*results)[i]);
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
  r.Add({"While", "StatelessWhile", "XlaWhile"}, kAny, While, {}, kFlags);
  r.Add({"If", "StatelessIf", "XlaIf"}, kAny, If, {}, kFlags);
  r.Add({"Case", "StatelessCase"}, kAny, Case, {}, kFlags);
  r.Add({"Assert"}, kAny, Assert, {}, kUsesVariables);
  r.Add({"PartitionedCall", "StatefulPartitionedCall"}, kAny, Call, {}, kFlags);
}

}  // namespace xc
