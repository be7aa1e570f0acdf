// Checks a convolution, turns pointwise ones into matrix products, brings the others into the channels-last form that
// oneDNN is fast on (forward, or the transposes of forward that gradients are), and else multiplies patches; with few
// features, adds up lines. Our own direct kernels serve packed weights, f64, and groups of one feature, from copies of
// what lies in another way.
#include "backends/runtime/convolution.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/conv_copies.h"
#include "backends/runtime/conv_direct.h"
#include "backends/runtime/conv_layout.h"
#include "backends/runtime/conv_lines.h"
#include "backends/runtime/conv_patches.h"
#include "backends/runtime/gemm_bytes.h"
#include "backends/runtime/matmul.h"
#include "backends/runtime/onednn.h"
#include "backends/runtime/preparation.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/strided_copy.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using onednn::ConvKey;

std::atomic<bool> use_onednn{true};

RtType Type(int32_t type) { return static_cast<RtType>(type); }

absl::Status Check(const ConvDesc& d) {
  auto bad = [](const char* what) { return absl::InvalidArgumentError(absl::StrCat("convolution: ", what)); };
  if (d.rank < 0 || d.rank > 3) return bad("more than three spatial dimensions");
  if (d.batch < 0 || d.in_features < 0 || d.out_features < 0) return bad("negative size");
  if (d.feature_groups < 1 || d.batch_groups < 1 || (d.feature_groups > 1 && d.batch_groups > 1)) {
    return bad("group counts must be positive and one of them 1");
  }
  if (d.in_features % d.feature_groups != 0 || d.out_features % (d.feature_groups * d.batch_groups) != 0 ||
      d.batch % d.batch_groups != 0) {
    return bad("sizes are not multiples of the group count");
  }
  for (int s = 0; s < 3; ++s) {
    if (d.in[s] < 0 || d.kernel[s] < 0 || d.out[s] < 0) return bad("negative size");
    if (d.stride[s] < 1 || d.base_dilation[s] < 1 || d.window_dilation[s] < 1) return bad("stride or dilation below 1");
    if (s >= d.rank && (d.in[s] != 1 || d.kernel[s] != 1 || d.out[s] != 1)) return bad("sizes beyond the rank");
    // The dilated and padded input under the dilated window.
    const int64_t base = d.in[s] == 0 ? 0 : (d.in[s] - 1) * d.base_dilation[s] + 1;
    const int64_t window = d.kernel[s] == 0 ? 0 : (d.kernel[s] - 1) * d.window_dilation[s] + 1;
    const int64_t padded = base + d.pad_low[s] + d.pad_high[s];
    const int64_t out = padded < window ? 0 : (padded - window) / d.stride[s] + 1;
    if (d.out[s] != out) return bad("output size does not follow from input, window and padding");
  }
  return absl::OkStatus();
}

// A 1-wide window at stride 1 without groups: a product over features, with the spatial dimensions as rows (merged
// where both tensors allow) and batches.
bool AsMatmul(const ConvDesc& d, MatmulDesc* m) {
  if (d.feature_groups != 1 || d.batch_groups != 1) return false;
  for (int s = 0; s < d.rank; ++s) {
    if (d.kernel[s] != 1 || d.stride[s] != 1 || d.base_dilation[s] != 1 || d.pad_low[s] != 0 || d.pad_high[s] != 0) {
      return false;
    }
  }
  m->a_type = d.lhs_type;
  m->b_type = d.rhs_type;
  m->c_type = d.out_type;
  m->k = d.in_features;
  m->n = d.out_features;
  m->a_k = d.lhs_strides[1];
  m->b_k = d.rhs_strides[0];
  m->b_n = d.rhs_strides[1];
  m->c_n = d.out_strides[1];
  struct Rows {
    int64_t size, a, c;
  };
  std::vector<Rows> rows;
  auto add = [&](int64_t size, int64_t a, int64_t c) {
    if (size == 1) return;
    if (!rows.empty() && rows.back().a == a * size && rows.back().c == c * size) {
      rows.back() = {rows.back().size * size, a, c};
    } else {
      rows.push_back({size, a, c});
    }
  };
  add(d.batch, d.lhs_strides[0], d.out_strides[0]);
  for (int s = 0; s < d.rank; ++s) add(d.in[s], d.lhs_strides[2 + s], d.out_strides[2 + s]);
  // The longest run becomes the rows of the product, the others its batches.
  auto longest =
      std::max_element(rows.begin(), rows.end(), [](const Rows& a, const Rows& b) { return a.size < b.size; });
  m->m = 1;
  if (longest != rows.end()) {
    m->m = longest->size;
    m->a_m = longest->a;
    m->c_m = longest->c;
    rows.erase(longest);
  }
  if (rows.size() > kMaxBatchDims) return false;
  m->num_batch_dims = rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    m->batch[i] = rows[i].size;
    m->a_batch[i] = rows[i].a;
    m->c_batch[i] = rows[i].c;
  }
  return true;
}

absl::Status Refused() { return absl::UnimplementedError("convolution that oneDNN has no kernel for"); }

// Runs tasks on the executor; returns the first error.
template <typename Task>
absl::Status RunTasks(RunContext* ctx, int64_t n, Task task) {
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
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

int64_t NumTiles(double flops, int64_t max_tiles) {
  return static_cast<int64_t>(std::clamp<double>(flops / (4 << 20), 1, static_cast<double>(max_tiles)));
}

double Flops(const ConvDesc& d) {
  double flops = 2.0 * d.batch / d.batch_groups * d.out_features * (d.in_features / d.feature_groups);
  for (int s = 0; s < d.rank; ++s) flops *= static_cast<double>(d.out[s]) * d.kernel[s];
  return flops;
}

// The smallest non-negative padding at the end with which the forward formula gives `dst` positions.
bool HighPadding(int64_t src, int64_t kernel, int64_t dst, int64_t stride, int64_t dilation, int64_t low,
                 int64_t* high) {
  const int64_t window = (kernel - 1) * dilation + 1;
  *high = std::max<int64_t>(0, (dst - 1) * stride + window - src - low);
  return low >= 0 && src + low + *high >= window && (src + low + *high - window) / stride + 1 == dst;
}

void CommonKey(const ConvDesc& d, ConvKey* key) {
  std::memset(static_cast<void*>(key), 0, sizeof(*key));
  key->rank = d.rank;
  key->groups = d.feature_groups;
  key->weights_type = Type(d.rhs_type);
}

// Tiles over images, and over rows of the first spatial dimension where there are few images.
absl::Status ForwardTiles(RunContext* ctx, const ConvDesc& d, const ConvKey& whole, char* src, const char* weights,
                          char* dst) {
  int64_t bytes = 0;
  XC_RETURN_IF_ERROR(onednn::PackedWeightsBytes(whole, &bytes));
  XC_ASSIGN_OR_RETURN(char* packed, ThreadScratch(bytes, kOuterScratch));
  const int64_t rhs_bytes = d.out_features * (d.in_features / d.feature_groups) * SizeOf(Type(d.rhs_type));
  const int64_t pack_parts = rhs_bytes < (128 << 10) ? 1 : std::min<int64_t>(8, onednn::MaxPackParts(whole));
  XC_RETURN_IF_ERROR(RunTasks(
      ctx, pack_parts, [&](int64_t part) { return onednn::PackWeights(whole, part, pack_parts, weights, packed); }));

  const int64_t tiles = NumTiles(Flops(d), 64);
  int64_t images = 1, rows = d.out[0];
  if (d.batch >= tiles || d.rank == 0) {
    images = (d.batch + tiles - 1) / tiles;
  } else {
    const int64_t per_row = std::max<int64_t>(1, d.out[1] * d.out[2]);
    const int64_t min_rows = std::max<int64_t>(1, (24 + per_row - 1) / per_row);
    const int64_t row_tiles =
        std::clamp<int64_t>((tiles + d.batch - 1) / d.batch, 1, std::max<int64_t>(1, d.out[0] / min_rows));
    rows = (d.out[0] + row_tiles - 1) / row_tiles;
  }
  const int64_t row_tiles = (d.out[0] - 1) / rows + 1, image_tiles = (d.batch - 1) / images + 1;
  const int64_t src_size = SizeOf(whole.src_type), dst_size = SizeOf(whole.dst_type);
  return RunTasks(ctx, row_tiles * image_tiles, [&](int64_t t) -> absl::Status {
    const int64_t image = t / row_tiles * images, row = t % row_tiles * rows;
    ConvKey key = whole;
    key.batch = std::min(images, d.batch - image);
    int64_t src_at = image * whole.src_strides[0], dst_at = image * whole.dst_strides[0];
    if (row_tiles > 1) {
      key.dst[0] = std::min(rows, d.out[0] - row);
      const int64_t first = row * key.stride[0] - whole.pad_low[0];
      const int64_t last = first + (key.dst[0] - 1) * key.stride[0] + (key.kernel[0] - 1) * key.dilation[0] + 1;
      const int64_t from = std::clamp<int64_t>(first, 0, whole.src[0]),
                    to = std::clamp<int64_t>(last, from, whole.src[0]);
      if (from == to) return Refused();  // rows that see padding only
      key.src[0] = to - from;
      key.pad_low[0] = from - first;
      key.pad_high[0] = last - to;
      src_at += from * whole.src_strides[2];
      dst_at += row * whole.dst_strides[2];
      // Of one image: the batch stride says nothing; a dense one looks like channels-last to the library.
      key.src_strides[0] = key.src[0] * key.src_strides[2];
      key.dst_strides[0] = key.dst[0] * key.dst_strides[2];
    }
    return onednn::Convolution(key, whole, src + src_at * src_size, packed, dst + dst_at * dst_size);
  });
}

// The window's dimensions reversed in memory.
absl::StatusOr<Block> ReverseWindow(RunContext* ctx, const ConvDesc& d, const void* rhs, const bool* reverse,
                                    int64_t* strides) {
  const int64_t size = SizeOf(Type(d.rhs_type));
  int64_t dims[5] = {d.in_features / d.feature_groups, d.out_features}, from[5];
  std::copy(d.rhs_strides, d.rhs_strides + 5, from);
  const char* start = static_cast<const char*>(rhs);
  int64_t count = dims[0] * dims[1];
  for (int s = 0; s < d.rank; ++s) {
    dims[2 + s] = d.kernel[s];
    count *= d.kernel[s];
    if (!reverse[s]) continue;
    start += (d.kernel[s] - 1) * from[2 + s] * size;
    from[2 + s] = -from[2 + s];
  }
  XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(count * size));
  RowMajorStrides(absl::MakeSpan(dims, 2 + d.rank), strides);
  StridedCopy(ctx, absl::MakeSpan(dims, 2 + d.rank), size, start, absl::MakeSpan(from, 2 + d.rank), block.data(),
              absl::MakeSpan(strides, 2 + d.rank));
  return block;
}

// Forward, or with base dilation the transpose of a strided convolution with respect to its input.
absl::Status DataConvolution(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  ConvKey key;
  CommonKey(d, &key);
  bool transposed = false;
  for (int s = 0; s < d.rank; ++s) transposed = transposed || d.base_dilation[s] > 1;
  bool reverse[3] = {}, any_reversed = false;
  for (int s = 0; s < d.rank; ++s) {
    reverse[s] = (d.reversed[s] != 0) != transposed && d.kernel[s] > 1;
    any_reversed = any_reversed || reverse[s];
    if (transposed) {
      if (d.stride[s] != 1) return Refused();
      key.stride[s] = d.base_dilation[s];
      key.pad_low[s] = (d.kernel[s] - 1) * d.window_dilation[s] - d.pad_low[s];
    } else {
      key.stride[s] = d.stride[s];
      key.pad_low[s] = d.pad_low[s];
    }
    key.dilation[s] = d.window_dilation[s];
    key.kernel[s] = d.kernel[s];
    key.src[s] = transposed ? d.out[s] : d.in[s];
    key.dst[s] = transposed ? d.in[s] : d.out[s];
    if (!HighPadding(key.src[s], key.kernel[s], key.dst[s], key.stride[s], key.dilation[s], key.pad_low[s],
                     &key.pad_high[s])) {
      return Refused();
    }
  }
  int64_t rhs_strides[5];
  std::copy(d.rhs_strides, d.rhs_strides + 5, rhs_strides);
  Block reversed;
  if (any_reversed) {
    XC_ASSIGN_OR_RETURN(reversed, ReverseWindow(ctx, d, rhs, reverse, rhs_strides));
    rhs = reversed.data();
  }
  int64_t lhs_sizes[5] = {d.batch, d.in_features, d.in[0], d.in[1], d.in[2]};
  int64_t out_sizes[5] = {d.batch, d.out_features, d.out[0], d.out[1], d.out[2]};
  ChannelsLastTensor in, result;
  XC_RETURN_IF_ERROR(in.Init(d.rank, lhs_sizes, d.lhs_strides, SizeOf(Type(d.lhs_type)), lhs));
  XC_RETURN_IF_ERROR(result.Init(d.rank, out_sizes, d.out_strides, SizeOf(Type(d.out_type)), out));
  const ChannelsLastTensor& src = transposed ? result : in;
  const ChannelsLastTensor& dst = transposed ? in : result;
  key.kind = transposed ? ConvKey::kBackwardData : ConvKey::kForward;
  key.batch = d.batch;
  key.in_features = transposed ? d.out_features : d.in_features;
  key.out_features = transposed ? d.in_features : d.out_features;
  key.src_type = Type(transposed ? d.out_type : d.lhs_type);
  key.dst_type = Type(transposed ? d.lhs_type : d.out_type);
  std::copy(src.strides(), src.strides() + 2 + d.rank, key.src_strides);
  std::copy(dst.strides(), dst.strides() + 2 + d.rank, key.dst_strides);
  key.weights_strides[0] = rhs_strides[transposed ? 0 : 1];
  key.weights_strides[1] = rhs_strides[transposed ? 1 : 0];
  std::copy(rhs_strides + 2, rhs_strides + 2 + d.rank, key.weights_strides + 2);
  key.weights_group_stride = d.out_features / d.feature_groups * rhs_strides[1];

  int64_t bytes = 0;
  XC_RETURN_IF_ERROR(onednn::PackedWeightsBytes(key, &bytes));  // Unimplemented before anything is copied
  in.CopyIn(ctx);
  const char* weights = static_cast<const char*>(rhs);
  if (!transposed) {
    XC_RETURN_IF_ERROR(ForwardTiles(ctx, d, key, in.data(), weights, result.data()));
  } else {
    XC_ASSIGN_OR_RETURN(char* packed, ThreadScratch(bytes, kOuterScratch));
    XC_RETURN_IF_ERROR(onednn::PackWeights(key, 0, 1, weights, packed));
    const int64_t images = (d.batch - 1) / NumTiles(Flops(d), 64) + 1;
    XC_RETURN_IF_ERROR(RunTasks(ctx, (d.batch - 1) / images + 1, [&](int64_t t) {
      ConvKey part = key;
      part.batch = std::min(images, d.batch - t * images);
      return onednn::Convolution(part, key, src.data() + t * images * key.src_strides[0] * SizeOf(key.src_type), packed,
                                 dst.data() + t * images * key.dst_strides[0] * SizeOf(key.dst_type));
    }));
  }
  result.CopyOut(ctx);
  return absl::OkStatus();
}

// A window larger than the result: the gradient of a convolution with respect to its weights. lhs' features are that
// convolution's images, lhs' batch its input features.
absl::Status WeightsConvolution(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  ConvKey key;
  CommonKey(d, &key);
  key.kind = ConvKey::kBackwardWeights;
  key.groups = d.batch_groups;
  for (int s = 0; s < d.rank; ++s) {
    key.stride[s] = d.window_dilation[s];
    key.dilation[s] = d.stride[s];
    key.src[s] = d.in[s];
    key.kernel[s] = d.out[s];
    key.dst[s] = d.kernel[s];
    key.pad_low[s] = d.pad_low[s];
    if (!HighPadding(key.src[s], key.kernel[s], key.dst[s], key.stride[s], key.dilation[s], key.pad_low[s],
                     &key.pad_high[s])) {
      return Refused();
    }
  }
  const int64_t images = d.in_features;
  int64_t src_sizes[5] = {images, d.batch, d.in[0], d.in[1], d.in[2]};
  int64_t dst_sizes[5] = {images, d.out_features, d.kernel[0], d.kernel[1], d.kernel[2]};
  int64_t src_strides[5], dst_strides[5];
  std::copy(d.lhs_strides, d.lhs_strides + 5, src_strides);
  std::swap(src_strides[0], src_strides[1]);
  std::copy(d.rhs_strides, d.rhs_strides + 5, dst_strides);
  ChannelsLastTensor src, dst;
  XC_RETURN_IF_ERROR(src.Init(d.rank, src_sizes, src_strides, SizeOf(Type(d.lhs_type)), lhs));
  XC_RETURN_IF_ERROR(dst.Init(d.rank, dst_sizes, dst_strides, SizeOf(Type(d.rhs_type)), rhs));
  key.batch = images;
  key.in_features = d.batch;
  key.out_features = d.out_features;
  key.src_type = Type(d.lhs_type);
  key.dst_type = Type(d.rhs_type);
  key.weights_type = RtType::kF32;  // partial sums
  std::copy(src.strides(), src.strides() + 2 + d.rank, key.src_strides);
  std::copy(dst.strides(), dst.strides() + 2 + d.rank, key.dst_strides);
  key.weights_strides[0] = d.out_strides[1];
  key.weights_strides[1] = d.out_strides[0];
  std::copy(d.out_strides + 2, d.out_strides + 2 + d.rank, key.weights_strides + 2);
  key.weights_group_stride = d.out_features / d.batch_groups * d.out_strides[1];

  // Images in a number of parts that the shape alone says, each with sums of its own, added in order.
  const int64_t wanted = std::min<int64_t>(images, NumTiles(Flops(d), 8));
  const int64_t per_part = (images - 1) / wanted + 1, parts = (images - 1) / per_part + 1;
  ConvKey first = key;
  first.batch = per_part;
  int64_t bytes = 0;
  absl::Status status = onednn::PackedWeightsBytes(first, &bytes);
  // Where the library has no kernel for bf16, that for f32 takes widened copies: the sums are f32 in both.
  const bool widen = absl::IsUnimplemented(status) && first.src_type == RtType::kBF16;
  if (widen) {
    first.src_type = first.dst_type = key.src_type = key.dst_type = RtType::kF32;
    status = onednn::PackedWeightsBytes(first, &bytes);
  }
  XC_RETURN_IF_ERROR(status);
  for (ChannelsLastTensor* tensor : {&src, &dst}) {
    tensor->CopyIn(ctx);
    if (widen) XC_RETURN_IF_ERROR(tensor->Widen(ctx));
  }
  const int64_t stride = (bytes + 63) / 64 * 64;
  XC_ASSIGN_OR_RETURN(Block sums, Block::Allocate(stride * parts));
  XC_RETURN_IF_ERROR(RunTasks(ctx, parts, [&](int64_t t) {
    ConvKey part = first;
    part.batch = std::min(per_part, images - t * per_part);
    return onednn::Convolution(part, first, src.data() + t * per_part * key.src_strides[0] * SizeOf(key.src_type),
                               sums.data() + t * stride,
                               dst.data() + t * per_part * key.dst_strides[0] * SizeOf(key.dst_type));
  }));
  ctx->ParallelFor(bytes / 4, 16384, [&](int64_t begin, int64_t end) {
    float* total = reinterpret_cast<float*>(sums.data());
    for (int64_t p = 1; p < parts; ++p) {
      const float* other = reinterpret_cast<const float*>(sums.data() + p * stride);
      for (int64_t i = begin; i < end; ++i) total[i] += other[i];
    }
  });
  return onednn::UnpackWeights(first, Type(d.out_type), sums.data(), out);
}

// Whether the library sums bytes exactly: with instructions that add in 32 bits and do not saturate on the way.
bool IsExactByteConvolution(const ConvDesc& d) {
  const GemmTile tile{Type(d.lhs_type), Type(d.rhs_type), Type(d.out_type), 1, 1, 1};
  if (tile.a_type != RtType::kS8 || tile.b_type != RtType::kS8 || tile.c_type != RtType::kS32) return false;
  for (int s = 0; s < d.rank; ++s) {
    if (d.base_dilation[s] > 1) return false;
  }
  return HasByteProduct(tile);
}

absl::Status ByOneDnn(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  if (!use_onednn.load(std::memory_order_relaxed) || !onednn::Available() || d.rank == 0) return Refused();
  const RtType lhs_type = Type(d.lhs_type), out_type = Type(d.out_type);
  const bool f32 = lhs_type == RtType::kF32 && out_type == RtType::kF32;
  const bool bf16 = lhs_type == RtType::kBF16 && (out_type == RtType::kBF16 || out_type == RtType::kF32);
  if ((!f32 && !bf16 && !IsExactByteConvolution(d)) || d.rhs_type != d.lhs_type) return Refused();
  double window = 1, positions = 1;
  bool dilated = false, reversed = false;
  for (int s = 0; s < d.rank; ++s) {
    window *= d.kernel[s];
    positions *= d.out[s];
    dilated = dilated || d.base_dilation[s] > 1;
    reversed = reversed || d.reversed[s] != 0;
  }
  if (!dilated && !reversed && d.feature_groups == 1 && (window > positions || d.batch_groups > 1)) {
    return WeightsConvolution(ctx, d, lhs, rhs, out);
  }
  if (d.batch_groups > 1) return Refused();
  return DataConvolution(ctx, d, lhs, rhs, out);
}

// The kernels for weights that are not packed, and what our own serve no better than the library.
absl::Status Unpacked(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  MatmulDesc product;
  if (AsMatmul(d, &product)) return Matmul(ctx, product, lhs, rhs, out);
  if (AsProductOfPatches(d, &product)) return MultiplyPatches(ctx, d, product, lhs, rhs, out);
  if (const std::optional<ConvDesc> lines = AsLines(d)) return ConvolutionByLines(ctx, *lines, lhs, rhs, out);
  absl::Status status = ByOneDnn(ctx, d, lhs, rhs, out);
  if (absl::IsUnimplemented(status)) status = ConvolutionOfCopies(ctx, d, lhs, rhs, out);
  if (!absl::IsUnimplemented(status)) return status;
  return ConvolutionByPatches(ctx, d, lhs, rhs, out);
}

// Whether the direct kernels are to be used, for weights that are packed or would be packed now.
bool UseDirect(const ConvDesc& d) {
  if (d.packed != 0 || IsByChannels(d)) return true;
  if (d.lhs_type != static_cast<int32_t>(RtType::kF64)) return false;
  MatmulDesc product;
  return IsDirect(d) && !AsMatmul(d, &product) && !AsLines(d).has_value();
}

}  // namespace

bool NeedsPreparation(const ConvDesc& desc) {
  MatmulDesc product;
  return desc.packed == 0 && AsMatmul(desc, &product) && NeedsPreparation(product);
}

void SetConvolutionUseOneDnn(bool use) { use_onednn = use; }

void RunEpilogue(RunContext* ctx, const ConvEpilogue& epilogue) {
  ctx->ParallelFor(epilogue.work, epilogue.piece,
                   [&](int64_t begin, int64_t end) { epilogue.body(epilogue.env, begin, end); });
}

absl::Status Convolution(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out,
                         const ConvEpilogue* epilogue) {
  XC_RETURN_IF_ERROR(Check(d));
  if (d.batch == 0 || d.out_features == 0 || d.out[0] * d.out[1] * d.out[2] == 0) return absl::OkStatus();
  const bool empty = d.in_features == 0 || d.kernel[0] * d.kernel[1] * d.kernel[2] * d.in[0] * d.in[1] * d.in[2] == 0;
  if (d.packed != 0 && (empty || !TakesPackedWeights(d)))
    return absl::InvalidArgumentError("convolution: weights are packed");
  if (!empty && UseDirect(d)) return ConvolutionDirect(ctx, d, lhs, rhs, out, epilogue);
  XC_RETURN_IF_ERROR(empty ? ConvolutionByPatches(ctx, d, lhs, rhs, out) : Unpacked(ctx, d, lhs, rhs, out));
  if (epilogue != nullptr) RunEpilogue(ctx, *epilogue);
  return absl::OkStatus();
}

}  // namespace xc

int xc_rt_convolution(void* ctx, const xc::ConvDesc* desc, const void* lhs, const void* rhs, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Convolution(run, *desc, lhs, rhs, out));
}

int xc_rt_convolution_then(void* ctx, const xc::ConvDesc* desc, const void* lhs, const void* rhs, void* out,
                           void (*body)(void* env, int64_t begin, int64_t end), void* env, int64_t work, int64_t grain,
                           int64_t piece) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  const xc::ConvEpilogue epilogue{body, env, work, grain, piece};
  return run->Record(xc::Convolution(run, *desc, lhs, rhs, out, &epilogue));
}
