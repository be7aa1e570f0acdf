// Lowering of functional loops. State that is a TensorList or a variable travels as its array; lists and arrays that
// the loop makes longer as one with capacity for all iterations, and the length so far.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "jit/lowering/callees.h"
#include "jit/lowering/loop_sizes.h"
#include "jit/lowering/unrolled_loop.h"

namespace xc {
namespace {

constexpr int64_t kMaxCapacity = int64_t{64} << 20;  // bytes for all iterations of an array that grows

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
    // Lists that start without an element shape take the one that the body gives them; arrays that the body makes
    // longer get capacity.
    for (int attempt = 0;; ++attempt) {
      bool open = false;
      for (int i = 0; i < n; ++i) open |= c_.value(i).list != nullptr && c_.value(i).list->items == nullptr;
      const size_t growths = growths_.size();
      XC_RETURN_IF_ERROR(LowerBody(/*final=*/false));
      const bool grew = growths_.size() != growths;
      if (grew) XC_RETURN_IF_ERROR(MakeRoom(growths));
      if (!open && !grew) break;
      if (attempt == 3) return c_.Unimplemented("a loop variable whose shape the loop does not settle");
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
    before_.resize(n);
    for (int i = 0; i < n; ++i) {
      const LoweredValue& v = c_.value(i);
      before_[i].constant = v.constant;
      before_[i].has_dims = v.list == nullptr && v.variable == nullptr;
      before_[i].dims = v.dims;
      before_[i].is_list = v.list != nullptr;
      if (v.list == nullptr || v.list->size != nullptr) continue;
      before_[i].length = before_[i].capacity = v.list->length;
      if (ChangesLength(*body_, i)) changing.push_back(i);
    }
    if (changing.empty()) return absl::OkStatus();
    LoopSizes sizes = FindLoopSizes(*condition_, *body_, before_);
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

  // Whether loop variable `i`, whose value after an iteration is `r`, becomes longer along one dimension: capacity is
  // made for it.
  bool Grows(int i, const LoweredValue& r) {
    const LoweredValue& v = c_.value(i);
    if (v.list != nullptr || v.variable != nullptr || v.dynamic != nullptr || (r.array == nullptr && !r.constant) ||
        r.dims.size() != v.dims.size() || r.type != v.type) {
      return false;
    }
    LoopGrowth growth{i, -1, 0};
    for (size_t d = 0; d < r.dims.size(); ++d) {
      if (r.dims[d] == v.dims[d]) continue;
      if (r.dims[d] < v.dims[d] || growth.axis >= 0) return false;
      growth.axis = static_cast<int64_t>(d);
      growth.count = r.dims[d] - v.dims[d];
    }
    if (growth.axis < 0) return false;
    growths_.push_back(growth);
    return true;
  }

  // Arrays of the greatest size that they get for the growths from `first` on.
  absl::Status MakeRoom(size_t first) {
    TripCount iterations = FindTripCount(*condition_, *body_, before_, growths_);
    if (iterations.at_most < 0) {
      absl::Status status =
          c_.Unimplemented("a loop variable that grows as long as nothing bounds the loop's iterations");
      for (int i : iterations.wanted) {
        if (IsInteger(c_.type(i))) status = c_.graph.RequestConstant(c_.node, i);
      }
      return status;
    }
    exact_ = iterations.exact;
    known_after_ = iterations.after;
    for (size_t k = first; k < growths_.size(); ++k) {
      const LoopGrowth& g = growths_[k];
      LoweredValue& v = c_.value(g.variable);
      Dims dims = v.dims;
      dims[g.axis] = std::max<int64_t>(iterations.at_most, 1) * g.count;
      auto bytes = CheckedNumElements(dims);
      if (!bytes.ok() || *bytes * static_cast<int64_t>(DataTypeSize(v.type)) > kMaxCapacity) {
        return c_.Unimplemented(absl::StrCat("loop variable ", g.variable, " grows in up to ", iterations.at_most,
                                             " iterations: capacity for all of them would be too large"));
      }
      Val capacity = c_.b.Full(ToElementType(v.type), dims, 0);
      DynamicArray dynamic;
      dynamic.items = v.dims[g.axis] == 0 ? capacity : c_.b.Concat({c_.in(g.variable), capacity}, g.axis);
      dynamic.size = c_.b.S32(v.dims[g.axis]);
      dynamic.axis = g.axis;
      dynamic.least = v.dims[g.axis];
      dynamic.step = g.count;
      dynamic.variable = g.variable;
      dynamic.zeros = true;
      v.dims = dynamic.items->shape().dims();
      v.constant = nullptr;
      v.array = nullptr;
      v.dynamic = std::make_shared<const DynamicArray>(std::move(dynamic));
    }
    return absl::OkStatus();
  }

  // Whether `r` is what an iteration makes of the growing variable `i`.
  bool IsNext(int i, const LoweredValue& r) const {
    for (const LoopGrowth& g : growths_) {
      if (g.variable != i) continue;
      return r.dynamic != nullptr && r.dynamic->variable == i && r.dynamic->axis == g.axis &&
             r.dynamic->appended <= g.count && r.dynamic->zeros && r.dims == c_.value(i).dims;
    }
    return false;
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
      // Shapes must not change from iteration to iteration.
      for (int i = 0; i < c_.num_inputs(); ++i) {
        if (carried_[i] < 0) continue;
        const LoweredValue& r = (*results)[i];
        if (c_.value(i).dynamic != nullptr) {
          if (!IsNext(i, r)) return c_.Unimplemented(absl::StrCat("loop variable ", i, " grows, but not by itself"));
          continue;
        }
        const Shape& want = shapes_[carried_[i]];
        const Dims* got = r.list != nullptr       ? (r.list->items ? &r.list->items->shape().dims() : nullptr)
                          : r.variable != nullptr ? &r.variable->value.dims
                                                  : &r.dims;
        if (got == nullptr || *got != want.dims()) {
          if (Grows(i, r)) continue;
          return c_.Unimplemented(absl::StrCat("loop variable ", i, " changes its shape from ",
                                               DimsToString(want.dims()), " to ",
                                               got ? DimsToString(*got) : std::string("an unknown one")));
        }
      }
      results_ = *std::move(results);
      for (LoweredValue& r : results_) {
        // Only shapes are looked at from here on; the computation itself is dropped with the unused ones.
        if (r.list == nullptr) r.array = nullptr;
        r.dynamic = nullptr;
      }
      return absl::OkStatus();
    }
    std::vector<Val> next(shapes_.size());
    for (int i = 0; i < c_.num_inputs(); ++i) {
      if (carried_[i] < 0) continue;
      LoweredValue& r = (*results)[i];
      std::vector<Val> leaf;
      XC_RETURN_IF_ERROR(Flatten(c_, nested, e, r, &leaf));
      const LoweredValue& model = c_.value(i);
      size_t want = model.dynamic != nullptr || (model.list != nullptr && model.list->size != nullptr) ? 2 : 1;
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
        if (after.dynamic != nullptr) after = exact_ ? Whole(i, after) : Ended(after);
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

  // A growing variable after the loop: no iteration's arrays are as long as it.
  static LoweredValue Ended(LoweredValue after) {
    auto dynamic = std::make_shared<DynamicArray>(*after.dynamic);
    dynamic->variable = -1;
    after.dynamic = std::move(dynamic);
    return after;
  }

  // The array that the growing variable `i` is after a known trip count.
  LoweredValue Whole(int i, const LoweredValue& after) {
    LoweredValue v;
    v.type = after.type;
    v.array = after.dynamic->items;
    v.dims = after.dims;
    const int64_t axis = after.dynamic->axis;
    if (!known_after_.empty() && known_after_[i].dims != v.dims) {
      v.dims = known_after_[i].dims;
      v.array = c_.b.SliceDim(v.array, axis, 0, v.dims[axis]);
    }
    return v;
  }

  OpContext& c_;
  std::shared_ptr<const Graph> condition_, body_;
  std::vector<bool> constant_;
  std::vector<int> carried_;
  std::vector<int64_t> final_length_;  // of lists whose length changes in the loop; -1 for all else
  std::vector<Known> before_;          // the state before the loop
  std::vector<Known> known_after_;     // the state after the loop, where it is known
  std::vector<LoopGrowth> growths_;    // of the arrays that get longer
  bool exact_ = false;                 // then: whether the trip count is known, and with it their lengths
  std::vector<Shape> shapes_;
  std::vector<LoweredValue> results_;
  std::vector<int> written_;
  bool checks_ = false;
  HloComputation* body_computation_ = nullptr;
};

}  // namespace

absl::Status LowerWhile(OpContext& c) {
  XC_ASSIGN_OR_RETURN(NameAttrList condition, c.node.Func("cond"));
  XC_ASSIGN_OR_RETURN(NameAttrList body, c.node.Func("body"));
  XC_ASSIGN_OR_RETURN(auto condition_graph, Body(c, condition));
  XC_ASSIGN_OR_RETURN(auto body_graph, Body(c, body));
  std::vector<LoweredValue> state;
  for (int i = 0; i < c.num_inputs(); ++i) state.push_back(c.value(i));
  absl::Status status = WhileLowering(c, condition_graph, body_graph).Run();
  if (!absl::IsUnimplemented(status)) return status;
  absl::Status unrolled = LowerUnrolled(c, *condition_graph, *body_graph, std::move(state));
  if (!absl::IsUnimplemented(unrolled)) return unrolled;
  return absl::UnimplementedError(absl::StrCat(status.message(), "; nor iteration by iteration: ", unrolled.message()));
}

}  // namespace xc
