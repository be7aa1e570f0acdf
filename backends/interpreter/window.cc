// reduce-window and select-and-scatter: windows that slide over arrays, kLanes window positions at a time.
#include <algorithm>

#include "backends/interpreter/reduction.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

// For a block of window positions and one place within the window at a time: which positions have an element of the
// base array there (not padding, not a hole of a dilation), and where it is.
class WindowLanes {
 public:
  WindowLanes(const WindowAttr& window, absl::Span<const int64_t> base, absl::Span<const int64_t> positions)
      : positions_(positions.begin(), positions.end()) {
    const Dims strides = RowMajorStrides(base);
    for (size_t d = 0; d < base.size(); ++d) {
      sizes_.push_back(window.dims[d].size);
      dims_.push_back({window.dims[d], base[d], strides[d]});
    }
    place_.resize(base.size());
    origin_.assign(base.size(), std::vector<int64_t>(kLanes));
  }

  int64_t window_size() const { return Product(sizes_); }

  // Starts the block of n positions from row-major `start` on.
  void Block(int64_t start, int64_t n) {
    n_ = n;
    Dims index(positions_.size());
    for (int64_t i = 0; i < n; ++i) {
      Delinearize(start + i, positions_, index.data());
      for (size_t d = 0; d < dims_.size(); ++d) {
        origin_[d][i] = index[d] * dims_[d].window.stride - dims_[d].window.padding_low;
      }
    }
  }

  // Goes to place `w` within the window. Returns how many positions have an element there; their numbers within the
  // block and the elements' offsets are in lanes() and offsets().
  int64_t Place(int64_t w) {
    Delinearize(w, sizes_, place_.data());
    for (int64_t i = 0; i < n_; ++i) {
      offsets_[i] = 0;
      lanes_[i] = i;
    }
    int64_t count = n_;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const Dim& dim = dims_[d];
      const int64_t shift = place_[d] * dim.window.window_dilation;
      int64_t kept = 0;
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = origin_[d][lanes_[i]] + shift;
        bool inside = at >= 0;
        if (dim.window.base_dilation != 1) {
          inside = inside && at % dim.window.base_dilation == 0;
          at /= dim.window.base_dilation;
        }
        inside = inside && at < dim.size;
        lanes_[kept] = lanes_[i];
        offsets_[kept] = offsets_[i] + at * dim.stride;
        kept += inside;
      }
      count = kept;
    }
    return count;
  }
  const int64_t* lanes() const { return lanes_; }
  const int64_t* offsets() const { return offsets_; }

 private:
  struct Dim {
    WindowDim window;
    int64_t size, stride;
  };
  Dims positions_, sizes_, place_;
  std::vector<Dim> dims_;
  std::vector<std::vector<int64_t>> origin_;
  int64_t n_ = 0;
  int64_t lanes_[kLanes + 1], offsets_[kLanes + 1];
};

}  // namespace

OpResult ReduceWindow(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const int64_t count = operands.size() / 2;
  XC_ASSIGN_OR_RETURN(ScalarFunction * function, context.Function(*instruction.to_apply(), count == 1));
  if (function->input_count() != 2 * count || function->output_count() != count) {
    return absl::InvalidArgumentError("its computation does not take and give one scalar per array");
  }
  XC_RETURN_IF_ERROR(CheckReducerTypes(*function, operands));
  std::vector<Literal> results;
  for (int64_t i = 0; i < count; ++i) {
    results.emplace_back(
        Plain(instruction.shape().IsTuple() ? instruction.shape().tuple_shape(i) : instruction.shape()));
  }
  std::vector<LaneReader> readers;
  for (int64_t i = 0; i < count; ++i) {
    readers.emplace_back(operands[i].bytes(), operands[i].shape().type(), function->input_type(count + i));
  }
  WindowLanes window(instruction.window(), operands[0].shape().dims(), results[0].shape().dims());
  std::vector<LaneBuffer> lanes(count), packed(count), values(count);
  std::vector<const uint8_t*> arguments(2 * count);
  std::vector<uint8_t*> outputs(count);
  for (int64_t start = 0; start < results[0].size(); start += kLanes) {
    const int64_t n = std::min(kLanes, results[0].size() - start);
    for (int64_t i = 0; i < count; ++i) lanes[i].Fill(operands[count + i], function->output_type(i), n);
    window.Block(start, n);
    for (int64_t w = 0; w < window.window_size(); ++w) {
      if (w % 64 == 63) XC_RETURN_IF_ERROR(context.CheckTime());
      const int64_t m = window.Place(w);
      if (m == 0) continue;
      const bool all = m == n;
      for (int64_t i = 0; i < count; ++i) {
        const int width = StorageBytes(function->output_type(i));
        readers[i].Gather(0, window.offsets(), m, values[i].bytes);
        if (!all) GatherElements(width, lanes[i].bytes, 0, window.lanes(), m, packed[i].bytes);
        outputs[i] = all ? lanes[i].bytes : packed[i].bytes;
        arguments[i] = outputs[i];
        arguments[count + i] = values[i].bytes;
      }
      XC_RETURN_IF_ERROR(function->Run(m, arguments.data(), outputs.data()));
      if (all) continue;
      for (int64_t i = 0; i < count; ++i) {
        ScatterElements(StorageBytes(function->output_type(i)), packed[i].bytes, m, lanes[i].bytes, 0, window.lanes());
      }
    }
    for (int64_t i = 0; i < count; ++i) lanes[i].Store(function->output_type(i), n, &results[i], start);
  }
  return instruction.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

OpResult SelectAndScatter(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal &in = operands[0], &source = operands[1];
  XC_ASSIGN_OR_RETURN(ScalarFunction * select, context.Function(*instruction.called(0), false));
  XC_ASSIGN_OR_RETURN(ScalarFunction * scatter, context.Function(*instruction.called(1), true));
  if (select->input_count() != 2 || select->output_count() != 1 || scatter->input_count() != 2 ||
      scatter->output_count() != 1 || select->output_type(0) != ElementType::kPred) {
    return absl::InvalidArgumentError("its computations should take two scalars and give one");
  }
  if (select->input_type(0) != in.shape().type() || select->input_type(1) != in.shape().type()) {
    return absl::InvalidArgumentError("its select computation takes another type");
  }
  const auto fits = [&](ElementType type, int i) {
    return scatter->input_type(i) == type || scatter->input_type(i) == ElementType::kF64;
  };
  if (!fits(source.shape().type(), 1) || !fits(operands[2].shape().type(), 0)) {
    return absl::UnimplementedError("a scatter computation of other types than its arrays is not supported");
  }
  Literal out(Plain(instruction.shape()));
  const ElementType as = scatter->output_type(0);
  const int in_width = StorageBytes(in.shape().type()), sum_width = StorageBytes(as);
  XC_RETURN_IF_ERROR(context.CheckMemory(out.size() * sum_width));
  std::vector<uint8_t> sums(out.size() * sum_width);
  LaneBuffer init;
  init.Fill(operands[2], as, 1);
  for (int64_t i = 0; i < out.size(); ++i) std::memcpy(&sums[i * sum_width], init.bytes, sum_width);

  WindowLanes window(instruction.window(), in.shape().dims(), source.shape().dims());
  LaneReader source_reader(source.bytes(), source.shape().type(), as);
  LaneBuffer best, candidates, current, keep, values;
  std::memset(best.bytes, 0, sizeof(best.bytes));  // compared, without effect, before there is a first candidate
  std::vector<int64_t> best_offset(kLanes);
  const ElementwiseOp* single = scatter->single();
  for (int64_t start = 0; start < source.size(); start += kLanes) {
    XC_RETURN_IF_ERROR(context.CheckTime());
    const int64_t n = std::min(kLanes, source.size() - start);
    std::fill(best_offset.begin(), best_offset.end(), -1);
    window.Block(start, n);
    for (int64_t w = 0; w < window.window_size(); ++w) {
      const int64_t m = window.Place(w);
      GatherElements(in_width, in.bytes(), 0, window.offsets(), m, candidates.bytes);
      GatherElements(in_width, best.bytes, 0, window.lanes(), m, current.bytes);
      const uint8_t* arguments[] = {current.bytes, candidates.bytes};
      uint8_t* result = keep.bytes;
      XC_RETURN_IF_ERROR(select->Run(m, arguments, &result));
      for (int64_t i = 0; i < m; ++i) {
        const int64_t lane = window.lanes()[i];
        if (best_offset[lane] >= 0 && keep.bytes[i]) continue;
        best_offset[lane] = window.offsets()[i];
        std::memcpy(best.bytes + lane * in_width, candidates.bytes + i * in_width, in_width);
      }
    }
    const uint8_t* added = source_reader.Run(start, n, values.bytes);
    for (int64_t i = 0; i < n; ++i) {
      if (best_offset[i] < 0) continue;
      uint8_t* place = &sums[best_offset[i] * sum_width];
      const uint8_t* arguments[] = {place, added + i * sum_width};
      if (single != nullptr) {
        single->fn(*single, arguments, place, 1);
      } else {
        XC_RETURN_IF_ERROR(scatter->Run(1, arguments, &place));
      }
    }
  }
  if (as == out.shape().type()) {
    std::memcpy(out.mutable_bytes(), sums.data(), sums.size());
  } else {
    GetStore<double>(out.shape().type())(reinterpret_cast<const double*>(sums.data()), out.size(), out.mutable_bytes(),
                                         0);
  }
  return out;
}

}  // namespace xc::interp
