// Lowerings of ops that change or compute shapes: reshape, transpose, concatenation, tiling, filling, padding.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/basic/lists.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;

// Values pass through, lists and variables included.
absl::Status Identity(OpContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_value(i, c.value(i));
  return absl::OkStatus();
}

absl::Status ShapeOf(OpContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_constant(i, Tensor::Integers(c.out_type(i), c.dims(i)));
  return absl::OkStatus();
}
absl::Status SizeOf(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
  c.set_constant(0, Tensor::Integer(c.out_type(0), n));
  return absl::OkStatus();
}
absl::Status RankOf(OpContext& c) {
  c.set_constant(0, Tensor::Integer(DT_INT32, c.rank(0)));
  return absl::OkStatus();
}

// Ops of shape arithmetic that exist only on constants: the host kernel folded them if it could.
absl::Status FoldOnly(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(c.Const(i).status());
  }
  return c.Error("cannot be evaluated while compiling");
}

absl::Status CheckSize(OpContext& c, const Dims& dims) {
  auto n = CheckedNumElements(dims);
  if (!n.ok()) return c.Error(std::string(n.status().message()));
  if (*n > kMaxElements) return c.Error(absl::StrCat("result shape ", DimsToString(dims), " is too large"));
  return absl::OkStatus();
}

absl::Status Reshape(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.Ints(1));
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) return c.Error("only one dimension of the shape may be -1");
      unknown = static_cast<int>(i);
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      return c.Error(absl::StrCat("bad shape ", DimsToString(dims)));
    }
  }
  if (unknown >= 0) {
    if (known == 0 ? n != 0 : n % known != 0) {
      return c.Error(absl::StrCat("cannot reshape ", DimsToString(c.dims(0)), " to ", DimsToString(dims)));
    }
    dims[unknown] = known == 0 ? 0 : n / known;
    known *= dims[unknown];
  }
  if (known != n) return c.Error(absl::StrCat("cannot reshape ", DimsToString(c.dims(0)), " to ", DimsToString(dims)));
  c.set(0, c.b.Reshape(c.in(0), dims));
  return absl::OkStatus();
}

absl::Status ExpandDims(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(1));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0) + 1));
  Dims dims = c.dims(0);
  dims.insert(dims.begin() + axis, 1);
  c.set(0, c.b.Reshape(c.in(0), dims));
  return absl::OkStatus();
}

absl::Status Squeeze(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.node.Ints("squeeze_dims"));
  for (int64_t& a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.rank(0)));
    if (c.dims(0)[a] != 1) return c.Error(absl::StrCat("dimension ", a, " is ", c.dims(0)[a], ", not 1"));
  }
  Dims dims;
  for (int64_t i = 0; i < c.rank(0); ++i) {
    bool drop = axes.empty() ? c.dims(0)[i] == 1 : std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!drop) dims.push_back(c.dims(0)[i]);
  }
  c.set(0, c.b.Reshape(c.in(0), dims));
  return absl::OkStatus();
}

absl::Status TransposeImpl(OpContext& c, bool conjugate) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> perm, c.Ints(1));
  if (static_cast<int64_t>(perm.size()) != c.rank(0)) return c.Error("the permutation has a wrong length");
  std::vector<bool> seen(perm.size(), false);
  for (int64_t& p : perm) {
    XC_ASSIGN_OR_RETURN(p, c.Axis(p, c.rank(0)));
    if (seen[p]) return c.Error("the permutation repeats a dimension");
    seen[p] = true;
  }
  Val v = c.b.Transpose(c.in(0), perm);
  if (conjugate && IsComplex(v->type())) v = c.b.Complex(c.b.Real(v), c.b.Neg(c.b.Imag(v)));
  c.set(0, v);
  return absl::OkStatus();
}

absl::Status ConcatParts(OpContext& c, int first, int count, int64_t axis) {
  if (count < 1) return c.Error("needs at least one part");
  if (c.rank(first) == 0) return c.Error("cannot concatenate scalars");
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(first)));
  std::vector<Val> parts;
  for (int i = first; i < first + count; ++i) {
    if (c.rank(i) != c.rank(first)) return c.Error("parts differ in rank");
    for (int64_t d = 0; d < c.rank(i); ++d) {
      if (d != axis && c.dims(i)[d] != c.dims(first)[d]) {
        return c.Error(absl::StrCat("part ", i - first, " has shape ", DimsToString(c.dims(i)), ", the first ",
                                    DimsToString(c.dims(first))));
      }
    }
    parts.push_back(c.in(i));
  }
  c.set(0, c.b.Concat(parts, axis));
  return absl::OkStatus();
}

absl::Status ConcatV2(OpContext& c) {
  int n = c.num_inputs() - 1;
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(n));
  return ConcatParts(c, 0, n, axis);
}
absl::Status Concat(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  return ConcatParts(c, 1, c.num_inputs() - 1, axis);
}

absl::Status Pack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  if (c.num_inputs() == 0) return c.Error("needs at least one part");
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0) + 1));
  Dims dims = c.dims(0);
  dims.insert(dims.begin() + axis, 1);
  std::vector<Val> parts;
  for (int i = 0; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, i));
    parts.push_back(c.b.Reshape(c.in(i), dims));
  }
  c.set(0, c.b.Concat(parts, axis));
  return absl::OkStatus();
}

absl::Status Unpack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  if (c.dims(0)[axis] != c.num_outputs()) return c.Error("the axis has another size than num");
  Dims dims = c.dims(0);
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set(i, c.b.Reshape(c.b.SliceDim(c.in(0), axis, i, i + 1), dims));
  }
  return absl::OkStatus();
}

absl::Status Split(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(1)));
  int64_t n = c.num_outputs();
  if (n == 0 || c.dims(1)[axis] % n != 0) {
    return c.Error(absl::StrCat("dimension ", axis, " of size ", c.dims(1)[axis], " does not split into ", n));
  }
  int64_t size = c.dims(1)[axis] / n;
  for (int64_t i = 0; i < n; ++i) c.set(i, c.b.SliceDim(c.in(1), axis, i * size, (i + 1) * size));
  return absl::OkStatus();
}

absl::Status SplitV(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, c.Ints(1));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(2));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  if (static_cast<int>(sizes.size()) != c.num_outputs()) return c.Error("size_splits has a wrong length");
  int64_t total = 0, whole = c.dims(0)[axis];
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (sizes[i] < 0 || sizes[i] > whole) {
      return c.Error(absl::StrCat("bad size ", sizes[i]));
    } else {
      total += sizes[i];
    }
  }
  if (unknown >= 0) {
    sizes[unknown] = whole - total;
    total = sizes[unknown] < 0 ? -1 : whole;
  }
  if (total != whole) return c.Error("the sizes do not sum to the axis");
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.set(static_cast<int>(i), c.b.SliceDim(c.in(0), axis, start, start + sizes[i]));
    start += sizes[i];
  }
  return absl::OkStatus();
}

absl::Status Tile(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> multiples, c.Ints(1));
  if (static_cast<int64_t>(multiples.size()) != c.rank(0))
    return c.Error("multiples must have one entry per dimension");
  // [a, b] -> [m, a, n, b] -> [m*a, n*b].
  Dims wide, out;
  std::vector<int64_t> mapping;
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (multiples[d] < 0) return c.Error("negative multiple");
    wide.push_back(multiples[d]);
    mapping.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(c.dims(0)[d]);
    int64_t size;
    if (__builtin_mul_overflow(multiples[d], c.dims(0)[d], &size)) return c.Error("the result is too large");
    out.push_back(size);
  }
  XC_RETURN_IF_ERROR(CheckSize(c, out));
  if (out == c.dims(0)) {
    c.set(0, c.in(0));
  } else {
    c.set(0, c.b.Reshape(c.b.Broadcast(c.in(0), wide, mapping), out));
  }
  return absl::OkStatus();
}

absl::Status BroadcastTo(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.Ints(1));
  XC_RETURN_IF_ERROR(CheckSize(c, dims));
  auto both = BroadcastDims(c.dims(0), dims);
  if (!both.ok() || *both != dims) {
    return c.Error(absl::StrCat("cannot broadcast ", DimsToString(c.dims(0)), " to ", DimsToString(dims)));
  }
  c.set(0, c.b.BroadcastTo(c.in(0), dims));
  return absl::OkStatus();
}

absl::Status Fill(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.Ints(0));
  XC_RETURN_IF_ERROR(CheckSize(c, dims));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  c.set(0, c.b.BroadcastScalar(c.in(1), dims));
  return absl::OkStatus();
}

template <int kValue>
absl::Status FillLike(OpContext& c) {
  c.set(0, c.b.Full(c.etype(0), c.dims(0), kValue));
  return absl::OkStatus();
}

absl::Status ZerosLike(OpContext& c) { return c.type(0) == DT_VARIANT ? ZerosLikeList(c) : FillLike<0>(c); }

absl::Status Empty(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.Ints(0));
  XC_RETURN_IF_ERROR(CheckSize(c, dims));
  c.set(0, c.b.Full(c.out_etype(0), dims, 0));
  return absl::OkStatus();
}

absl::Status Range(OpContext& c) {
  // Reached only when the result is too large to fold.
  for (int i = 0; i < 3; ++i) {
    XC_RETURN_IF_ERROR(c.Const(i).status());
    if (c.value(i).constant->tensor.num_elements() != 1) return c.Error("start, limit and delta must be scalars");
  }
  XC_ASSIGN_OR_RETURN(double start, c.Double(0));
  XC_ASSIGN_OR_RETURN(double limit, c.Double(1));
  XC_ASSIGN_OR_RETURN(double delta, c.Double(2));
  if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
    return c.Error("the limit is not reached with this delta");
  }
  double count = std::ceil((limit - start) / delta);
  if (!(count < 1e10)) return c.Error("the range is too long");
  Dims dims = {static_cast<int64_t>(count)};
  Val i = c.b.Iota(c.out_etype(0), dims, 0);
  c.set(0, c.b.Add(c.b.Mul(i, c.in(2)), c.in(0)));
  return absl::OkStatus();
}

absl::Status LinSpace(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, c.Int(2));
  XC_RETURN_IF_ERROR(c.RequireRank(0, 0));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  if (n < 1 || n > kMaxElements) return c.Error(absl::StrCat("bad number of points ", n));
  Emitter& b = c.b;
  Val start = c.in(0), stop = c.in(1);
  if (n == 1) {
    c.set(0, b.Reshape(start, {1}));
    return absl::OkStatus();
  }
  Val step = b.Div(b.Sub(stop, start), b.Scalar(start->type(), static_cast<double>(n - 1)));
  Val points = b.Add(b.Mul(b.Iota(start->type(), {n - 1}, 0), step), start);
  c.set(0, b.Concat({points, b.Reshape(stop, {1})}, 0));  // the end point exactly
  return absl::OkStatus();
}

absl::Status OneHot(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.Int(1));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  if (depth < 0) return c.Error("depth must not be negative");
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0) + 1));
  Emitter& b = c.b;
  Dims dims = c.dims(0);
  dims.insert(dims.begin() + axis, depth);
  XC_RETURN_IF_ERROR(CheckSize(c, dims));
  std::vector<int64_t> mapping;
  for (int64_t d = 0; d < c.rank(0); ++d) mapping.push_back(d < axis ? d : d + 1);
  Val indices = b.Broadcast(c.in(0), dims, mapping);
  Val hit = b.Eq(indices, b.Iota(c.etype(0), dims, axis));
  c.set(0, b.Select(hit, b.BroadcastScalar(c.in(2), dims), b.BroadcastScalar(c.in(3), dims)));
  return absl::OkStatus();
}

absl::Status ReadPadding(OpContext& c, std::vector<PaddingDim>* padding) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> p, c.Ints(1));
  if (static_cast<int64_t>(p.size()) != 2 * c.rank(0)) return c.Error("paddings must be [rank, 2]");
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (p[2 * d] < 0 || p[2 * d + 1] < 0 || p[2 * d] > kMaxElements || p[2 * d + 1] > kMaxElements) {
      return c.Error("paddings must not be negative");
    }
    padding->push_back({p[2 * d], p[2 * d + 1], 0});
  }
  return absl::OkStatus();
}

absl::Status Pad(OpContext& c) {
  std::vector<PaddingDim> padding;
  XC_RETURN_IF_ERROR(ReadPadding(c, &padding));
  Val value = c.num_inputs() > 2 ? c.in(2) : c.b.Scalar(c.etype(0), 0);
  c.set(0, c.b.Pad(c.in(0), value, padding));
  return absl::OkStatus();
}

absl::Status MirrorPad(OpContext& c) {
  std::vector<PaddingDim> padding;
  XC_RETURN_IF_ERROR(ReadPadding(c, &padding));
  XC_ASSIGN_OR_RETURN(std::string mode, c.node.String("mode"));
  int64_t skip = mode == "REFLECT" ? 1 : 0;
  Val x = c.in(0);
  for (int64_t d = 0; d < c.rank(0); ++d) {
    int64_t n = c.dims(0)[d], low = padding[d].low, high = padding[d].high;
    if (low > n - skip || high > n - skip) return c.Error("paddings must not be greater than the dimension");
    std::vector<Val> parts;
    if (low > 0) parts.push_back(c.b.Reverse(c.b.SliceDim(x, d, skip, skip + low), {d}));
    parts.push_back(x);
    if (high > 0) parts.push_back(c.b.Reverse(c.b.SliceDim(x, d, n - skip - high, n - skip), {d}));
    x = c.b.Concat(parts, d);
  }
  c.set(0, x);
  return absl::OkStatus();
}

absl::Status MirrorPadGrad(OpContext& c) {
  std::vector<PaddingDim> padding;
  XC_RETURN_IF_ERROR(ReadPadding(c, &padding));
  XC_ASSIGN_OR_RETURN(std::string mode, c.node.String("mode"));
  int64_t skip = mode == "REFLECT" ? 1 : 0;
  Val x = c.in(0);
  for (int64_t d = 0; d < c.rank(0); ++d) {
    int64_t total = c.dims(0)[d], low = padding[d].low, high = padding[d].high, n = total - low - high;
    if (n < 0 || low > n - skip || high > n - skip) return c.Error("paddings do not fit");
    Val middle = c.b.SliceDim(x, d, low, low + n);
    auto add = [&](int64_t from, int64_t count, int64_t at) {
      Val part = c.b.Reverse(c.b.SliceDim(x, d, from, from + count), {d});
      std::vector<PaddingDim> fit(c.rank(0));
      fit[d] = {at, n - at - count, 0};
      middle = c.b.Add(middle, c.b.Pad(part, c.b.Scalar(x->type(), 0), fit));
    };
    if (low > 0) add(0, low, skip);
    if (high > 0) add(low + n, high, n - skip - high);
    x = middle;
  }
  c.set(0, x);
  return absl::OkStatus();
}

absl::Status EnsureShape(OpContext& c) {
  XC_ASSIGN_OR_RETURN(PartialShape shape, c.node.ShapeAttr("shape"));
  if (!shape.Accepts(c.dims(0))) {
    return c.Error(absl::StrCat("shape ", DimsToString(c.dims(0)), " is not compatible with ", shape.ToString()));
  }
  c.set_value(0, c.value(0));
  return absl::OkStatus();
}

absl::Status Bitcast(OpContext& c) {
  if (DataTypeSize(c.type(0)) != DataTypeSize(c.out_type(0)) || c.etype(0) == ElementType::kPred ||
      c.out_etype(0) == ElementType::kPred || IsComplex(c.etype(0)) || IsComplex(c.out_etype(0))) {
    return c.Unimplemented("Bitcast between types of different width");
  }
  c.set(0, c.b.BitcastConvert(c.in(0), c.out_etype(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterShapes(LoweringRegistry& r) {
  constexpr TypeSet kAny = kArrayTypes;
  r.Add({"Identity", "StopGradient", "PreventGradient", "Snapshot", "PlaceholderWithDefault", "IdentityN"},
        kAny | TypeBit(DT_VARIANT), Identity, {}, kUsesLists);
  r.Add({"Shape", "ShapeN"}, kAny, ShapeOf, {}, kShapeOnly);
  r.Add({"Size"}, kAny, SizeOf, {}, kShapeOnly);
  r.Add({"Rank"}, kAny, RankOf, {}, kShapeOnly);
  r.Add({"BroadcastArgs"}, kAny, FoldOnly, {"s0", "s1"});
  r.Add({"BroadcastGradientArgs"}, kAny, FoldOnly, {"s0", "s1"});
  r.Add({"ConcatOffset"}, kAny, FoldOnly, {"concat_dim", "shape"});
  r.Add({"InvertPermutation"}, kAny, FoldOnly, {"x"});
  r.Add({"Reshape"}, kAny, Reshape, {"shape"});
  r.Add({"ExpandDims"}, kAny, ExpandDims, {"dim"});
  r.Add({"Squeeze"}, kAny, Squeeze);
  r.Add({"Transpose"}, kAny, [](OpContext& c) { return TransposeImpl(c, false); }, {"perm"});
  r.Add({"ConjugateTranspose"}, kAny, [](OpContext& c) { return TransposeImpl(c, true); }, {"perm"});
  r.Add({"ConcatV2"}, kAny, ConcatV2, {"axis"});
  r.Add({"Concat"}, kAny, Concat, {"concat_dim"});
  r.Add({"Pack"}, kAny, Pack);
  r.Add({"Unpack"}, kAny, Unpack);
  r.Add({"Split"}, kAny, Split, {"split_dim"});
  r.Add({"SplitV"}, kAny, SplitV, {"size_splits", "split_dim"});
  r.Add({"Tile"}, kAny, Tile, {"multiples"});
  r.Add({"BroadcastTo"}, kAny, BroadcastTo, {"shape"});
  r.Add({"Fill"}, kAny, Fill, {"dims"});
  r.Add({"ZerosLike"}, kAny, ZerosLike, {}, kUsesLists);
  r.Add({"OnesLike"}, kAny, FillLike<1>);
  r.Add({"Empty"}, kAny, Empty, {"shape"});
  r.Add({"Range"}, kRealTypes, Range, {"start", "limit", "delta"});
  r.Add({"LinSpace"}, kFloatTypes, LinSpace, {"num"});
  r.Add({"OneHot"}, kAny, OneHot, {"depth"});
  r.Add({"Pad"}, kAny, Pad, {"paddings"});
  r.Add({"PadV2"}, kAny, Pad, {"paddings"});
  r.Add({"MirrorPad"}, kAny, MirrorPad, {"paddings"});
  r.Add({"MirrorPadGrad"}, kNumericTypes, MirrorPadGrad, {"paddings"});
  r.Add({"EnsureShape"}, kAny, EnsureShape);
  r.Add({"Bitcast"}, kArrayTypes, Bitcast);
}

}  // namespace xc
