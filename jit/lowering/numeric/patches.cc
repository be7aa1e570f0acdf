// Lowerings of ops that look at every offset of a sliding window: patches, maxima with their places, dilation.
#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

constexpr int64_t kMaxOffsets = 1024;

struct Sliding {
  DataFormat format;
  std::vector<WindowDim> window;  // per spatial dimension
  Dims output;                    // of the input's rank; channels as in the input
  int64_t offsets = 1;
};

// Attributes (or for V2 ops operands) name window sizes, strides and dilations; empty names mean 1.
absl::StatusOr<Sliding> ReadSliding(OpContext& c, const Dims& input, const std::string& sizes,
                                    const std::string& strides, const std::string& dilations, int first_operand) {
  Sliding s;
  int64_t rank = static_cast<int64_t>(input.size());
  if (rank != 4 && rank != 5) return c.Error("the input must have rank 4 or 5");
  XC_ASSIGN_OR_RETURN(s.format, ReadDataFormat(c, rank));
  std::vector<int64_t> kernel, step, spread(rank - 2, 1), spatial;
  if (first_operand >= 0) {
    XC_ASSIGN_OR_RETURN(auto all_sizes, c.Ints(first_operand));
    XC_ASSIGN_OR_RETURN(auto all_strides, c.Ints(first_operand + 1));
    if (static_cast<int64_t>(all_sizes.size()) != rank || static_cast<int64_t>(all_strides.size()) != rank) {
      return c.Error("ksize and strides must have one entry per dimension");
    }
    for (int64_t d : s.format.spatial) {
      kernel.push_back(all_sizes[d]);
      step.push_back(all_strides[d]);
      if (kernel.back() < 1 || step.back() < 1) return c.Error("ksize and strides must be positive");
    }
  } else {
    XC_ASSIGN_OR_RETURN(kernel, SpatialAttr(c, sizes, s.format, rank));
    XC_ASSIGN_OR_RETURN(step, SpatialAttr(c, strides, s.format, rank));
  }
  if (!dilations.empty()) {
    XC_ASSIGN_OR_RETURN(spread, SpatialAttr(c, dilations, s.format, rank));
  }
  for (int64_t d : s.format.spatial) spatial.push_back(input[d]);
  XC_ASSIGN_OR_RETURN(s.window, ReadWindow(c, s.format, spatial, kernel, step, spread));
  s.output = input;
  for (size_t i = 0; i < s.window.size(); ++i) {
    s.output[s.format.spatial[i]] = WindowOutputSize(spatial[i], s.window[i]);
    s.offsets *= s.window[i].size;
    if (s.offsets > kMaxOffsets) return c.Unimplemented("such large windows");
  }
  return s;
}

Val Padded(Emitter& b, Val x, Val fill, const Sliding& s) {
  std::vector<PaddingDim> padding(x->shape().rank());
  for (size_t i = 0; i < s.window.size(); ++i) {
    padding[s.format.spatial[i]].low = s.window[i].padding_low;
    padding[s.format.spatial[i]].high = s.window[i].padding_high;
  }
  return b.Pad(x, fill, padding);
}

// Calls visit(offset in the window per spatial dimension) in row-major order.
void ForOffsets(const Sliding& s, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> at(s.window.size(), 0);
  for (int64_t k = 0; k < s.offsets; ++k) {
    visit(at);
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < s.window[i].size) break;
      at[i] = 0;
    }
  }
}

// What every window of the padded array sees at the offset: an array of the output's shape.
Val At(Emitter& b, Val padded, const Sliding& s, const std::vector<int64_t>& offset) {
  const Dims& dims = padded->shape().dims();
  std::vector<int64_t> starts(dims.size(), 0), limits = dims, strides(dims.size(), 1);
  for (size_t i = 0; i < s.window.size(); ++i) {
    int64_t d = s.format.spatial[i];
    starts[d] = offset[i] * s.window[i].window_dilation;
    limits[d] = s.output[d] == 0 ? starts[d] : starts[d] + (s.output[d] - 1) * s.window[i].stride + 1;
    strides[d] = s.window[i].stride;
  }
  return b.Slice(padded, starts, limits, strides);
}

absl::Status ExtractPatches(OpContext& c) {
  bool images = c.node.op == "ExtractImagePatches";
  if (c.rank(0) != (images ? 4 : 5)) return c.Error("the input has a wrong rank");
  XC_ASSIGN_OR_RETURN(Sliding s, ReadSliding(c, c.dims(0), "ksizes", "strides", images ? "rates" : "", -1));
  Emitter& b = c.b;
  Val x = Padded(b, c.in(0), b.Scalar(c.etype(0), 0), s);
  std::vector<Val> parts;
  ForOffsets(s, [&](const std::vector<int64_t>& at) { parts.push_back(At(b, x, s, at)); });
  c.set(0, b.Concat(parts, c.rank(0) - 1));
  return absl::OkStatus();
}

// The first largest element of each window, and that of `payload` (of the input's shape) at its place.
struct Largest {
  Val value = nullptr, payload = nullptr;
};
Largest LargestInWindows(Emitter& b, Val x, Val payload, const Sliding& s) {
  Val padded = Padded(b, x, b.Lowest(x->type()), s);
  Val carried = Padded(b, payload, b.Scalar(payload->type(), 0), s);
  Val inside = Padded(b, b.Full(ElementType::kPred, x->shape().dims(), 1), b.Scalar(ElementType::kPred, 0), s);
  Largest best;
  Val found = nullptr;
  ForOffsets(s, [&](const std::vector<int64_t>& at) {
    Val v = At(b, padded, s, at), p = At(b, carried, s, at), here = At(b, inside, s, at);
    if (best.value == nullptr) {
      best = {v, p};
      found = here;
      return;
    }
    // Padding is never the largest, even beside the lowest value.
    Val better = b.And(here, b.Or(b.Not(found), b.Gt(v, best.value)));
    best.value = b.Select(better, v, best.value);
    best.payload = b.Select(better, p, best.payload);
    found = b.Or(found, here);
  });
  return best;
}

// Places in a row-major array of the shape; those of one batch entry start at zero unless `with_batch`.
Val Places(Emitter& b, ElementType type, const Dims& dims, bool with_batch) {
  Val place = b.Full(type, dims, 0);
  int64_t stride = 1;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= (with_batch ? 0 : 1); --d) {
    place = b.Add(place, b.MulC(b.Iota(type, dims, d), static_cast<double>(stride)));
    stride *= dims[d];
  }
  return place;
}

absl::Status MaxPoolWithArgmax(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_ASSIGN_OR_RETURN(bool with_batch, c.node.Bool("include_batch_in_index"));
  XC_ASSIGN_OR_RETURN(Sliding s, ReadSliding(c, c.dims(0), "ksize", "strides", "", -1));
  Largest best = LargestInWindows(c.b, c.in(0), Places(c.b, c.out_etype(1), c.dims(0), with_batch), s);
  c.set(0, best.value);
  c.set(1, best.payload);
  return absl::OkStatus();
}

absl::Status MaxPoolGradWithArgmax(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_RETURN_IF_ERROR(c.RequireSameDims(1, 2));
  XC_ASSIGN_OR_RETURN(bool with_batch, c.node.Bool("include_batch_in_index"));
  if (c.rank(1) != 4 || c.dims(1)[0] != c.dims(0)[0]) return c.Error("the gradient does not fit the input");
  Emitter& b = c.b;
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(c.dims(0)));
  XC_ASSIGN_OR_RETURN(int64_t updates, CheckedNumElements(c.dims(1)));
  if (count == 0 || updates == 0) {
    c.set(0, b.Full(c.etype(0), c.dims(0), 0));
    return absl::OkStatus();
  }
  Val place = c.in(2);
  if (!with_batch) {
    double entry = static_cast<double>(count / c.dims(0)[0]);
    place = b.Add(place, b.MulC(b.Iota(place->type(), c.dims(2), 0), entry));
  }
  c.FailIf(b.Or(b.Lt(place, b.Like(place, 0)), b.Ge(place, b.Like(place, static_cast<double>(count)))));
  ScatterDims d;
  d.inserted_window_dims = {0};
  d.scatter_dims_to_operand_dims = {0};
  d.index_vector_dim = 1;
  Val flat = b.Scatter(b.Full(c.etype(0), {count}, 0), b.Reshape(place, {updates, 1}), b.Reshape(c.in(1), {updates}), d,
                       b.Scalar2(HloOpcode::kAdd, c.etype(0)));
  c.set(0, b.Reshape(flat, c.dims(0)));
  return absl::OkStatus();
}

// The second gradient of pooling: what stands in `grad` where the input is largest.
absl::Status MaxPoolGradGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 2));
  XC_ASSIGN_OR_RETURN(Sliding s, ReadSliding(c, c.dims(0), "ksize", "strides", "", c.num_inputs() > 3 ? 3 : -1));
  if (c.dims(1) != s.output) return c.Error("orig_output does not have the shape of the result");
  c.set(0, LargestInWindows(c.b, c.in(0), c.in(2), s).payload);
  return absl::OkStatus();
}

// Grey-scale dilation: the largest of input plus filter in each window.
absl::Status Dilation2D(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 3));
  if (c.dims(1)[2] != c.dims(0)[3]) return c.Error("input and filter differ in channels");
  Sliding s;
  XC_ASSIGN_OR_RETURN(s.format, ReadDataFormat(c, 4));
  XC_ASSIGN_OR_RETURN(auto strides, SpatialAttr(c, "strides", s.format, 4));
  XC_ASSIGN_OR_RETURN(auto rates, SpatialAttr(c, "rates", s.format, 4));
  std::vector<int64_t> kernel(c.dims(1).begin(), c.dims(1).end() - 1);
  XC_ASSIGN_OR_RETURN(s.window, ReadWindow(c, s.format, {c.dims(0)[1], c.dims(0)[2]}, kernel, strides, rates));
  s.output = c.dims(0);
  for (size_t i = 0; i < 2; ++i) s.output[i + 1] = WindowOutputSize(c.dims(0)[i + 1], s.window[i]);
  s.offsets = kernel[0] * kernel[1];
  if (kernel[0] > kMaxOffsets || kernel[1] > kMaxOffsets || s.offsets > kMaxOffsets) {
    return c.Unimplemented("such large windows");
  }
  Emitter& b = c.b;
  Val x = Padded(b, c.in(0), b.Lowest(c.etype(0)), s), best = nullptr;
  ForOffsets(s, [&](const std::vector<int64_t>& at) {
    Val row = b.Slice(c.in(1), {at[0], at[1], 0}, {at[0] + 1, at[1] + 1, c.dims(1)[2]});
    Val v = b.Add(At(b, x, s, at), b.Broadcast(b.Reshape(row, {c.dims(1)[2]}), s.output, {3}));
    best = best == nullptr ? v : b.Max(best, v);
  });
  c.set(0, best);
  return absl::OkStatus();
}

}  // namespace

void RegisterPatches(LoweringRegistry& r) {
  r.Add({"ExtractImagePatches"}, kArrayTypes, ExtractPatches);
  r.Add({"ExtractVolumePatches"}, kRealTypes, ExtractPatches);
  r.Add({"MaxPoolWithArgmax"}, kRealTypes, MaxPoolWithArgmax);
  r.Add({"MaxPoolGradWithArgmax"}, kRealTypes, MaxPoolGradWithArgmax);
  r.Add({"MaxPoolGradGrad", "MaxPool3DGradGrad"}, kRealTypes, MaxPoolGradGrad);
  r.Add({"MaxPoolGradGradV2"}, kRealTypes, MaxPoolGradGrad, {"ksize", "strides"});
  r.Add({"Dilation2D"}, kFloatTypes, Dilation2D);
}

}  // namespace xc
