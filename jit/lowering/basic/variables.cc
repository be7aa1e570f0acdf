// Lowerings of reads, assignments, gathers and scatters of resource variables. A cluster takes a variable's value as an
// argument and gives the new value back; between reads and writes inside the cluster the slot holds the current one.
#include "jit/lowering/basic/variables.h"

#include "absl/strings/str_cat.h"
#include "jit/lowering/basic/indexing.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {
absl::StatusOr<VariableSlot*> VariableOperand(OpContext& c, int i) {
  VariableSlot* slot = c.value(i).variable;
  if (slot == nullptr) return c.Unimplemented(absl::StrCat("operand ", i, " is not a variable"));
  return slot;
}

absl::StatusOr<Val> VariableValue(OpContext& c, int i) {
  XC_ASSIGN_OR_RETURN(VariableSlot * slot, VariableOperand(c, i));
  if (!slot->initialized) return c.Unimplemented("a variable without a value");
  return c.graph.Materialize(slot->value, c.b);
}

absl::Status SetVariable(OpContext& c, int i, Val v) {
  XC_ASSIGN_OR_RETURN(VariableSlot * slot, VariableOperand(c, i));
  slot->type = ToDataType(v->type());
  slot->value = LoweredValue();
  slot->value.type = slot->type;
  slot->value.array = v;
  slot->value.dims = v->shape().dims();
  slot->initialized = true;
  slot->written = true;
  return absl::OkStatus();
}

namespace {

absl::Status ReadVariable(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  if (ToElementType(c.out_type(0)) != v->type()) return c.Error("the variable has another type");
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status Assign(OpContext& c) { return SetVariable(c, 0, c.in(1)); }

template <HloOpcode kOpcode>
absl::Status AssignUpdate(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  if (v->shape().dims() != c.dims(1)) return c.Error("the value has another shape than the variable");
  return SetVariable(c, 0, c.b.Binary(kOpcode, v, c.in(1)));
}

absl::Status VariableShape(OpContext& c) {
  XC_ASSIGN_OR_RETURN(VariableSlot * slot, VariableOperand(c, 0));
  if (!slot->initialized) return c.Unimplemented("a variable without a value");
  const Dims& dims = slot->value.dims;
  c.set_constant(0, Tensor::Integers(c.out_type(0), dims));
  return absl::OkStatus();
}

absl::Status IsInitialized(OpContext& c) {
  XC_ASSIGN_OR_RETURN(VariableSlot * slot, VariableOperand(c, 0));
  c.set_constant(0, Tensor::Scalar<uint8_t>(DT_BOOL, slot->initialized));
  return absl::OkStatus();
}

absl::Status Gather(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t batch, c.node.Int("batch_dims"));
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  if (batch < 0) batch += c.rank(1);
  XC_ASSIGN_OR_RETURN(Val rows, GatherAlong(c, v, 1, batch, batch));
  c.set(0, rows);
  return absl::OkStatus();
}

absl::Status GatherNd(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  XC_ASSIGN_OR_RETURN(Val slices, GatherSlices(c, v, 1));
  c.set(0, slices);
  return absl::OkStatus();
}

// Rows `indices` of the variable combined with the updates, which may be one scalar.
template <Combine kHow>
absl::Status ScatterRows(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  if (v->shape().rank() < 1) return c.Error("a scalar variable has no rows");
  Dims column = c.dims(1), updates = c.dims(1);
  column.push_back(1);
  updates.insert(updates.end(), v->shape().dims().begin() + 1, v->shape().dims().end());
  Val values = c.rank(2) == 0 ? c.b.BroadcastScalar(c.in(2), updates) : c.in(2);
  XC_ASSIGN_OR_RETURN(v, ScatterInto(c, v, c.b.Reshape(c.in(1), column), values, kHow));
  return SetVariable(c, 0, v);
}

template <Combine kHow>
absl::Status ScatterSlices(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  XC_ASSIGN_OR_RETURN(v, ScatterInto(c, v, c.in(1), c.in(2), kHow));
  return SetVariable(c, 0, v);
}

absl::Status StridedSliceAssign(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, 0));
  XC_ASSIGN_OR_RETURN(v, AssignSlice(c, v));
  return SetVariable(c, 0, v);
}

}  // namespace

void RegisterVariables(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  constexpr uint32_t kFlags = kUsesVariables;
  r.Add({"ReadVariableOp"}, kAny, ReadVariable, {}, kFlags);
  r.Add({"AssignVariableOp"}, kAny, Assign, {}, kFlags);
  r.Add({"AssignAddVariableOp"}, kAny, AssignUpdate<HloOpcode::kAdd>, {}, kFlags);
  r.Add({"AssignSubVariableOp"}, kAny, AssignUpdate<HloOpcode::kSubtract>, {}, kFlags);
  r.Add({"VariableShape"}, kAny, VariableShape, {}, kFlags | kShapeOnly);
  r.Add({"VarIsInitializedOp"}, kAny, IsInitialized, {}, kFlags);
  r.Add({"ResourceGather"}, kAny, Gather, {}, kFlags);
  r.Add({"ResourceGatherNd"}, kAny, GatherNd, {}, kFlags);
  r.Add({"ResourceScatterUpdate"}, kAny, ScatterRows<Combine::kUpdate>, {}, kFlags);
  r.Add({"ResourceScatterAdd"}, kAny, ScatterRows<Combine::kAdd>, {}, kFlags);
  r.Add({"ResourceScatterSub"}, kAny, ScatterRows<Combine::kSub>, {}, kFlags);
  r.Add({"ResourceScatterMul"}, kAny, ScatterRows<Combine::kMul>, {}, kFlags);
  r.Add({"ResourceScatterDiv"}, kAny, ScatterRows<Combine::kDiv>, {}, kFlags);
  r.Add({"ResourceScatterMin"}, kAny, ScatterRows<Combine::kMin>, {}, kFlags);
  r.Add({"ResourceScatterMax"}, kAny, ScatterRows<Combine::kMax>, {}, kFlags);
  r.Add({"ResourceScatterNdUpdate"}, kAny, ScatterSlices<Combine::kUpdate>, {}, kFlags);
  r.Add({"ResourceScatterNdAdd"}, kAny, ScatterSlices<Combine::kAdd>, {}, kFlags);
  r.Add({"ResourceScatterNdSub"}, kAny, ScatterSlices<Combine::kSub>, {}, kFlags);
  r.Add({"ResourceScatterNdMin"}, kAny, ScatterSlices<Combine::kMin>, {}, kFlags);
  r.Add({"ResourceScatterNdMax"}, kAny, ScatterSlices<Combine::kMax>, {}, kFlags);
  r.Add({"ResourceStridedSliceAssign"}, kAny, StridedSliceAssign, {"begin", "end", "strides"}, kFlags);
}

}  // namespace xc
