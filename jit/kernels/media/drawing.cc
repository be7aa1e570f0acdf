// Host kernels that draw into images.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

using Color = std::array<float, 4>;

// The colors that boxes take in turn when none are given.
constexpr Color kDefaultColors[] = {
    {1, 1, 0, 1},    // yellow
    {0, 0, 1, 1},    // blue
    {1, 0, 0, 1},    // red
    {0, 1, 0, 1},    // lime
    {.5, 0, .5, 1},  // purple
    {.5, .5, 0, 1},  // olive
    {.5, 0, 0, 1},   // maroon
    {0, 0, .5, 1},   // navy
    {0, 1, 1, 1},    // aqua
    {1, 0, 1, 1},    // fuchsia
};

// images [batch, height, width, 1, 3 or 4], boxes [batch, n, 4] by opposite corners in parts of the image[, colors].
absl::Status DrawBoundingBoxes(KernelContext& c) {
  const Tensor &images = c.in(0), &boxes = c.in(1);
  if (images.rank() != 4) return c.Error("images must be [batch, height, width, depth]");
  if (boxes.rank() != 3 || boxes.dims()[2] != 4 || boxes.dims()[0] != images.dims()[0]) {
    return c.Error("boxes must be [batch, n, 4]");
  }
  const int64_t batch = images.dims()[0], height = images.dims()[1], width = images.dims()[2], depth = images.dims()[3];
  if (depth != 1 && depth != 3 && depth != 4) return c.Error("images must have 1, 3 or 4 channels");
  if (images.dtype() != DT_FLOAT && images.dtype() != DT_HALF) return c.Error("images of that type");
  std::vector<Color> colors;
  if (c.num_inputs() > 2 && c.in(2).num_elements() > 0) {
    const Tensor& given = c.in(2);
    if (given.rank() != 2 || given.dims()[1] < depth) return c.Error("colors must be [n, depth]");
    for (int64_t i = 0; i < given.dims()[0]; ++i) {
      Color color{};
      for (int64_t k = 0; k < depth; ++k) color[k] = given.data<float>()[i * given.dims()[1] + k];
      colors.push_back(color);
    }
  } else {
    colors.assign(std::begin(kDefaultColors), std::end(kDefaultColors));
    for (Color& color : colors) color[0] = depth == 1 ? 1 : color[0];
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, images.dims()));
  std::copy_n(static_cast<const char*>(images.raw()), images.byte_size(), static_cast<char*>(out.raw()));
  XC_ASSIGN_OR_RETURN(std::vector<double> corners, boxes.AsDoubles());
  const int64_t count = boxes.dims()[1];
  for (int64_t b = 0; b < batch; ++b) {
    auto paint = [&](int64_t y, int64_t x, const Color& color) {
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t at = ((b * height + y) * width + x) * depth + k;
        if (out.dtype() == DT_FLOAT) {
          out.data<float>()[at] = color[k];
        } else {
          out.data<uint16_t>()[at] = FloatToHalf(color[k]);
        }
      }
    };
    for (int64_t i = 0; i < count; ++i) {
      // A coordinate in pixels, towards zero; those far outside all count as outside.
      auto pixel = [&](int k, int64_t size) {
        const float at = static_cast<float>(corners[(b * count + i) * 4 + k]) * static_cast<float>(size - 1);
        return at != at ? int64_t{-1} : static_cast<int64_t>(std::clamp(at, -1e9f, 1e9f));
      };
      const int64_t top = pixel(0, height), left = pixel(1, width), bottom = pixel(2, height), right = pixel(3, width);
      if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) continue;
      const Color& color = colors[i % colors.size()];
      const int64_t first_row = std::max<int64_t>(top, 0), last_row = std::min(bottom, height - 1);
      const int64_t first_column = std::max<int64_t>(left, 0), last_column = std::min(right, width - 1);
      for (int64_t x = first_column; x <= last_column; ++x) {
        if (top >= 0) paint(top, x, color);
        if (bottom < height) paint(bottom, x, color);
      }
      for (int64_t y = first_row; y <= last_row; ++y) {
        if (left >= 0) paint(y, left, color);
        if (right < width) paint(y, right, color);
      }
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterDrawingKernels(KernelRegistry& r) {
  r.Add({"DrawBoundingBoxes", "DrawBoundingBoxesV2"}, DrawBoundingBoxes, false);
}

}  // namespace xc
