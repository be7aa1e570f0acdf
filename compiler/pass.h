// What a pass is, and what it is given besides the module.
#ifndef XC_COMPILER_PASS_H_
#define XC_COMPILER_PASS_H_

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/module.h"

namespace xc {

// Computes single instructions at compile time; a backend provides it.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  // The value of `instruction` (with its called computations) for these operand values.
  virtual absl::StatusOr<Literal> Evaluate(const HloInstruction* instruction,
                                           absl::Span<const Literal* const> operands) = 0;
};

// What passes and planner ask about the machine and the backend, which gives it (Backend::Target). The defaults are a
// backend that emits everything.
struct TargetInfo {
  // Whether passes are run at all.
  bool passes = true;
  // Bytes of a vector register.
  int64_t vector_bytes = 64;
  // Instructions in one fused computation, constants apart: its compile time grows faster than its size.
  int64_t max_fused_instructions = 192;
  // Operands and results of one fusion.
  int64_t max_fusion_parameters = 48;
  // Cost of one transcendental operation in units of a simple one: of f32, of f64, and of complex numbers.
  int64_t transcendental_cost = 12;
  int64_t wide_transcendental_cost = 48;
  int64_t complex_transcendental_cost = 200;
  // What a kernel costs beyond its work, and four bytes of memory, read or written, in simple operations.
  int64_t kernel_cost = 2000;
  int64_t memory_cost = 1;
  // Whether the code of a kernel of few elements stands where it would be called; elsewhere small kernels over one
  // index space become one, though they have nothing in common.
  bool inlines_kernels = true;
  // Whether a fusion may have several roots (a tuple) over one index space.
  bool multi_output_fusion = true;
  // Whether the backend has a kernel for topk.
  bool topk = true;
  // Whether rows are cheaper to compute again than to write and to read: a stitched fusion then takes in what goes
  // along its rows, and computes that anew for each reduction.
  bool recomputes_rows = false;
  // The fewest rows that a stitched fusion is made for: threads share rows.
  int64_t min_stitched_rows = 8;
  // Whether elementwise producers may be fused into a reduction's input.
  bool reduce_input_fusion = true;
  // Whether convolutions take weights, and products a constant right operand, that were brought into another order at
  // compile time, and convolutions do with their result, part by part, what an elementwise kernel after them would do
  // with all of it.
  bool direct_convolutions = false;
  // Whether the code of products and convolutions does with each element of their result what an elementwise kernel
  // after them would do.
  bool products_take_kernels = false;
};

struct PassOptions {
  // Passes not to run, by name; "all": none but the required ones.
  std::vector<std::string> disabled_passes;
  // Runs no pass after this one; "" runs all. "NAME" or "NUMBER" (the number of the dump).
  std::string stop_after;
  // Whether required rows (PipelineRow::required) run even so, and even if they are disabled.
  bool run_required = false;
  // Compute in f32 what is written in f16 or bf16, with fewer roundings than the program has.
  bool excess_precision = false;
  // Verify after every pass, not only after those that say that they changed something.
  bool verify_always = false;
  // Bounds of constant folding.
  int64_t fold_max_bytes = 1 << 16;
  int64_t fold_max_flops = 1 << 22;
  // Time after which compilation is given up.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// One per compilation; not shared between threads.
struct PassContext {
  PassOptions options;
  TargetInfo target;
  ConstantEvaluator* evaluator = nullptr;  // none: nothing is folded
  // How often each rule fired: "simplify.add_zero" → 3.
  std::map<std::string, int64_t, std::less<>> counters;

  // Counts a rule of the running pass.
  void Count(absl::string_view rule) {
    auto it = counters.find(std::string(rule));
    if (it == counters.end()) it = counters.emplace(std::string(rule), 0).first;
    ++it->second;
  }
  absl::Status CheckDeadline() const {
    if (options.deadline && std::chrono::steady_clock::now() > *options.deadline) {
      return absl::DeadlineExceededError("compilation took longer than its deadline allows");
    }
    return absl::OkStatus();
  }
};

// Returns whether it changed the module.
using PassFunction = absl::StatusOr<bool> (*)(HloModule*, PassContext&);

}  // namespace xc

#endif  // XC_COMPILER_PASS_H_
