// The interpreter: evaluates modules, and single instructions for constant folding and for code that has no native
// form. It is the executable form of the semantics at the head of hlo/opcode.def, and the oracle of every other
// backend.
#ifndef XC_BACKENDS_INTERPRETER_EVALUATOR_H_
#define XC_BACKENDS_INTERPRETER_EVALUATOR_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "backends/runtime/run_context.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace xc {

struct EvaluatorOptions {
  // ResourceExhausted when the values alive at one time would take more; 0: three quarters of the machine's memory.
  int64_t max_bytes = 0;
  // DeadlineExceeded when a run takes longer.
  absl::Duration time_limit = absl::InfiniteDuration();
  // Cancelled soon after it becomes true. Not owned; may be null.
  const std::atomic<bool>* cancel = nullptr;
  // Where infeed takes its values from and outfeed puts them, each array as the bytes of its row-major elements. Not
  // owned; null: the op is an error.
  TransferQueue* infeed = nullptr;
  TransferQueue* outfeed = nullptr;
  RunDevice device;
};

// Immutable; runs may go on concurrently. Modules must have passed the verifier.
class Evaluator {
 public:
  explicit Evaluator(EvaluatorOptions options = {}) : options_(options) {}

  // The result of the entry computation. Literals are row-major whatever layouts the shapes name.
  absl::StatusOr<Literal> Evaluate(const HloModule& module, absl::Span<const Literal* const> arguments) const;
  absl::StatusOr<Literal> EvaluateComputation(const HloComputation& computation,
                                              absl::Span<const Literal* const> arguments) const;
  // The result of one instruction, its called computations included.
  absl::StatusOr<Literal> EvaluateInstruction(const HloInstruction& instruction,
                                              absl::Span<const Literal* const> operands) const;

 private:
  EvaluatorOptions options_;
};

// The array with zeros beyond its sizes (Literal::dynamic_sizes).
Literal ZeroBeyondSizes(const Literal& x);

}  // namespace xc

#endif  // XC_BACKENDS_INTERPRETER_EVALUATOR_H_
