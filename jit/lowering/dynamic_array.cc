#include "jit/lowering/dynamic_array.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/graph/fused.h"

namespace xc {
namespace {

absl::Status Refused(const OpContext& c, absl::string_view how) {
  return c.Unimplemented(absl::StrCat("an operand that grows in a loop", how));
}

LoweredValue ArrayValue(DataType type, Val array) {
  LoweredValue v;
  v.type = type;
  v.array = array;
  v.dims = array->shape().dims();
  return v;
}

LoweredValue DynamicArrayValue(DataType type, DynamicArray dynamic) {
  LoweredValue v;
  v.type = type;
  v.dims = dynamic.items->shape().dims();
  v.dynamic = std::make_shared<const DynamicArray>(std::move(dynamic));
  return v;
}

// Output 0 as the array that `x` became, which grows along `axis`.
void SetDynamicArray(OpContext& c, DynamicArray x, int64_t axis, bool zeros) {
  x.items = c.outputs()[0].array;
  x.axis = axis;
  x.zeros = zeros;
  c.set_value(0, DynamicArrayValue(c.out_type(0), std::move(x)));
}

// Parts `first` to `last` one after the other, the first of which grows.
absl::Status Append(OpContext& c, int first, int last, int axis_operand) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(axis_operand));
  if (c.value(first).dynamic == nullptr) return Refused(c, ", not as the first part");
  DynamicArray dynamic = *c.value(first).dynamic;
  if (dynamic.variable < 0) return Refused(c, ", after which there is no capacity");
  const int64_t rank = c.rank(first);
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, rank));
  if (axis != dynamic.axis) return Refused(c, ", along another dimension");
  std::vector<Val> parts;
  for (int i = first + 1; i <= last; ++i) {
    if (c.value(i).dynamic != nullptr) return Refused(c, ", twice");
    Dims like = c.dims(i);
    if (static_cast<int64_t>(like.size()) == rank) like[axis] = c.dims(first)[axis];
    if (like != c.dims(first)) {
      return c.Error(absl::StrCat("part ", i - first, " has shape ", DimsToString(c.dims(i)), ", the first ",
                                  DimsToString(c.dims(first)), " but for dimension ", axis));
    }
    parts.push_back(c.in(i));
  }
  if (!parts.empty()) {
    Val more = c.b.Concat(parts, axis);
    std::vector<Val> starts(rank, c.b.S32(0));
    starts[axis] = dynamic.size;
    const int64_t count = more->shape().dims()[axis];
    dynamic.items = c.b.DynamicUpdateSlice(dynamic.items, more, starts);
    dynamic.size = c.b.Add(dynamic.size, c.b.S32(count));
    dynamic.appended += count;
    dynamic.least += count;
  }
  c.set_value(0, DynamicArrayValue(c.type(first), dynamic));
  return absl::OkStatus();
}

// The entry of a strided slice's operands that names dimension `axis` of `rank`; -1 if none does.
absl::StatusOr<int64_t> EntryOf(OpContext& c, int64_t axis, int64_t rank, int64_t entries) {
  XC_ASSIGN_OR_RETURN(int64_t ellipsis, c.node.Int("ellipsis_mask"));
  XC_ASSIGN_OR_RETURN(int64_t new_axis, c.node.Int("new_axis_mask"));
  int64_t named = 0, at = 0;
  for (int64_t i = 0; i < entries; ++i) named += !(ellipsis >> i & 1) && !(new_axis >> i & 1);
  for (int64_t i = 0; i < entries; ++i) {
    if (ellipsis >> i & 1) {
      at += rank - named;
      if (at > axis) return -1;
    } else if (!(new_axis >> i & 1) && at++ == axis) {
      return i;
    }
  }
  return -1;
}

// x[:, -2:] and the like: of the last elements, which are cut out first.
absl::Status SliceOfEnd(OpContext& c, LoweringFn lowering) {
  const DynamicArray& x = *c.value(0).dynamic;
  XC_ASSIGN_OR_RETURN(auto begin, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto end, c.Ints(2));
  XC_ASSIGN_OR_RETURN(auto strides, c.Ints(3));
  if (begin.size() > 32 || end.size() != begin.size() || strides.size() != begin.size()) {
    return c.Error("begin, end and strides must have the same length, at most 32");
  }
  XC_ASSIGN_OR_RETURN(const int64_t at, EntryOf(c, x.axis, c.rank(0), static_cast<int64_t>(begin.size())));
  XC_ASSIGN_OR_RETURN(const int64_t begin_mask, c.node.Int("begin_mask"));
  XC_ASSIGN_OR_RETURN(const int64_t end_mask, c.node.Int("end_mask"));
  XC_ASSIGN_OR_RETURN(const int64_t shrink, c.node.Int("shrink_axis_mask"));
  const bool from_end = at >= 0 && !(begin_mask >> at & 1) && begin[at] < 0 && strides[at] > 0 &&
                        ((shrink >> at & 1) || (end_mask >> at & 1) || end[at] < 0);
  if (!from_end || -begin[at] > x.least) return Refused(c, ", of which not a known number of last elements is taken");
  const int64_t count = -begin[at];
  Dims dims = x.items->shape().dims();
  dims[x.axis] = count;
  std::vector<Val> starts(dims.size(), c.b.S32(0));
  starts[x.axis] = c.b.Sub(x.size, c.b.S32(count));
  c.value(0) = ArrayValue(c.type(0), c.b.DynamicSlice(x.items, starts, dims));
  return lowering(c);
}

// Picks along another dimension than the one that grows.
absl::Status PickElsewhere(OpContext& c, LoweringFn lowering) {
  if (c.value(0).dynamic == nullptr || c.value(1).dynamic != nullptr) return Refused(c, " as indices");
  const DynamicArray x = *c.value(0).dynamic;
  int64_t axis = 0, batch = 0;
  if (c.node.op == "GatherV2") {
    XC_ASSIGN_OR_RETURN(axis, c.Int(2));
    XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
    batch = c.node.Int("batch_dims").value_or(0);
    if (batch < 0) batch += c.rank(1);
  }
  if (x.axis == axis || x.axis < batch) return Refused(c, ", along that dimension");
  c.value(0) = ArrayValue(c.type(0), x.items);
  XC_RETURN_IF_ERROR(lowering(c));
  SetDynamicArray(c, x, x.axis > axis ? x.axis + c.rank(1) - batch - 1 : x.axis, x.zeros);
  return absl::OkStatus();
}

absl::Status ShapeOf(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    Val shape = c.b.Vector(c.out_etype(i), c.dims(i));
    if (const DynamicArray* x = c.value(i).dynamic.get(); x != nullptr) {
      Val size = c.b.Reshape(c.b.Convert(x->size, c.out_etype(i)), {1});
      shape = c.b.DynamicUpdateSlice(shape, size, {c.b.S32(x->axis)});
    }
    c.set(i, shape);
  }
  return absl::OkStatus();
}

// Whether two arrays are of the same length at any time: in one iteration of a loop, or after one if it is one array's.
bool SameLength(const DynamicArray& a, const DynamicArray& b) {
  if (a.variable < 0 || b.variable < 0) return a.size == b.size;
  return a.least == b.least && a.appended == b.appended && a.step == b.step;
}

// The array with `fill`, a scalar, behind its last element.
Val Filled(Emitter& b, const DynamicArray& x, Val fill) {
  Val place = b.Iota(ElementType::kS32, x.items->shape().dims(), x.axis);
  return b.Select(b.Lt(place, b.BroadcastScalar(x.size, place->shape().dims())), x.items, fill);
}

Val WithZeros(Emitter& b, const DynamicArray& x) {
  return x.zeros ? x.items : Filled(b, x, b.Scalar(x.items->type(), 0));
}

absl::Status Elementwise(OpContext& c, LoweringFn lowering) {
  const DynamicArray* x = nullptr;
  int64_t rank = 0;
  // Of the dimension that grows: its place from the last one on, and its size.
  int64_t from_end = 0, capacity = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    rank = std::max(rank, c.rank(i));
    const DynamicArray* dynamic = c.value(i).dynamic.get();
    if (dynamic == nullptr) continue;
    const int64_t place = c.rank(i) - dynamic->axis, size = c.dims(i)[dynamic->axis];
    if (x != nullptr && (place != from_end || size != capacity || !SameLength(*x, *dynamic))) {
      return Refused(c, ", beside one that grows in another way");
    }
    x = dynamic;
    from_end = place;
    capacity = size;
  }
  const DynamicArray dynamic = *x;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.value(i).dynamic != nullptr) {
      c.value(i) = ArrayValue(c.type(i), c.value(i).dynamic->items);
    } else if (c.rank(i) >= from_end && c.dims(i)[c.rank(i) - from_end] != 1) {
      return Refused(c, ", beside one of fixed length");
    }
  }
  XC_RETURN_IF_ERROR(lowering(c));
  SetDynamicArray(c, dynamic, rank - from_end, false);
  return absl::OkStatus();
}

absl::Status Product(OpContext& c, LoweringFn lowering) {
  const bool matrices = c.node.op == "MatMul" || c.node.op == "_FusedMatMul";
  XC_ASSIGN_OR_RETURN(const bool x_turned, c.node.Bool(matrices ? "transpose_a" : "adj_x"));
  XC_ASSIGN_OR_RETURN(const bool y_turned, c.node.Bool(matrices ? "transpose_b" : "adj_y"));
  if (c.rank(0) < 2 || c.rank(1) < 2) return c.Error("operands must be matrices");
  const int64_t x_row = c.rank(0) - (x_turned ? 1 : 2), x_sum = c.rank(0) - (x_turned ? 2 : 1);
  const int64_t y_column = c.rank(1) - (y_turned ? 2 : 1), y_sum = c.rank(1) - (y_turned ? 1 : 2);
  const std::shared_ptr<const DynamicArray> x = c.value(0).dynamic, y = c.value(1).dynamic;
  const int64_t rank = std::max(c.rank(0), c.rank(1));
  // What a fused op does to the product has to fit it as it is, but for one element or row for all of what grows.
  const int64_t from_end = x != nullptr ? 2 : 1;
  for (int i = 2; i < c.num_inputs(); ++i) {
    const DynamicArray* other = c.value(i).dynamic.get();
    const DynamicArray* with = x != nullptr ? x.get() : y.get();
    const bool both = x != nullptr && y != nullptr;
    if (other != nullptr && !both && with != nullptr && c.rank(i) - other->axis == from_end &&
        SameLength(*other, *with)) {
      c.value(i) = ArrayValue(c.type(i), other->items);
    } else if (other != nullptr || with == nullptr ||
               (!both && c.rank(i) >= from_end && c.dims(i)[c.rank(i) - from_end] != 1)) {
      return Refused(c, ", beside one of another length");
    }
  }
  if (x != nullptr && y != nullptr) {
    const bool summed = x->axis == x_sum && y->axis == y_sum && SameLength(*x, *y);
    if (!summed || c.dims(0)[x_sum] != c.dims(1)[y_sum]) return Refused(c, ", twice");
    c.value(0) = ArrayValue(c.type(0), WithZeros(c.b, *x));
    c.value(1) = ArrayValue(c.type(1), WithZeros(c.b, *y));
    return lowering(c);
  }
  const DynamicArray& dynamic = x != nullptr ? *x : *y;
  if (dynamic.axis != (x != nullptr ? x_row : y_column)) return Refused(c, ", along the sum or a batch");
  const int operand = x != nullptr ? 0 : 1;
  c.value(operand) = ArrayValue(c.type(operand), dynamic.items);
  XC_RETURN_IF_ERROR(lowering(c));
  SetDynamicArray(c, dynamic, rank - (x != nullptr ? 2 : 1), false);
  return absl::OkStatus();
}

absl::Status Softmax(OpContext& c, LoweringFn lowering) {
  const DynamicArray x = *c.value(0).dynamic;
  const bool along = x.axis == c.rank(0) - 1;
  c.value(0) = ArrayValue(c.type(0), along ? Filled(c.b, x, c.b.Lowest(x.items->type())) : x.items);
  XC_RETURN_IF_ERROR(lowering(c));
  SetDynamicArray(c, x, x.axis, along && c.node.op == "Softmax" && x.least > 0);
  return absl::OkStatus();
}

absl::Status Reduction(OpContext& c, LoweringFn lowering) {
  if (c.value(1).dynamic != nullptr) return Refused(c, " as axes");
  const DynamicArray x = *c.value(0).dynamic;
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.Ints(1));
  XC_ASSIGN_OR_RETURN(const bool keep, c.node.Bool("keep_dims"));
  bool along = false;
  int64_t axis = x.axis;
  std::vector<bool> seen(c.rank(0), false);
  for (int64_t& a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.rank(0)));
    along |= a == x.axis;
    if (a < x.axis && !keep && !seen[a]) --axis;
    seen[a] = true;
  }
  const std::string& op = c.node.op;
  const ElementType type = x.items->type();
  Val items = x.items;
  if (along && (op == "Sum" || op == "Mean" || op == "Any")) {
    items = WithZeros(c.b, x);
  } else if (along && (op == "Prod" || op == "All")) {
    items = Filled(c.b, x, c.b.Scalar(type, 1));
  } else if (along) {
    items = Filled(c.b, x, op == "Max" ? c.b.Lowest(type) : c.b.Highest(type));
  }
  c.value(0) = ArrayValue(c.type(0), items);
  if (along && op == "Mean") {
    if (type != ElementType::kF32 && type != ElementType::kF64) return Refused(c, ", of this type");
    XC_RETURN_IF_ERROR(LoweringRegistry::Get().Find("Sum")->fn(c));
    int64_t count = 1;  // of elements along the other dimensions that go
    for (int64_t d = 0; d < c.rank(0); ++d) count *= seen[d] && d != x.axis ? c.dims(0)[d] : 1;
    Val sum = c.outputs()[0].array, size = c.b.Mul(x.size, c.b.S32(count));
    c.set(0, c.b.Div(sum, c.b.BroadcastScalar(c.b.Convert(size, type), sum->shape().dims())));
    return absl::OkStatus();
  }
  XC_RETURN_IF_ERROR(lowering(c));
  if (!along) SetDynamicArray(c, x, axis, false);
  return absl::OkStatus();
}

absl::Status Transpose(OpContext& c, LoweringFn lowering) {
  if (c.value(1).dynamic != nullptr) return Refused(c, " as a permutation");
  const DynamicArray x = *c.value(0).dynamic;
  XC_ASSIGN_OR_RETURN(const std::vector<int64_t> order, c.Ints(1));
  c.value(0) = ArrayValue(c.type(0), x.items);
  XC_RETURN_IF_ERROR(lowering(c));
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] == x.axis || order[d] + c.rank(0) == x.axis) SetDynamicArray(c, x, static_cast<int64_t>(d), x.zeros);
  }
  return absl::OkStatus();
}

absl::Status ExpandDims(OpContext& c, LoweringFn lowering) {
  if (c.value(1).dynamic != nullptr) return Refused(c, " as an axis");
  const DynamicArray x = *c.value(0).dynamic;
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(1));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0) + 1));
  c.value(0) = ArrayValue(c.type(0), x.items);
  XC_RETURN_IF_ERROR(lowering(c));
  SetDynamicArray(c, x, x.axis + (axis <= x.axis), x.zeros);
  return absl::OkStatus();
}

}  // namespace

bool HasDynamicArray(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.value(i).dynamic != nullptr) return true;
  }
  return false;
}

DynamicArrayUse UseOfDynamicArray(const Node& node) {
  static const auto* const kUses = [] {
    auto* uses = new absl::flat_hash_map<std::string, DynamicArrayUse>;
    auto add = [&](DynamicArrayUse use, std::initializer_list<const char*> ops) {
      for (const char* name : ops) uses->emplace(name, use);
    };
    add(DynamicArrayUse::kPass, {"Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot"});
    // None of these can fail on what follows the last element.
    add(DynamicArrayUse::kElementwise,
        {"Add",      "AddV2", "Sub",       "Mul",          "RealDiv", "Maximum",  "Minimum",  "SquaredDifference",
         "Equal",    "Less",  "LessEqual", "GreaterEqual", "Greater", "NotEqual", "SelectV2", "LogicalAnd",
         "Cast",     "Neg",   "Abs",       "Exp",          "Expm1",   "Log",      "Log1p",    "LogicalOr",
         "Sqrt",     "Rsqrt", "Square",    "Tanh",         "Sigmoid", "Erf",      "Erfc",     "LogicalNot",
         "Sin",      "Cos",   "Floor",     "Ceil",         "Round",   "Sign",     "Relu",     "Relu6",
         "Softplus", "Elu",   "Selu",      "LeakyRelu",    "DivNoNan"});
    add(DynamicArrayUse::kAppend, {"Concat", "ConcatV2"});
    add(DynamicArrayUse::kLast, {"StridedSlice"});
    add(DynamicArrayUse::kPick, {"Gather", "GatherV2"});
    add(DynamicArrayUse::kShape, {"Shape", "ShapeN"});
    add(DynamicArrayUse::kProduct, {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"});
    add(DynamicArrayUse::kSoftmax, {"Softmax", "LogSoftmax"});
    add(DynamicArrayUse::kReduce, {"Sum", "Mean", "Max", "Min", "Prod", "Any", "All"});
    add(DynamicArrayUse::kTranspose, {"Transpose"});
    add(DynamicArrayUse::kExpandDims, {"ExpandDims"});
    return uses;
  }();
  auto use = [](const std::string& op) {
    auto it = kUses->find(op);
    return it == kUses->end() ? DynamicArrayUse::kNone : it->second;
  };
  // Of a fused op what its first one does, if the others work on elements.
  const std::vector<std::string> ops = OpsOf(node);
  for (size_t i = 1; i < ops.size(); ++i) {
    const bool elementwise = ops[i] == "BiasAdd" || use(ops[i]) == DynamicArrayUse::kElementwise;
    if (!elementwise) return DynamicArrayUse::kNone;
  }
  return use(ops[0]);
}

absl::Status LowerDynamicArray(OpContext& c, LoweringFn lowering) {
  const DynamicArrayUse use = UseOfDynamicArray(c.node);
  if (use == DynamicArrayUse::kPass) return lowering(c);
  switch (use) {
    case DynamicArrayUse::kElementwise:
      return Elementwise(c, lowering);
    case DynamicArrayUse::kAppend:
      return c.node.op == "Concat" ? Append(c, 1, c.num_inputs() - 1, 0)
                                   : Append(c, 0, c.num_inputs() - 2, c.num_inputs() - 1);
    case DynamicArrayUse::kLast:
      return SliceOfEnd(c, lowering);
    case DynamicArrayUse::kPick:
      return PickElsewhere(c, lowering);
    case DynamicArrayUse::kShape:
      return ShapeOf(c);
    case DynamicArrayUse::kProduct:
      return Product(c, lowering);
    case DynamicArrayUse::kSoftmax:
      return Softmax(c, lowering);
    case DynamicArrayUse::kReduce:
      return Reduction(c, lowering);
    case DynamicArrayUse::kTranspose:
      return Transpose(c, lowering);
    case DynamicArrayUse::kExpandDims:
      return ExpandDims(c, lowering);
    default:
      return Refused(c, "");
  }
}

}  // namespace xc
