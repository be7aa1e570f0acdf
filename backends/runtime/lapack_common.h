// What the LAPACK calls share: batches of column-major matrices over call buffers, and checks of operands.
#ifndef XC_BACKENDS_RUNTIME_LAPACK_COMMON_H_
#define XC_BACKENDS_RUNTIME_LAPACK_COMMON_H_

#include <atomic>
#include <complex>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/dense.h"
#include "backends/runtime/lapack_calls.h"
#include "backends/runtime/strided_copy.h"
#include "backends/runtime/type_of.h"
#include "hlo/base/status.h"

namespace xc {

inline absl::Status CheckCounts(const CallArgs& args, size_t inputs, size_t outputs) {
  if (args.inputs.size() == inputs && args.outputs.size() == outputs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("takes ", inputs, " operands and gives ", outputs, " results, not ",
                                                 args.inputs.size(), " and ", args.outputs.size()));
}

// A batch of matrices (or with `tail` 1 vectors, with 0 numbers), each column-major and dense, one after the other: the
// buffer's own memory if that is its layout, else a copy that Finish() brings back.
template <typename T>
class Batch {
 public:
  // `out` is where results go. With `in`, the batch starts as a copy of it (unless they are the same memory).
  absl::Status Init(RunContext* ctx, const CallBuffer& out, int tail, const CallBuffer* in = nullptr) {
    ctx_ = ctx;
    XC_RETURN_IF_ERROR(Describe(out, tail));
    int64_t dense[kMaxRank];
    Dense(dense);
    if (Same(out, dense)) {
      data_ = static_cast<T*>(out.data);
    } else {
      XC_ASSIGN_OR_RETURN(copy_, Block::Allocate(out.elements() * sizeof(T)));
      data_ = reinterpret_cast<T*>(copy_.data());
      target_ = &out;
    }
    if (in == nullptr) return absl::OkStatus();
    if (in->type != TypeOf<T>() || in->dims != out.dims) {
      return absl::InvalidArgumentError("an operand has not the type and dimensions of its result");
    }
    if (in->data == data_) return absl::OkStatus();
    int64_t from[kMaxRank];
    Strides(*in, from);
    StridedCopy(ctx, in->dims, sizeof(T), in->data, absl::MakeConstSpan(from, in->dims.size()), data_,
                absl::MakeConstSpan(dense, in->dims.size()));
    return absl::OkStatus();
  }

  // An operand that is only read.
  absl::Status Read(RunContext* ctx, const CallBuffer& in, int tail) {
    ctx_ = ctx;
    XC_RETURN_IF_ERROR(Describe(in, tail));
    int64_t dense[kMaxRank], from[kMaxRank];
    Dense(dense);
    if (Same(in, dense)) {
      data_ = static_cast<T*>(in.data);
      return absl::OkStatus();
    }
    XC_ASSIGN_OR_RETURN(copy_, Block::Allocate(in.elements() * sizeof(T)));
    data_ = reinterpret_cast<T*>(copy_.data());
    Strides(in, from);
    StridedCopy(ctx, in.dims, sizeof(T), in.data, absl::MakeConstSpan(from, in.dims.size()), data_,
                absl::MakeConstSpan(dense, in.dims.size()));
    return absl::OkStatus();
  }

  void Finish() {
    if (target_ == nullptr) return;
    int64_t dense[kMaxRank], to[kMaxRank];
    Dense(dense);
    Strides(*target_, to);
    StridedCopy(ctx_, target_->dims, sizeof(T), data_, absl::MakeConstSpan(dense, target_->dims.size()), target_->data,
                absl::MakeConstSpan(to, target_->dims.size()));
  }

  int64_t count() const { return count_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  Matrix<T> matrix(int64_t i) const { return {data_ + i * rows_ * cols_, rows_, cols_, rows_}; }
  T* at(int64_t i) const { return data_ + i * rows_ * cols_; }

 private:
  static constexpr int kMaxRank = 16;

  absl::Status Describe(const CallBuffer& buffer, int tail) {
    const int rank = static_cast<int>(buffer.dims.size());
    if (buffer.type != TypeOf<T>() || rank < tail || rank > kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("an array of element type ", static_cast<int>(buffer.type), " and rank ", rank,
                       " stands where type ", static_cast<int>(TypeOf<T>()), " and at least rank ", tail, " belongs"));
    }
    rank_ = rank;
    dims_ = buffer.dims;
    rows_ = tail >= 1 ? buffer.dims[rank - tail] : 1;
    cols_ = tail >= 2 ? buffer.dims[rank - 1] : 1;
    count_ = 1;
    for (int i = 0; i < rank - tail; ++i) count_ *= buffer.dims[i];
    tail_ = tail;
    return absl::OkStatus();
  }
  // Strides of batches of column-major matrices.
  void Dense(int64_t* strides) const {
    int64_t stride = rows_ * cols_;
    for (int i = rank_ - tail_ - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= dims_[i];
    }
    if (tail_ >= 1) strides[rank_ - tail_] = 1;
    if (tail_ == 2) strides[rank_ - 1] = rows_;
  }
  static void Strides(const CallBuffer& buffer, int64_t* strides) {
    int64_t stride = 1;
    for (int64_t d : buffer.minor_to_major) {
      strides[d] = stride;
      stride *= buffer.dims[d];
    }
  }
  static bool Same(const CallBuffer& buffer, const int64_t* dense) {
    int64_t strides[kMaxRank];
    Strides(buffer, strides);
    for (size_t i = 0; i < buffer.dims.size(); ++i) {
      if (buffer.dims[i] > 1 && strides[i] != dense[i]) return false;
    }
    return true;
  }

  RunContext* ctx_ = nullptr;
  const CallBuffer* target_ = nullptr;
  Block copy_;
  T* data_ = nullptr;
  absl::Span<const int64_t> dims_;
  int rank_ = 0, tail_ = 0;
  int64_t count_ = 1, rows_ = 1, cols_ = 1;
};

inline absl::Status Mismatch() { return absl::InvalidArgumentError("the sizes of operands and results do not fit"); }

// one(i) for each matrix of a batch, in parallel where there are several.
template <typename One>
absl::Status ForMatrices(RunContext* ctx, int64_t count, One one) {
  if (count == 1) return one(0);
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      absl::Status status = one(i);
      if (!status.ok() && !failed.exchange(true)) error = status;
    }
  });
  return error;
}

// lapack_{s,d,c,z}NAME_ffi; `real` and `complex` are the routine's names for the two kinds.
template <template <typename> class Call>
void AddCalls(const std::string& real, const std::string& complex, NamedCalls* calls) {
  calls->emplace_back("lapack_s" + real + "_ffi", Call<float>::Run);
  calls->emplace_back("lapack_d" + real + "_ffi", Call<double>::Run);
  calls->emplace_back("lapack_c" + complex + "_ffi", Call<std::complex<float>>::Run);
  calls->emplace_back("lapack_z" + complex + "_ffi", Call<std::complex<double>>::Run);
}

// The call for the element type of operand `kOperand`, where the target's name does not say it.
template <template <typename> class Call, size_t kOperand = 0>
absl::Status OfAnyType(RunContext* ctx, const CallArgs& args) {
  switch (args.inputs.size() > kOperand ? args.inputs[kOperand].type : RtType::kInvalid) {
    case RtType::kF32:
      return Call<float>::Run(ctx, args);
    case RtType::kF64:
      return Call<double>::Run(ctx, args);
    case RtType::kC64:
      return Call<std::complex<float>>::Run(ctx, args);
    case RtType::kC128:
      return Call<std::complex<double>>::Run(ctx, args);
    default:
      return absl::InvalidArgumentError("takes arrays of f32, f64, c64 or c128");
  }
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_LAPACK_COMMON_H_
