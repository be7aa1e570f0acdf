#include "jit/host/row_padding.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "hlo/base/check.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// `more` bytes from `fewer`, whose last `row` bytes are repeated.
void Pad(const char* from, int64_t fewer, int64_t more, int64_t row, char* to) {
  std::memcpy(to, from, fewer);
  const char* last = from + fewer - row;
  for (int64_t at = fewer; at < more; at += row) std::memcpy(to + at, last, row);
}

}  // namespace

std::vector<RowPadding::Array> RowPadding::Pairs(absl::Span<const Shape> fewer, absl::Span<const Shape> more,
                                                 size_t* size) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < fewer.size(); ++i) {
    const Shape &a = fewer[i], &b = more[i];
    Array array;
    for (int64_t d = 0; d < a.rank(); ++d) {
      if (a.dim(d) == b.dim(d)) continue;
      for (int64_t k = 0; k < d; ++k) array.outer *= a.dim(k);
      array.fewer = array.outer == 0 ? 0 : a.ByteSize() / array.outer;
      array.more = array.outer == 0 ? 0 : b.ByteSize() / array.outer;
      array.row = array.more / b.dim(d);
      array.offset = *size;
      *size += (b.ByteSize() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    arrays.push_back(array);
  }
  return arrays;
}

size_t RowPadding::BlockSize(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                             const Executable& executable) {
  size_t size = 0;
  Pairs(parameters, executable.parameter_leaves(), &size);
  Pairs(results, executable.result_leaves(), &size);
  return size;
}

RowPadding::RowPadding(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                       const Executable& executable, std::shared_ptr<ArenaPool> pool)
    : pool_(std::move(pool)) {
  size_t size = 0;
  parameters_ = Pairs(parameters, executable.parameter_leaves(), &size);
  results_ = Pairs(results, executable.result_leaves(), &size);
  XC_CHECK(size <= pool_->size());
}

absl::Status RowPadding::Run(const Executable& executable, absl::Span<const void* const> parameters,
                             absl::Span<void* const> results, const RunOptions& options) const {
  XC_ASSIGN_OR_RETURN(ArenaPool::Lease lease, pool_->Acquire());
  absl::InlinedVector<const void*, 32> in(parameters.begin(), parameters.end());
  absl::InlinedVector<void*, 16> out(results.begin(), results.end());
  for (size_t i = 0; i < in.size(); ++i) {
    const Array& p = parameters_[i];
    if (p.in_place()) continue;
    char* to = lease.data() + p.offset;
    Pad(static_cast<const char*>(in[i]), p.fewer, p.more, p.row, to);
    in[i] = to;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!results_[i].in_place()) out[i] = lease.data() + results_[i].offset;
  }
  XC_RETURN_IF_ERROR(executable.Run(in, out, options));
  for (size_t i = 0; i < out.size(); ++i) {
    const Array& r = results_[i];
    if (r.in_place() || r.fewer == 0) continue;
    for (int64_t k = 0; k < r.outer; ++k) {
      std::memcpy(static_cast<char*>(results[i]) + k * r.fewer, static_cast<const char*>(out[i]) + k * r.more, r.fewer);
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
