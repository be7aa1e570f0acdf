// What reductions share: accumulators of a scalar computation, and lanes read in its types.
#ifndef XC_BACKENDS_INTERPRETER_REDUCTION_H_
#define XC_BACKENDS_INTERPRETER_REDUCTION_H_

#include <cstring>
#include <vector>

#include "backends/interpreter/op.h"
#include "backends/interpreter/strided.h"

namespace xc::interp {

// Elements of an array of `type`, read as `as`: the same, or f64 where a computation was widened.
class LaneReader {
 public:
  LaneReader(const uint8_t* base, ElementType type, ElementType as)
      : base_(base), bytes_(StorageBytes(type)), load_(type == as ? nullptr : GetLoad<double>(type)) {}
  // Element offset + offsets[i] into lane i.
  void Gather(int64_t offset, const int64_t* offsets, int64_t n, uint8_t* out) {
    if (load_ == nullptr) {
      GatherElements(bytes_, base_, offset, offsets, n, out);
      return;
    }
    GatherElements(bytes_, base_, offset, offsets, n, raw_);
    load_(raw_, 0, 1, n, reinterpret_cast<double*>(out));
  }
  // Elements offset … offset + n - 1: where they lie if that serves, else in `buffer`.
  const uint8_t* Run(int64_t offset, int64_t n, uint8_t* buffer) {
    if (load_ == nullptr) return base_ + offset * bytes_;
    load_(base_, offset, 1, n, reinterpret_cast<double*>(buffer));
    return buffer;
  }

 private:
  const uint8_t* base_;
  int bytes_;
  LoadFn<double> load_;
  alignas(16) uint8_t raw_[16 * kLanes];
};

// kLanes elements of a type, as bytes.
struct LaneBuffer {
  alignas(64) uint8_t bytes[16 * kLanes];
  // Sets lanes to the scalar `value`, which has type `type`, read as `as`.
  void Fill(const Literal& value, ElementType as, int64_t n) {
    LaneReader reader(value.bytes(), value.shape().type(), as);
    const int64_t zeros[kLanes] = {};
    reader.Gather(0, zeros, n, bytes);
  }
  // Writes n lanes of type `as` to elements start … of `out`.
  void Store(ElementType as, int64_t n, Literal* out, int64_t start) const {
    const ElementType type = out->shape().type();
    if (as == type) {
      std::memcpy(out->mutable_bytes() + start * StorageBytes(type), bytes, n * StorageBytes(type));
    } else {
      GetStore<double>(type)(reinterpret_cast<const double*>(bytes), n, out->mutable_bytes(), start);
    }
  }
};

// An error unless the arrays, then the initial values, have the types of the function's arguments (or it was widened).
inline absl::Status CheckReducerTypes(const ScalarFunction& function, const Operands& operands) {
  const int64_t count = operands.size() / 2;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const ElementType want = function.input_type(i < count ? count + i : i - count);
    const ElementType have = operands[i].shape().type();
    if (want != have && want != ElementType::kF64) {
      return absl::UnimplementedError("a computation of other types than its arrays is not supported");
    }
  }
  return absl::OkStatus();
}

OpResult ReduceWindow(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult SelectAndScatter(const HloInstruction& instruction, Operands& operands, OpContext& context);
// The first `count` operands, sorted along `dim`.
absl::StatusOr<std::vector<Literal>> SortArrays(const HloComputation& comparator, int64_t dim, const Operands& operands,
                                                int64_t count, OpContext& context);
OpResult Sort(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult TopK(const HloInstruction& instruction, Operands& operands, OpContext& context);
// The k largest (or smallest) along the last dimension, and their indices, as `shape` says; floats in total order,
// equal elements by ascending index.
OpResult TopKOf(const Literal& in, bool largest, const Shape& shape);
OpResult Scan(const HloInstruction& instruction, Operands& operands, OpContext& context);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_REDUCTION_H_
