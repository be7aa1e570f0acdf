// One run of the interpreter: frames of computations, control flow, limits.
#ifndef XC_BACKENDS_INTERPRETER_RUN_H_
#define XC_BACKENDS_INTERPRETER_RUN_H_

#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/interpreter/evaluator.h"
#include "backends/interpreter/op.h"

namespace xc::interp {

class Run : public OpContext {
 public:
  explicit Run(const EvaluatorOptions& options);

  // A value that shares the caller's literal, and one that owns its own.
  Value Borrow(const Literal& literal);
  Value Own(Literal literal);
  // The other way; the arrays are moved out where nothing else uses them.
  static Literal ToLiteral(Value value);

  absl::StatusOr<Value> RunComputation(const HloComputation& computation, std::vector<Value> arguments);
  // `operands` are consumed.
  absl::StatusOr<Value> RunInstruction(const HloInstruction& instruction, std::vector<Value>& operands);

  absl::StatusOr<Literal> Call(const HloComputation& computation, std::vector<Literal> arguments) override;
  absl::StatusOr<ScalarFunction*> Function(const HloComputation& computation, bool widen) override;
  absl::Status CheckTime() override;
  absl::Status CheckMemory(int64_t bytes) override;
  RunContext* run_context() override { return &run_context_; }

 private:
  // One instruction of a plan: where its operands are, and which of them it is the last to use.
  struct Step {
    const HloInstruction* instruction;
    std::vector<int> operands;
    std::vector<bool> last_use;
    bool drop_result;
  };
  // The order in which a computation's instructions run. Values are kept in one slot per step.
  struct Plan {
    std::vector<Step> steps;
    int root = -1;
  };

  const Plan& PlanFor(const HloComputation& computation);
  absl::StatusOr<Value> While(const HloInstruction& instruction, Value state);
  absl::StatusOr<Value> Conditional(const HloInstruction& instruction, std::vector<Value>& operands);
  absl::StatusOr<Value> Infeed(const HloInstruction& instruction);
  absl::StatusOr<Value> Outfeed(std::vector<Value>& operands);
  absl::StatusOr<Value> Collective(const HloInstruction& instruction, std::vector<Value>& operands);
  // Ops that pass values on, make tuples or call computations; nothing if it is another op.
  absl::StatusOr<bool> RunStructural(const HloInstruction& instruction, std::vector<Value>& operands, Value* result);

  const EvaluatorOptions& options_;
  const absl::Time deadline_;
  int depth_ = 0;
  int ticks_ = 0;
  int64_t live_bytes_ = 0;
  RunContext run_context_;
  std::vector<std::shared_ptr<const Literal>> borrowed_;
  absl::flat_hash_map<int64_t, std::deque<Value>> channels_;  // what was sent and not yet received
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<Plan>> plans_;
  absl::flat_hash_map<std::pair<const HloComputation*, bool>, std::unique_ptr<ScalarFunction>> functions_;
};

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_RUN_H_
