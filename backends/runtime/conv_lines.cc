#include "backends/runtime/conv_lines.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int kLine = 2;  // the spatial dimension that lines lie along

// Calls `body` with an element of the type that sums of lines of `type` are made in, if there are such sums.
template <typename Body>
bool WithElement(RtType type, Body body) {
  switch (type) {
    case RtType::kF32:
      return body(float{}), true;
    case RtType::kF64:
      return body(double{}), true;
    case RtType::kS32:
    case RtType::kU32:
      return body(uint32_t{}), true;
    case RtType::kS64:
    case RtType::kU64:
      return body(uint64_t{}), true;
    case RtType::kC64:
      return body(std::complex<float>{}), true;
    case RtType::kC128:
      return body(std::complex<double>{}), true;
    default:
      return false;
  }
}

void Exchange(ConvDesc& d, int s, int t) {
  for (int64_t* field :
       {d.in, d.kernel, d.out, d.stride, d.base_dilation, d.window_dilation, d.pad_low, d.pad_high, d.reversed}) {
    std::swap(field[s], field[t]);
  }
  for (int64_t* strides : {d.lhs_strides, d.rhs_strides, d.out_strides}) std::swap(strides[2 + s], strides[2 + t]);
}

// Where position `k` of the window reads along dimension `s` from output position `out`, or -1 outside of the input.
int64_t Place(const ConvDesc& d, int s, int64_t out, int64_t k) {
  const int64_t tap = d.reversed[s] ? d.kernel[s] - 1 - k : k;
  const int64_t x = out * d.stride[s] + tap * d.window_dilation[s] - d.pad_low[s];
  return x >= 0 && x % d.base_dilation[s] == 0 && x / d.base_dilation[s] < d.in[s] ? x / d.base_dilation[s] : -1;
}

struct Lines {
  int64_t length;       // of a line of the input with its padding
  int64_t in_features;  // in a group
  int64_t out_features;
  bool copied;  // into scratch, padded, in the order batch, feature, spatial
};

Lines LinesOf(const ConvDesc& d) {
  Lines l;
  l.length = d.out[kLine] + (d.kernel[kLine] - 1) * d.window_dilation[kLine];
  l.in_features = d.in_features / d.feature_groups;
  l.out_features = d.out_features / d.feature_groups;
  l.copied = d.pad_low[kLine] > 0 || l.length - d.pad_low[kLine] > d.in[kLine];
  return l;
}

// The part of a line that the input has, with zeros around it.
template <typename T>
void CopyLine(const ConvDesc& d, int64_t length, const T* from, T* to) {
  const int64_t low = std::clamp<int64_t>(d.pad_low[kLine], 0, length);
  const int64_t skipped = std::max<int64_t>(0, -d.pad_low[kLine]);
  const int64_t count = std::clamp<int64_t>(d.in[kLine] - skipped, 0, length - low);
  std::fill_n(to, low, T());
  if (count > 0) std::memcpy(to + low, from + skipped, count * sizeof(T));
  std::fill_n(to + low + count, length - low - count, T());
}

template <typename T>
absl::Status Run(RunContext* ctx, const ConvDesc& d, const T* lhs, const T* rhs, T* out) {
  constexpr int64_t kGrain = 1 << 18;  // multiplications of a task
  const Lines l = LinesOf(d);
  const int64_t planes = d.batch * d.in_features, rows = d.in[0] * d.in[1];
  int64_t strides[4] = {d.lhs_strides[0], d.lhs_strides[1], d.lhs_strides[2], d.lhs_strides[3]};
  if (l.copied) {
    XC_ASSIGN_OR_RETURN(char* scratch, ThreadScratch(planes * rows * l.length * sizeof(T), kOuterScratch));
    T* to = reinterpret_cast<T*>(scratch);
    ctx->ParallelFor(planes * rows, 65536 / l.length + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / rows, batch = plane / d.in_features, feature = plane % d.in_features;
        CopyLine(d, l.length,
                 lhs + batch * strides[0] + feature * strides[1] + row % rows / d.in[1] * strides[2] +
                     row % d.in[1] * strides[3],
                 to + row * l.length);
      }
    });
    lhs = to;
    strides[3] = l.length;
    strides[2] = strides[3] * d.in[1];
    strides[1] = strides[2] * d.in[0];
    strides[0] = strides[1] * d.in_features;
  } else {
    lhs -= d.pad_low[kLine];
  }
  // A line of the result is cut where it is long, at multiples of what a kernel makes at a time.
  const int64_t cost = l.in_features * d.kernel[0] * d.kernel[1] * d.kernel[kLine];
  const int64_t piece = std::max<int64_t>(2048, kGrain / cost / 128 * 128);
  const int64_t pieces = d.out[kLine] < 2 * piece ? 1 : d.out[kLine] / piece;
  const int64_t out_rows = d.out[0] * d.out[1], tasks = d.batch * d.out_features * out_rows * pieces;
  const int64_t per_task = cost * (d.out[kLine] / pieces + 1);
  const bool reversed = d.reversed[kLine] != 0;
  const int64_t tap_step = reversed ? -d.rhs_strides[2 + kLine] : d.rhs_strides[2 + kLine];
  ctx->ParallelFor(tasks, kGrain / per_task + 1, [&](int64_t begin, int64_t end) {
    std::vector<LineRun> runs;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t number = task % pieces, row = task / pieces % out_rows;
      const int64_t feature = task / (pieces * out_rows) % d.out_features;
      const int64_t batch = task / (pieces * out_rows * d.out_features);
      const int64_t first = number * piece, count = number == pieces - 1 ? d.out[kLine] - first : piece;
      const T* image = lhs + batch * strides[0] + feature / l.out_features * l.in_features * strides[1] + first;
      const T* weights = rhs + feature * d.rhs_strides[1];
      if (reversed) weights += (d.kernel[kLine] - 1) * d.rhs_strides[2 + kLine];
      runs.clear();
      for (int64_t a = 0; a < d.kernel[0]; ++a) {
        const int64_t at0 = Place(d, 0, row / d.out[1], a);
        for (int64_t b = 0; b < d.kernel[1] && at0 >= 0; ++b) {
          const int64_t at1 = Place(d, 1, row % d.out[1], b);
          for (int64_t i = 0; i < l.in_features && at1 >= 0; ++i) {
            runs.push_back({image + i * strides[1] + at0 * strides[2] + at1 * strides[3],
                            weights + i * d.rhs_strides[0] + a * d.rhs_strides[2] + b * d.rhs_strides[3]});
          }
        }
      }
      T* to = out + batch * d.out_strides[0] + feature * d.out_strides[1] + row / d.out[1] * d.out_strides[2] +
              row % d.out[1] * d.out_strides[3] + first;
      BestGemmKernels().lines(static_cast<RtType>(d.lhs_type), runs.data(), runs.size(), d.kernel[kLine],
                              d.window_dilation[kLine], tap_step, count, to);
    }
  });
  return absl::OkStatus();
}

}  // namespace

std::optional<ConvDesc> AsLines(const ConvDesc& d) {
  constexpr int64_t kFewFeatures = 2;
  if (d.lhs_type != d.rhs_type || d.lhs_type != d.out_type || d.batch_groups != 1) return std::nullopt;
  if (!WithElement(static_cast<RtType>(d.lhs_type), [](auto) {})) return std::nullopt;
  if (d.out_features / d.feature_groups > kFewFeatures) return std::nullopt;
  for (int s = d.rank - 1; s >= 0; --s) {
    if (d.lhs_strides[2 + s] != 1 || d.out_strides[2 + s] != 1 || d.out[s] < kLineCount) continue;
    if (d.stride[s] != 1 || d.base_dilation[s] != 1) continue;
    ConvDesc lines = d;
    for (int t = d.rank; t < 3; ++t) {
      lines.lhs_strides[2 + t] = lines.rhs_strides[2 + t] = lines.out_strides[2 + t] = 0;
    }
    Exchange(lines, s, kLine);
    lines.rank = 3;
    return lines;
  }
  return std::nullopt;
}

absl::Status ConvolutionByLines(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  absl::Status status;
  WithElement(static_cast<RtType>(d.lhs_type), [&](auto element) {
    typedef decltype(element) T;
    status = Run(ctx, d, static_cast<const T*>(lhs), static_cast<const T*>(rhs), static_cast<T*>(out));
  });
  return status;
}

}  // namespace xc
