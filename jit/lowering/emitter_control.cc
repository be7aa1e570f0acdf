// The emitter's computations and what runs them: loops, conditionals and calls, with the tuples that they take; and
// instructions that others make, taken in.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/builder/builder.h"
#include "hlo/shape_inference/shape_inference.h"
#include "jit/lowering/emitter.h"

namespace xc {

HloComputation* Emitter::Computation(const std::string& name, const std::vector<Shape>& parameters,
                                     const std::function<Val(Emitter&, const std::vector<Val>&)>& fill) {
  HloComputation* computation = module_->AddComputation(name);
  Emitter inner(module_, computation);
  inner.metadata_ = metadata_;
  std::vector<Val> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    values.push_back(inner.Parameter(i, parameters[i], absl::StrCat("p", i)));
  }
  computation->set_root(fill(inner, values));
  return computation;
}

HloComputation* Emitter::Scalar2(HloOpcode opcode, ElementType type) {
  Shape s = Shape::Scalar(type);
  return Computation(std::string(OpcodeName(opcode)), {s, s}, [&](Emitter& e, const std::vector<Val>& p) {
    return e.Make(opcode, s, {p[0], p[1]});
  });
}

Val Emitter::Tuple(const std::vector<Val>& elements) {
  std::vector<Shape> shapes;
  for (Val v : elements) shapes.push_back(v->shape());
  return Make(HloOpcode::kTuple, Shape::Tuple(shapes), elements);
}

Val Emitter::Get(Val tuple, int64_t index) {
  if (tuple->opcode() == HloOpcode::kTuple) return tuple->operand(index);
  Val v = Make(HloOpcode::kGetTupleElement, tuple->shape().tuple_shape(index), {tuple});
  v->set_attr<AttrKind::kIndex>(index);
  return v;
}

absl::StatusOr<Val> Emitter::AddInferred(std::unique_ptr<HloInstruction> instruction) {
  XC_ASSIGN_OR_RETURN(*instruction->mutable_shape(), InferShape(*instruction));
  if (!metadata_.op_name.empty()) instruction->set_attr<AttrKind::kMetadata>(metadata_);
  return computation_->Add(std::move(instruction));
}

Val Emitter::Built(absl::FunctionRef<Op(HloBuilder&)> make) {
  HloBuilder builder(computation_);
  if (!metadata_.op_name.empty()) builder.SetMetadata(metadata_);
  const Op made = make(builder);
  XC_CHECK(builder.ok());
  return made.instruction();
}

Val Emitter::While(HloComputation* condition, HloComputation* body, Val init) {
  Val v = Make(HloOpcode::kWhile, init->shape(), {init});
  v->AddCalledComputation(condition);
  v->AddCalledComputation(body);
  return v;
}

Val Emitter::Conditional(Val selector, const std::vector<HloComputation*>& branches,
                         const std::vector<Val>& arguments) {
  std::vector<Val> operands = {selector};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  Val v = Make(HloOpcode::kConditional, branches[0]->root()->shape(), operands);
  for (HloComputation* b : branches) v->AddCalledComputation(b);
  return v;
}

Val Emitter::Call(HloComputation* computation, const std::vector<Val>& arguments) {
  Val v = Make(HloOpcode::kCall, computation->root()->shape(), arguments);
  v->AddCalledComputation(computation);
  return v;
}

std::vector<Val> Emitter::Loop(const std::vector<Val>& state, const std::function<Val(Emitter&, Val, Val)>& go_on,
                               const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  std::vector<Val> init = {S32(0)};
  init.insert(init.end(), state.begin(), state.end());
  Val packed = Tuple(init);
  Shape shape = packed->shape();
  HloComputation* condition = Computation(
      "loop_condition", {shape}, [&](Emitter& e, const std::vector<Val>& p) { return go_on(e, e.Get(p[0], 0), p[0]); });
  HloComputation* step = Computation("loop_body", {shape}, [&](Emitter& e, const std::vector<Val>& p) {
    Val i = e.Get(p[0], 0);
    std::vector<Val> current;
    for (size_t k = 0; k < state.size(); ++k) current.push_back(e.Get(p[0], k + 1));
    std::vector<Val> next = body(e, i, current);
    next.insert(next.begin(), e.Add(i, e.S32(1)));
    return e.Tuple(next);
  });
  Val loop = While(condition, step, packed);
  std::vector<Val> out;
  for (size_t k = 0; k < state.size(); ++k) out.push_back(Get(loop, k + 1));
  return out;
}

std::vector<Val> Emitter::ForLoop(int64_t trip_count, const std::vector<Val>& state,
                                  const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  return Loop(
      state, [&](Emitter& e, Val i, Val) { return e.Lt(i, e.S32(trip_count)); }, body);
}

std::vector<Val> Emitter::LoopWhileAny(
    int64_t max_trips, const std::vector<Val>& state,
    const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body) {
  auto go_on = [&](Emitter& e, Val i, Val packed) {
    Val active = e.Get(packed, 1);
    std::vector<int64_t> all(active->shape().rank());
    std::iota(all.begin(), all.end(), 0);
    Val any = e.Reduce(active, e.Scalar(ElementType::kPred, 0), all, HloOpcode::kOr);
    return e.And(any, e.Lt(i, e.S32(max_trips)));
  };
  return Loop(state, go_on, body);
}

std::vector<Val> Emitter::CustomCall(const std::string& target, const std::vector<Shape>& results,
                                     const std::vector<Val>& operands, const std::string& attributes) {
  Val v = Make(HloOpcode::kCustomCall, Shape::Tuple(results), operands);
  v->set_attr<AttrKind::kCustomCallTarget>(target);
  v->set_attr<AttrKind::kApiVersion>("API_VERSION_TYPED_FFI");
  v->set_attr<AttrKind::kBackendConfig>(BackendConfig{attributes, true});
  std::vector<Val> out;
  for (size_t k = 0; k < results.size(); ++k) out.push_back(Get(v, k));
  return out;
}

}  // namespace xc
