// Host kernels of images sampled at computed places: projective transforms, and the gradients of cropping and resizing.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// Where one row (or column) of a crop falls in the image: between two pixels, or next to one.
struct Sample {
  bool inside = false;
  int64_t low = 0, high = 0, nearest = 0;
  float part = 0;  // of the way from low to high
};

Sample Place(float from, float to, int64_t i, int64_t crop, int64_t size) {
  Sample s;
  const float last = static_cast<float>(size - 1);
  const float scale = crop > 1 ? (to - from) * last / static_cast<float>(crop - 1) : 0;
  const float at = crop > 1 ? from * last + static_cast<float>(i) * scale : 0.5f * (from + to) * last;
  s.inside = at >= 0 && at <= last;
  if (!s.inside) return s;
  s.low = static_cast<int64_t>(std::floor(at));
  s.high = static_cast<int64_t>(std::ceil(at));
  s.part = at - static_cast<float>(s.low);
  s.nearest = static_cast<int64_t>(std::round(at));
  return s;
}

// Boxes [n, 4] and the image that each is of, checked.
struct Boxes {
  const float* corners = nullptr;  // y0, x0, y1, x1
  std::vector<int64_t> image;
};

absl::StatusOr<Boxes> ReadBoxes(KernelContext& c, int boxes, int64_t images, int64_t count) {
  Boxes b;
  if (c.in(boxes).dims() != Dims{count, 4} || c.in(boxes + 1).dims() != Dims{count}) {
    return c.Error("boxes and box_ind do not fit the gradients");
  }
  b.corners = c.in(boxes).data<float>();
  XC_ASSIGN_OR_RETURN(b.image, c.Ints(boxes + 1));
  for (int64_t i : b.image) {
    if (i < 0 || i >= images) return c.Error(absl::StrCat("box_ind has values outside [0, ", images, ")"));
  }
  return b;
}

// The gradient in the images: what each pixel of a crop was made of gets its share.
absl::Status CropAndResizeGradImage(KernelContext& c) {
  const Tensor& grads = c.in(0);
  XC_ASSIGN_OR_RETURN(std::string method, c.node.String("method"));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(3));
  if (grads.rank() != 4 || grads.dtype() != DT_FLOAT || dims.size() != 4) return c.Error("grads must be 4-D");
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  if (dims[1] < 1 || dims[2] < 1 || dims[3] != grads.dims()[3]) return c.Error("image_size does not fit grads");
  XC_ASSIGN_OR_RETURN(Boxes boxes, ReadBoxes(c, 1, dims[0], grads.dims()[0]));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  std::vector<float> sums(count, 0);
  const int64_t height = grads.dims()[1], width = grads.dims()[2], depth = dims[3];
  const float* g = grads.data<float>();
  for (size_t b = 0; b < boxes.image.size(); ++b) {
    const float* box = boxes.corners + 4 * b;
    auto add = [&](int64_t y, int64_t x, float share) {
      float* pixel = &sums[((boxes.image[b] * dims[1] + y) * dims[2] + x) * depth];
      for (int64_t d = 0; d < depth; ++d) pixel[d] += share * g[d];
    };
    for (int64_t i = 0; i < height; ++i) {
      const Sample y = Place(box[0], box[2], i, height, dims[1]);
      for (int64_t j = 0; j < width; ++j, g += depth) {
        const Sample x = Place(box[1], box[3], j, width, dims[2]);
        if (!y.inside || !x.inside) continue;
        if (method == "nearest") {
          add(y.nearest, x.nearest, 1);
          continue;
        }
        add(y.low, x.low, (1 - y.part) * (1 - x.part));
        add(y.low, x.high, (1 - y.part) * x.part);
        add(y.high, x.low, y.part * (1 - x.part));
        add(y.high, x.high, y.part * x.part);
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) StoreDouble(out, i, sums[i]);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// The gradient in the corners of the boxes (of bilinear samples).
absl::Status CropAndResizeGradBoxes(KernelContext& c) {
  const Tensor &grads = c.in(0), &image = c.in(1);
  if (grads.rank() != 4 || grads.dtype() != DT_FLOAT || image.rank() != 4)
    return c.Error("image and grads must be 4-D");
  const Dims& dims = image.dims();
  if (dims[1] < 1 || dims[2] < 1 || dims[3] != grads.dims()[3]) return c.Error("the image does not fit grads");
  XC_ASSIGN_OR_RETURN(Boxes boxes, ReadBoxes(c, 2, dims[0], grads.dims()[0]));
  XC_ASSIGN_OR_RETURN(auto pixels, image.AsDoubles());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {grads.dims()[0], 4}));
  const int64_t height = grads.dims()[1], width = grads.dims()[2], depth = dims[3];
  const float* g = grads.data<float>();
  for (size_t b = 0; b < boxes.image.size(); ++b) {
    const float* box = boxes.corners + 4 * b;
    double sums[4] = {0, 0, 0, 0};
    auto pixel = [&](int64_t y, int64_t x) { return &pixels[((boxes.image[b] * dims[1] + y) * dims[2] + x) * depth]; };
    // How far sample i moves with each of the two ends of the box.
    auto share = [](double* low, double* high, double slope, int64_t i, int64_t crop, int64_t size) {
      const double last = static_cast<double>(size - 1);
      const double to = crop > 1 ? last * static_cast<double>(i) / static_cast<double>(crop - 1) : 0.5 * last;
      *low += slope * (last - to);
      *high += slope * to;
    };
    for (int64_t i = 0; i < height; ++i) {
      const Sample y = Place(box[0], box[2], i, height, dims[1]);
      for (int64_t j = 0; j < width; ++j, g += depth) {
        const Sample x = Place(box[1], box[3], j, width, dims[2]);
        if (!y.inside || !x.inside) continue;
        const double *a = pixel(y.low, x.low), *r = pixel(y.low, x.high), *l = pixel(y.high, x.low),
                     *z = pixel(y.high, x.high);
        double down = 0, across = 0;
        for (int64_t d = 0; d < depth; ++d) {
          down += g[d] * ((1 - x.part) * (l[d] - a[d]) + x.part * (z[d] - r[d]));
          across += g[d] * ((1 - y.part) * (r[d] - a[d]) + y.part * (z[d] - l[d]));
        }
        share(&sums[0], &sums[2], down, i, height, dims[1]);
        share(&sums[1], &sums[3], across, j, width, dims[2]);
      }
    }
    for (int k = 0; k < 4; ++k) out.data<float>()[4 * b + k] = static_cast<float>(sums[k]);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// The place within [0, size) that stands for place `at`, which may be outside of the image.
float Folded(float at, float size, const std::string& mode) {
  const float last = size - 1;
  if (mode == "CONSTANT") return at;
  if (mode == "REFLECT" && size > 1) {
    // The image and its mirror image, each pixel at the border twice, over and over.
    const float twice = 2 * size;
    if (at < 0) {
      if (at < twice) at += twice * std::trunc(-at / twice);
      at = at < -size ? at + twice : -at - 1;
    } else if (at > last) {
      at -= twice * std::trunc(at / twice);
      if (at >= size) at = twice - at - 1;
    }
  } else if (mode == "WRAP" && size > 1) {
    if (at < 0) {
      at += size * (std::trunc(-at / last) + 1);
    } else if (at > last) {
      at -= size * std::trunc(at / last);
    }
  } else if (mode != "NEAREST") {
    at = 0;
  }
  return std::isnan(at) ? 0 : std::clamp(at, 0.0f, last);
}

// images [n, h, w, c], transforms [n or 1, 8] from places of the result to places of the image.
absl::Status ProjectiveTransform(KernelContext& c) {
  const Tensor &images = c.in(0), &transforms = c.in(1);
  XC_ASSIGN_OR_RETURN(std::string how, c.node.String("interpolation"));
  std::string mode = "CONSTANT";
  if (c.node.FindAttr("fill_mode") != nullptr) {
    XC_ASSIGN_OR_RETURN(mode, c.node.String("fill_mode"));
  }
  if (how != "NEAREST" && how != "BILINEAR") return c.Error("invalid interpolation " + how);
  if (mode != "CONSTANT" && mode != "REFLECT" && mode != "WRAP" && mode != "NEAREST") {
    return c.Error("invalid fill_mode " + mode);
  }
  XC_ASSIGN_OR_RETURN(auto shape, c.Ints(2));
  if (images.rank() != 4 || shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    return c.Error("images must be 4-D, and output_shape two positive numbers");
  }
  const int64_t batch = images.dims()[0], height = images.dims()[1], width = images.dims()[2], depth = images.dims()[3];
  if (transforms.rank() != 2 || transforms.dims()[1] != 8 ||
      (transforms.dims()[0] != batch && transforms.dims()[0] != 1)) {
    return c.Error("input transform should be num_images x 8 or 1 x 8");
  }
  float fill = 0;
  if (c.num_inputs() > 3) {
    XC_ASSIGN_OR_RETURN(auto v, c.in(3).AsDoubles());
    if (v.size() != 1) return c.Error("fill_value must be a scalar");
    fill = static_cast<float>(v[0]);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {batch, shape[0], shape[1], depth}));
  if (out.num_elements() == 0) {
    c.outputs[0] = std::move(out);
    return absl::OkStatus();
  }
  const bool whole = !IsFloating(out.dtype());
  XC_ASSIGN_OR_RETURN(auto pixels, images.AsDoubles());
  int64_t at = 0;
  auto store = [&](double v) {
    if (whole) {
      StoreInt(out, at++, static_cast<int64_t>(v));
    } else {
      StoreDouble(out, at++, v);
    }
  };
  for (int64_t b = 0; b < batch; ++b) {
    const float* t = transforms.data<float>() + (transforms.dims()[0] == 1 ? 0 : 8 * b);
    auto read = [&](float y, float x, int64_t d) {
      if (!(y >= 0 && y < static_cast<float>(height) && x >= 0 && x < static_cast<float>(width))) return fill;
      const int64_t row = b * height + static_cast<int64_t>(y);
      return static_cast<float>(pixels[(row * width + static_cast<int64_t>(x)) * depth + d]);
    };
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        const float oy = static_cast<float>(i), ox = static_cast<float>(j);
        const float w = t[6] * ox + t[7] * oy + 1;
        if (w == 0) {
          for (int64_t d = 0; d < depth; ++d) store(fill);
          continue;
        }
        const float x = Folded((t[0] * ox + t[1] * oy + t[2]) / w, static_cast<float>(width), mode);
        const float y = Folded((t[3] * ox + t[4] * oy + t[5]) / w, static_cast<float>(height), mode);
        const float x0 = std::floor(x), y0 = std::floor(y);
        for (int64_t d = 0; d < depth; ++d) {
          if (how == "NEAREST") {
            store(read(std::round(y), std::round(x), d));
            continue;
          }
          const float top = (x0 + 1 - x) * read(y0, x0, d) + (x - x0) * read(y0, x0 + 1, d);
          const float bottom = (x0 + 1 - x) * read(y0 + 1, x0, d) + (x - x0) * read(y0 + 1, x0 + 1, d);
          store((y0 + 1 - y) * top + (y - y0) * bottom);
        }
      }
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterImageWarpKernels(KernelRegistry& r) {
  r.Add({"CropAndResizeGradImage"}, CropAndResizeGradImage, false);
  r.Add({"CropAndResizeGradBoxes"}, CropAndResizeGradBoxes, false);
  r.Add({"ImageProjectiveTransformV2", "ImageProjectiveTransformV3"}, ProjectiveTransform, false);
}

}  // namespace xc
