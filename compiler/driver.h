// Runs passes over a module: times, verifies, dumps, stops, disables, and names the guilty pass in errors.
#ifndef XC_COMPILER_DRIVER_H_
#define XC_COMPILER_DRIVER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/pass.h"
#include "compiler/pipeline.h"

namespace xc {

// One run of one pass.
struct PassRun {
  int number = 0;  // counts runs from 1; the dump's number
  std::string pass;
  bool changed = false;
  double milliseconds = 0;
  int64_t start_ns = 0, end_ns = 0;  // by ProfileClock
  int64_t instructions_before = 0, instructions_after = 0;
};

struct DriverCallbacks {
  // Checks a module after a pass that changed it (and before the first).
  std::function<absl::Status(const HloModule&)> verify;
  // Whether every change is checked, or only a module that is suspect (HloModule::suspect).
  bool verify_all = true;
  // Receives the module before the first pass (number 0, pass "before") and after each pass that changed it.
  std::function<void(int number, absl::string_view pass, const HloModule&)> dump;
};

struct PipelineReport {
  std::vector<PassRun> runs;
  // A table: number, pass, milliseconds, changed, instructions before and after; then what each rule fired.
  std::string ToString(const PassContext& context) const;
};

// Runs `rows` (Pipeline() by default) in order. Errors are those of passes, of the verifier, and of the deadline, with
// the pass and its number in front; unknown names in `disabled_passes` and `stop_after` are refused.
absl::StatusOr<PipelineReport> RunPipeline(HloModule* module, PassContext& context, const DriverCallbacks& callbacks,
                                           absl::Span<const PipelineRow> rows = Pipeline());

}  // namespace xc

#endif  // XC_COMPILER_DRIVER_H_
