#include "jit/launch/batch/batch_padding.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "hlo/base/check.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// `large` bytes from `small`, whose last `element` bytes are repeated.
void Pad(const char* from, int64_t small, int64_t large, int64_t element, char* to) {
  std::memcpy(to, from, small);
  const char* last = from + small - element;
  for (int64_t at = small; at < large; at += element) std::memcpy(to + at, last, element);
}

}  // namespace

std::vector<BatchPadding::Array> BatchPadding::Pairs(absl::Span<const Shape> small, absl::Span<const Shape> large,
                                                     size_t* size) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < small.size(); ++i) {
    const Shape &a = small[i], &b = large[i];
    Array array;
    for (int64_t d = 0; d < a.rank(); ++d) {
      if (a.dim(d) == b.dim(d)) continue;
      for (int64_t k = 0; k < d; ++k) array.outer *= a.dim(k);
      array.small = array.outer == 0 ? 0 : a.ByteSize() / array.outer;
      array.large = array.outer == 0 ? 0 : b.ByteSize() / array.outer;
      array.element = array.large / b.dim(d);
      array.offset = *size;
      *size += (b.ByteSize() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    arrays.push_back(array);
  }
  return arrays;
}

size_t BatchPadding::BlockSize(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                               const Executable& executable) {
  size_t size = 0;
  Pairs(parameters, executable.parameter_leaves(), &size);
  Pairs(results, executable.result_leaves(), &size);
  return size;
}

BatchPadding::BatchPadding(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                           const Executable& executable, std::shared_ptr<ArenaPool> pool)
    : pool_(std::move(pool)) {
  size_t size = 0;
  parameters_ = Pairs(parameters, executable.parameter_leaves(), &size);
  results_ = Pairs(results, executable.result_leaves(), &size);
  XC_CHECK(size <= pool_->size());
}

absl::Status BatchPadding::Run(const Executable& executable, absl::Span<const void* const> parameters,
                               absl::Span<void* const> results, const RunOptions& options) const {
  XC_ASSIGN_OR_RETURN(ArenaPool::Lease lease, pool_->Acquire());
  absl::InlinedVector<const void*, 32> in(parameters.begin(), parameters.end());
  absl::InlinedVector<void*, 16> out(results.begin(), results.end());
  for (size_t i = 0; i < in.size(); ++i) {
    const Array& p = parameters_[i];
    if (p.in_place()) continue;
    char* to = lease.data() + p.offset;
    Pad(static_cast<const char*>(in[i]), p.small, p.large, p.element, to);
    in[i] = to;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!results_[i].in_place()) out[i] = lease.data() + results_[i].offset;
  }
  XC_RETURN_IF_ERROR(executable.Run(in, out, options));
  for (size_t i = 0; i < out.size(); ++i) {
    const Array& r = results_[i];
    if (r.in_place() || r.small == 0) continue;
    for (int64_t k = 0; k < r.outer; ++k) {
      std::memcpy(static_cast<char*>(results[i]) + k * r.small, static_cast<const char*>(out[i]) + k * r.large,
                  r.small);
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
