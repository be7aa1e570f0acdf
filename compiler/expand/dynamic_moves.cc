// Ops that move elements of arrays of run-time sizes: what counts stays in front, in every dimension.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/expand/dynamic_ops.h"
#include "compiler/make.h"
#include "hlo/analysis/reshape_groups.h"
#include "hlo/base/status.h"

namespace xc::dynamic {
namespace {

bool Has(const Int64List& list, int64_t x) { return std::find(list.begin(), list.end(), x) != list.end(); }

Op Number(HloBuilder& b, int64_t n) { return b.ScalarInt(ElementType::kS32, n); }

// What messages of a run begin with: the op, and its name if that needs no quotes.
std::string Where(const HloInstruction& op) {
  const auto plain = [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; };
  const bool named = std::all_of(op.name().begin(), op.name().end(), plain);
  return absl::StrCat(OpcodeName(op.opcode()), named ? " " : "", named ? op.name() : "", ": ");
}

// `size`, which the program gives for dimension d of the result, and which its bound must have room for.
Op Within(HloBuilder& b, const HloInstruction& op, int64_t d, Op size) {
  const int64_t bound = op.shape().dim(d);
  return Checked(b, size, size, bound, size,
                 absl::StrCat(Where(op), "size $0 of dimension ", d, " does not lie between 0 and its bound, ", bound));
}

// The window of the size of x's bounds that begins `start` elements into dimension d.
Op From(HloBuilder& b, Op x, int64_t d, Op start, int64_t size) {
  Int64List sizes = x.dims();
  sizes[d] = size;
  std::vector<Op> starts(x.rank(), Number(b, 0));
  starts[d] = start;
  return b.DynamicSlice(x, starts, sizes);
}

// The array with `n` more elements, zeros, at the end of dimension d.
Op Longer(HloBuilder& b, Op x, int64_t d, int64_t n) {
  std::vector<PaddingDim> padding(x.rank());
  padding[d].high = n;
  return b.Pad(x, b.Zero(x.type()), padding);
}

absl::StatusOr<DynamicArray> Broadcast(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  Sizes sizes(op.shape().rank());
  for (int64_t i = 0; i < in[0].array.rank(); ++i) sizes[op.dimensions()[i]] = in[0].size(i);
  return DynamicArray{OnBounds(b, op, {in[0].array}), std::move(sizes)};
}

absl::StatusOr<DynamicArray> Transpose(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  Sizes sizes;
  for (int64_t d : op.dimensions()) sizes.push_back(in[0].size(d));
  return DynamicArray{OnBounds(b, op, {in[0].array}), std::move(sizes)};
}

absl::StatusOr<DynamicArray> Reverse(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  Op x = OnBounds(b, op, {in[0].array});
  for (int64_t d : op.dimensions()) {
    if (!in[0].size(d)) continue;
    const int64_t bound = x.dim(d);
    x = From(b, Longer(b, x, d, bound), d, b.Sub(Number(b, bound), in[0].size(d)), bound);
  }
  return DynamicArray{x, in[0].sizes};
}

absl::StatusOr<DynamicArray> Concatenate(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const int64_t dim = op.dimensions()[0], rank = op.shape().rank();
  Sizes sizes(rank);
  std::vector<Op> arrays;
  bool fixed = true;
  for (const DynamicArray& x : in) {
    arrays.push_back(x.array);
    fixed &= !x.size(dim);
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim) sizes[d] = Tied(b, sizes[d], x.size(d));
    }
  }
  if (fixed) return DynamicArray{OnBounds(b, op, arrays), std::move(sizes)};
  // Each goes over the end of the one before it.
  Op out = b.Full(op.shape().type(), op.shape().dims(), 0), at = Number(b, 0);
  for (const DynamicArray& x : in) {
    std::vector<Op> starts(rank, Number(b, 0));
    starts[dim] = at;
    out = b.DynamicUpdateSlice(out, x.array, starts);
    at = b.Add(at, SizeOf(b, x, dim));
  }
  sizes[dim] = at;
  return DynamicArray{out, std::move(sizes)};
}

absl::StatusOr<DynamicArray> Pad(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  Sizes sizes(op.shape().rank());
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    Op size = in[0].size(d);
    if (!size) continue;
    const PaddingDim& p = op.padding().dims[d];
    Op inner = b.Mul(b.Max(b.Sub(size, Number(b, 1)), Number(b, 0)), Number(b, p.interior));
    sizes[d] = b.Max(b.Add(b.Add(size, inner), Number(b, p.low + p.high)), Number(b, 0));
  }
  return DynamicArray{OnBounds(b, op, {Filled(b, in[0], in[1].array), in[1].array}), std::move(sizes)};
}

// Sizes of the dimensions that are taken as they are, and the array with zeros where the others end.
DynamicArray Taken(HloBuilder& b, const DynamicArray& x, const std::vector<bool>& all) {
  Int64List in_part;
  Sizes sizes(x.array.rank());
  for (int64_t d = 0; d < x.array.rank(); ++d) {
    if (all[d]) {
      sizes[d] = x.size(d);
    } else {
      in_part.push_back(d);
    }
  }
  return {Filled(b, x, b.Zero(x.array.type()), in_part), std::move(sizes)};
}

absl::StatusOr<DynamicArray> Slice(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const SliceAttr& slice = op.slice();
  std::vector<bool> all;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    all.push_back(slice.starts[d] == 0 && slice.limits[d] == in[0].array.dim(d) && slice.strides[d] == 1);
  }
  DynamicArray taken = Taken(b, in[0], all);
  return DynamicArray{OnBounds(b, op, {taken.array}), std::move(taken.sizes)};
}

absl::StatusOr<DynamicArray> DynamicSlice(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  std::vector<bool> all;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    all.push_back(op.attr<AttrKind::kDynamicSliceSizes>()[d] == in[0].array.dim(d));
  }
  DynamicArray taken = Taken(b, in[0], all);
  std::vector<Op> operands = {taken.array};
  for (size_t i = 1; i < in.size(); ++i) operands.push_back(in[i].array);
  return DynamicArray{OnBounds(b, op, operands), std::move(taken.sizes)};
}

absl::StatusOr<DynamicArray> DynamicUpdateSlice(HloBuilder& b, const HloInstruction& op,
                                                std::vector<DynamicArray>& in) {
  const DynamicArray &x = in[0], &update = in[1];
  std::vector<Op> starts;
  for (size_t i = 2; i < in.size(); ++i) starts.push_back(in[i].array);
  if (update.whole()) {
    std::vector<Op> operands = {x.array, update.array};
    operands.insert(operands.end(), starts.begin(), starts.end());
    return DynamicArray{OnBounds(b, op, operands), x.sizes};
  }
  if (in.size() != static_cast<size_t>(2 + x.array.rank())) return NoForm(op, "start indices in one array");
  // The update's bounds may reach beyond the array's end: it is made longer meanwhile.
  Op wide = x.array;
  for (int64_t d = 0; d < x.array.rank(); ++d) {
    if (!update.size(d)) continue;
    wide = Longer(b, wide, d, update.array.dim(d));
    Op start = b.Convert(starts[d], ElementType::kS64);
    Op last = b.Convert(b.Sub(Number(b, x.array.dim(d)), update.size(d)), ElementType::kS64);
    starts[d] = b.Clamp(b.ScalarInt(ElementType::kS64, 0), start, last);
  }
  for (Op& start : starts) start = b.Convert(start, ElementType::kS64);
  Op old = b.DynamicSlice(wide, starts, update.array.dims());
  Op both = b.Select(Valid(b, update, make::Iota(x.array.rank())), update.array, old);
  wide = b.DynamicUpdateSlice(wide, both, starts);
  const Int64List zeros(x.array.rank(), 0), ones(x.array.rank(), 1);
  return DynamicArray{b.Slice(wide, zeros, x.array.dims(), ones), x.sizes};
}

absl::StatusOr<DynamicArray> Gather(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const GatherDims& dims = op.gather_dims();
  std::vector<bool> all;
  for (int64_t d = 0; d < in[0].array.rank(); ++d) {
    all.push_back(op.attr<AttrKind::kSliceSizes>()[d] == in[0].array.dim(d));
  }
  DynamicArray taken = Taken(b, in[0], all);
  Sizes sizes(op.shape().rank());
  int64_t window = 0;
  for (int64_t d = 0; d < in[0].array.rank(); ++d) {
    if (Has(dims.collapsed_slice_dims, d) || Has(dims.operand_batching_dims, d)) {
      if (taken.sizes[d]) return NoForm(op, "a dimension of run-time size that is collapsed");
      continue;
    }
    sizes[dims.offset_dims[window++]] = taken.sizes[d];
  }
  int64_t at = 0;
  for (int64_t d = 0; d < in[1].array.rank(); ++d) {
    if (d == dims.index_vector_dim) continue;
    while (Has(dims.offset_dims, at)) ++at;
    sizes[at++] = in[1].size(d);
  }
  return DynamicArray{OnBounds(b, op, {taken.array, in[1].array}), std::move(sizes)};
}

// Updates that are not there get an index that is outside, which scatter leaves out.
absl::StatusOr<DynamicArray> Scatter(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const ScatterDims& dims = op.scatter_dims();
  const int64_t arrays = static_cast<int64_t>(in.size()) / 2;
  DynamicArray& indices = in[arrays];
  Sizes given(indices.array.rank());
  for (int64_t d = 0; d < indices.array.rank(); ++d) given[d] = indices.size(d);
  if (dims.index_vector_dim < indices.array.rank() && given[dims.index_vector_dim]) {
    return NoForm(op, "index vectors of run-time size");
  }
  for (int64_t i = arrays + 1; i < static_cast<int64_t>(in.size()); ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < in[i].array.rank(); ++d) {
      if (Has(dims.update_window_dims, d)) {
        if (in[i].size(d)) return NoForm(op, "windows of run-time size");
        continue;
      }
      if (at == dims.index_vector_dim) ++at;
      given[at] = Tied(b, given[at], in[i].size(d));
      ++at;
    }
  }
  indices.sizes = given;
  const ElementType type = indices.array.type();
  std::vector<Op> operands;
  for (const DynamicArray& x : in) operands.push_back(x.array);
  if (!indices.whole()) {
    operands[arrays] = Filled(b, indices, IsSignedInt(type) ? b.ScalarInt(type, -1) : b.MaxValue(type));
  }
  Op out = OnBounds(b, op, operands);
  if (!indices.whole() && b.ok()) {
    out.instruction()->mutable_attributes()->Erase(AttrKind::kIndicesAreSorted);
    out.instruction()->mutable_attributes()->Erase(AttrKind::kUniqueIndices);
  }
  if (!op.shape().IsTuple()) return DynamicArray{out, in[0].sizes};
  for (int64_t i = 0; i < arrays; ++i) {
    if (!in[i].whole()) return NoForm(op, "several arrays of run-time sizes");
  }
  return DynamicArray{out, {}};
}

// The elements of a group of dimensions of x, with sizes `from`, in the order that they have in a group with sizes
// `to`. x is [before, elements, after].
Op Reindexed(HloBuilder& b, Op x, const Int64List& from_bounds, const Sizes& from, const Int64List& to_bounds,
             const Sizes& to) {
  const int64_t elements = x.dim(1);
  Op place = b.Iota(ElementType::kS32, {elements}, 0);
  // Where in the row of those that count.
  Op rank = b.Full(ElementType::kS32, {elements}, 0), rest = place, step = Number(b, 1);
  for (int64_t d = static_cast<int64_t>(to_bounds.size()) - 1; d >= 0; --d) {
    rank = b.Add(rank, b.Mul(b.Rem(rest, Number(b, to_bounds[d])), step));
    rest = b.Div(rest, Number(b, to_bounds[d]));
    step = b.Mul(step, to[d]);
  }
  // Where that one is.
  Op source = b.Full(ElementType::kS32, {elements}, 0);
  int64_t stride = 1;
  for (int64_t d = static_cast<int64_t>(from_bounds.size()) - 1; d >= 0; --d) {
    Op size = b.Max(from[d], Number(b, 1));
    source = b.Add(source, b.Mul(b.Rem(rank, size), Number(b, stride)));
    rank = b.Div(rank, size);
    stride *= from_bounds[d];
  }
  GatherDims dims;
  dims.offset_dims = {0, 2};
  dims.collapsed_slice_dims = {1};
  dims.start_index_map = {1};
  dims.index_vector_dim = 1;
  return b.Gather(x, b.Reshape(source, {elements, 1}), dims, {x.dim(0), 1, x.dim(2)});
}

int64_t Product(const Int64List& dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

// As Reindexed, of dimensions [in, in_end) that become [out, out_end).
Op ReindexedGroup(HloBuilder& b, Op x, int64_t in, int64_t in_end, const Sizes& from, const Int64List& to_bounds,
                  const Sizes& to) {
  const Int64List dims = x.dims();
  const Int64List before(dims.begin(), dims.begin() + in), group(dims.begin() + in, dims.begin() + in_end),
      after(dims.begin() + in_end, dims.end());
  Op flat = b.Reshape(x, {Product(before), Product(group), Product(after)});
  return b.Reshape(Reindexed(b, flat, group, from, to_bounds, to), dims);
}

Op TotalOf(HloBuilder& b, const Sizes& sizes) {
  Op total = Number(b, 1);
  for (Op size : sizes) total = b.Mul(total, size);
  return total;
}

// A group of the same dimensions on both sides keeps its sizes, any other has one size that only the run knows.
absl::StatusOr<DynamicArray> Reshape(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const DynamicArray& given = in[0];
  const Shape &from = given.array.shape(), to = Bounds(op.shape());
  if (given.whole() || from.ElementCount() == 0) return DynamicArray{OnBounds(b, op, {given.array}), {}};
  Op x = given.array;
  Sizes result(to.rank());
  for (const ReshapeGroup& group : ReshapeGroups(from, op.shape())) {
    Sizes sizes;
    bool changed = false, inner = false;
    for (int64_t d = group.in; d < group.in_end; ++d) {
      sizes.push_back(SizeOf(b, given, d));
      if (!given.size(d)) continue;
      if (from.dim(d) == 1) return NoForm(op, "a run-time size of a dimension of bound 1");
      changed = true;
      inner |= d != group.own[0];
    }
    if (!changed) continue;
    if (group.same) {
      for (size_t k = 0; k < group.own.size(); ++k) result[group.wide[k]] = given.size(group.own[k]);
      continue;
    }
    if (group.open < 0) {
      return NoForm(op, absl::StrCat("run-time sizes of ", from.ToString(false), " as ", to.ToString(false)));
    }
    Op elements = TotalOf(b, sizes), divisor = Number(b, group.rest);
    const std::string message =
        absl::StrCat(Where(op), "$0 elements do not fill dimension ", group.open, " of ", op.shape().ToString(false));
    result[group.open] = group.rest == 1
                             ? elements
                             : Checked(b, b.Div(elements, divisor), b.Rem(elements, divisor), 0, elements, message);
    Int64List to_bounds;
    Sizes to_sizes;
    for (int64_t d = group.out; d < group.out_end; ++d) {
      to_bounds.push_back(to.dim(d));
      to_sizes.push_back(d == group.open ? result[d] : Number(b, to.dim(d)));
    }
    // Rows that only end earlier stay where they are.
    if (inner || (!group.wide.empty() && group.open != group.wide[0])) {
      x = ReindexedGroup(b, x, group.in, group.in_end, sizes, to_bounds, to_sizes);
    }
  }
  return DynamicArray{OnBounds(b, op, {x}), std::move(result)};
}

absl::StatusOr<DynamicArray> DynamicReshape(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const Shape to = Bounds(op.shape());
  Sizes from, result;
  for (int64_t d = 0; d < in[0].array.rank(); ++d) from.push_back(SizeOf(b, in[0], d));
  for (int64_t d = 0; d < to.rank(); ++d) result.push_back(Within(b, op, d, in[d + 1].array));
  if (to.ElementCount() == 0) return DynamicArray{b.Reshape(in[0].array, to.dims()), std::move(result)};
  if (!result.empty()) {
    Op elements = TotalOf(b, from);
    result[0] = Checked(b, result[0], b.Sub(elements, TotalOf(b, result)), 0, elements,
                        absl::StrCat(Where(op), "the operand has $0 elements, the result another number"));
  }
  Op x = ReindexedGroup(b, in[0].array, 0, in[0].array.rank(), from, to.dims(), result);
  return DynamicArray{b.Reshape(x, to.dims()), std::move(result)};
}

absl::StatusOr<DynamicArray> SetDimensionSize(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  const int64_t d = op.dimensions()[0];
  Sizes sizes = in[0].sizes;
  sizes.resize(op.shape().rank());
  sizes[d] = Within(b, op, d, in[1].array);
  const HloInstruction* known = sizes[d].instruction();
  if (known != nullptr && known->IsConstant() && known->literal().GetInt(0) == op.shape().dim(d)) sizes[d] = Op();
  return DynamicArray{in[0].array, std::move(sizes)};
}

absl::StatusOr<DynamicArray> GetDimensionSize(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  return DynamicArray{SizeOf(b, in[0], op.dimensions()[0]), {}};
}

// Calls from outside get the arrays of bounds.
absl::StatusOr<DynamicArray> AsBounds(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in) {
  std::vector<Op> arrays;
  for (const DynamicArray& x : in) arrays.push_back(ZeroFilled(b, x));
  return DynamicArray{OnBounds(b, op, arrays), {}};
}

}  // namespace

Rule MovementRule(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBroadcast:
      return Broadcast;
    case HloOpcode::kTranspose:
      return Transpose;
    case HloOpcode::kReverse:
      return Reverse;
    case HloOpcode::kConcatenate:
      return Concatenate;
    case HloOpcode::kPad:
      return Pad;
    case HloOpcode::kSlice:
      return Slice;
    case HloOpcode::kDynamicSlice:
      return DynamicSlice;
    case HloOpcode::kDynamicUpdateSlice:
      return DynamicUpdateSlice;
    case HloOpcode::kGather:
      return Gather;
    case HloOpcode::kScatter:
      return Scatter;
    case HloOpcode::kReshape:
      return Reshape;
    case HloOpcode::kDynamicReshape:
      return DynamicReshape;
    case HloOpcode::kSetDimensionSize:
      return SetDimensionSize;
    case HloOpcode::kGetDimensionSize:
      return GetDimensionSize;
    case HloOpcode::kBitcast:
    case HloOpcode::kCustomCall:
      return AsBounds;
    default:
      return nullptr;
  }
}

}  // namespace xc::dynamic
