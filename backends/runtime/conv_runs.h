// Where direct convolutions read: for rows of a tile of the result, the runs of neighbours in the input that their sums
// go over, and the weights of each.
#ifndef XC_BACKENDS_RUNTIME_CONV_RUNS_H_
#define XC_BACKENDS_RUNTIME_CONV_RUNS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc {

// How a window is walked over the input, in bytes. Along the last dimension the window may be one run.
struct ConvWalk {
  const char* input;
  int64_t image_step;
  int64_t out[3];
  int line;  // the dimension along which rows follow each other
  int64_t in[3], kernel[3], stride[3], base_dilation[3], dilation[3], pad[3], step[3];
  int64_t run_length;  // elements
  int64_t runs;
  int64_t weights, weights_step[3];  // elements, to the first position of the window and between positions
};

// The walk of a convolution with features as neighbours; its weights are to be found yet.
ConvWalk WalkOf(const ConvDesc& d, const void* lhs);
// Of packed weights with blocks of `lanes` features.
void FindPackedWeights(int64_t lanes, ConvWalk* w);
// Of weights as they lie.
void FindWeights(const ConvDesc& d, ConvWalk* w);

// Whether the window's positions along the last dimension should become one run, and how: from a copy of the input with
// zeros around its lines.
bool JoinsRuns(const ConvDesc& d);
absl::Status JoinRuns(RunContext* ctx, const ConvDesc& d, const void* lhs, ConvWalk* w);

// Rows of a tile, which are `count` positions of the result from `first` on, and their runs.
struct ConvRows {
  int64_t first, count;
  DirectRun* runs;
  int64_t num_runs;
};

// Fills in the runs of `rows`, `offset` bytes behind the input's begin (a group's). Runs that are outside of the input
// for all rows are left out; `zeros` stands for what is outside for some.
void FindRuns(const ConvWalk& w, int64_t offset, const char* zeros, ConvRows* rows);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_RUNS_H_
