// reduce. Sums and products of floats are carried in f64 and rounded once; other computations run as they are written.
#include <algorithm>

#include "backends/interpreter/reduction.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

// One associative operator over runs of adjacent elements: element i of a run goes to lane i mod kLanes, and the lanes
// are folded in halves at the end.
absl::Status ReduceRuns(const ScalarFunction& function, const Literal& in, const Literal& init, OffsetWalk* kept,
                        OffsetWalk* outer, int64_t run, Literal* out, OpContext& context) {
  const ElementwiseOp& op = *function.single();
  const ElementType as = function.output_type(0);
  const int width = StorageBytes(as);
  LaneReader reader(in.bytes(), in.shape().type(), as);
  LaneBuffer buffer, lanes, first;
  first.Fill(init, as, 1);
  for (int64_t o = 0; o < out->size(); ++o) {
    int64_t start;
    int64_t* starts[] = {&start};
    kept->Next(1, starts);
    outer->Restart();
    int64_t filled = 0;
    for (int64_t r = 0; r < outer->size(); ++r) {
      int64_t offset;
      int64_t* offsets[] = {&offset};
      outer->Next(1, offsets);
      for (int64_t done = 0; done < run; done += kLanes) {
        const int64_t n = std::min(kLanes, run - done);
        const uint8_t* x = reader.Run(start + offset + done, n, buffer.bytes);
        if (filled == 0) {
          std::memcpy(lanes.bytes, x, n * width);
          filled = n;
          continue;
        }
        const int64_t both = std::min(n, filled);
        const uint8_t* operands[] = {lanes.bytes, x};
        op.fn(op, operands, lanes.bytes, both);
        if (n > filled) {
          std::memcpy(lanes.bytes + filled * width, x + filled * width, (n - filled) * width);
          filled = n;
        }
      }
      if (r % 256 == 255) XC_RETURN_IF_ERROR(context.CheckTime());
    }
    while (filled > 1) {
      const int64_t half = filled / 2;
      const uint8_t* operands[] = {lanes.bytes, lanes.bytes + (filled - half) * width};
      op.fn(op, operands, lanes.bytes, half);
      filled -= half;
    }
    const uint8_t* operands[] = {first.bytes, lanes.bytes};
    op.fn(op, operands, lanes.bytes, 1);
    lanes.Store(as, 1, out, o);
    if (o % 1024 == 1023) XC_RETURN_IF_ERROR(context.CheckTime());
  }
  return absl::OkStatus();
}

// Whether offsets are start, start + 1, ….
bool Adjacent(const int64_t* offsets, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}

OpResult Reduce(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const int64_t count = operands.size() / 2;
  XC_ASSIGN_OR_RETURN(ScalarFunction * function, context.Function(*instruction.to_apply(), count == 1));
  if (function->input_count() != 2 * count || function->output_count() != count) {
    return absl::InvalidArgumentError("its computation does not take and give one scalar per array");
  }
  XC_RETURN_IF_ERROR(CheckReducerTypes(*function, operands));
  const Literal& in = operands[0];
  std::vector<Literal> results;
  for (int64_t i = 0; i < count; ++i) {
    results.emplace_back(
        Plain(instruction.shape().IsTuple() ? instruction.shape().tuple_shape(i) : instruction.shape()));
  }
  const Dims strides = RowMajorStrides(in.shape().dims());
  const Int64List& reduced = instruction.dimensions();
  Dims kept_dims, kept_strides, dims, dim_strides;
  for (int64_t d = 0; d < in.shape().rank(); ++d) {
    const bool gone = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    (gone ? dims : kept_dims).push_back(in.shape().dim(d));
    (gone ? dim_strides : kept_strides).push_back(strides[d]);
  }
  const int64_t size = results[0].size();
  OffsetWalk kept(kept_dims, {kept_strides});

  if (function->single() != nullptr && count == 1 && !dims.empty() && Product(dims) > 0 && dim_strides.back() == 1) {
    // Reduced dimensions that are one run at the end.
    int64_t run = 1;
    while (!dims.empty() && dim_strides.back() == run) {
      run *= dims.back();
      dims.pop_back();
      dim_strides.pop_back();
    }
    if (run >= 32) {
      OffsetWalk outer(dims, {dim_strides});
      XC_RETURN_IF_ERROR(ReduceRuns(*function, in, operands[1], &kept, &outer, run, &results[0], context));
      return instruction.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
    }
    // The run goes back into the walk.
    dims.push_back(run);
    dim_strides.push_back(1);
  }

  OffsetWalk walk(dims, {dim_strides});
  std::vector<LaneReader> readers;
  for (int64_t i = 0; i < count; ++i) {
    readers.emplace_back(operands[i].bytes(), operands[i].shape().type(), function->input_type(count + i));
  }
  std::vector<LaneBuffer> lanes(count), values(count);
  std::vector<const uint8_t*> arguments(2 * count);
  std::vector<uint8_t*> outputs(count);
  std::vector<int64_t> places(kLanes), offsets(kLanes);
  int64_t *places_ptr[] = {places.data()}, *offsets_ptr[] = {offsets.data()};
  for (int64_t start = 0; start < size; start += kLanes) {
    const int64_t n = std::min(kLanes, size - start);
    kept.Next(n, places_ptr);
    const bool adjacent = Adjacent(places.data(), n);
    for (int64_t i = 0; i < count; ++i) {
      lanes[i].Fill(operands[count + i], function->output_type(i), n);
      arguments[i] = outputs[i] = lanes[i].bytes;
      arguments[count + i] = values[i].bytes;
    }
    walk.Restart();
    for (int64_t r = 0; r < walk.size(); r += kLanes) {
      const int64_t m = std::min(kLanes, walk.size() - r);
      walk.Next(m, offsets_ptr);
      for (int64_t j = 0; j < m; ++j) {
        for (int64_t i = 0; i < count; ++i) {
          if (adjacent) {
            arguments[count + i] = readers[i].Run(places[0] + offsets[j], n, values[i].bytes);
          } else {
            readers[i].Gather(offsets[j], places.data(), n, values[i].bytes);
          }
        }
        XC_RETURN_IF_ERROR(function->Run(n, arguments.data(), outputs.data()));
      }
      XC_RETURN_IF_ERROR(context.CheckTime());
    }
    for (int64_t i = 0; i < count; ++i) lanes[i].Store(function->output_type(i), n, &results[i], start);
  }
  return instruction.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace

OpFn FindReduction(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kReduce:
      return Reduce;
    case HloOpcode::kReduceWindow:
      return ReduceWindow;
    case HloOpcode::kSelectAndScatter:
      return SelectAndScatter;
    case HloOpcode::kSort:
      return Sort;
    case HloOpcode::kTopk:
      return TopK;
    case HloOpcode::kScan:
      return Scan;
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
