// Tensors of convolutions with features as neighbours in memory, whichever way the caller has them.
#ifndef XC_BACKENDS_RUNTIME_CONV_LAYOUT_H_
#define XC_BACKENDS_RUNTIME_CONV_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/strided_copy.h"
#include "hlo/base/status.h"

namespace xc {

// Strides of a dense tensor with the feature dimension last: sizes and strides in the order batch, feature, spatial.
inline void ChannelsLast(int rank, int64_t features, const int64_t* spatial, int64_t* strides) {
  strides[1] = 1;
  int64_t stride = features;
  for (int s = rank - 1; s >= 0; --s) {
    strides[2 + s] = stride;
    stride *= spatial[s];
  }
  strides[0] = stride;
}

// A tensor in channels-last form: the caller's memory if it has that form, else a copy.
class ChannelsLastTensor {
 public:
  // `sizes` and `strides`: batch, feature, spatial.
  absl::Status Init(int rank, const int64_t* sizes, const int64_t* strides, int64_t element_size, const void* data) {
    rank_ = rank;
    element_size_ = element_size;
    std::copy(sizes, sizes + 2 + rank, sizes_);
    std::copy(strides, strides + 2 + rank, caller_strides_);
    ChannelsLast(rank, sizes[1], sizes + 2, strides_);
    data_ = static_cast<char*>(const_cast<void*>(data));
    bool same = true;
    int64_t count = 1;
    for (int d = 0; d < 2 + rank; ++d) {
      same = same && (sizes[d] == 1 || strides[d] == strides_[d]);
      count *= sizes[d];
    }
    if (same) return absl::OkStatus();
    XC_ASSIGN_OR_RETURN(copy_, Block::Allocate(count * element_size));
    return absl::OkStatus();
  }
  void CopyIn(RunContext* ctx) {
    if (copy_.data() == nullptr) return;
    StridedCopy(ctx, absl::MakeSpan(sizes_, 2 + rank_), element_size_, data_,
                absl::MakeSpan(caller_strides_, 2 + rank_), copy_.data(), absl::MakeSpan(strides_, 2 + rank_));
  }
  void CopyOut(RunContext* ctx) {
    if (copy_.data() == nullptr) return;
    StridedCopy(ctx, absl::MakeSpan(sizes_, 2 + rank_), element_size_, copy_.data(),
                absl::MakeSpan(strides_, 2 + rank_), data_, absl::MakeSpan(caller_strides_, 2 + rank_));
  }
  // Makes f32 of bf16; after CopyIn, for tensors that are read only.
  absl::Status Widen(RunContext* ctx) {
    int64_t count = 1;
    for (int d = 0; d < 2 + rank_; ++d) count *= sizes_[d];
    XC_ASSIGN_OR_RETURN(Block wide, Block::Allocate(count * 4));
    const auto* from = reinterpret_cast<const uint16_t*>(data());
    auto* to = reinterpret_cast<uint32_t*>(wide.data());
    ctx->ParallelFor(count, 65536, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = uint32_t{from[i]} << 16;
    });
    copy_ = std::move(wide);
    return absl::OkStatus();
  }
  char* data() const { return copy_.data() != nullptr ? copy_.data() : data_; }
  const int64_t* strides() const { return strides_; }

 private:
  int rank_ = 0;
  int64_t element_size_ = 0;
  int64_t sizes_[5], strides_[5], caller_strides_[5];
  char* data_ = nullptr;
  Block copy_;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_LAYOUT_H_
