// One run of the interpreter: frames of computations, control flow, limits.
#ifndef XC_BACKENDS_INTERPRETER_RUN_H_
#define XC_BACKENDS_INTERPRETER_RUN_H_

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/interpreter/evaluator.h"
#include "backends/interpreter/op.h"
#include "backends/runtime/float_state.h"

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
  absl::StatusOr<Value> RunInstruction(const HloInstruction& instruction, std::vector<Value>& operands) {
    return RunPrepared(instruction, Prepare(instruction), operands);
  }

  absl::StatusOr<Literal> Call(const HloComputation& computation, std::vector<Literal> arguments) override;
  absl::StatusOr<ScalarFunction*> Function(const HloComputation& computation, bool widen) override;
  absl::Status CheckTime() override;
  absl::Status CheckMemory(int64_t bytes) override;
  RunContext* run_context() override { return &run_context_; }

 private:
  // How an instruction runs, looked up once.
  struct Prepared {
    std::optional<ElementwiseOp> elementwise;
    OpFn fn = nullptr;  // neither of them: RunStructural
  };
  // One instruction of a plan: where its operands are, and which of them it is the last to use.
  struct Step {
    const HloInstruction* instruction;
    Prepared prepared;
    std::vector<int> operands;
    std::vector<bool> last_use;
    bool drop_result = false;
    // Depends on no parameter and has no effects. Where a computation runs again and again (a loop's body), the value
    // is kept if it is small, and what only kept values need is skipped.
    bool invariant = false;
    bool skip = false;
    Value kept;
  };
  // The order in which a computation's instructions run. Values are kept in one slot per step.
  struct Plan {
    std::vector<Step> steps;
    int root = -1;
    int64_t runs = 0;
  };

  static Prepared Prepare(const HloInstruction& instruction);
  Plan& PlanFor(const HloComputation& computation);
  bool IsPure(const HloInstruction& instruction);
  // Marks what need not run again, after the values of invariant steps were kept.
  static void SkipInvariants(Plan* plan);
  absl::Status RunStep(Step& step, bool keep, std::vector<Value>& arguments, std::vector<Value>& operands, Value* frame,
                       Value* result);
  absl::StatusOr<Value> RunPrepared(const HloInstruction& instruction, const Prepared& prepared,
                                    std::vector<Value>& operands);
  absl::StatusOr<Value> While(const HloInstruction& instruction, Value state);
  absl::StatusOr<Value> Conditional(const HloInstruction& instruction, std::vector<Value>& operands);
  // Arrays from and for the host's queues, which infeed, outfeed and host transfers of recv and send share.
  absl::StatusOr<Value> TakeFromHost(const Shape& shape);
  absl::Status GiveToHost(const Value& value);
  absl::StatusOr<Value> Receive(const HloInstruction& done);
  Value Zeros(const Shape& shape);
  absl::StatusOr<Value> PermuteInPlace(const HloInstruction& permute, const std::vector<Int64List>& sizes,
                                       const std::vector<Value>& operands, bool sent);
  absl::StatusOr<Value> Collective(const HloInstruction& instruction, std::vector<Value>& operands);
  // Ops that pass values on, make tuples or call computations; nothing if it is another op.
  absl::StatusOr<bool> RunStructural(const HloInstruction& instruction, std::vector<Value>& operands, Value* result);

  const EvaluatorOptions& options_;
  const int64_t max_bytes_;
  const absl::Time deadline_;
  int depth_ = 0;
  int ticks_ = 0;
  int64_t live_bytes_ = 0;
  const FloatScope floats_{FloatScope::Denormals::kKept};
  RunContext run_context_;
  std::vector<std::shared_ptr<const Literal>> borrowed_;
  absl::flat_hash_map<int64_t, std::deque<Value>> channels_;  // what was sent and not yet received
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<Plan>> plans_;
  absl::flat_hash_map<const HloComputation*, bool> pure_;
  int64_t kept_bytes_ = 0;
  absl::flat_hash_map<std::pair<const HloComputation*, bool>, std::unique_ptr<ScalarFunction>> functions_;
};

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_RUN_H_
