// gather and scatter.
#include <algorithm>
#include <cstring>

#include "backends/interpreter/op.h"
#include "backends/interpreter/strided.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

bool Contains(const Int64List& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// The dimensions of 0 … rank-1 that are not in `list`, ascending.
Int64List Others(const Int64List& list, int64_t rank) {
  Int64List others;
  for (int64_t i = 0; i < rank; ++i) {
    if (!Contains(list, i)) others.push_back(i);
  }
  return others;
}

// Reads start index vectors one after the other, in row-major order of the index array without its vector dimension.
class StartIndices {
 public:
  // `map[i]` is the operand dimension of component i; operand dimension batching[i] follows dimension
  // indices_batching[i] of the index array.
  StartIndices(const Literal& indices, int64_t vector_dim, const Int64List& map, const Int64List& batching,
               const Int64List& indices_batching, int64_t operand_rank)
      : map_(map), batching_(batching), starts_(operand_rank, 0), numbers_(indices.size()) {
    GetLoad<int64_t>(indices.shape().type())(indices.bytes(), 0, 1, indices.size(), numbers_.data());
    if (indices.shape().type() == ElementType::kU64) {
      for (int64_t& number : numbers_) number = number < 0 ? INT64_MAX : number;  // beyond s64: large, not negative
    }
    const Dims strides = RowMajorStrides(indices.shape().dims());
    vector_stride_ = vector_dim < indices.shape().rank() ? strides[vector_dim] : 0;
    for (int64_t d = 0; d < indices.shape().rank(); ++d) {
      if (d == vector_dim) continue;
      dims_.push_back(indices.shape().dim(d));
      strides_.push_back(strides[d]);
    }
    for (int64_t d : indices_batching) batch_positions_.push_back(d > vector_dim ? d - 1 : d);
    index_.assign(dims_.size(), 0);
  }

  int64_t count() const { return Product(dims_); }
  const Dims& dims() const { return dims_; }
  // The current position within dims().
  const Dims& position() const { return index_; }
  // The start of the current window in each dimension of the operand, not clamped.
  const Dims& Starts() {
    for (size_t i = 0; i < map_.size(); ++i) starts_[map_[i]] = numbers_[offset_ + i * vector_stride_];
    for (size_t i = 0; i < batching_.size(); ++i) starts_[batching_[i]] = index_[batch_positions_[i]];
    return starts_;
  }
  void Advance() {
    for (size_t d = dims_.size(); d-- > 0;) {
      offset_ += strides_[d];
      if (++index_[d] < dims_[d]) return;
      offset_ -= strides_[d] * dims_[d];
      index_[d] = 0;
    }
  }

 private:
  const Int64List& map_;
  const Int64List& batching_;
  Dims starts_;
  std::vector<int64_t> numbers_;
  int64_t vector_stride_ = 0, offset_ = 0;
  Dims dims_, strides_, batch_positions_, index_;
};

int64_t Dot(const Dims& a, const Dims& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

OpResult Gather(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal& in = operands[0];
  const GatherDims& dims = instruction.gather_dims();
  const Int64List& sizes = instruction.attr<AttrKind::kSliceSizes>();
  Literal out(Plain(instruction.shape()));
  if (out.size() == 0) return out;
  const int64_t rank = in.shape().rank();
  const Dims in_strides = RowMajorStrides(in.shape().dims()), out_strides = RowMajorStrides(out.shape().dims());
  Dims window, from, to;
  for (int64_t d = 0; d < rank; ++d) {
    if (Contains(dims.collapsed_slice_dims, d) || Contains(dims.operand_batching_dims, d)) continue;
    if (window.size() >= dims.offset_dims.size()) return absl::InvalidArgumentError("its offset_dims are too few");
    to.push_back(out_strides[dims.offset_dims[window.size()]]);
    window.push_back(sizes[d]);
    from.push_back(in_strides[d]);
  }
  Dims batch_strides;
  for (int64_t d : Others(dims.offset_dims, out.shape().rank())) batch_strides.push_back(out_strides[d]);
  const int bytes = StorageBytes(in.shape().type());
  const StridedCopy copy(bytes, window, from, to);
  StartIndices starts(operands[1], dims.index_vector_dim, dims.start_index_map, dims.operand_batching_dims,
                      dims.start_indices_batching_dims, rank);
  for (int64_t n = starts.count(); n > 0; --n, starts.Advance()) {
    if (n % 4096 == 0) XC_RETURN_IF_ERROR(context.CheckTime());
    const Dims& start = starts.Starts();
    int64_t from_start = 0;
    for (int64_t d = 0; d < rank; ++d) {
      from_start += std::clamp<int64_t>(start[d], 0, in.shape().dim(d) - sizes[d]) * in_strides[d];
    }
    copy.Run(in.bytes() + from_start * bytes, out.mutable_bytes() + Dot(starts.position(), batch_strides) * bytes);
  }
  return out;
}

OpResult Scatter(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const int64_t count = (operands.size() - 1) / 2;
  const ScatterDims& dims = instruction.scatter_dims();
  XC_ASSIGN_OR_RETURN(ScalarFunction * function, context.Function(*instruction.to_apply(), false));
  if (function->input_count() != 2 * count || function->output_count() != count) {
    return absl::InvalidArgumentError("its computation does not take and give one scalar per array");
  }
  const Literal& indices = operands[count];
  const Shape updates_shape = operands[count + 1].shape();
  std::vector<Literal> results;
  for (int64_t i = 0; i < count; ++i) results.push_back(operands.Take(i));
  const auto finish = [&]() -> Literal {
    return instruction.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
  };
  const Shape& shape = results[0].shape();
  const int64_t rank = shape.rank();
  const Dims out_strides = RowMajorStrides(shape.dims()), update_strides = RowMajorStrides(updates_shape.dims());

  Dims window, to, from, extent(rank, 1);
  for (int64_t d = 0; d < rank; ++d) {
    if (Contains(dims.inserted_window_dims, d) || Contains(dims.input_batching_dims, d)) continue;
    if (window.size() >= dims.update_window_dims.size()) {
      return absl::InvalidArgumentError("its update_window_dims are too few");
    }
    const int64_t update_dim = dims.update_window_dims[window.size()];
    extent[d] = updates_shape.dim(update_dim);
    window.push_back(extent[d]);
    to.push_back(out_strides[d]);
    from.push_back(update_strides[update_dim]);
  }
  Dims batch_strides;
  for (int64_t d : Others(dims.update_window_dims, updates_shape.rank())) batch_strides.push_back(update_strides[d]);
  const int64_t window_size = Product(window);
  if (window_size == 0 || updates_shape.ElementCount() == 0) return finish();

  OffsetWalk walk(window, {to, from});
  std::vector<int64_t> to_offsets(kLanes), from_offsets(kLanes);
  int64_t* offsets[2] = {to_offsets.data(), from_offsets.data()};
  const bool small = window_size <= kLanes;
  if (small) walk.Next(window_size, offsets);
  std::vector<std::vector<uint8_t>> olds(count), news(count);
  std::vector<const uint8_t*> in(2 * count);
  std::vector<uint8_t*> out(count);
  for (int64_t i = 0; i < count; ++i) {
    olds[i].resize(16 * kLanes);
    news[i].resize(16 * kLanes);
  }
  StartIndices starts(indices, dims.index_vector_dim, dims.scatter_dims_to_operand_dims, dims.input_batching_dims,
                      dims.scatter_indices_batching_dims, rank);
  for (int64_t n = starts.count(); n > 0; --n, starts.Advance()) {
    if (n % 4096 == 0) XC_RETURN_IF_ERROR(context.CheckTime());
    const Dims& start = starts.Starts();
    bool inside = true;
    for (int64_t d = 0; d < rank; ++d) inside = inside && start[d] >= 0 && start[d] <= shape.dim(d) - extent[d];
    if (!inside) continue;
    const int64_t to_start = Dot(start, out_strides), from_start = Dot(starts.position(), batch_strides);
    if (window_size == 1) {
      for (int64_t i = 0; i < count; ++i) {
        const int bytes = StorageBytes(results[i].shape().type());
        in[i] = out[i] = results[i].mutable_bytes() + to_start * bytes;
        in[count + i] =
            operands[count + 1 + i].bytes() + from_start * StorageBytes(operands[count + 1 + i].shape().type());
      }
      XC_RETURN_IF_ERROR(function->Run(1, in.data(), out.data()));
      continue;
    }
    if (!small) walk.Restart();
    for (int64_t done = 0; done < window_size; done += kLanes) {
      const int64_t m = std::min(kLanes, window_size - done);
      if (!small) walk.Next(m, offsets);
      for (int64_t i = 0; i < count; ++i) {
        const Literal& update = operands[count + 1 + i];
        GatherElements(StorageBytes(results[i].shape().type()), results[i].bytes(), to_start, offsets[0], m,
                       olds[i].data());
        GatherElements(StorageBytes(update.shape().type()), update.bytes(), from_start, offsets[1], m, news[i].data());
        in[i] = out[i] = olds[i].data();
        in[count + i] = news[i].data();
      }
      XC_RETURN_IF_ERROR(function->Run(m, in.data(), out.data()));
      for (int64_t i = 0; i < count; ++i) {
        ScatterElements(StorageBytes(results[i].shape().type()), olds[i].data(), m, results[i].mutable_bytes(),
                        to_start, offsets[0]);
      }
    }
  }
  return finish();
}

}  // namespace

OpFn FindIndexing(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kGather:
      return Gather;
    case HloOpcode::kScatter:
      return Scatter;
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
