// The result as a matrix of positions by features: cut into tasks by its shape alone, each of which finds where the
// rows of its tiles read, then goes through its blocks of features one after the other, whose weights stay in the
// cache.
#include "backends/runtime/conv_direct.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "backends/runtime/conv_runs.h"
#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

int64_t ElementBytes(const ConvDesc& d) { return SizeOf(static_cast<RtType>(d.lhs_type)); }

// Blocks of features of packed weights, and elements of all.
int64_t PackedBlocks(const ConvDesc& d) {
  const int64_t lanes = kDirectBlockBytes / ElementBytes(d), out_group = d.out_features / d.feature_groups;
  return d.feature_groups * ((out_group + lanes - 1) / lanes);
}

int64_t PackedElements(const ConvDesc& d) {
  const int64_t lanes = kDirectBlockBytes / ElementBytes(d);
  return PackedBlocks(d) * lanes * (d.in_features / d.feature_groups) * d.kernel[0] * d.kernel[1] * d.kernel[2];
}

// What tasks share.
struct Job {
  const ConvDesc& d;
  const GemmKernels& kernels;
  ConvWalk walk;
  const char* weights;
  char* out;
  int64_t size, lanes;                     // bytes of an element, features of a block
  int64_t rows, out_row;                   // of the result, and its stride
  int64_t out_group, group_blocks, block;  // features and blocks of a group, elements of a block
  int64_t strip_blocks, group_strips;      // strips are what tiles are wide
  int64_t tile_rows;
  int64_t copy_pitch;                // bytes between copied rows; 0: rows are read where they lie
  int64_t task_rows, row_tasks;      // rows of a task, and how many tasks they make
  int64_t task_strips, strip_tasks;  // likewise of strips
  int64_t part_rows;                 // of a task, at a time
};

// The epilogues of rows: due when all strips are there.
class Epilogues {
 public:
  Epilogues(const ConvEpilogue* epilogue, const Job& job) : epilogue_(epilogue), job_(job) {
    if (epilogue == nullptr || epilogue->work % job.rows != 0) return;
    per_row_ = epilogue->work / job.rows;
    if (per_row_ % epilogue->grain != 0) per_row_ = 0;
    if (per_row_ == 0 || job.strip_tasks == 1) return;
    left_ = std::make_unique<std::atomic<int64_t>[]>(job.row_tasks);
    for (int64_t i = 0; i < job.row_tasks; ++i) left_[i].store(job.strip_tasks, std::memory_order_relaxed);
  }
  // A task has made all strips that it is to make of rows [first, last).
  void Made(int64_t first, int64_t last) {
    if (per_row_ == 0) return;
    // Where there are other tasks for these rows, `last` is that of the task.
    if (left_ != nullptr && left_[first / job_.task_rows].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    epilogue_->body(epilogue_->env, first * per_row_, last * per_row_);
  }
  // What could not be done with the rows.
  void Finish(RunContext* ctx) {
    if (epilogue_ != nullptr && per_row_ == 0) RunEpilogue(ctx, *epilogue_);
  }

 private:
  const ConvEpilogue* const epilogue_;
  const Job& job_;
  int64_t per_row_ = 0;
  std::unique_ptr<std::atomic<int64_t>[]> left_;
};

// How many rows from `row` on, before `end`, are a tile of a convolution by channels: those of a line whose windows are
// inside of the input are one tile, if they are many.
int64_t ChannelRows(const Job& job, int64_t row, int64_t end) {
  const ConvWalk& w = job.walk;
  const int64_t width = w.out[w.line], most = std::min(end - row, job.tile_rows);
  if (width < 4 * job.tile_rows || w.base_dilation[w.line] != 1) return most;
  const int64_t x = row % width, stride = w.stride[w.line], reach = (w.kernel[w.line] - 1) * w.dilation[w.line];
  const int64_t low = std::clamp<int64_t>((w.pad[w.line] + stride - 1) / stride, 0, width);
  const int64_t room = w.in[w.line] - 1 - reach + w.pad[w.line];
  const int64_t high = std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, low, width);
  if (x < low) return std::min(most, low - x);
  return x < high ? std::min(end - row, high - x) : std::min(most, width - x);
}

// Rows [first, last) of a convolution by channels.
void RunChannels(const Job& job, int64_t first, int64_t last, const char* zeros, DirectRun* runs) {
  ConvRows rows{first, 0, runs, 0};
  for (; rows.first < last; rows.first += rows.count) {
    rows.count = ChannelRows(job, rows.first, last);
    FindRuns(job.walk, 0, zeros, &rows);
    DirectTile tile;
    tile.type = static_cast<RtType>(job.d.lhs_type);
    tile.rows = rows.count;
    tile.columns = job.d.out_features;
    tile.runs = runs;
    tile.num_runs = rows.num_runs;
    tile.weights = job.weights;
    tile.out = job.out + rows.first * job.out_row * job.size;
    tile.out_row = job.out_row;
    job.kernels.channels(tile);
  }
}

void RunTile(const Job& job, const ConvRows& rows, int64_t strip) {
  const int64_t group = strip / job.group_strips, block = strip % job.group_strips * job.strip_blocks;
  const int64_t feature = block * job.lanes;
  DirectTile tile;
  tile.type = static_cast<RtType>(job.d.lhs_type);
  tile.rows = rows.count;
  tile.columns = std::min(job.out_group - feature, job.strip_blocks * job.lanes);
  tile.runs = rows.runs;
  tile.num_runs = rows.num_runs;
  tile.run_length = job.walk.run_length;
  tile.weights = job.weights + (group * job.group_blocks + block) * job.block * job.size;
  tile.weight_block = job.block;
  tile.out = job.out + (rows.first * job.out_row + group * job.out_group + feature) * job.size;
  tile.out_row = job.out_row;
  job.kernels.direct(tile);
}

// Copies the rows of a tile that has one run to where they do not take each other's lines.
void CopyRows(const Job& job, ConvRows* rows, char* copies) {
  if (rows->num_runs == 0) return;
  DirectRun& run = rows->runs[0];
  for (int64_t i = 0; i < rows->count; ++i) {
    const char* const from = run.distance < 0 ? static_cast<const char*>(run.places[i])
                                              : static_cast<const char*>(run.places[0]) + i * run.distance;
    std::memcpy(copies + i * job.copy_pitch, from, job.walk.run_length * job.size);
  }
  run.places[0] = copies;
  run.distance = job.copy_pitch;
}

// A task goes part by part through its rows.
absl::Status RunTask(const Job& job, int64_t row_task, int64_t first_strip, int64_t last_strip, Epilogues* epilogues) {
  const bool by_channels = job.group_strips == 0;
  const int64_t task_first = row_task * job.task_rows, task_last = std::min(job.rows, task_first + job.task_rows);
  const int64_t run_elements = by_channels ? job.d.out_features : job.walk.run_length;
  const int64_t zero_bytes = (run_elements * job.size + 63) / 64 * 64, copy_bytes = job.copy_pitch * job.tile_rows;
  const int64_t most_tiles = (job.part_rows - 1) / job.tile_rows + 1;
  XC_ASSIGN_OR_RETURN(
      char* const scratch,
      ThreadScratch(zero_bytes + copy_bytes + most_tiles * (sizeof(ConvRows) + job.walk.runs * sizeof(DirectRun)),
                    kKernelScratch));
  std::memset(scratch, 0, zero_bytes);
  char* const copies = scratch + zero_bytes;
  auto* const all = reinterpret_cast<ConvRows*>(copies + copy_bytes);
  auto* const runs = reinterpret_cast<DirectRun*>(all + most_tiles);
  for (int64_t first = task_first; first < task_last; first += job.part_rows) {
    const int64_t last = std::min(task_last, first + job.part_rows), count = last - first;
    const int64_t tiles = (count - 1) / job.tile_rows + 1;
    if (by_channels) {
      RunChannels(job, first, last, scratch, runs);
      epilogues->Made(first, last);
      continue;
    }
    // Tiles of equal heights, or almost.
    int64_t next = first;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t height = count / tiles + (t < count % tiles ? 1 : 0);
      all[t] = {next, height, runs + t * job.walk.runs, 0};
      next += height;
    }
    if (job.copy_pitch > 0) {
      for (int64_t t = 0; t < tiles; ++t) {
        FindRuns(job.walk, 0, scratch, &all[t]);
        CopyRows(job, &all[t], copies);
        for (int64_t strip = first_strip; strip < last_strip; ++strip) RunTile(job, all[t], strip);
      }
    } else {
      int64_t group = -1;
      for (int64_t strip = first_strip; strip < last_strip; ++strip) {
        if (strip / job.group_strips != group) {
          group = strip / job.group_strips;
          const int64_t offset = group * (job.d.in_features / job.d.feature_groups) * job.size;
          for (int64_t t = 0; t < tiles; ++t) FindRuns(job.walk, offset, scratch, &all[t]);
        }
        for (int64_t t = 0; t < tiles; ++t) RunTile(job, all[t], strip);
      }
    }
    epilogues->Made(first, last);
  }
  return absl::OkStatus();
}

// Cuts the result: many rows go through all strips as long as the weights stay in the second cache, else through as
// many strips as stay there.
void Cut(Job* job) {
  constexpr int64_t kTaskFlops = int64_t{4} << 20, kTaskBytes = 256 << 10, kMostTasks = 64;
  constexpr int64_t kCachedWeights = 640 << 10, kStripBytes = 320 << 10, kCachedRows = 256 << 10,
                    kCachedInput = 448 << 10;
  constexpr int64_t kMostRuns = 4096, kManyRows = 4096, kPartBytes = 64 << 10;
  const ConvDesc& d = job->d;
  const bool by_channels = job->group_strips == 0;
  const int64_t height = job->tile_rows;
  // Bytes that a row brings into the cache.
  int64_t in = d.batch * d.in_features;
  for (int s = 0; s < d.rank; ++s) in *= d.in[s];
  const int64_t row_bytes = std::max<int64_t>(1, (in / job->rows + d.out_features) * job->size);
  const double flops = 2.0 * job->rows * job->walk.runs * job->walk.run_length * d.out_features;
  const double parts = std::max(flops / kTaskFlops, static_cast<double>(job->rows) * row_bytes / kTaskBytes);
  const auto wanted = static_cast<int64_t>(std::clamp<double>(parts, 1, kMostTasks));
  const int64_t strips = by_channels ? 1 : d.feature_groups * job->group_strips;
  int64_t strip_tasks = 1;
  if (!by_channels && PackedWeightsBytes(d) > kCachedWeights && job->rows < kManyRows) {
    const int64_t most = std::max<int64_t>(1, kStripBytes / (job->block * job->strip_blocks * job->size));
    strip_tasks = (strips - 1) / most + 1;
  }
  job->task_strips = (strips - 1) / strip_tasks + 1;
  job->strip_tasks = (strips - 1) / job->task_strips + 1;
  const int64_t row_tasks = std::clamp<int64_t>(wanted / job->strip_tasks, 1, (job->rows - 1) / (2 * height) + 1);
  // Beside a strip's weights there is room for inputs of that size only.
  const int64_t cached = job->strip_tasks == 1 ? kCachedRows / row_bytes : kCachedInput * job->rows / (in * job->size);
  const int64_t rows =
      std::min({(job->rows - 1) / row_tasks + 1, cached, std::max<int64_t>(1, kMostRuns / job->walk.runs) * height});
  job->task_rows = (std::max(rows, height) + height - 1) / height * height;
  job->row_tasks = (job->rows - 1) / job->task_rows + 1;
  // All strips of a part of the result are made, and its epilogue done, one after the other; many weights go
  // through all rows of the task instead.
  job->part_rows = job->task_rows;
  if (job->strip_tasks > 1) return;
  const int64_t width = job->walk.out[job->walk.line], least = by_channels ? 4 * height : height;
  int64_t part = std::max(least, kPartBytes / (d.out_features * job->size) / height * height);
  if (by_channels && part > width) part = part / width * width;
  job->part_rows = std::min(job->task_rows, part);
}

template <typename Lane>
void Pack(const ConvDesc& d, int64_t first, int64_t last, const Lane* rhs, Lane* packed) {
  constexpr int64_t kLanes = kDirectBlockBytes / sizeof(Lane);
  const int64_t in_group = d.in_features / d.feature_groups, out_group = d.out_features / d.feature_groups;
  const int64_t group_blocks = (out_group + kLanes - 1) / kLanes;
  const int64_t taps = d.kernel[0] * d.kernel[1] * d.kernel[2], block = taps * in_group * kLanes;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t at[3] = {tap / d.kernel[2] / d.kernel[1], tap / d.kernel[2] % d.kernel[1], tap % d.kernel[2]};
    const Lane* of_tap = rhs;
    for (int s = 0; s < d.rank; ++s) {
      of_tap += (d.reversed[s] != 0 ? d.kernel[s] - 1 - at[s] : at[s]) * d.rhs_strides[2 + s];
    }
    for (int64_t i = 0; i < in_group; ++i) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t feature = b % group_blocks * kLanes, count = std::min(kLanes, out_group - feature);
        const Lane* from = of_tap + i * d.rhs_strides[0] + (b / group_blocks * out_group + feature) * d.rhs_strides[1];
        Lane* to = packed + b * block + (tap * in_group + i) * kLanes;
        if (d.rhs_strides[1] == 1 && count == kLanes) {
          std::memcpy(to, from, kDirectBlockBytes);
          continue;
        }
        for (int64_t j = 0; j < kLanes; ++j) to[j] = j < count ? from[j * d.rhs_strides[1]] : 0;
      }
    }
  }
}

// Blocks [first, last) into their places in `packed`.
void PackBlocks(const ConvDesc& d, int64_t first, int64_t last, const void* rhs, void* packed) {
  if (ElementBytes(d) == 4) {
    Pack(d, first, last, static_cast<const uint32_t*>(rhs), static_cast<uint32_t*>(packed));
  } else {
    Pack(d, first, last, static_cast<const uint64_t*>(rhs), static_cast<uint64_t*>(packed));
  }
}

}  // namespace

std::optional<int64_t> OneStride(std::initializer_list<StridedDim> dims) {
  int64_t stride = 0, expected = 0;
  for (auto dim = std::rbegin(dims); dim != std::rend(dims); ++dim) {
    if (dim->size == 1) continue;
    if (expected == 0) {
      stride = dim->stride;
    } else if (dim->stride != expected) {
      return {};
    }
    expected = dim->stride * dim->size;
  }
  return stride;
}

std::optional<int64_t> RowStride(const ConvDesc& d) {
  return OneStride({{d.batch, d.out_strides[0]},
                    {d.out[0], d.out_strides[2]},
                    {d.out[1], d.out_strides[3]},
                    {d.out[2], d.out_strides[4]}});
}

bool IsByChannels(const ConvDesc& d) {
  const auto type = static_cast<RtType>(d.lhs_type);
  if ((type != RtType::kF32 && type != RtType::kF64) || d.rhs_type != d.lhs_type || d.out_type != d.lhs_type) {
    return false;
  }
  if (d.batch_groups != 1 || d.feature_groups == 1 || d.feature_groups != d.in_features ||
      d.in_features != d.out_features)
    return false;
  return d.lhs_strides[1] == 1 && d.rhs_strides[1] == 1 && d.out_strides[1] == 1 && d.packed == 0 &&
         RowStride(d).has_value();
}

bool IsDirect(const ConvDesc& d) {
  const auto type = static_cast<RtType>(d.lhs_type);
  if ((type != RtType::kF32 && type != RtType::kF64) || d.rhs_type != d.lhs_type || d.out_type != d.lhs_type) {
    return false;
  }
  const int64_t lanes = kDirectBlockBytes / SizeOf(type);
  if (d.batch_groups != 1 || d.lhs_strides[1] != 1 || d.out_strides[1] != 1) return false;
  if (d.feature_groups > 1 && 2 * d.out_features < lanes * d.feature_groups) return false;
  for (int s = 0; s < 3; ++s) {
    if (d.base_dilation[s] != 1) return false;
  }
  return RowStride(d).has_value();
}

bool TakesPackedWeights(const ConvDesc& d) { return IsDirect(d) && !IsByChannels(d); }

int64_t PackedWeightsBytes(const ConvDesc& d) { return PackedElements(d) * ElementBytes(d); }

void PackWeights(const ConvDesc& d, const void* rhs, void* packed) {
  constexpr int64_t kBlocks = 8;  // at a time, so that rows of weights are read in runs
  const int64_t blocks = PackedBlocks(d);
  for (int64_t b = 0; b < blocks; b += kBlocks) PackBlocks(d, b, std::min(blocks, b + kBlocks), rhs, packed);
}

absl::Status ConvolutionDirect(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out,
                               const ConvEpilogue* epilogue) {
  Job job{d, BestGemmKernels(), WalkOf(d, lhs), nullptr, static_cast<char*>(out)};
  job.size = ElementBytes(d);
  job.lanes = kDirectBlockBytes / job.size;
  job.rows = d.batch * d.out[0] * d.out[1] * d.out[2];
  job.out_row = *RowStride(d);
  if (IsByChannels(d)) {
    job.group_strips = 0;
    job.tile_rows = job.kernels.channel_rows;
    FindWeights(d, &job.walk);
  } else {
    if (d.packed == 0) {
      constexpr int64_t kPackBytes = 64 << 10;  // what a task packs, at least
      const int64_t bytes = PackedWeightsBytes(d), blocks = PackedBlocks(d);
      XC_ASSIGN_OR_RETURN(char* const packed, ThreadScratch(bytes, kOuterScratch));
      ctx->ParallelFor(blocks, kPackBytes * blocks / bytes + 1,
                       [&](int64_t first, int64_t last) { PackBlocks(d, first, last, rhs, packed); });
      rhs = packed;
    }
    job.out_group = d.out_features / d.feature_groups;
    job.group_blocks = PackedBlocks(d) / d.feature_groups;
    job.block = PackedElements(d) / PackedBlocks(d);
    job.strip_blocks = job.kernels.direct_blocks;
    job.group_strips = (job.group_blocks + job.strip_blocks - 1) / job.strip_blocks;
    job.tile_rows = job.kernels.direct_rows;
    if (JoinsRuns(d)) XC_RETURN_IF_ERROR(JoinRuns(ctx, d, lhs, &job.walk));
    FindPackedWeights(job.lanes, &job.walk);
    // Rows that lie pages apart take each other's lines in the nearest cache.
    constexpr int64_t kPage = 4096;
    const int64_t distance = job.walk.step[job.walk.line] * job.walk.stride[job.walk.line];
    if (job.walk.runs == 1 && d.feature_groups == 1 && distance % kPage == 0) {
      job.copy_pitch = (job.walk.run_length * job.size + 63) / 64 * 64 + 64;
    }
  }
  job.weights = static_cast<const char*>(rhs);
  Cut(&job);
  const int64_t strips = d.feature_groups * job.group_strips;
  Epilogues epilogues(epilogue, job);
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(job.strip_tasks * job.row_tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t strip = t / job.row_tasks * job.task_strips, row_task = t % job.row_tasks;
      absl::Status status = RunTask(job, row_task, strip, std::min(strips, strip + job.task_strips), &epilogues);
      if (!status.ok()) {
        if (!failed.exchange(true)) error = std::move(status);
        return;
      }
    }
  });
  if (failed) return error;
  epilogues.Finish(ctx);
  return absl::OkStatus();
}

}  // namespace xc
