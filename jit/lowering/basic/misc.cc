// Lowerings of checks, bucketing, layout permutations and colour conversion.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

absl::Status CheckNumerics(OpContext& c) {
  c.FailIf(c.b.Not(c.b.Unary(HloOpcode::kIsFinite, c.in(0))));
  c.set(0, c.in(0));
  return absl::OkStatus();
}

absl::Status Bucketize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<float> boundaries, c.node.Floats("boundaries"));
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) return c.Error("the boundaries are not sorted");
  Emitter& b = c.b;
  ElementType type = c.etype(0) == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32;
  Val x = b.Convert(c.in(0), type);
  Dims dims = c.dims(0);
  dims.push_back(static_cast<int64_t>(boundaries.size()));
  Literal l{Shape(type, {dims.back()})};
  for (size_t i = 0; i < boundaries.size(); ++i) l.SetDouble(i, boundaries[i]);
  std::vector<int64_t> mapping;
  for (int64_t d = 0; d < c.rank(0); ++d) mapping.push_back(d);
  Val reached = b.Ge(b.Broadcast(x, dims, mapping), b.Broadcast(b.Constant(std::move(l)), dims, {c.rank(0)}));
  c.set(0, b.ReduceSum(b.Convert(reached, ElementType::kS32), {c.rank(0)}));
  return absl::OkStatus();
}

// Number of sorted elements below (or not above) each value, row by row.
template <bool kUpper>
absl::Status SearchSorted(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 2));
  if (c.dims(0)[0] != c.dims(1)[0]) return c.Error("inputs and values must have the same number of rows");
  Emitter& b = c.b;
  Dims dims = {c.dims(1)[0], c.dims(1)[1], c.dims(0)[1]};
  Val sorted = b.Broadcast(c.in(0), dims, {0, 2}), values = b.Broadcast(c.in(1), dims, {0, 1});
  Val below = kUpper ? b.Le(sorted, values) : b.Lt(sorted, values);
  c.set(0, b.ReduceSum(b.Convert(below, c.out_etype(0)), {2}));
  return absl::OkStatus();
}

absl::Status ReadFormats(OpContext& c, std::string* from, std::string* to) {
  XC_ASSIGN_OR_RETURN(*from, c.node.String("src_format"));
  XC_ASSIGN_OR_RETURN(*to, c.node.String("dst_format"));
  std::string a = *from, z = *to;
  std::sort(a.begin(), a.end());
  std::sort(z.begin(), z.end());
  if (a != z || a.empty()) return c.Error("the two formats are not permutations of each other");
  return absl::OkStatus();
}

absl::Status DataFormatDimMap(OpContext& c) {
  std::string from, to;
  XC_RETURN_IF_ERROR(ReadFormats(c, &from, &to));
  Emitter& b = c.b;
  int64_t n = static_cast<int64_t>(from.size());
  Val x = c.in(0);
  x = b.Select(b.Lt(x, b.Like(x, 0)), b.Add(x, b.Like(x, static_cast<double>(n))), x);
  Val y = b.Like(x, 0);
  for (int64_t i = 0; i < n; ++i) {
    double place = static_cast<double>(to.find(from[i]));
    y = b.Select(b.Eq(x, b.Like(x, static_cast<double>(i))), b.Like(x, place), y);
  }
  c.set(0, y);
  return absl::OkStatus();
}

absl::Status DataFormatVecPermute(OpContext& c) {
  std::string from, to;
  XC_RETURN_IF_ERROR(ReadFormats(c, &from, &to));
  if (c.rank(0) < 1) return c.Error("input must be a vector or a matrix");
  int64_t n = c.dims(0)[0];
  if (n != static_cast<int64_t>(from.size())) {
    // Only the spatial entries.
    auto drop = [](std::string* s) {
      s->erase(std::remove_if(s->begin(), s->end(), [](char f) { return f == 'N' || f == 'C'; }), s->end());
    };
    drop(&from);
    drop(&to);
    if (n != static_cast<int64_t>(from.size())) return c.Error("the input does not fit the formats");
  }
  std::vector<Val> parts;
  for (char f : to) {
    int64_t i = static_cast<int64_t>(from.find(f));
    parts.push_back(c.b.SliceDim(c.in(0), 0, i, i + 1));
  }
  c.set(0, c.b.Concat(parts, 0));
  return absl::OkStatus();
}

absl::Status AdjustContrast(OpContext& c) {
  if (c.rank(0) < 3) return c.Error("images must have rank 3 or more");
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  Emitter& b = c.b;
  Val x = b.Convert(c.in(0), ElementType::kF32);
  int64_t h = c.rank(0) - 3, w = c.rank(0) - 2;
  Val sum = b.ReduceSum(x, {h, w});
  Val mean = b.Div(sum, b.Like(sum, static_cast<double>(c.dims(0)[h] * c.dims(0)[w])));
  std::vector<int64_t> mapping;
  for (int64_t d = 0; d < c.rank(0); ++d) {
    if (d != h && d != w) mapping.push_back(d);
  }
  Val wide = b.Broadcast(mean, c.dims(0), mapping);
  Val y = b.Add(b.Mul(b.Sub(x, wide), b.BroadcastScalar(c.in(1), c.dims(0))), wide);
  c.set(0, b.Convert(y, c.etype(0)));
  return absl::OkStatus();
}

struct Planes {
  Val v[3];
};
absl::StatusOr<Planes> SplitColors(OpContext& c) {
  int64_t last = c.rank(0) - 1;
  if (last < 0 || c.dims(0)[last] != 3) return c.Error("the last dimension must be 3");
  Planes p;
  for (int64_t k = 0; k < 3; ++k) p.v[k] = c.b.SliceDim(c.in(0), last, k, k + 1);
  return p;
}

Planes ToHsv(Emitter& b, const Planes& rgb) {
  Val r = rgb.v[0], g = rgb.v[1], bl = rgb.v[2];
  Val value = b.Max(b.Max(r, g), bl), low = b.Min(b.Min(r, g), bl);
  Val range = b.Sub(value, low), zero = b.Like(r, 0);
  Val saturation = b.Select(b.Gt(value, zero), b.Div(range, value), zero);
  Val norm = b.Div(b.Like(r, 1.0 / 6.0), range);
  Val hue = b.Select(b.Eq(g, value), b.AddC(b.Mul(norm, b.Sub(bl, r)), 2.0 / 6.0),
                     b.AddC(b.Mul(norm, b.Sub(r, g)), 4.0 / 6.0));
  hue = b.Select(b.Eq(r, value), b.Mul(norm, b.Sub(g, bl)), hue);
  hue = b.Select(b.Gt(range, zero), hue, zero);
  hue = b.Select(b.Lt(hue, zero), b.AddC(hue, 1), hue);
  return {{hue, saturation, value}};
}

Planes ToRgb(Emitter& b, const Planes& hsv) {
  Val h6 = b.MulC(hsv.v[0], 6), one = b.Like(h6, 1), zero = b.Like(h6, 0);
  auto unit = [&](Val x) { return b.Min(b.Max(x, zero), one); };
  Val dr = unit(b.AddC(b.Abs(b.AddC(h6, -3)), -1));
  Val dg = unit(b.Sub(b.Like(h6, 2), b.Abs(b.AddC(h6, -2))));
  Val db = unit(b.Sub(b.Like(h6, 2), b.Abs(b.AddC(h6, -4))));
  Val s = hsv.v[1], v = hsv.v[2], gray = b.Sub(one, s);
  auto mix = [&](Val d) { return b.Mul(b.Add(gray, b.Mul(s, d)), v); };
  return {{mix(dr), mix(dg), mix(db)}};
}

absl::Status RgbToHsv(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Planes p, SplitColors(c));
  Planes q = ToHsv(c.b, p);
  c.set(0, c.b.Concat({q.v[0], q.v[1], q.v[2]}, c.rank(0) - 1));
  return absl::OkStatus();
}

absl::Status HsvToRgb(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Planes p, SplitColors(c));
  Planes q = ToRgb(c.b, p);
  c.set(0, c.b.Concat({q.v[0], q.v[1], q.v[2]}, c.rank(0) - 1));
  return absl::OkStatus();
}

absl::Status AdjustSaturation(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  XC_ASSIGN_OR_RETURN(Planes p, SplitColors(c));
  Emitter& b = c.b;
  Planes q = ToHsv(b, p);
  Val scale = b.Convert(c.in(1), c.etype(0));
  q.v[1] = b.Clamp(b.Scalar(c.etype(0), 0), b.Mul(q.v[1], b.BroadcastScalar(scale, q.v[1]->shape().dims())),
                   b.Scalar(c.etype(0), 1));
  Planes out = ToRgb(b, q);
  c.set(0, b.Concat({out.v[0], out.v[1], out.v[2]}, c.rank(0) - 1));
  return absl::OkStatus();
}

absl::Status AdjustHue(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(1, 0));
  XC_ASSIGN_OR_RETURN(Planes p, SplitColors(c));
  Emitter& b = c.b;
  Planes q = ToHsv(b, p);
  Val delta = b.BroadcastScalar(b.Convert(c.in(1), c.etype(0)), q.v[0]->shape().dims());
  // The fraction of hue + delta, never negative.
  Val hue = b.Add(q.v[0], delta);
  q.v[0] = b.Sub(hue, b.Floor(hue));
  Planes out = ToRgb(b, q);
  c.set(0, b.Concat({out.v[0], out.v[1], out.v[2]}, c.rank(0) - 1));
  return absl::OkStatus();
}

absl::Status ToBool(OpContext& c) {
  if (c.rank(0) == 0) {
    c.set(0, c.b.Ne(c.in(0), c.b.Like(c.in(0), 0)));
  } else {
    XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
    c.set_constant(0, Tensor::Scalar<uint8_t>(DT_BOOL, n > 0));
  }
  return absl::OkStatus();
}

// A chain of unary ops, each named; what the chain's op admits is what they do.
absl::Status UnaryOps(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto names, c.node.Strings("op_names"));
  LoweredValue value = c.value(0);
  for (const std::string& name : names) {
    const Lowering* lowering = LoweringRegistry::Get().Find(name);
    Node step = c.node;
    step.op = name;
    step.def = FindOpDef(name);
    bool unary = lowering != nullptr && step.def != nullptr && step.def->inputs.size() == 1 &&
                 step.def->outputs.size() == 1 && name != c.node.op;
    if (!unary || !(lowering->types & TypeBit(c.type(0)))) return c.Unimplemented("op " + name + " in a chain");
    OpContext inner(step, c.b, c.graph, {value});
    XC_RETURN_IF_ERROR(lowering->fn(inner));
    value = inner.outputs()[0];
  }
  c.set_value(0, value);
  return absl::OkStatus();
}

// Stands for a value that nobody uses.
absl::Status FakeParam(OpContext& c) {
  XC_ASSIGN_OR_RETURN(PartialShape shape, c.node.ShapeAttr("shape"));
  Dims dims = shape.known_rank ? shape.dims : Dims{};
  for (int64_t& d : dims) d = std::max<int64_t>(d, 0);
  XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
  c.set(0, c.b.Full(c.out_etype(0), dims, 0));
  return absl::OkStatus();
}

// The place of the one device, a CPU, in a list of device kinds.
absl::Status DeviceIndex(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto names, c.node.Strings("device_names"));
  auto at = std::find(names.begin(), names.end(), "CPU") - names.begin();
  c.set_constant(0, Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(at)));
  return absl::OkStatus();
}

absl::Status PassOn(OpContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_value(i, c.value(i));
  return absl::OkStatus();
}

// Places in an array of shape `dims` from flat ones.
absl::Status UnravelIndex(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(1));
  if (c.rank(0) > 1) return c.Error("indices must be a scalar or a vector");
  XC_ASSIGN_OR_RETURN(int64_t total, CheckedNumElements(dims));
  Emitter& b = c.b;
  Val at = c.in(0);
  if (total == 0) return c.Error("dims has a zero");
  c.FailIf(b.Or(b.Lt(at, b.Like(at, 0)), b.Ge(at, b.Like(at, static_cast<double>(total)))));
  Dims row = c.dims(0);
  row.insert(row.begin(), 1);
  std::vector<Val> rows;
  for (size_t d = dims.size(); d-- > 0;) {
    Val size = b.Like(at, static_cast<double>(dims[d]));
    rows.insert(rows.begin(), b.Reshape(b.Rem(at, size), row));
    at = b.Div(at, size);
  }
  if (rows.empty()) return c.Error("dims is empty");
  c.set(0, b.Concat(rows, 0));
  return absl::OkStatus();
}

// How many values fall into each of `nbins` equal parts of a range; the outer parts take what is beyond.
absl::Status HistogramFixedWidth(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t bins, c.Int(2));
  XC_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(c.dims(0)));
  if (c.dims(1) != Dims{2}) return c.Error("value_range must have two elements");
  if (bins < 1) return c.Error("nbins must be positive");
  XC_RETURN_IF_ERROR(CheckedNumElements(Dims{bins, n}).status());
  Emitter& b = c.b;
  constexpr ElementType kF64 = ElementType::kF64;
  auto end = [&](int64_t i) { return b.Reshape(b.SliceDim(c.in(1), 0, i, i + 1), {}); };
  Val low = end(0), high = end(1);
  c.FailIf(b.Not(b.Lt(low, high)));
  Val x = b.Reshape(c.in(0), {n});
  Val above = b.Convert(b.Sub(b.Max(x, b.BroadcastScalar(low, {n})), b.BroadcastScalar(low, {n})), kF64);
  Val step = b.Div(b.Convert(b.Sub(high, low), kF64), b.Scalar(kF64, static_cast<double>(bins)));
  Val last = b.Full(kF64, {n}, static_cast<double>(bins - 1));
  Val place = b.Convert(b.Min(b.Floor(b.Div(above, b.BroadcastScalar(step, {n}))), last), ElementType::kS32);
  Dims all = {bins, n};
  Val hit = b.Eq(b.Broadcast(place, all, {1}), b.Iota(ElementType::kS32, all, 0));
  c.set(0, b.ReduceSum(b.Convert(hit, c.out_etype(0)), {1}));
  return absl::OkStatus();
}

// Arrays of one row each, one under the other.
absl::Status ParallelConcat(OpContext& c) {
  std::vector<Val> parts;
  for (int i = 0; i < c.num_inputs(); ++i) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, i));
    if (c.rank(i) < 1 || c.dims(i)[0] != 1) return c.Error("the first dimension of each value must be 1");
    parts.push_back(c.in(i));
  }
  if (parts.empty()) return c.Error("has no values");
  c.set(0, c.b.Concat(parts, 0));
  return absl::OkStatus();
}

}  // namespace

void RegisterMisc(LoweringRegistry& r) {
  r.Add({"CheckNumerics"}, kFloatTypes, CheckNumerics);
  r.Add({"Bucketize"}, kRealTypes | TypeBit(DT_INT32), Bucketize);
  r.Add({"LowerBound"}, kRealTypes, SearchSorted<false>);
  r.Add({"UpperBound"}, kRealTypes, SearchSorted<true>);
  r.Add({"DataFormatDimMap"}, kSignedTypes, DataFormatDimMap);
  r.Add({"DataFormatVecPermute"}, kSignedTypes, DataFormatVecPermute);
  r.Add({"AdjustContrastv2"}, kFloatTypes, AdjustContrast);
  r.Add({"RGBToHSV"}, kFloatTypes, RgbToHsv);
  r.Add({"HSVToRGB"}, kFloatTypes, HsvToRgb);
  r.Add({"AdjustSaturation"}, kFloatTypes, AdjustSaturation);
  r.Add({"AdjustHue"}, kFloatTypes, AdjustHue);
  r.Add({"_UnaryOpsComposition"}, kNumericTypes, UnaryOps);
  r.Add({"FakeParam"}, kArrayTypes, FakeParam);
  r.Add({"DeviceIndex"}, TypeBit(DT_INT32), DeviceIndex, {}, kShapeOnly);
  r.Add({"_ListToArray", "_ArrayToList", "_EagerConst", "GuaranteeConst", "DeepCopy"}, kArrayTypes, PassOn);
  r.Add({"UnravelIndex"}, TypeBit(DT_INT32) | TypeBit(DT_INT64), UnravelIndex, {"dims"});
  r.Add({"HistogramFixedWidth"}, kRealTypes, HistogramFixedWidth, {"nbins"});
  r.Add({"ParallelConcat"}, kArrayTypes, ParallelConcat);
  r.Add({"ToBool"}, kNumericTypes | TypeBit(DT_BOOL), ToBool);
}

}  // namespace xc
