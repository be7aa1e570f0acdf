#include "jit/lowering/grown.h"

#include <utility>

#include "absl/strings/str_cat.h"

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

LoweredValue GrownValue(DataType type, GrownArray grown) {
  LoweredValue v;
  v.type = type;
  v.dims = grown.items->shape().dims();
  v.grown = std::make_shared<const GrownArray>(std::move(grown));
  return v;
}

// Parts `first` to `last` one after the other, the first of which grows.
absl::Status Append(OpContext& c, int first, int last, int axis_operand) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(axis_operand));
  if (c.value(first).grown == nullptr) return Refused(c, ", not as the first part");
  GrownArray grown = *c.value(first).grown;
  const int64_t rank = c.rank(first);
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, rank));
  if (axis != grown.axis) return Refused(c, ", along another dimension");
  std::vector<Val> parts;
  for (int i = first + 1; i <= last; ++i) {
    if (c.value(i).grown != nullptr) return Refused(c, ", twice");
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
    starts[axis] = grown.size;
    const int64_t count = more->shape().dims()[axis];
    grown.items = c.b.DynamicUpdateSlice(grown.items, more, starts);
    grown.size = c.b.Add(grown.size, c.b.S32(count));
    grown.appended += count;
    grown.least += count;
  }
  c.set_value(0, GrownValue(c.type(first), grown));
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
  const GrownArray& x = *c.value(0).grown;
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
  if (c.value(0).grown == nullptr || c.value(1).grown != nullptr) return Refused(c, " as indices");
  GrownArray x = *c.value(0).grown;
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
  x.items = c.outputs()[0].array;
  if (x.axis > axis) x.axis += c.rank(1) - batch - 1;
  c.set_value(0, GrownValue(c.type(0), x));
  return absl::OkStatus();
}

absl::Status ShapeOf(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    Val shape = c.b.Vector(c.out_etype(i), c.dims(i));
    if (const GrownArray* x = c.value(i).grown.get(); x != nullptr) {
      Val size = c.b.Reshape(c.b.Convert(x->size, c.out_etype(i)), {1});
      shape = c.b.DynamicUpdateSlice(shape, size, {c.b.S32(x->axis)});
    }
    c.set(i, shape);
  }
  return absl::OkStatus();
}

}  // namespace

bool HasGrown(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.value(i).grown != nullptr) return true;
  }
  return false;
}

absl::Status LowerGrown(OpContext& c, LoweringFn lowering) {
  const std::string& op = c.node.op;
  if (op == "Identity" || op == "IdentityN" || op == "StopGradient" || op == "PreventGradient" || op == "Snapshot") {
    return lowering(c);
  }
  if (op == "ConcatV2") return Append(c, 0, c.num_inputs() - 2, c.num_inputs() - 1);
  if (op == "Concat") return Append(c, 1, c.num_inputs() - 1, 0);
  if (op == "StridedSlice") return SliceOfEnd(c, lowering);
  if (op == "Gather" || op == "GatherV2") return PickElsewhere(c, lowering);
  if (op == "Shape" || op == "ShapeN") return ShapeOf(c);
  return Refused(c, "");
}

}  // namespace xc
