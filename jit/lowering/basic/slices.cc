// Lowerings of slicing, reversing, rolling and the space/batch/depth rearrangements.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/basic/indexing.h"
#include "jit/lowering/basic/offset.h"

namespace xc {
namespace {

absl::Status Slice(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, c.Ints(2));
  const Dims& dims = c.dims(0);
  if (c.dims(1) != Dims{c.rank(0)} || static_cast<int64_t>(sizes.size()) != c.rank(0)) {
    return c.Error("begin and size must have one entry per dimension");
  }
  if (!c.IsConstant(1)) {
    // A start known only at run time needs sizes that do not depend on it.
    for (int64_t d = 0; d < c.rank(0); ++d) {
      if (sizes[d] == -1) return c.Ints(1).status();
      if (sizes[d] < 0 || sizes[d] > dims[d])
        return c.Error(absl::StrCat("size of dimension ", d, " is out of bounds"));
    }
    std::vector<Val> starts;
    Val begin = c.in(1);
    Val limits = c.b.Sub(c.b.Vector(begin->type(), dims), c.b.Vector(begin->type(), sizes));
    c.FailIf(c.b.Or(c.b.Lt(begin, c.b.Like(begin, 0)), c.b.Gt(begin, limits)));
    for (int64_t d = 0; d < c.rank(0); ++d) starts.push_back(c.b.Reshape(c.b.SliceDim(begin, 0, d, d + 1), {}));
    c.set(0, c.b.DynamicSlice(c.in(0), starts, sizes));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> begin, c.Ints(1));
  std::vector<int64_t> limits;
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (begin[d] < 0 || begin[d] > dims[d]) return c.Error(absl::StrCat("begin of dimension ", d, " is out of bounds"));
    if (sizes[d] == -1) sizes[d] = dims[d] - begin[d];
    if (sizes[d] < 0 || sizes[d] > dims[d] - begin[d]) {
      return c.Error(absl::StrCat("size of dimension ", d, " is out of bounds"));
    }
    limits.push_back(begin[d] + sizes[d]);
  }
  c.set(0, c.b.Slice(c.in(0), begin, limits));
  return absl::OkStatus();
}

absl::StatusOr<StridedSliceSpec> ReadSpec(OpContext& c, int first, const Dims& dims) {
  XC_ASSIGN_OR_RETURN(auto begin, c.Ints(first));
  XC_ASSIGN_OR_RETURN(auto end, c.Ints(first + 1));
  XC_ASSIGN_OR_RETURN(auto strides, c.Ints(first + 2));
  return ResolveStridedSlice(c.node, dims, begin, end, strides);
}

// The slice as HLO: negative strides reverse first.
struct HloSlice {
  std::vector<int64_t> starts, limits, strides, reversed;
};
HloSlice ToHlo(const StridedSliceSpec& spec, const Dims& dims) {
  HloSlice s;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t stride = spec.strides[d], first = spec.begin[d], count = spec.processing[d];
    if (stride < 0) {
      s.reversed.push_back(static_cast<int64_t>(d));
      first = dims[d] - 1 - first;
      stride = -stride;
    }
    if (count == 0) first = 0;
    s.starts.push_back(first);
    s.limits.push_back(count == 0 ? 0 : first + (count - 1) * stride + 1);
    s.strides.push_back(stride);
  }
  return s;
}

// A slice whose place is known only at run time, but not its size: x[i], x[:, i] or x[i:i + 2] inside loops.
struct IndexedSlice {
  std::vector<Val> starts;
  Dims sizes, final_dims;  // before and after dimensions are dropped and added
};

// An index of Python in a dimension of `size` elements as a place in [0, size].
int64_t Place(int64_t index, int64_t size) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); }

// Of an array of shape `dims`; operands first.. are begin, end and strides. An error if only the values of `begin` say
// how much is taken.
absl::StatusOr<IndexedSlice> ReadIndexed(OpContext& c, int first, const Dims& dims) {
  XC_ASSIGN_OR_RETURN(int64_t begin_mask, c.node.Int("begin_mask"));
  XC_ASSIGN_OR_RETURN(int64_t end_mask, c.node.Int("end_mask"));
  XC_ASSIGN_OR_RETURN(int64_t ellipsis, c.node.Int("ellipsis_mask"));
  XC_ASSIGN_OR_RETURN(int64_t new_axis, c.node.Int("new_axis_mask"));
  XC_ASSIGN_OR_RETURN(int64_t shrink, c.node.Int("shrink_axis_mask"));
  XC_ASSIGN_OR_RETURN(auto strides, c.Ints(first + 2));
  const int64_t n = static_cast<int64_t>(strides.size()), rank = static_cast<int64_t>(dims.size());
  if (n > 32 || c.dims(first) != Dims{n})
    return c.Error("begin, end and strides must have the same length, at most 32");
  auto bit = [](int64_t mask, int64_t i) { return (mask >> i) & 1; };
  int64_t named = 0;
  for (int64_t i = 0; i < n; ++i) named += !bit(ellipsis, i) && !bit(new_axis, i);
  if (named > rank || (ellipsis & (ellipsis - 1)) != 0) return c.Error("too many indices");
  Emitter& b = c.b;
  const Val begin = c.in(first), zero = b.ScalarInt(begin->type(), 0);
  IndexedSlice s;
  auto whole = [&](int64_t count) {
    for (; count > 0; --count) {
      const int64_t size = dims[s.sizes.size()];
      s.starts.push_back(zero);
      s.sizes.push_back(size);
      s.final_dims.push_back(size);
    }
  };
  for (int64_t i = 0; i < n; ++i) {
    if (bit(ellipsis, i)) {
      whole(rank - named);
    } else if (bit(new_axis, i)) {
      s.final_dims.push_back(1);
    } else if (bit(shrink, i) && strides[i] > 0) {
      const int64_t limit = dims[s.sizes.size()];
      if (limit == 0) return c.Error("slice index is out of bounds");
      const Val size = b.ScalarInt(begin->type(), limit);
      Val at = bit(begin_mask, i) ? zero : b.Reshape(b.SliceDim(begin, 0, i, i + 1), {});
      at = b.Select(b.Lt(at, zero), b.Add(at, size), at);
      c.FailIf(b.Or(b.Lt(at, zero), b.Ge(at, size)));
      s.starts.push_back(at);
      s.sizes.push_back(1);
    } else if (!bit(shrink, i) && bit(begin_mask, i) && bit(end_mask, i) && strides[i] == 1) {
      whole(1);
    } else if (!bit(shrink, i) && strides[i] == 1) {
      const int64_t limit = dims[s.sizes.size()];
      const std::optional<Offset> from = bit(begin_mask, i) ? Offset{nullptr, 0} : ElementOf(begin, i);
      const std::optional<Offset> to = bit(end_mask, i) ? Offset{nullptr, limit} : ElementOf(c.in(first + 1), i);
      if (!from || !to || from->base != to->base) return c.Ints(first).status();
      Val at;
      int64_t count = to->constant - from->constant;
      if (from->base == nullptr) {
        at = b.ScalarInt(begin->type(), Place(from->constant, limit));
        count = std::max<int64_t>(0, Place(to->constant, limit) - Place(from->constant, limit));
      } else {
        if (count < 1 || count > limit) return c.Ints(first).status();
        // Where both ends lie inside, none is cut off nor counts from the end.
        at = b.Reshape(b.SliceDim(begin, 0, i, i + 1), {});
        c.FailIf(b.Or(b.Lt(at, zero), b.Gt(at, b.ScalarInt(begin->type(), limit - count))));
      }
      s.starts.push_back(at);
      s.sizes.push_back(count);
      s.final_dims.push_back(count);
    } else {
      return c.Ints(first).status();
    }
  }
  whole(rank - static_cast<int64_t>(s.sizes.size()));
  return s;
}

absl::Status StridedSlice(OpContext& c) {
  if (!c.IsConstant(1)) {
    XC_ASSIGN_OR_RETURN(IndexedSlice s, ReadIndexed(c, 1, c.dims(0)));
    c.set(0, c.b.Reshape(c.b.DynamicSlice(c.in(0), s.starts, s.sizes), s.final_dims));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(StridedSliceSpec spec, ReadSpec(c, 1, c.dims(0)));
  HloSlice s = ToHlo(spec, c.dims(0));
  Val x = c.b.Reverse(c.in(0), s.reversed);
  c.set(0, c.b.Reshape(c.b.Slice(x, s.starts, s.limits, s.strides), spec.final_dims));
  return absl::OkStatus();
}

// Spreads `part`, of the slice's shape, over zeros of shape `dims`.
Val Unslice(Emitter& b, Val part, const StridedSliceSpec& spec, const Dims& dims, Val fill) {
  HloSlice s = ToHlo(spec, dims);
  std::vector<PaddingDim> padding;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t count = spec.processing[d];
    int64_t span = count == 0 ? 0 : (count - 1) * s.strides[d] + 1;
    padding.push_back({s.starts[d], dims[d] - s.starts[d] - span, s.strides[d] - 1});
  }
  return b.Reverse(b.Pad(b.Reshape(part, spec.processing), fill, padding), s.reversed);
}

absl::Status StridedSliceGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(0));
  XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
  if (!c.IsConstant(1)) {
    XC_ASSIGN_OR_RETURN(IndexedSlice s, ReadIndexed(c, 1, dims));
    if (s.final_dims != c.dims(4)) return c.Error("dy does not have the shape of the slice");
    Val zeros = c.b.Full(c.etype(4), dims, 0);
    c.set(0, c.b.DynamicUpdateSlice(zeros, c.b.Reshape(c.in(4), s.sizes), s.starts));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(StridedSliceSpec spec, ReadSpec(c, 1, dims));
  if (spec.final_dims != c.dims(4)) return c.Error("dy does not have the shape of the slice");
  c.set(0, Unslice(c.b, c.in(4), spec, dims, c.b.Scalar(c.etype(4), 0)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Val> AssignSlice(OpContext& c, Val base) {
  const Dims dims = base->shape().dims();
  XC_ASSIGN_OR_RETURN(StridedSliceSpec spec, ReadSpec(c, 1, dims));
  auto fit = BroadcastDims(c.dims(4), spec.final_dims);
  if (!fit.ok() || *fit != spec.final_dims) return c.Error("the value does not fit the slice");
  Emitter& b = c.b;
  Val part = b.BroadcastTo(c.in(4), spec.final_dims);
  Val spread = Unslice(b, part, spec, dims, b.Scalar(base->type(), 0));
  Val ones = b.Full(ElementType::kPred, spec.final_dims, 1);
  Val mask = Unslice(b, ones, spec, dims, b.Scalar(ElementType::kPred, 0));
  return b.Select(mask, spread, base);
}

namespace {

absl::Status TensorStridedSliceUpdate(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val v, AssignSlice(c, c.in(0)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status ReverseV2(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(1));
  std::vector<int64_t> distinct;
  for (int64_t a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.rank(0)));
    if (std::find(distinct.begin(), distinct.end(), a) != distinct.end()) return c.Error("an axis is given twice");
    distinct.push_back(a);
  }
  c.set(0, c.b.Reverse(c.in(0), distinct));
  return absl::OkStatus();
}

absl::Status Reverse(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto flags, c.Ints(1));
  if (static_cast<int64_t>(flags.size()) != c.rank(0)) return c.Error("dims must have one entry per dimension");
  std::vector<int64_t> axes;
  for (size_t d = 0; d < flags.size(); ++d) {
    if (flags[d]) axes.push_back(static_cast<int64_t>(d));
  }
  c.set(0, c.b.Reverse(c.in(0), axes));
  return absl::OkStatus();
}

absl::Status ReverseSequence(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t seq, c.node.Int("seq_dim"));
  XC_ASSIGN_OR_RETURN(int64_t batch, c.node.Int("batch_dim"));
  XC_ASSIGN_OR_RETURN(seq, c.Axis(seq, c.rank(0)));
  XC_ASSIGN_OR_RETURN(batch, c.Axis(batch, c.rank(0)));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (seq == batch || c.dims(1)[0] != c.dims(0)[batch]) return c.Error("seq_lengths does not fit");
  Emitter& b = c.b;
  // Position i of a row of length n takes element n - 1 - i where i < n, else i.
  Dims grid = {c.dims(0)[batch], c.dims(0)[seq]};
  Val lengths = b.Convert(c.in(1), ElementType::kS32);
  c.FailIf(b.Or(b.Lt(lengths, b.Like(lengths, 0)), b.Gt(lengths, b.Like(lengths, grid[1]))));
  Val i = b.Iota(ElementType::kS32, grid, 1);
  Val n = b.Broadcast(lengths, grid, {0});
  Val from = b.Select(b.Lt(i, n), b.Sub(b.Sub(n, b.Like(n, 1)), i), i);
  // Gather over [batch, seq, rest] and back.
  std::vector<int64_t> to_front = {batch, seq}, back(c.rank(0));
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (d != batch && d != seq) to_front.push_back(d);
  }
  for (size_t d = 0; d < to_front.size(); ++d) back[to_front[d]] = static_cast<int64_t>(d);
  Val x = b.Transpose(c.in(0), to_front);
  Val rows = b.Iota(ElementType::kS32, {grid[0], grid[1], 1}, 0);
  Val indices = b.Concat({rows, b.Reshape(from, {grid[0], grid[1], 1})}, 2);
  GatherDims g;
  Dims sizes = x->shape().dims();
  sizes[0] = sizes[1] = std::min<int64_t>(1, std::min(sizes[0], sizes[1]));
  if (CheckedNumElements(c.dims(0)).value() == 0) {
    c.set(0, c.in(0));
    return absl::OkStatus();
  }
  for (int64_t d = 2; d < c.rank(0); ++d) g.offset_dims.push_back(d);
  g.collapsed_slice_dims = {0, 1};
  g.start_index_map = {0, 1};
  g.index_vector_dim = 2;
  c.set(0, b.Transpose(b.Gather(x, indices, g, sizes), back));
  return absl::OkStatus();
}

absl::Status Roll(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto shifts, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(2));
  if (shifts.size() != axes.size()) return c.Error("shift and axis must have the same size");
  Val x = c.in(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    XC_ASSIGN_OR_RETURN(int64_t axis, c.Axis(axes[i], c.rank(0)));
    int64_t n = c.dims(0)[axis];
    if (n == 0) continue;
    int64_t by = (shifts[i] % n + n) % n;
    if (by == 0) continue;
    x = c.b.Concat({c.b.SliceDim(x, axis, n - by, n), c.b.SliceDim(x, axis, 0, n - by)}, axis);
  }
  c.set(0, x);
  return absl::OkStatus();
}

absl::Status SpaceToBatchCore(OpContext& c, const std::vector<int64_t>& block, const std::vector<int64_t>& paddings) {
  size_t m = block.size();
  int64_t rank = c.rank(0);
  if (paddings.size() != 2 * m || rank < static_cast<int64_t>(m) + 1) return c.Error("block shape does not fit");
  std::vector<PaddingDim> padding(rank);
  int64_t volume = 1;
  for (size_t i = 0; i < m; ++i) {
    if (block[i] < 1 || paddings[2 * i] < 0 || paddings[2 * i + 1] < 0) return c.Error("bad block shape or paddings");
    padding[i + 1] = {paddings[2 * i], paddings[2 * i + 1], 0};
    volume *= block[i];
    if ((c.dims(0)[i + 1] + paddings[2 * i] + paddings[2 * i + 1]) % block[i] != 0) {
      return c.Error(absl::StrCat("padded dimension ", i + 1, " is not divisible by the block size"));
    }
  }
  Emitter& b = c.b;
  Val x = b.Pad(c.in(0), b.Scalar(c.etype(0), 0), padding);
  const Dims padded = x->shape().dims();
  Dims split = {padded[0]}, out = {padded[0] * volume};
  std::vector<int64_t> perm;
  for (size_t i = 0; i < m; ++i) {
    split.push_back(padded[i + 1] / block[i]);
    split.push_back(block[i]);
    perm.push_back(static_cast<int64_t>(2 * i + 2));
    out.push_back(padded[i + 1] / block[i]);
  }
  perm.push_back(0);
  for (size_t i = 0; i < m; ++i) perm.push_back(static_cast<int64_t>(2 * i + 1));
  for (int64_t d = static_cast<int64_t>(m) + 1; d < rank; ++d) {
    perm.push_back(static_cast<int64_t>(split.size()));
    split.push_back(padded[d]);
    out.push_back(padded[d]);
  }
  c.set(0, b.Reshape(b.Transpose(b.Reshape(x, split), perm), out));
  return absl::OkStatus();
}

absl::Status BatchToSpaceCore(OpContext& c, const std::vector<int64_t>& block, const std::vector<int64_t>& crops) {
  size_t m = block.size();
  int64_t rank = c.rank(0);
  if (crops.size() != 2 * m || rank < static_cast<int64_t>(m) + 1) return c.Error("block shape does not fit");
  int64_t volume = 1;
  for (int64_t s : block) {
    if (s < 1 || s > (int64_t{1} << 30)) return c.Error("bad block shape");
    volume *= s;
  }
  const Dims& dims = c.dims(0);
  if (dims[0] % volume != 0) return c.Error("the batch is not divisible by the block volume");
  Dims split;
  for (int64_t s : block) split.push_back(s);
  split.push_back(dims[0] / volume);
  for (int64_t d = 1; d < rank; ++d) split.push_back(dims[d]);
  std::vector<int64_t> perm = {static_cast<int64_t>(m)};
  Dims merged = {dims[0] / volume};
  for (size_t i = 0; i < m; ++i) {
    perm.push_back(static_cast<int64_t>(m + 1 + i));
    perm.push_back(static_cast<int64_t>(i));
    merged.push_back(dims[i + 1] * block[i]);
  }
  for (int64_t d = static_cast<int64_t>(m) + 1; d < rank; ++d) {
    perm.push_back(static_cast<int64_t>(m) + d);
    merged.push_back(dims[d]);
  }
  Emitter& b = c.b;
  Val x = b.Reshape(b.Transpose(b.Reshape(c.in(0), split), perm), merged);
  std::vector<int64_t> starts(rank, 0), limits = merged;
  for (size_t i = 0; i < m; ++i) {
    starts[i + 1] = crops[2 * i];
    limits[i + 1] = merged[i + 1] - crops[2 * i + 1];
    if (crops[2 * i] < 0 || crops[2 * i + 1] < 0 || limits[i + 1] < starts[i + 1]) return c.Error("bad crops");
  }
  c.set(0, b.Slice(x, starts, limits));
  return absl::OkStatus();
}

absl::Status SpaceToBatchND(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto block, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto paddings, c.Ints(2));
  return SpaceToBatchCore(c, block, paddings);
}
absl::Status BatchToSpaceND(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto block, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto crops, c.Ints(2));
  return BatchToSpaceCore(c, block, crops);
}
absl::Status SpaceToBatch(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t size, c.node.Int("block_size"));
  XC_ASSIGN_OR_RETURN(auto paddings, c.Ints(1));
  return SpaceToBatchCore(c, {size, size}, paddings);
}
absl::Status BatchToSpace(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t size, c.node.Int("block_size"));
  XC_ASSIGN_OR_RETURN(auto crops, c.Ints(1));
  return BatchToSpaceCore(c, {size, size}, crops);
}

// Both rearrangements work on NHWC; NCHW is transposed around them.
template <bool kToDepth>
absl::Status SpaceDepth(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t s, c.node.Int("block_size"));
  XC_ASSIGN_OR_RETURN(std::string format, c.node.String("data_format"));
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  if (format != "NHWC" && format != "NCHW") return c.Unimplemented("data_format " + format);
  if (s < 2) return c.Error("block_size must be at least 2");
  Emitter& b = c.b;
  Val x = c.in(0);
  if (format == "NCHW") x = b.Transpose(x, {0, 2, 3, 1});
  const Dims d = x->shape().dims();
  Val y;
  if (kToDepth) {
    if (d[1] % s != 0 || d[2] % s != 0) return c.Error("height and width must be divisible by block_size");
    y = b.Reshape(x, {d[0], d[1] / s, s, d[2] / s, s, d[3]});
    y = b.Reshape(b.Transpose(y, {0, 1, 3, 2, 4, 5}), {d[0], d[1] / s, d[2] / s, s * s * d[3]});
  } else {
    if (d[3] % (s * s) != 0) return c.Error("depth must be divisible by the square of block_size");
    y = b.Reshape(x, {d[0], d[1], d[2], s, s, d[3] / (s * s)});
    y = b.Reshape(b.Transpose(y, {0, 1, 3, 2, 4, 5}), {d[0], d[1] * s, d[2] * s, d[3] / (s * s)});
  }
  if (format == "NCHW") y = b.Transpose(y, {0, 3, 1, 2});
  c.set(0, y);
  return absl::OkStatus();
}

}  // namespace

void RegisterSlices(LoweringRegistry& r) {
  constexpr TypeSet kAny = kArrayTypes;
  r.Add({"Slice"}, kAny, Slice, {"size"});
  r.Add({"StridedSlice"}, kAny, StridedSlice, {"strides"});
  r.Add({"StridedSliceGrad"}, kAny, StridedSliceGrad, {"shape", "strides"});
  r.Add({"TensorStridedSliceUpdate"}, kAny, TensorStridedSliceUpdate, {"begin", "end", "strides"});
  r.Add({"ReverseV2"}, kAny, ReverseV2, {"axis"});
  r.Add({"Reverse"}, kAny, Reverse, {"dims"});
  r.Add({"ReverseSequence"}, kAny, ReverseSequence);
  r.Add({"Roll"}, kAny, Roll, {"shift", "axis"});
  r.Add({"SpaceToBatchND"}, kAny, SpaceToBatchND, {"block_shape", "paddings"});
  r.Add({"BatchToSpaceND"}, kAny, BatchToSpaceND, {"block_shape", "crops"});
  r.Add({"SpaceToBatch"}, kAny, SpaceToBatch, {"paddings"});
  r.Add({"BatchToSpace"}, kAny, BatchToSpace, {"crops"});
  r.Add({"SpaceToDepth"}, kAny, SpaceDepth<true>);
  r.Add({"DepthToSpace"}, kAny, SpaceDepth<false>);
}

}  // namespace xc
