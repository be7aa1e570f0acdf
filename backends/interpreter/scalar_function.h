// A computation on scalars, made ready to run many times: on up to kLanes independent sets of arguments at once.
#ifndef XC_BACKENDS_INTERPRETER_SCALAR_FUNCTION_H_
#define XC_BACKENDS_INTERPRETER_SCALAR_FUNCTION_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/lanes.h"
#include "hlo/module.h"

namespace xc::interp {

// Evaluates a computation on whole arguments.
using Caller = std::function<absl::StatusOr<Literal>(const HloComputation&, std::vector<Literal>)>;

class ScalarFunction {
 public:
  // `computation` must take scalars and give a scalar or a tuple of scalars. With `widen`, a computation that only adds
  // or multiplies two floats takes and gives f64, so that a reduction rounds once, at its end. What does not consist of
  // elementwise ops alone goes through `caller`, a lane at a time.
  static absl::StatusOr<std::unique_ptr<ScalarFunction>> Create(const HloComputation& computation, bool widen,
                                                                Caller caller);

  int input_count() const { return static_cast<int>(input_types_.size()); }
  int output_count() const { return static_cast<int>(output_types_.size()); }
  ElementType input_type(int i) const { return input_types_[i]; }
  ElementType output_type(int i) const { return output_types_[i]; }
  // The operator, when the computation is one commutative and associative operator on its two parameters.
  const ElementwiseOp* single() const { return single_ ? &steps_[0].op : nullptr; }
  // The comparison, when the computation is one compare of parameters 0 and 1, in this order or swapped.
  const ElementwiseOp* single_compare(bool* swapped) const;

  // Computes n <= kLanes lanes. An output may be the same array as an input.
  absl::Status Run(int64_t n, const uint8_t* const* in, uint8_t* const* out);

 private:
  struct Step {
    ElementwiseOp op;
    int in[3];
    int out;
  };
  // Slots of a value: one, or those of a tuple's elements.
  using Slots = std::vector<int>;

  bool Build(const HloComputation& computation, const std::vector<Slots>& arguments, Slots* result);
  int NewSlot(ElementType type);
  absl::Status RunByCalls(int64_t n, const uint8_t* const* in, uint8_t* const* out);

  const HloComputation* computation_ = nullptr;
  Caller caller_;
  bool by_calls_ = false;
  int visited_ = 0;  // instructions looked at, called ones each time they are called
  bool single_ = false;
  std::vector<ElementType> input_types_, output_types_;
  std::vector<Step> steps_;
  std::vector<ElementType> slot_types_;
  Slots outputs_;
  std::vector<uint8_t> buffer_;           // of the slots that are not inputs
  std::vector<const uint8_t*> location_;  // of each slot during a run
};

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_SCALAR_FUNCTION_H_
