// Lowerings of gathers, top-k and sorts.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/basic/indexing.h"

namespace xc {
namespace {

Val WideIndices(Emitter& b, Val indices) {
  bool narrow = ElementBits(indices->type()) < 32;
  return narrow ? b.Convert(indices, ElementType::kS32) : indices;
}

}  // namespace

absl::StatusOr<Val> GatherAlong(OpContext& c, Val params, int operand, int64_t axis, int64_t batch) {
  int64_t prank = params->shape().rank(), irank = c.rank(operand);
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, prank));
  if (batch < 0) batch += irank;
  if (batch < 0 || batch > axis || batch > irank) return c.Error(absl::StrCat("bad batch_dims ", batch));
  const Dims p = params->shape().dims();
  const Dims& i = c.dims(operand);
  for (int64_t d = 0; d < batch; ++d) {
    if (p[d] != i[d]) return c.Error("batch dimensions of params and indices differ");
  }
  Emitter& b = c.b;
  Dims out(p.begin(), p.begin() + axis);
  out.insert(out.end(), i.begin() + batch, i.end());
  out.insert(out.end(), p.begin() + axis + 1, p.end());
  XC_ASSIGN_OR_RETURN(int64_t outputs, CheckedNumElements(out));
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(i));
  Val indices = WideIndices(b, c.in(operand));
  if (count > 0) {
    if (p[axis] == 0) return c.Error("indices into an empty dimension");
    bool safe = false;
    if (c.IsConstant(operand)) {
      XC_ASSIGN_OR_RETURN(auto values, c.Ints(operand));
      safe = std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= 0 && v < p[axis]; });
    }
    if (!safe) {
      Val bad = b.Ge(indices, b.Full(indices->type(), i, static_cast<double>(p[axis])));
      if (IsSignedInt(indices->type())) bad = b.Or(bad, b.Lt(indices, b.Like(indices, 0)));
      c.FailIf(bad);
    }
  }
  if (outputs == 0) {
    return b.Full(params->type(), out, 0);
  }
  GatherDims g;
  for (int64_t d = batch; d < axis; ++d) g.offset_dims.push_back(d);
  for (int64_t d = axis + 1; d < prank; ++d) g.offset_dims.push_back(d - 1 + irank - batch);
  for (int64_t d = 0; d < batch; ++d) {
    g.operand_batching_dims.push_back(d);
    g.start_indices_batching_dims.push_back(d);
  }
  g.collapsed_slice_dims = {axis};
  g.start_index_map = {axis};
  g.index_vector_dim = irank;
  Dims sizes = p;
  sizes[axis] = 1;
  for (int64_t d = 0; d < batch; ++d) sizes[d] = 1;
  return b.Gather(params, indices, g, sizes);
}

absl::StatusOr<Val> GatherSlices(OpContext& c, Val params, int operand) {
  if (c.rank(operand) < 1) return c.Error("indices must have rank 1 or more");
  const Dims p = params->shape().dims();
  Dims batch(c.dims(operand).begin(), c.dims(operand).end() - 1);
  int64_t depth = c.dims(operand).back();
  if (depth > static_cast<int64_t>(p.size()))
    return c.Error("the indices have more components than params has dimensions");
  std::string policy = c.node.String("bad_indices_policy").value_or("");
  if (!policy.empty() && policy != "DEFAULT" && policy != "ERROR")
    return c.Unimplemented("bad_indices_policy " + policy);
  Emitter& b = c.b;
  Dims out = batch;
  out.insert(out.end(), p.begin() + depth, p.end());
  XC_ASSIGN_OR_RETURN(int64_t outputs, CheckedNumElements(out));
  if (outputs == 0) {
    return b.Full(params->type(), out, 0);
  }
  Val indices = WideIndices(b, c.in(operand));
  if (depth == 0) {
    std::vector<int64_t> mapping(p.size());
    std::iota(mapping.begin(), mapping.end(), static_cast<int64_t>(batch.size()));
    return b.Broadcast(params, out, mapping);
  }
  std::vector<int64_t> limits(p.begin(), p.begin() + depth);
  if (std::count(limits.begin(), limits.end(), 0) > 0) return c.Error("indices into an empty dimension");
  Val bound = b.Broadcast(b.Vector(indices->type(), limits), c.dims(operand), {c.rank(operand) - 1});
  c.FailIf(b.Or(b.Lt(indices, b.Like(indices, 0)), b.Ge(indices, bound)));
  GatherDims g;
  Dims sizes = p;
  for (int64_t d = 0; d < depth; ++d) {
    g.collapsed_slice_dims.push_back(d);
    g.start_index_map.push_back(d);
    sizes[d] = 1;
  }
  for (int64_t d = depth; d < static_cast<int64_t>(p.size()); ++d) {
    g.offset_dims.push_back(static_cast<int64_t>(batch.size()) + d - depth);
  }
  g.index_vector_dim = c.rank(operand) - 1;
  return b.Gather(params, indices, g, sizes);
}

namespace {

absl::Status GatherV2(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(2));
  XC_ASSIGN_OR_RETURN(int64_t batch, c.node.Int("batch_dims"));
  XC_ASSIGN_OR_RETURN(Val v, GatherAlong(c, c.in(0), 1, axis, batch));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status Gather(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, GatherAlong(c, c.in(0), 1, 0, 0));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status GatherNd(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, GatherSlices(c, c.in(0), 1));
  c.set(0, v);
  return absl::OkStatus();
}

// k is an operand, or in older forms of the op an attribute.
absl::StatusOr<int64_t> ReadK(OpContext& c, int operand) {
  return operand < c.num_inputs() ? c.Int(operand) : c.node.Int("k");
}

absl::Status TopK(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t k, ReadK(c, 1));
  if (c.rank(0) < 1) return c.Error("input must have rank 1 or more");
  int64_t axis = c.rank(0) - 1, n = c.dims(0)[axis];
  if (k < 0 || k > n) return c.Error(absl::StrCat("input must have at least k (", k, ") columns, has ", n));
  Emitter& b = c.b;
  Val index = b.Iota(ElementType::kS32, c.dims(0), axis);
  // A stable descending sort keeps the lower index first among equals.
  HloComputation* order = b.LessThan({c.etype(0), ElementType::kS32}, CompareDirection::kGt, true);
  Val sorted = b.Sort({c.in(0), index}, axis, order, true);
  c.set(0, b.SliceDim(b.Get(sorted, 0), axis, 0, k));
  c.set(1, b.Convert(b.SliceDim(b.Get(sorted, 1), axis, 0, k), c.out_etype(1)));
  return absl::OkStatus();
}

// The k greatest (or least) along a dimension; exact, which every recall target allows.
absl::Status ApproxTopK(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t k, c.node.Int("k"));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("reduction_dimension"));
  XC_ASSIGN_OR_RETURN(bool greatest, c.node.Bool("is_max_k"));
  XC_ASSIGN_OR_RETURN(bool exact, c.node.Bool("aggregate_to_topk"));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  if (k < 0 || k > c.dims(0)[axis]) return c.Error(absl::StrCat("k is ", k, ", of ", c.dims(0)[axis], " elements"));
  if (!exact) return c.Unimplemented("a result of more than k elements");
  Emitter& b = c.b;
  HloComputation* order =
      b.LessThan({c.etype(0), ElementType::kS32}, greatest ? CompareDirection::kGt : CompareDirection::kLt, true);
  Val sorted = b.Sort({c.in(0), b.Iota(ElementType::kS32, c.dims(0), axis)}, axis, order, true);
  for (int i = 0; i < 2; ++i) c.set(i, b.SliceDim(b.Get(sorted, i), axis, 0, k));
  return absl::OkStatus();
}

absl::Status InTopK(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t k, ReadK(c, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (c.dims(1)[0] != c.dims(0)[0]) return c.Error("targets and predictions must have the same batch");
  Emitter& b = c.b;
  Val x = c.in(0), ids = c.in(1);
  Val hit = b.Eq(b.Broadcast(ids, c.dims(0), {0}), b.Iota(c.etype(1), c.dims(0), 1));
  Val target = b.ReduceSum(b.Select(hit, x, b.Like(x, 0)), {1});
  Val wide = b.Broadcast(target, c.dims(0), {0});
  Val above = b.ReduceSum(b.Convert(b.Gt(x, wide), ElementType::kS32), {1});
  Val finite = b.Unary(HloOpcode::kIsFinite, x);
  Val all_finite = b.Reduce(finite, b.Scalar(ElementType::kPred, 1), {1}, HloOpcode::kAnd);
  Val in_range = b.And(b.Ge(ids, b.Like(ids, 0)), b.Lt(ids, b.Like(ids, static_cast<double>(c.dims(0)[1]))));
  c.set(0, b.And(b.And(b.Lt(above, b.Like(above, static_cast<double>(k))), in_range), all_finite));
  return absl::OkStatus();
}

// The n-th least (or greatest) of each row.
absl::Status NthElement(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, c.Int(1));
  XC_ASSIGN_OR_RETURN(bool reverse, c.node.Bool("reverse"));
  if (c.rank(0) < 1) return c.Error("input must have rank 1 or more");
  int64_t axis = c.rank(0) - 1, size = c.dims(0)[axis];
  if (n < 0 || n >= size) return c.Error(absl::StrCat("n is ", n, ", of ", size, " elements"));
  HloComputation* order = c.b.LessThan({c.etype(0)}, reverse ? CompareDirection::kGt : CompareDirection::kLt, true);
  Dims out(c.dims(0).begin(), c.dims(0).end() - 1);
  c.set(0, c.b.Reshape(c.b.SliceDim(c.b.Sort({c.in(0)}, axis, order, false), axis, n, n + 1), out));
  return absl::OkStatus();
}

}  // namespace

void RegisterGather(LoweringRegistry& r) {
  r.Add({"GatherV2"}, kArrayTypes, GatherV2, {"axis"});
  r.Add({"Gather"}, kArrayTypes, Gather);
  r.Add({"GatherNd"}, kArrayTypes, GatherNd);
  r.Add({"TopKV2"}, kRealTypes, TopK, {"k"});
  r.Add({"TopK"}, kRealTypes, TopK);
  r.Add({"InTopK"}, TypeBit(DT_INT32) | TypeBit(DT_INT64), InTopK);
  r.Add({"NthElement"}, kRealTypes, NthElement, {"n"});
  r.Add({"ApproxTopK"}, kFloatTypes, ApproxTopK);
  r.Add({"InTopKV2"}, TypeBit(DT_INT32) | TypeBit(DT_INT64), InTopK, {"k"});
}

}  // namespace xc
