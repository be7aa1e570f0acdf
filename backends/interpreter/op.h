// What the evaluation of one op gets: its operands, and the services of the run that it is part of.
#ifndef XC_BACKENDS_INTERPRETER_OP_H_
#define XC_BACKENDS_INTERPRETER_OP_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/interpreter/scalar_function.h"
#include "backends/runtime/run_context.h"
#include "hlo/instruction.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace xc::interp {

// A value of a running computation: an array, token or opaque value, or a tuple of values. Copies share.
struct Value {
  std::shared_ptr<const Literal> array;
  std::shared_ptr<const std::vector<Value>> tuple;
  bool IsTuple() const { return tuple != nullptr; }
};

// The array operands of an op.
class Operands {
 public:
  explicit Operands(absl::Span<Value> values) : values_(values) {}
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  const Literal& operator[](int64_t i) const { return *values_[i].array; }
  bool IsUnshared(int64_t i) const { return values_[i].array.use_count() == 1; }
  // The operand itself (which is then empty) if nothing else uses it, else a copy.
  Literal Take(int64_t i) {
    auto& array = values_[i].array;
    if (array.use_count() != 1) return array->Clone();
    return std::move(const_cast<Literal&>(*array));  // all owned values are made as non-const literals
  }

 private:
  absl::Span<Value> values_;
};

// The services of a run.
class OpContext {
 public:
  virtual ~OpContext() = default;
  // Evaluates a computation.
  virtual absl::StatusOr<Literal> Call(const HloComputation& computation, std::vector<Literal> arguments) = 0;
  // A computation on scalars; see ScalarFunction::Create. Belongs to the run.
  virtual absl::StatusOr<ScalarFunction*> Function(const HloComputation& computation, bool widen) = 0;
  // An error when the run was cancelled or is past its deadline. Long loops ask now and then.
  virtual absl::Status CheckTime() = 0;
  // An error when `bytes` more would pass the memory limit.
  virtual absl::Status CheckMemory(int64_t bytes) = 0;
  // What the runtime's functions take: the random state, one thread.
  virtual RunContext* run_context() = 0;
};

using OpResult = absl::StatusOr<Literal>;
using OpFn = OpResult (*)(const HloInstruction&, Operands&, OpContext&);

// By family; null when the family does not have the opcode. All operands are arrays (or tokens).
OpFn FindDataMovement(HloOpcode opcode);
OpFn FindIndexing(HloOpcode opcode);
OpFn FindReduction(HloOpcode opcode);
OpFn FindContraction(HloOpcode opcode);
OpFn FindNumeric(HloOpcode opcode);

// The array shape without its layout: values carry none, and a layout is costly to copy.
inline Shape Plain(const Shape& shape) {
  Shape plain(shape.type(), shape.dims());
  if (shape.has_dynamic_dims()) {
    for (int64_t i = 0; i < shape.rank(); ++i) plain.set_dynamic_dim(i, shape.is_dynamic_dim(i));
  }
  return plain;
}

// The sizes that an array has in this run: those of its shape unless they are bounds.
inline const std::vector<int64_t>& SizesOf(const Literal& x) {
  return x.dynamic_sizes().empty() ? x.shape().dims() : x.dynamic_sizes();
}

// Elementwise operators on whole arrays.
OpResult RunElementwise(const ElementwiseOp& op, const Shape& shape, Operands& operands);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_OP_H_
