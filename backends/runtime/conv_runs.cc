#include "backends/runtime/conv_runs.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/runtime/conv_direct.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Of at most so many features, the window's positions along the last dimension are one run, of a padded copy.
constexpr int64_t kFewFeatures = 15;

constexpr int64_t kNoPlace = INT64_MIN;

// Elements of a line of the input with its padding.
int64_t LineElements(const ConvDesc& d) {
  const int last = d.rank - 1;
  return ((d.out[last] - 1) * d.stride[last] + d.kernel[last]) * d.in_features;
}

// The runs of rows that follow each other along a line, from the window's first place on: where all are inside, the
// first place says the others, too.
void FindRunsOfLine(const ConvWalk& w, const char* image, const int64_t* start, const char* zeros, ConvRows* rows) {
  const int64_t distance = w.stride[w.line] * w.step[w.line], last = (rows->count - 1) * w.stride[w.line];
  int64_t at[3];
  for (at[0] = 0; at[0] < w.kernel[0]; ++at[0]) {
    for (at[1] = 0; at[1] < w.kernel[1]; ++at[1]) {
      for (at[2] = 0; at[2] < w.kernel[2]; ++at[2]) {
        const char* place = image;
        int64_t weights = w.weights;
        bool any = true, all = true;
        for (int s = 0; s < 3; ++s) {
          const int64_t x = start[s] + at[s] * w.dilation[s], end = s == w.line ? x + last : x;
          any &= end >= 0 && x < w.in[s];
          all &= x >= 0 && end < w.in[s];
          place += x * w.step[s];
          weights += at[s] * w.weights_step[s];
        }
        if (!any) continue;
        DirectRun& run = rows->runs[rows->num_runs];
        run.weights = weights;
        run.distance = all ? distance : -1;
        run.places[0] = place;
        if (!all) {
          int64_t x = start[w.line] + at[w.line] * w.dilation[w.line];
          bool inside = false;
          for (int64_t i = 0; i < rows->count; ++i, x += w.stride[w.line]) {
            const bool in = x >= 0 && x < w.in[w.line];
            run.places[i] = in ? place + i * distance : zeros;
            inside |= in;
          }
          if (!inside) continue;
        }
        ++rows->num_runs;
      }
    }
  }
}

}  // namespace

ConvWalk WalkOf(const ConvDesc& d, const void* lhs) {
  const int64_t size = SizeOf(static_cast<RtType>(d.lhs_type));
  ConvWalk w;
  w.input = static_cast<const char*>(lhs);
  w.image_step = d.lhs_strides[0] * size;
  w.line = std::max(d.rank - 1, 0);
  w.runs = 1;
  for (int s = 0; s < 3; ++s) {
    w.in[s] = d.in[s];
    w.out[s] = d.out[s];
    w.kernel[s] = d.kernel[s];
    w.stride[s] = d.stride[s];
    w.base_dilation[s] = d.base_dilation[s];
    w.dilation[s] = d.window_dilation[s];
    w.pad[s] = d.pad_low[s];
    w.step[s] = s < d.rank ? d.lhs_strides[2 + s] * size : 0;
    w.runs *= d.kernel[s];
  }
  w.run_length = d.in_features / d.feature_groups;
  // Where each row reads what lies at its own position, all are one line.
  bool plain = true;
  for (int s = 0; s < 3; ++s) plain &= d.kernel[s] == 1 && d.stride[s] == 1 && d.pad_low[s] == 0 && d.in[s] == d.out[s];
  const std::optional<int64_t> step = OneStride({{d.batch, d.lhs_strides[0]},
                                                 {d.in[0], d.lhs_strides[2]},
                                                 {d.in[1], d.lhs_strides[3]},
                                                 {d.in[2], d.lhs_strides[4]}});
  if (plain && step.has_value()) {
    w.out[0] = w.out[1] = w.in[0] = w.in[1] = 1;
    w.out[2] = w.in[2] = d.batch * d.in[0] * d.in[1] * d.in[2];
    w.line = 2;
    w.step[0] = w.step[1] = 0;
    w.step[2] = *step * size;
  }
  return w;
}

void FindPackedWeights(int64_t lanes, ConvWalk* w) {
  w->weights = 0;
  w->weights_step[2] = w->run_length * lanes;
  w->weights_step[1] = w->kernel[2] * w->weights_step[2];
  w->weights_step[0] = w->kernel[1] * w->weights_step[1];
}

void FindWeights(const ConvDesc& d, ConvWalk* w) {
  w->weights = 0;
  for (int s = 0; s < 3; ++s) {
    const int64_t stride = s < d.rank ? d.rhs_strides[2 + s] : 0;
    w->weights_step[s] = d.reversed[s] != 0 ? -stride : stride;
    if (d.reversed[s] != 0) w->weights += (d.kernel[s] - 1) * stride;
  }
}

bool JoinsRuns(const ConvDesc& d) {
  const int last = d.rank - 1;
  return d.rank > 0 && d.feature_groups == 1 && d.in_features <= kFewFeatures && d.kernel[last] > 1 &&
         d.window_dilation[last] == 1;
}

absl::Status JoinRuns(RunContext* ctx, const ConvDesc& d, const void* lhs, ConvWalk* w) {
  const int64_t size = SizeOf(static_cast<RtType>(d.lhs_type)), line = LineElements(d) * size, last = d.rank - 1;
  int64_t sizes[2] = {1, 1}, strides[2] = {0, 0};  // of the dimensions before the last one
  for (int s = 0; s < last; ++s) {
    sizes[s] = d.in[s];
    strides[s] = d.lhs_strides[2 + s] * size;
  }
  const int64_t lines = sizes[0] * sizes[1], position = d.in_features * size;
  XC_ASSIGN_OR_RETURN(char* const copy, ThreadScratch(d.batch * lines * line, kPartialSumScratch));
  const char* const from = static_cast<const char*>(lhs);
  const int64_t skipped = std::max<int64_t>(0, -d.pad_low[last]);
  const int64_t low = std::clamp<int64_t>(d.pad_low[last] * position, 0, line);
  const int64_t count = std::clamp<int64_t>((d.in[last] - skipped) * position, 0, line - low);
  const bool dense = d.lhs_strides[2 + last] == d.in_features;
  ctx->ParallelFor(d.batch * lines, 65536 / line + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / lines, a = i % lines / sizes[1], b = i % lines % sizes[1];
      const char* src = from + image * w->image_step + a * strides[0] + b * strides[1] + skipped * w->step[last];
      char* to = copy + i * line;
      std::memset(to, 0, low);
      if (dense) {
        std::memcpy(to + low, src, count);
      } else {
        for (int64_t at = 0; at < count; at += position) {
          std::memcpy(to + low + at, src + at / position * w->step[last], position);
        }
      }
      std::memset(to + low + count, 0, line - low - count);
    }
  });
  w->input = copy;
  w->image_step = lines * line;
  if (last > 0) w->step[0] = sizes[1] * line;
  if (last > 1) w->step[1] = line;
  w->step[last] = position;
  w->in[last] = INT64_MAX;
  w->pad[last] = 0;
  w->runs /= d.kernel[last];
  w->run_length = d.kernel[last] * d.in_features;
  w->kernel[last] = 1;
  return absl::OkStatus();
}

void FindRuns(const ConvWalk& w, int64_t offset, const char* zeros, ConvRows* rows) {
  const int64_t positions = w.out[0] * w.out[1] * w.out[2];
  const char* const input = w.input + offset;
  const char* image[kMostDirectRows];
  int64_t start[kMostDirectRows][3];  // of the window
  rows->num_runs = 0;
  bool dilated = false;
  for (int s = 0; s < 3; ++s) dilated |= w.base_dilation[s] != 1;
  for (int64_t i = 0; i < rows->count; ++i) {
    int64_t at = rows->first + i;
    image[i] = input + at / positions * w.image_step;
    at %= positions;
    const int64_t out[3] = {at / w.out[2] / w.out[1], at / w.out[2] % w.out[1], at % w.out[2]};
    for (int s = 0; s < 3; ++s) start[i][s] = out[s] * w.stride[s] - w.pad[s];
    if (i == 0 && !dilated && out[w.line] + rows->count <= w.out[w.line]) {
      return FindRunsOfLine(w, image[0], start[0], zeros, rows);
    }
  }
  const auto place = [&](int s, int64_t x) -> int64_t {
    if (x < 0) return kNoPlace;
    if (w.base_dilation[s] != 1) {
      if (x % w.base_dilation[s] != 0) return kNoPlace;
      x /= w.base_dilation[s];
    }
    return x < w.in[s] ? x * w.step[s] : kNoPlace;
  };
  for (int64_t a = 0; a < w.kernel[0]; ++a) {
    for (int64_t b = 0; b < w.kernel[1]; ++b) {
      for (int64_t c = 0; c < w.kernel[2]; ++c) {
        DirectRun& run = rows->runs[rows->num_runs];
        bool any = false;
        for (int64_t i = 0; i < rows->count; ++i) {
          const int64_t x = place(0, start[i][0] + a * w.dilation[0]);
          const int64_t y = place(1, start[i][1] + b * w.dilation[1]);
          const int64_t z = place(2, start[i][2] + c * w.dilation[2]);
          const bool inside = x != kNoPlace && y != kNoPlace && z != kNoPlace;
          run.places[i] = inside ? image[i] + x + y + z : zeros;
          any |= inside;
        }
        if (!any) continue;
        run.weights = w.weights + a * w.weights_step[0] + b * w.weights_step[1] + c * w.weights_step[2];
        run.distance = -1;
        ++rows->num_runs;
      }
    }
  }
}

}  // namespace xc
