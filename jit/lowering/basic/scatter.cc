// Lowerings of scatters, segment reductions and dynamic stitching.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/basic/indexing.h"

namespace xc {
namespace {

HloComputation* Combiner(Emitter& b, Combine how, ElementType type) {
  switch (how) {
    case Combine::kAdd:
      return b.Scalar2(type == ElementType::kPred ? HloOpcode::kOr : HloOpcode::kAdd, type);
    case Combine::kSub:
      return b.Scalar2(HloOpcode::kSubtract, type);
    case Combine::kMin:
      return b.Scalar2(HloOpcode::kMinimum, type);
    case Combine::kMax:
      return b.Scalar2(HloOpcode::kMaximum, type);
    case Combine::kMul:
      return b.Scalar2(HloOpcode::kMultiply, type);
    case Combine::kDiv:
      return b.Scalar2(HloOpcode::kDivide, type);
    case Combine::kUpdate:
      break;
  }
  Shape s = Shape::Scalar(type);
  return b.Computation("assign", {s, s}, [](Emitter&, const std::vector<Val>& p) { return p[1]; });
}

}  // namespace

absl::StatusOr<Val> ScatterInto(OpContext& c, Val operand, Val indices, Val updates, Combine how) {
  Emitter& b = c.b;
  const Dims& od = operand->shape().dims();
  const Dims idims = indices->shape().dims();
  int64_t irank = static_cast<int64_t>(idims.size());
  if (irank < 1) return c.Error("indices must have rank 1 or more");
  int64_t depth = idims.back();
  if (depth > static_cast<int64_t>(od.size())) return c.Error("the indices have too many components");
  Dims want(idims.begin(), idims.end() - 1);
  want.insert(want.end(), od.begin() + depth, od.end());
  if (updates->shape().dims() != want) {
    return c.Error(
        absl::StrCat("updates have shape ", DimsToString(updates->shape().dims()), ", expected ", DimsToString(want)));
  }
  if (updates->shape().ElementCount() == 0) return operand;
  if (ElementBits(indices->type()) < 32) indices = b.Convert(indices, ElementType::kS32);
  std::vector<int64_t> limits(od.begin(), od.begin() + depth);
  Val bound = b.Broadcast(b.Vector(indices->type(), limits), idims, {irank - 1});
  c.FailIf(b.Or(b.Lt(indices, b.Like(indices, 0)), b.Ge(indices, bound)));
  ScatterDims d;
  for (int64_t k = 0; k < depth; ++k) {
    d.inserted_window_dims.push_back(k);
    d.scatter_dims_to_operand_dims.push_back(k);
  }
  for (int64_t k = irank - 1; k < static_cast<int64_t>(want.size()); ++k) d.update_window_dims.push_back(k);
  d.index_vector_dim = irank - 1;
  return b.Scatter(operand, indices, updates, d, Combiner(b, how, operand->type()));
}

namespace {

absl::Status ScatterNd(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(2));
  XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
  Val zeros = c.b.Full(c.etype(1), dims, 0);
  XC_ASSIGN_OR_RETURN(Val v, ScatterInto(c, zeros, c.in(0), c.in(1), Combine::kAdd));
  c.set(0, v);
  return absl::OkStatus();
}

template <Combine kHow>
absl::Status TensorScatter(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, ScatterInto(c, c.in(0), c.in(1), c.in(2), kHow));
  c.set(0, v);
  return absl::OkStatus();
}

// Values at their places in an array that is the default elsewhere; with validate_indices the places must be in order,
// each once.
absl::Status SparseToDense(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(1));
  XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
  XC_ASSIGN_OR_RETURN(bool validate, c.node.Bool("validate_indices"));
  XC_RETURN_IF_ERROR(c.RequireRank(3, 0));
  const int64_t depth = static_cast<int64_t>(dims.size()), n = c.rank(0) == 0 ? 1 : c.dims(0)[0];
  if (c.rank(0) > 2 || (c.rank(0) == 2 ? c.dims(0)[1] : 1) != depth) return c.Error("the indices do not fit the shape");
  if (c.rank(2) > 1 || (c.rank(2) == 1 && c.dims(2)[0] != n))
    return c.Error("there must be one value, or one per index");
  if (depth == 0) return c.Unimplemented("a scalar result");
  Emitter& b = c.b;
  Val indices = b.Reshape(c.in(0), {n, depth}), values = c.rank(2) == 0 ? b.BroadcastScalar(c.in(2), {n}) : c.in(2);
  if (validate && n > 1) {
    Val place = b.Full(ElementType::kS64, {n}, 0);
    for (int64_t d = 0; d < depth; ++d) {
      Val column = b.Reshape(b.SliceDim(indices, 1, d, d + 1), {n});
      place = b.Add(b.Mul(place, b.ScalarInt(ElementType::kS64, dims[d])), b.Convert(column, ElementType::kS64));
    }
    c.FailIf(b.Ge(b.SliceDim(place, 0, 0, n - 1), b.SliceDim(place, 0, 1, n)));
  }
  XC_ASSIGN_OR_RETURN(Val v, ScatterInto(c, b.BroadcastScalar(c.in(3), dims), indices, values, Combine::kUpdate));
  c.set(0, v);
  return absl::OkStatus();
}

// Segments by ids of any rank; negative ids are dropped. `segments` rows start at `init`.
absl::StatusOr<Val> Segments(OpContext& c, int64_t segments, Val init, Combine how, bool drop_negative) {
  Emitter& b = c.b;
  const Dims& data = c.dims(0);
  const Dims& ids = c.dims(1);
  if (ids.size() > data.size() || !std::equal(ids.begin(), ids.end(), data.begin())) {
    return c.Error(
        absl::StrCat("data's shape ", DimsToString(data), " must start with that of the ids ", DimsToString(ids)));
  }
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(ids));
  Dims rest(data.begin() + ids.size(), data.end());
  Dims out = rest, rows = rest;
  out.insert(out.begin(), segments);
  rows.insert(rows.begin(), n);
  XC_RETURN_IF_ERROR(CheckedNumElements(out).status());
  Val result = b.BroadcastScalar(init, out);
  if (n == 0 || result->shape().ElementCount() == 0) return result;
  Val id = b.Reshape(c.in(1), {n, 1});
  if (ElementBits(id->type()) < 32) id = b.Convert(id, ElementType::kS32);
  Val bad = b.Ge(id, b.Like(id, static_cast<double>(segments)));
  if (!drop_negative) bad = b.Or(bad, b.Lt(id, b.Like(id, 0)));
  c.FailIf(bad);
  ScatterDims d;
  d.inserted_window_dims = {0};
  d.scatter_dims_to_operand_dims = {0};
  for (size_t k = 1; k < rows.size(); ++k) d.update_window_dims.push_back(static_cast<int64_t>(k));
  d.index_vector_dim = 1;
  return b.Scatter(result, id, b.Reshape(c.in(0), rows), d, Combiner(b, how, result->type()));
}

// The start value of empty segments: 0, 1, or the type's extreme finite value.
Val UnsortedInit(OpContext& c, Combine how) {
  Emitter& b = c.b;
  ElementType type = c.etype(0);
  if (how == Combine::kAdd) return b.Scalar(type, 0);
  if (how == Combine::kMul) return b.Scalar(type, 1);
  if (!IsFloating(type)) return how == Combine::kMax ? b.Lowest(type) : b.Highest(type);
  double largest = type == ElementType::kF64   ? 1.7976931348623157e308
                   : type == ElementType::kF32 ? 3.4028234663852886e38
                   : type == ElementType::kF16 ? 65504.0
                                               : 3.3895313892515355e38;
  return b.Scalar(type, how == Combine::kMax ? -largest : largest);
}

template <Combine kHow>
absl::Status UnsortedSegment(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t segments, c.Int(2));
  if (segments < 0) return c.Error("num_segments must not be negative");
  XC_ASSIGN_OR_RETURN(Val v, Segments(c, segments, UnsortedInit(c, kHow), kHow, true));
  c.set(0, v);
  return absl::OkStatus();
}

template <Combine kHow>
absl::Status SegmentV2(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t segments, c.Int(2));
  if (segments < 0) return c.Error("num_segments must not be negative");
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  XC_ASSIGN_OR_RETURN(Val v, Segments(c, segments, UnsortedInit(c, kHow), kHow, false));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status DynamicStitch(OpContext& c) {
  int n = c.num_inputs() / 2;
  // Indices are constant: later ones win.
  int64_t rows = 0;
  std::vector<std::vector<int64_t>> indices(n);
  Dims rest;
  for (int i = 0; i < n; ++i) {
    XC_ASSIGN_OR_RETURN(indices[i], c.Ints(i));
    for (int64_t v : indices[i]) {
      if (v < 0 || v > (1 << 28)) return c.Error(absl::StrCat("bad index ", v));
      rows = std::max(rows, v + 1);
    }
    const Dims& data = c.dims(n + i);
    const Dims& id = c.dims(i);
    if (id.size() > data.size() || !std::equal(id.begin(), id.end(), data.begin())) {
      return c.Error("data's shape must start with that of its indices");
    }
    Dims tail(data.begin() + id.size(), data.end());
    if (i > 0 && tail != rest) return c.Error("the parts differ in shape");
    rest = tail;
  }
  // Row r comes from position from[r] of the concatenated parts, or is zero.
  Emitter& b = c.b;
  std::vector<Val> parts;
  std::vector<int64_t> from(rows, -1);
  int64_t position = 0;
  for (int i = 0; i < n; ++i) {
    Dims flat = rest;
    flat.insert(flat.begin(), static_cast<int64_t>(indices[i].size()));
    parts.push_back(b.Reshape(c.in(n + i), flat));
    for (int64_t v : indices[i]) from[v] = position++;
  }
  Dims zero = rest;
  zero.insert(zero.begin(), 1);
  bool gaps = std::count(from.begin(), from.end(), -1) > 0;
  if (gaps) parts.push_back(b.Full(c.out_etype(0), zero, 0));
  for (int64_t& f : from) f = f < 0 ? position : f;
  Dims out = rest;
  out.insert(out.begin(), rows);
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(out));
  if (count == 0) {
    c.set(0, b.Full(c.out_etype(0), out, 0));
    return absl::OkStatus();
  }
  GatherDims g;
  Dims sizes = out;
  sizes[0] = 1;
  for (size_t d = 1; d < out.size(); ++d) g.offset_dims.push_back(static_cast<int64_t>(d));
  g.collapsed_slice_dims = {0};
  g.start_index_map = {0};
  g.index_vector_dim = 1;
  c.set(0, b.Gather(b.Concat(parts, 0), b.Vector(ElementType::kS32, from), g, sizes));
  return absl::OkStatus();
}

// How often each number below `size` occurs; of a matrix, in each row.
absl::Status Bincount(OpContext& c) {
  bool dense = c.node.op == "DenseBincount", binary = false;
  XC_ASSIGN_OR_RETURN(int64_t size, c.Int(1));
  if (dense) {
    XC_ASSIGN_OR_RETURN(binary, c.node.Bool("binary_output"));
    if (c.rank(0) > 2) return c.Error("the input must be a vector or a matrix");
  }
  if (size < 0) return c.Error("size must not be negative");
  Emitter& b = c.b;
  ElementType type = c.out_etype(0);
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
  XC_ASSIGN_OR_RETURN(int64_t weighted, CheckedNumElements(c.dims(2)));
  if (weighted != 0 && weighted != n) return c.Error("there must be one weight per value");
  Val weights = weighted == 0 ? b.Full(type, {n}, 1) : b.Reshape(c.in(2), {n});
  if (binary) weights = b.Full(type, {n}, 1);
  bool matrix = dense && c.rank(0) == 2;
  int64_t rows = matrix ? c.dims(0)[0] : 1;
  Dims out = matrix ? Dims{rows, size} : Dims{size};
  XC_ASSIGN_OR_RETURN(int64_t counters, CheckedNumElements(out));
  if (n == 0 || counters == 0) {
    c.set(0, b.Full(type, out, 0));
    return absl::OkStatus();
  }
  Val zeros = b.Full(type, {counters}, 0), id = b.Reshape(c.in(0), {n});
  c.FailIf(b.Lt(id, b.Like(id, 0)));
  // The counter of each number; one past the last for those that have none.
  Val place = b.Convert(id, ElementType::kS64);
  Val row = b.Reshape(b.Iota(ElementType::kS64, {rows, n / rows}, 0), {n});
  Val counted = b.Lt(place, b.Like(place, static_cast<double>(size)));
  place = b.Add(place, b.MulC(row, static_cast<double>(size)));
  id = b.Reshape(b.Select(counted, place, b.Like(place, static_cast<double>(counters))), {n, 1});
  ScatterDims d;
  d.inserted_window_dims = {0};
  d.scatter_dims_to_operand_dims = {0};
  d.index_vector_dim = 1;
  Val counts = b.Scatter(zeros, id, weights, d, Combiner(b, binary ? Combine::kUpdate : Combine::kAdd, type));
  c.set(0, b.Reshape(counts, out));
  return absl::OkStatus();
}

}  // namespace

void RegisterScatter(LoweringRegistry& r) {
  r.Add({"ScatterNd"}, kArrayTypes, ScatterNd, {"shape"});
  r.Add({"SparseToDense"}, kArrayTypes, SparseToDense, {"output_shape"});
  r.Add({"TensorScatterUpdate"}, kArrayTypes, TensorScatter<Combine::kUpdate>);
  r.Add({"TensorScatterAdd", "ScatterNdNonAliasingAdd"}, kNumericTypes, TensorScatter<Combine::kAdd>);
  r.Add({"TensorScatterSub"}, kNumericTypes, TensorScatter<Combine::kSub>);
  r.Add({"TensorScatterMin"}, kRealTypes, TensorScatter<Combine::kMin>);
  r.Add({"TensorScatterMax"}, kRealTypes, TensorScatter<Combine::kMax>);
  r.Add({"UnsortedSegmentSum"}, kNumericTypes, UnsortedSegment<Combine::kAdd>, {"num_segments"});
  r.Add({"UnsortedSegmentProd"}, kNumericTypes, UnsortedSegment<Combine::kMul>, {"num_segments"});
  r.Add({"UnsortedSegmentMax"}, kRealTypes, UnsortedSegment<Combine::kMax>, {"num_segments"});
  r.Add({"UnsortedSegmentMin"}, kRealTypes, UnsortedSegment<Combine::kMin>, {"num_segments"});
  r.Add({"SegmentSumV2"}, kNumericTypes, SegmentV2<Combine::kAdd>, {"num_segments"});
  r.Add({"SegmentProdV2"}, kNumericTypes, SegmentV2<Combine::kMul>, {"num_segments"});
  r.Add({"SegmentMaxV2"}, kRealTypes, SegmentV2<Combine::kMax>, {"num_segments"});
  r.Add({"SegmentMinV2"}, kRealTypes, SegmentV2<Combine::kMin>, {"num_segments"});
  r.Add({"DynamicStitch", "ParallelDynamicStitch"}, kArrayTypes, DynamicStitch, {"indices"});
  r.Add({"DenseBincount", "Bincount"}, kRealTypes, Bincount, {"size"});
}

}  // namespace xc
