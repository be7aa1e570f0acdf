// Lowerings of resizing by area, by cubic interpolation and by sampled kernels, of its gradients, and of cropping with
// resizing. Resizing is linear in each dimension: a product with a matrix of weights.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr int64_t kMaxWeights = 1 << 22;

// weights[o * in + i]: how much element i counts in result o.
using Weights = std::vector<float>;
using MakeWeights = std::function<absl::StatusOr<Weights>(int64_t in, int64_t out)>;

struct Sampling {
  bool align = false, half = false;
};

absl::StatusOr<Sampling> ReadSampling(OpContext& c) {
  Sampling s;
  XC_ASSIGN_OR_RETURN(s.align, c.node.Bool("align_corners"));
  if (c.node.def->FindAttr("half_pixel_centers") != nullptr) {
    XC_ASSIGN_OR_RETURN(s.half, c.node.Bool("half_pixel_centers"));
  }
  if (s.align && s.half) return c.Error("align_corners and half_pixel_centers exclude each other");
  return s;
}

float Scale(const Sampling& s, int64_t in, int64_t out) {
  return s.align && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                            : static_cast<float>(in) / static_cast<float>(out);
}

Weights NearestWeights(const Sampling& s, int64_t in, int64_t out) {
  Weights w(in * out, 0);
  float scale = Scale(s, in, out);
  for (int64_t o = 0; o < out; ++o) {
    float at = s.half ? (static_cast<float>(o) + 0.5f) * scale : static_cast<float>(o) * scale;
    int64_t i = static_cast<int64_t>(s.align ? std::roundf(at) : std::floor(at));
    w[o * in + std::clamp<int64_t>(i, 0, in - 1)] = 1;
  }
  return w;
}

// Cubic convolution after Keys with the host's table of 1024 steps. With half_pixel_centers places outside the image do
// not count; else they take the edge's value.
Weights CubicWeights(const Sampling& s, int64_t in, int64_t out) {
  constexpr float kSteps = 1024;
  float a = s.half ? -0.5f : -0.75f, scale = Scale(s, in, out);
  auto near = [&](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [&](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  Weights w(in * out, 0);
  for (int64_t o = 0; o < out; ++o) {
    float at = s.half ? (static_cast<float>(o) + 0.5f) * scale - 0.5f : static_cast<float>(o) * scale;
    int64_t first = static_cast<int64_t>(std::floor(at));
    float x = static_cast<float>(std::lrintf((at - static_cast<float>(first)) * kSteps)) / kSteps;
    float part[4] = {far(x + 1), near(x), near(1 - x), far(2 - x)}, sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      int64_t i = std::clamp<int64_t>(first - 1 + k, 0, in - 1);
      if (s.half && i != first - 1 + k) part[k] = 0;
      sum += part[k];
    }
    bool rescale = s.half && std::fabs(sum) >= 1000 * std::numeric_limits<float>::min();
    for (int64_t k = 0; k < 4; ++k) {
      int64_t i = std::clamp<int64_t>(first - 1 + k, 0, in - 1);
      w[o * in + i] += rescale ? part[k] / sum : part[k];
    }
  }
  return w;
}

Weights AreaWeights(const Sampling& s, int64_t in, int64_t out) {
  float scale = Scale(s, in, out);
  Weights w(in * out, 0);
  for (int64_t o = 0; o < out; ++o) {
    float from = static_cast<float>(o) * scale, to = static_cast<float>(o + 1) * scale;
    int64_t last = static_cast<int64_t>(std::ceil(to));
    for (int64_t i = static_cast<int64_t>(std::floor(from)); i < last; ++i) {
      float covered = std::min(static_cast<float>(i + 1), to) - std::max(static_cast<float>(i), from);
      w[o * in + std::clamp<int64_t>(i, 0, in - 1)] += covered / scale;
    }
  }
  return w;
}

// A function that images are sampled with: symmetric, of a distance in pixels, zero from the radius on.
struct SamplingKernel {
  const char* name;
  float radius;
  float (*at)(float x);
};

template <int kRadius>
float Lanczos(float x) {
  constexpr float kPi = 3.14159265358979f;
  if (x > kRadius) return 0;
  if (x <= 1e-3f) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

constexpr SamplingKernel kSamplingKernels[] = {
    {"lanczos1", 1, Lanczos<1>},
    {"lanczos3", 3, Lanczos<3>},
    {"lanczos5", 5, Lanczos<5>},
    {"gaussian", 1.5, [](float x) { return x >= 1.5f ? 0 : std::exp(-x * x / (2 * 0.5f * 0.5f)); }},
    {"box", 1, [](float x) { return x < 0.5f    ? 1.0f
                                    : x == 0.5f ? 0.5f
                                                : 0.0f; }},
    {"triangle", 1, [](float x) { return x < 1 ? 1 - x : 0; }},
    {"keyscubic", 2,
     [](float x) {
       if (x >= 2) return 0.0f;
       return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : (1.5f * x - 2.5f) * x * x + 1;
     }},
    {"mitchellcubic", 2,
     [](float x) {
       if (x >= 2) return 0.0f;
       return x >= 1 ? ((-7.0f / 18 * x + 2) * x - 10.0f / 3) * x + 16.0f / 9 : (7.0f / 6 * x - 2) * x * x + 8.0f / 9;
     }},
};

// Place x of the input is at scale * x + shift of the result; a place outside the input is zero. Shrinking with
// antialiasing widens the kernel.
Weights SampledWeights(const SamplingKernel& kernel, float scale, float shift, bool antialias, int64_t in,
                       int64_t out) {
  const float inverse = 1 / scale, inverse_shift = -inverse * shift;
  const float stretch = antialias ? std::max(inverse, 1.0f) : 1.0f, reach = kernel.radius * stretch;
  Weights w(in * out, 0);
  for (int64_t o = 0; o < out; ++o) {
    const float at = (static_cast<float>(o) + 0.5f) * inverse + inverse_shift;
    if (!(at >= 0 && at <= static_cast<float>(in))) continue;
    const float bound = static_cast<float>(in);
    int64_t first = static_cast<int64_t>(std::clamp(std::ceil(at - reach - 0.5f), -1.0f, bound));
    int64_t last = static_cast<int64_t>(std::clamp(std::floor(at + reach - 0.5f), -1.0f, bound));
    first = std::clamp<int64_t>(first, 0, in - 1);
    last = std::clamp<int64_t>(last, 0, in - 1);
    float sum = 0;
    for (int64_t i = first; i <= last; ++i) {
      w[o * in + i] = kernel.at(std::fabs(static_cast<float>(i) + 0.5f - at) / stretch);
      sum += w[o * in + i];
    }
    if (std::fabs(sum) < 1000 * std::numeric_limits<float>::min()) continue;
    for (int64_t i = first; i <= last; ++i) w[o * in + i] *= 1 / sum;
  }
  return w;
}

// Dimension `axis` of x contracted with the weights: from `in` to `out` elements, or back from `out` to `in`.
Val Contract(Emitter& b, Val x, const Weights& weights, int64_t in, int64_t out, int64_t axis, bool back) {
  Literal l{Shape(ElementType::kF32, {out, in})};
  for (size_t i = 0; i < weights.size(); ++i) l.SetDouble(i, weights[i]);
  DotDims d;
  d.lhs_contracting = {axis};
  d.rhs_contracting = {back ? 0 : 1};
  Val v = b.Dot(x, b.Constant(std::move(l)), d);  // the new dimension comes last
  return axis == 1 ? b.Transpose(v, {0, 3, 1, 2}) : b.Transpose(v, {0, 1, 3, 2});
}

absl::Status CheckSizes(OpContext& c, int64_t in, int64_t out) {
  if (in < 1 || out < 1) return c.Error("sizes must be positive");
  if (in > kMaxWeights || out > kMaxWeights || in * out > kMaxWeights) return c.Unimplemented("such large images");
  return absl::OkStatus();
}

enum class Method { kNearest, kCubic, kArea };

template <Method kMethod>
absl::StatusOr<Val> Resized(OpContext& c, Val x, const Dims& in, const Dims& out, bool back) {
  XC_ASSIGN_OR_RETURN(Sampling s, ReadSampling(c));
  for (int64_t axis = 1; axis <= 2; ++axis) {
    XC_RETURN_IF_ERROR(CheckSizes(c, in[axis], out[axis]));
    Weights w = kMethod == Method::kNearest ? NearestWeights(s, in[axis], out[axis])
                : kMethod == Method::kCubic ? CubicWeights(s, in[axis], out[axis])
                                            : AreaWeights(s, in[axis], out[axis]);
    x = Contract(c.b, x, w, in[axis], out[axis], axis, back);
  }
  return x;
}

template <Method kMethod>
absl::Status Resize(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_ASSIGN_OR_RETURN(auto size, c.Ints(1));
  if (size.size() != 2) return c.Error("size must have two elements");
  Dims out = c.dims(0);
  out[1] = size[0];
  out[2] = size[1];
  XC_ASSIGN_OR_RETURN(Val v, Resized<kMethod>(c, c.b.Convert(c.in(0), ElementType::kF32), c.dims(0), out, false));
  c.set(0, c.b.Convert(v, c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status ResizeNearestGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_ASSIGN_OR_RETURN(auto size, c.Ints(1));
  if (size.size() != 2) return c.Error("size must have two elements");
  Dims in = c.dims(0);
  in[1] = size[0];
  in[2] = size[1];
  Val g = c.b.Convert(c.in(0), ElementType::kF32);
  XC_ASSIGN_OR_RETURN(Val v, Resized<Method::kNearest>(c, g, in, c.dims(0), true));
  c.set(0, c.b.Convert(v, c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status ResizeCubicGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 4));
  Val g = c.b.Convert(c.in(0), ElementType::kF32);
  XC_ASSIGN_OR_RETURN(Val v, Resized<Method::kCubic>(c, g, c.dims(1), c.dims(0), true));
  c.set(0, c.b.Convert(v, c.out_etype(0)));
  return absl::OkStatus();
}

// images, size, scale, translation; or, back from the gradients of the result, gradients, images, scale, translation.
template <bool kBack>
absl::Status ScaleAndTranslate(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_ASSIGN_OR_RETURN(std::string name, c.node.String("kernel_type"));
  XC_ASSIGN_OR_RETURN(bool antialias, c.node.Bool("antialias"));
  const SamplingKernel* kernel = nullptr;
  for (const SamplingKernel& k : kSamplingKernels) {
    if (name == k.name) kernel = &k;
  }
  if (kernel == nullptr) return c.Error("there is no kernel_type '" + name + "'");
  Dims in = c.dims(0), out = in;
  if (kBack) {
    XC_RETURN_IF_ERROR(c.RequireRank(1, 4));
    in = c.dims(1);
  } else {
    XC_ASSIGN_OR_RETURN(auto size, c.Ints(1));
    if (size.size() != 2) return c.Error("size must have two elements");
    out[1] = size[0];
    out[2] = size[1];
  }
  XC_ASSIGN_OR_RETURN(Tensor scales, c.Const(2));
  XC_ASSIGN_OR_RETURN(Tensor shifts, c.Const(3));
  XC_ASSIGN_OR_RETURN(std::vector<double> scale, scales.AsDoubles());
  XC_ASSIGN_OR_RETURN(std::vector<double> shift, shifts.AsDoubles());
  if (scale.size() != 2 || shift.size() != 2) return c.Error("scale and translation must have two elements");
  Val x = c.b.Convert(c.in(0), ElementType::kF32);
  for (int64_t axis = 1; axis <= 2; ++axis) {
    const float factor = static_cast<float>(scale[axis - 1]), offset = static_cast<float>(shift[axis - 1]);
    if (!(factor > 0)) return c.Error("scale must be positive");
    XC_RETURN_IF_ERROR(CheckSizes(c, in[axis], out[axis]));
    Weights w = SampledWeights(*kernel, factor, offset, antialias, in[axis], out[axis]);
    x = Contract(c.b, x, w, in[axis], out[axis], axis, kBack);
  }
  c.set(0, x);
  return absl::OkStatus();
}

// Places in one dimension that each box samples, [boxes, size], and whether they lie inside the image.
struct Samples {
  Val at, inside;
};
Samples BoxSamples(Emitter& b, Val from, Val to, int64_t image, int64_t size) {
  int64_t boxes = from->shape().dim(0);
  Dims grid = {boxes, size};
  double last = static_cast<double>(image - 1);
  Val at;
  if (size > 1) {
    Val step = b.Div(b.MulC(b.Sub(to, from), last), b.Like(from, static_cast<double>(size - 1)));
    at = b.Add(b.Broadcast(b.MulC(from, last), grid, {0}),
               b.Mul(b.Iota(ElementType::kF32, grid, 1), b.Broadcast(step, grid, {0})));
  } else {
    at = b.Broadcast(b.MulC(b.MulC(b.Add(from, to), 0.5), last), grid, {0});
  }
  return {at, b.And(b.Ge(at, b.Like(at, 0)), b.Le(at, b.Like(at, last)))};
}

absl::Status CropAndResize(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(2, 1));
  XC_ASSIGN_OR_RETURN(auto size, c.Ints(3));
  XC_ASSIGN_OR_RETURN(std::string method, c.node.String("method"));
  XC_ASSIGN_OR_RETURN(float outside, c.node.Float("extrapolation_value"));
  const Dims& image = c.dims(0);
  int64_t boxes = c.dims(1)[0];
  if (c.dims(1)[1] != 4 || c.dims(2)[0] != boxes) return c.Error("boxes must be [n, 4], with n indices");
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return c.Error("crop_size must be two positive numbers");
  if (method != "bilinear" && method != "nearest") return c.Error("unknown method " + method);
  if (image[1] < 1 || image[2] < 1) return c.Error("the image is empty");
  Dims out = {boxes, size[0], size[1], image[3]};
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(out));
  Emitter& b = c.b;
  if (count == 0 || image[0] == 0) {
    c.set(0, b.Full(ElementType::kF32, out, 0));
    return absl::OkStatus();
  }
  c.FailIf(b.Or(b.Lt(c.in(2), b.Like(c.in(2), 0)), b.Ge(c.in(2), b.Like(c.in(2), static_cast<double>(image[0])))));
  auto edge = [&](int64_t k) { return b.Reshape(b.SliceDim(c.in(1), 1, k, k + 1), {boxes}); };
  Samples y = BoxSamples(b, edge(0), edge(2), image[1], size[0]),
          x = BoxSamples(b, edge(1), edge(3), image[2], size[1]);
  Dims grid = {boxes, size[0], size[1]}, column = {boxes, size[0], size[1], 1};
  auto index = [&](Val v, std::vector<int64_t> mapping, int64_t limit) {
    Val i = b.Clamp(b.S32(0), b.Convert(v, ElementType::kS32), b.S32(limit - 1));
    return b.Reshape(b.Broadcast(i, grid, mapping), column);
  };
  auto pixels = [&](Val row, Val col) {
    Val indices =
        b.Concat({index(c.in(2), {0}, image[0]), index(row, {0, 1}, image[1]), index(col, {0, 2}, image[2])}, 3);
    GatherDims g;
    g.offset_dims = {3};
    g.collapsed_slice_dims = {0, 1, 2};
    g.start_index_map = {0, 1, 2};
    g.index_vector_dim = 3;
    return b.Convert(b.Gather(c.in(0), indices, g, {1, 1, 1, image[3]}), ElementType::kF32);
  };
  Val result;
  if (method == "nearest") {
    result = pixels(b.Unary(HloOpcode::kRoundNearestAfz, y.at), b.Unary(HloOpcode::kRoundNearestAfz, x.at));
  } else {
    Val top = b.Floor(y.at), bottom = b.Unary(HloOpcode::kCeil, y.at);
    Val left = b.Floor(x.at), right = b.Unary(HloOpcode::kCeil, x.at);
    Val down = b.Broadcast(b.Sub(y.at, top), out, {0, 1}), across = b.Broadcast(b.Sub(x.at, left), out, {0, 2});
    auto mix = [&](Val from, Val to, Val part) { return b.Add(from, b.Mul(b.Sub(to, from), part)); };
    Val upper = mix(pixels(top, left), pixels(top, right), across);
    Val lower = mix(pixels(bottom, left), pixels(bottom, right), across);
    result = mix(upper, lower, down);
  }
  Val inside = b.And(b.Broadcast(y.inside, out, {0, 1}), b.Broadcast(x.inside, out, {0, 2}));
  c.set(0, b.Select(inside, result, b.Like(result, outside)));
  return absl::OkStatus();
}

}  // namespace

void RegisterImages(LoweringRegistry& r) {
  constexpr TypeSet kWide = TypeBit(DT_FLOAT) | TypeBit(DT_HALF) | TypeBit(DT_BFLOAT16);
  r.Add({"ResizeBicubic"}, kRealTypes, Resize<Method::kCubic>, {"size"});
  r.Add({"ResizeArea"}, kRealTypes, Resize<Method::kArea>, {"size"});
  r.Add({"ResizeNearestNeighborGrad"}, kWide, ResizeNearestGrad, {"size"});
  r.Add({"ResizeBicubicGrad"}, TypeBit(DT_FLOAT), ResizeCubicGrad);
  r.Add({"ScaleAndTranslate"}, kRealTypes, ScaleAndTranslate<false>, {"size", "scale", "translation"});
  r.Add({"ScaleAndTranslateGrad"}, TypeBit(DT_FLOAT), ScaleAndTranslate<true>, {"scale", "translation"});
  r.Add({"CropAndResize"}, kRealTypes, CropAndResize, {"crop_size"});
}

}  // namespace xc
