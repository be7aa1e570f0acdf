// Lowerings of 2-D, 3-D and depthwise convolutions and their gradients.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

// What the three convolution ops share: places of dimensions, window and group count.
struct Setup {
  DataFormat format;
  int64_t rank = 0;
  int64_t groups = 1;
  std::vector<WindowDim> window;  // of the forward convolution
  std::vector<int64_t> output;    // spatial sizes of the forward result
};

std::vector<int64_t> At(const Dims& dims, const std::vector<int64_t>& places) {
  std::vector<int64_t> out;
  for (int64_t p : places) out.push_back(dims[p]);
  return out;
}

absl::StatusOr<Setup> ReadSetup(OpContext& c, const Dims& input, const Dims& filter, bool depthwise) {
  Setup s;
  s.rank = static_cast<int64_t>(input.size());
  if ((s.rank != 4 && s.rank != 5) || static_cast<int64_t>(filter.size()) != s.rank) {
    return c.Error(absl::StrCat("input ", DimsToString(input), " and filter ", DimsToString(filter),
                                " must both have rank 4 or 5"));
  }
  XC_ASSIGN_OR_RETURN(s.format, ReadDataFormat(c, s.rank));
  XC_ASSIGN_OR_RETURN(auto strides, SpatialAttr(c, "strides", s.format, s.rank));
  XC_ASSIGN_OR_RETURN(auto dilations, SpatialAttr(c, "dilations", s.format, s.rank));
  int64_t channels = input[s.format.channel], per_group = filter[s.rank - 2];
  if (depthwise) {
    if (per_group != channels) return c.Error("the filter has another number of channels than the input");
    s.groups = channels;
  } else {
    if (per_group <= 0 || channels % per_group != 0) {
      return c.Error(absl::StrCat("input depth ", channels, " is not a multiple of the filter's ", per_group));
    }
    s.groups = channels / per_group;
    if (filter[s.rank - 1] % std::max<int64_t>(s.groups, 1) != 0) {
      return c.Error("the filter's output depth is not divisible by the number of groups");
    }
  }
  std::vector<int64_t> sizes = At(input, s.format.spatial);
  std::vector<int64_t> kernel(filter.begin(), filter.end() - 2);
  XC_ASSIGN_OR_RETURN(s.window, ReadWindow(c, s.format, sizes, kernel, strides, dilations));
  for (size_t i = 0; i < sizes.size(); ++i) s.output.push_back(WindowOutputSize(sizes[i], s.window[i]));
  return s;
}

ConvDims Places(const Setup& s) {
  ConvDims d;
  d.input_batch = d.output_batch = s.format.batch;
  d.input_feature = d.output_feature = s.format.channel;
  d.input_spatial = d.output_spatial = s.format.spatial;
  for (int64_t i = 0; i < s.rank - 2; ++i) d.kernel_spatial.push_back(i);
  d.kernel_input_feature = s.rank - 2;
  d.kernel_output_feature = s.rank - 1;
  return d;
}

// A depthwise filter [.., C, M] as a grouped one [.., 1, C * M].
Val AsGrouped(Emitter& b, Val filter) {
  Dims dims = filter->shape().dims();
  int64_t n = static_cast<int64_t>(dims.size());
  dims[n - 1] *= dims[n - 2];
  dims[n - 2] = 1;
  return b.Reshape(filter, dims);
}

absl::StatusOr<Val> Forward(OpContext& c, bool depthwise, Setup* setup) {
  XC_ASSIGN_OR_RETURN(Setup s, ReadSetup(c, c.dims(0), c.dims(1), depthwise));
  Val filter = depthwise ? AsGrouped(c.b, c.in(1)) : c.in(1);
  Val v = c.b.Conv(c.in(0), filter, WindowAttr{s.window}, Places(s), s.groups);
  *setup = std::move(s);
  return v;
}

template <bool kDepthwise>
absl::Status Conv(OpContext& c) {
  Setup s;
  XC_ASSIGN_OR_RETURN(Val v, Forward(c, kDepthwise, &s));
  c.set(0, v);
  return absl::OkStatus();
}

// Convolution of any spatial rank; leading dimensions beyond one count as one batch.
absl::Status GeneralConv(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t batch_dims, c.node.Int("batch_dims"));
  XC_ASSIGN_OR_RETURN(int64_t groups, c.node.Int("groups"));
  if (batch_dims < 1 || c.rank(0) - batch_dims != c.rank(1) - 1) {
    return c.Error(absl::StrCat("batch_dims is ", batch_dims, " for input ", DimsToString(c.dims(0)), " and filter ",
                                DimsToString(c.dims(1))));
  }
  Dims batch(c.dims(0).begin(), c.dims(0).begin() + batch_dims), input(c.dims(0).begin() + batch_dims, c.dims(0).end());
  XC_ASSIGN_OR_RETURN(int64_t images, CheckedNumElements(batch));
  input.insert(input.begin(), images);
  XC_ASSIGN_OR_RETURN(Setup s, ReadSetup(c, input, c.dims(1), false));
  if (s.groups != groups) return c.Error(absl::StrCat("groups is ", groups, ", the filter has ", s.groups));
  Val v = c.b.Conv(c.b.Reshape(c.in(0), input), c.in(1), WindowAttr{s.window}, Places(s), s.groups);
  Dims out = v->shape().dims();
  out.erase(out.begin());
  out.insert(out.begin(), batch.begin(), batch.end());
  c.set(0, c.b.Reshape(v, out));
  return absl::OkStatus();
}

template <bool kDepthwise>
absl::Status FusedConv(OpContext& c) {
  Setup s;
  XC_ASSIGN_OR_RETURN(std::string format, c.node.String("data_format"));
  if (format == "NCHW_VECT_C") return c.Unimplemented("data_format " + format);
  if (c.node.FindAttr("padding_list") != nullptr) {
    XC_ASSIGN_OR_RETURN(std::vector<int64_t> padding, c.node.Ints("padding_list"));
    if (!padding.empty()) return c.Unimplemented("a padding_list");
  }
  XC_ASSIGN_OR_RETURN(Val v, Forward(c, kDepthwise, &s));
  return ApplyFusedOps(c, v, s.format.channel);
}

absl::Status CheckGradient(OpContext& c, const Setup& s, const Dims& input, const Dims& gradient, int64_t features) {
  Dims want(s.rank);
  want[s.format.batch] = input[s.format.batch];
  want[s.format.channel] = features;
  for (size_t i = 0; i < s.output.size(); ++i) want[s.format.spatial[i]] = s.output[i];
  if (gradient == want) return absl::OkStatus();
  return c.Error(absl::StrCat("out_backprop has shape ", DimsToString(gradient), ", expected ", DimsToString(want)));
}

template <bool kDepthwise>
absl::Status BackpropInput(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims input, c.Ints(0));
  // Older producers give the spatial sizes only.
  if (input.size() == 2 && c.rank(2) == 4) {
    XC_ASSIGN_OR_RETURN(DataFormat f, ReadDataFormat(c, 4));
    Dims full(4);
    full[f.batch] = c.dims(2)[f.batch];
    full[f.channel] = c.dims(1)[2];
    full[f.spatial[0]] = input[0];
    full[f.spatial[1]] = input[1];
    input = full;
  }
  XC_RETURN_IF_ERROR(CheckedNumElements(input).status());
  XC_ASSIGN_OR_RETURN(Setup s, ReadSetup(c, input, c.dims(1), kDepthwise));
  Emitter& b = c.b;
  Val filter = kDepthwise ? AsGrouped(b, c.in(1)) : c.in(1);
  Dims k = filter->shape().dims();
  XC_RETURN_IF_ERROR(CheckGradient(c, s, input, c.dims(2), k[s.rank - 1]));
  // [.., I/g, O] to [.., O/g, I], spatially reversed.
  int64_t n = s.rank - 2, in = k[n], out = k[n + 1] / std::max<int64_t>(s.groups, 1);
  Dims split(k.begin(), k.begin() + n);
  split.insert(split.end(), {in, s.groups, out});
  std::vector<int64_t> perm(n);
  std::iota(perm.begin(), perm.end(), 0);
  std::vector<int64_t> spatial = perm;
  perm.insert(perm.end(), {n + 2, n + 1, n});
  Dims swapped(k.begin(), k.begin() + n);
  swapped.insert(swapped.end(), {out, s.groups * in});
  filter = b.Reverse(b.Reshape(b.Transpose(b.Reshape(filter, split), perm), swapped), spatial);
  WindowAttr window;
  for (int64_t i = 0; i < n; ++i) {
    const WindowDim& f = s.window[i];
    int64_t extent = (f.size - 1) * f.window_dilation + 1;
    int64_t spread = (s.output[i] - 1) * f.stride + 1;
    WindowDim w;
    w.size = f.size;
    w.window_dilation = f.window_dilation;
    w.base_dilation = f.stride;
    w.padding_low = extent - 1 - f.padding_low;
    w.padding_high = input[s.format.spatial[i]] + extent - 1 - spread - w.padding_low;
    window.dims.push_back(w);
  }
  c.set(0, b.Conv(c.in(2), filter, window, Places(s), s.groups));
  return absl::OkStatus();
}

template <bool kDepthwise>
absl::Status BackpropFilter(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims filter, c.Ints(1));
  XC_RETURN_IF_ERROR(CheckedNumElements(filter).status());
  XC_ASSIGN_OR_RETURN(Setup s, ReadSetup(c, c.dims(0), filter, kDepthwise));
  int64_t features = kDepthwise ? filter[s.rank - 2] * filter[s.rank - 1] : filter[s.rank - 1];
  XC_RETURN_IF_ERROR(CheckGradient(c, s, c.dims(0), c.dims(2), features));
  // The input's channels act as batch and its batch as features; the gradient is the kernel.
  ConvDims d;
  d.input_batch = s.format.channel;
  d.input_feature = s.format.batch;
  d.input_spatial = s.format.spatial;
  d.kernel_input_feature = s.format.batch;
  d.kernel_output_feature = s.format.channel;
  d.kernel_spatial = s.format.spatial;
  int64_t n = s.rank - 2;
  for (int64_t i = 0; i < n; ++i) d.output_spatial.push_back(i);
  d.output_batch = n;
  d.output_feature = n + 1;
  WindowAttr window;
  for (int64_t i = 0; i < n; ++i) {
    const WindowDim& f = s.window[i];
    WindowDim w;
    w.size = s.output[i];
    w.stride = f.window_dilation;
    w.window_dilation = f.stride;
    w.padding_low = f.padding_low;
    w.padding_high = (f.size - 1) * f.window_dilation + (s.output[i] - 1) * f.stride + 1 -
                     c.dims(0)[s.format.spatial[i]] - f.padding_low;
    window.dims.push_back(w);
  }
  Val v = c.b.Conv(c.in(0), c.in(2), window, d, 1, s.groups);
  c.set(0, c.b.Reshape(v, filter));
  return absl::OkStatus();
}

}  // namespace

void RegisterConvolution(LoweringRegistry& r) {
  constexpr TypeSet kInt = TypeBit(DT_INT32);
  r.Add({"Conv2D"}, kFloatTypes | kInt, Conv<false>);
  r.Add({"Conv3D"}, kFloatTypes, Conv<false>);
  r.Add({"Conv"}, kFloatTypes | kInt, GeneralConv);
  r.Add({"DepthwiseConv2dNative"}, kFloatTypes, Conv<true>);
  r.Add({"_FusedConv2D", "_FusedConv3D"}, kFloatTypes, FusedConv<false>);
  r.Add({"_FusedDepthwiseConv2dNative"}, kFloatTypes, FusedConv<true>);
  r.Add({"Conv2DBackpropInput"}, kFloatTypes | kInt, BackpropInput<false>, {"input_sizes"});
  r.Add({"Conv3DBackpropInputV2"}, kFloatTypes, BackpropInput<false>, {"input_sizes"});
  r.Add({"DepthwiseConv2dNativeBackpropInput"}, kFloatTypes, BackpropInput<true>, {"input_sizes"});
  r.Add({"Conv2DBackpropFilter", "Conv3DBackpropFilterV2"}, kFloatTypes, BackpropFilter<false>, {"filter_sizes"});
  r.Add({"DepthwiseConv2dNativeBackpropFilter"}, kFloatTypes, BackpropFilter<true>, {"filter_sizes"});
}

}  // namespace xc
