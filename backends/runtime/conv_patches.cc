// For each image, group and run of output positions: the patches under the window are gathered into a matrix, which is
// multiplied with the weights as [window * input features, output features]. Few patches make one matrix for all.
#include "backends/runtime/conv_patches.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/conv_direct.h"
#include "backends/runtime/gemm_bytes.h"
#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/strided_copy.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

struct Geometry {
  int64_t window;     // kernel positions
  int64_t positions;  // output positions of an image
  int64_t in_group;   // input features in a group
  int64_t out_group;  // output features in a group (feature or batch group)
  int64_t groups;     // feature groups times batch groups, one of which is 1
  int64_t images;     // of the result
};

// Where each position of the window reads along one dimension, from one output position: in elements, or kOutside.
constexpr int64_t kOutside = INT64_MIN;

void WindowPlaces(const ConvDesc& d, int s, int64_t out, int64_t* places) {
  for (int64_t w = 0; w < d.kernel[s]; ++w) {
    const int64_t k = d.reversed[s] ? d.kernel[s] - 1 - w : w;
    const int64_t x = out * d.stride[s] + k * d.window_dilation[s] - d.pad_low[s];
    const bool inside = x >= 0 && x % d.base_dilation[s] == 0 && x / d.base_dilation[s] < d.in[s];
    places[w] = inside ? (s < d.rank ? x / d.base_dilation[s] * d.lhs_strides[2 + s] : 0) : kOutside;
  }
}

template <typename T>
void Gather(const ConvDesc& d, const Geometry& g, const T* image, int64_t first, int64_t last, T* patches) {
  const int64_t feature = d.lhs_strides[1];
  if (g.window * g.in_group == 0) return;  // then there may be no image either
  std::vector<int64_t> places[3];
  int64_t placed[3] = {-1, -1, -1};
  for (int s = 0; s < 3; ++s) places[s].resize(d.kernel[s]);
  T* to = patches;
  for (int64_t p = first; p < last; ++p) {
    const int64_t out[3] = {p / d.out[2] / d.out[1], p / d.out[2] % d.out[1], p % d.out[2]};
    for (int s = 0; s < 3; ++s) {
      if (out[s] != placed[s]) WindowPlaces(d, s, out[s], places[s].data());
      placed[s] = out[s];
    }
    // Positions of the window that are neighbours in the image are copied together.
    const T* run = nullptr;
    int64_t count = 0;
    const auto copy_run = [&] {
      if (count > 0) std::memcpy(static_cast<void*>(to), run, count * sizeof(T));
      to += count;
      count = 0;
    };
    for (const int64_t a : places[0]) {
      for (const int64_t b : places[1]) {
        for (const int64_t c : places[2]) {
          const bool outside = a == kOutside || b == kOutside || c == kOutside;
          const T* from = outside ? nullptr : image + a + b + c;
          if (!outside && feature == 1) {
            if (count == 0 || from != run + count) {
              copy_run();
              run = from;
            }
            count += g.in_group;
            continue;
          }
          copy_run();
          if (outside) {
            std::memset(static_cast<void*>(to), 0, g.in_group * sizeof(T));
          } else {
            for (int64_t i = 0; i < g.in_group; ++i) to[i] = from[i * feature];
          }
          to += g.in_group;
        }
      }
    }
    copy_run();
  }
}

struct Wide {
  uint64_t low, high;
};

void GatherBytes(const ConvDesc& d, const Geometry& g, int64_t size, const char* image, int64_t first, int64_t last,
                 char* patches) {
  switch (size) {
    case 1:
      return Gather(d, g, reinterpret_cast<const uint8_t*>(image), first, last, reinterpret_cast<uint8_t*>(patches));
    case 2:
      return Gather(d, g, reinterpret_cast<const uint16_t*>(image), first, last, reinterpret_cast<uint16_t*>(patches));
    case 4:
      return Gather(d, g, reinterpret_cast<const uint32_t*>(image), first, last, reinterpret_cast<uint32_t*>(patches));
    case 8:
      return Gather(d, g, reinterpret_cast<const uint64_t*>(image), first, last, reinterpret_cast<uint64_t*>(patches));
    default:
      return Gather(d, g, reinterpret_cast<const Wide*>(image), first, last, reinterpret_cast<Wide*>(patches));
  }
}

// Weights as [window][input feature][output feature], in HLO's row-major order of the window.
absl::StatusOr<char*> PackWeights(RunContext* ctx, const ConvDesc& d, const Geometry& g, const void* rhs) {
  const int64_t size = SizeOf(static_cast<RtType>(d.rhs_type));
  XC_ASSIGN_OR_RETURN(char* weights, ThreadScratch(g.window * g.in_group * d.out_features * size, kOuterScratch));
  int64_t dims[5], from[5], to[5];
  int rank = 0;
  for (int s = 0; s < d.rank; ++s) {
    dims[rank] = d.kernel[s];
    from[rank++] = d.rhs_strides[2 + s];
  }
  dims[rank] = g.in_group;
  from[rank++] = d.rhs_strides[0];
  dims[rank] = d.out_features;
  from[rank++] = d.rhs_strides[1];
  RowMajorStrides(absl::MakeSpan(dims, rank), to);
  StridedCopy(ctx, absl::MakeSpan(dims, rank), size, rhs, absl::MakeSpan(from, rank), weights,
              absl::MakeSpan(to, rank));
  return weights;
}

// The stride at which all positions of the result lie, if they lie at one.
std::optional<int64_t> PositionStride(const ConvDesc& d) {
  int64_t position_stride = 1, expected = 0;
  for (int s = d.rank - 1; s >= 0; --s) {
    if (d.out[s] == 1) continue;
    const int64_t stride = d.out_strides[2 + s];
    if (expected == 0) {
      position_stride = stride;
    } else if (stride != expected) {
      return std::nullopt;
    }
    expected = stride * d.out[s];
  }
  return position_stride;
}

}  // namespace

absl::Status ConvolutionByPatches(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  Geometry g;
  g.window = d.kernel[0] * d.kernel[1] * d.kernel[2];
  g.positions = d.out[0] * d.out[1] * d.out[2];
  g.in_group = d.in_features / d.feature_groups;
  g.groups = d.feature_groups * d.batch_groups;
  g.out_group = d.out_features / g.groups;
  g.images = d.batch / d.batch_groups;
  const int64_t lhs_size = SizeOf(static_cast<RtType>(d.lhs_type)), rhs_size = SizeOf(static_cast<RtType>(d.rhs_type)),
                out_size = SizeOf(static_cast<RtType>(d.out_type));
  const int64_t depth = g.window * g.in_group;

  XC_ASSIGN_OR_RETURN(char* weights, PackWeights(ctx, d, g, rhs));
  const int64_t run = std::clamp<int64_t>((int64_t{256} << 10) / std::max<int64_t>(1, depth * lhs_size), 8, 256);
  // A run of output positions goes to one product where the result's positions lie at one stride, else row by row.
  const std::optional<int64_t> one_stride = PositionStride(d);
  const int64_t position_stride = one_stride.value_or(d.out_strides[1 + d.rank]);
  const int64_t minor = d.rank == 0 ? 1 : d.out[d.rank - 1];
  const int64_t line = one_stride ? g.positions : minor;  // positions at one stride
  const int64_t lines = g.positions / line;
  const int64_t cuts = (line - 1) / run + 1;
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(g.images * g.groups * lines * cuts, 1, [&](int64_t begin, int64_t end) {
    auto task = [&](int64_t t) -> absl::Status {
      const int64_t first_in_line = t % cuts * run, line_number = t / cuts % lines;
      const int64_t group = t / (cuts * lines) % g.groups, image = t / (cuts * lines * g.groups);
      const int64_t first = line_number * line + first_in_line;
      const int64_t last = line_number * line + std::min(line, first_in_line + run);
      int64_t out_at = image * d.out_strides[0] + group * g.out_group * d.out_strides[1], rest = first;
      for (int s = d.rank - 1; s >= 0; --s) {
        out_at += rest % d.out[s] * d.out_strides[2 + s];
        rest /= d.out[s];
      }
      const int64_t in_batch = d.batch_groups > 1 ? group * g.images + image : image;
      const int64_t in_feature = d.feature_groups > 1 ? group * g.in_group : 0;
      GemmTile tile{static_cast<RtType>(d.lhs_type),
                    static_cast<RtType>(d.rhs_type),
                    static_cast<RtType>(d.out_type),
                    last - first,
                    g.out_group,
                    depth,
                    nullptr,
                    depth,
                    1,
                    weights + group * g.out_group * rhs_size,
                    d.out_features,
                    1,
                    static_cast<char*>(out) + out_at * out_size,
                    position_stride,
                    d.out_strides[1]};
      const GemmKernels& kernels = BestGemmKernels();
      const bool byte_product = HasByteProduct(tile);
      const int64_t bytes = byte_product ? 0 : kernels.gemm_scratch(tile);
      if (bytes < 0) {
        return absl::UnimplementedError(
            absl::StrCat("convolution of element types ", d.lhs_type, " and ", d.rhs_type, " to ", d.out_type));
      }
      XC_ASSIGN_OR_RETURN(char* patches, ThreadScratch(run * depth * lhs_size, kKernelScratch));
      const char* from_image =
          static_cast<const char*>(lhs) + (in_batch * d.lhs_strides[0] + in_feature * d.lhs_strides[1]) * lhs_size;
      GatherBytes(d, g, lhs_size, from_image, first, last, patches);
      tile.a = patches;
      if (byte_product) return ByteProduct(tile);
      XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(bytes, kPackScratch));
      kernels.gemm(tile, scratch);
      return absl::OkStatus();
    };
    for (int64_t t = begin; t < end; ++t) {
      absl::Status status = task(t);
      if (!status.ok()) {
        if (!failed.exchange(true)) error = status;
        return;
      }
    }
  });
  return error;
}

bool AsProductOfPatches(const ConvDesc& d, MatmulDesc* product) {
  constexpr int64_t kFewFeatures = 16;  // patches are copied by runs of these
  const auto f32 = static_cast<int32_t>(RtType::kF32);
  if (d.lhs_type != f32 || d.rhs_type != f32 || d.out_type != f32) return false;
  if (d.feature_groups != 1 || d.batch_groups != 1 || d.in_features < kFewFeatures) return false;
  if (d.lhs_strides[1] != 1 || d.rhs_strides[1] != 1 || d.out_strides[1] != 1) return false;
  int64_t window = 1, rows = d.batch;
  for (int s = 0; s < 3; ++s) {
    if (d.base_dilation[s] != 1) return false;
    window *= d.kernel[s];
    rows *= d.out[s];
  }
  if (window > 1 && rows > d.out_features / 2) return false;
  const std::optional<int64_t> depth_stride = OneStride({{d.kernel[0], d.rhs_strides[2]},
                                                         {d.kernel[1], d.rhs_strides[3]},
                                                         {d.kernel[2], d.rhs_strides[4]},
                                                         {d.in_features, d.rhs_strides[0]}});
  const std::optional<int64_t> row_stride = RowStride(d);
  if (!depth_stride || !row_stride) return false;
  *product = MatmulDesc();
  product->a_type = product->b_type = product->c_type = f32;
  product->m = rows;
  product->n = d.out_features;
  product->k = window * d.in_features;
  product->a_m = product->k;
  product->a_k = 1;
  product->b_k = *depth_stride;
  product->b_n = 1;
  product->c_m = rows == 1 ? d.out_features : *row_stride;
  product->c_n = 1;
  return true;
}

absl::Status MultiplyPatches(RunContext* ctx, const ConvDesc& d, const MatmulDesc& product, const void* lhs,
                             const void* rhs, void* out) {
  constexpr int64_t kGrain = 16384;  // elements that one task gathers, at least
  Geometry g;
  g.window = d.kernel[0] * d.kernel[1] * d.kernel[2];
  g.positions = d.out[0] * d.out[1] * d.out[2];
  g.in_group = d.in_features;
  XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(product.m * product.k * sizeof(float), kOuterScratch));
  auto* patches = reinterpret_cast<uint32_t*>(scratch);
  ctx->ParallelFor(product.m, kGrain / product.k + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t image = row / g.positions, first = row % g.positions;
      const int64_t last = std::min(g.positions, first + end - row);
      Gather(d, g, static_cast<const uint32_t*>(lhs) + image * d.lhs_strides[0], first, last,
             patches + row * product.k);
      row += last - first;
    }
  });
  return Matmul(ctx, product, patches, rhs, out);
}

}  // namespace xc
