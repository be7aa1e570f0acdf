// What generated functions get from the executable: one run's memory, and the way back for ops without native code.
#ifndef XC_BACKENDS_CPU_FRAME_H_
#define XC_BACKENDS_CPU_FRAME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/custom_call.h"
#include "hlo/instruction.h"

namespace xc::cpu {

// Evaluates one instruction on its operands' values. Given by whoever owns an evaluator (the interpreter).
using Evaluate = std::function<absl::StatusOr<Literal>(const HloInstruction&, absl::Span<const Literal* const>)>;

// The instructions that have no native code, and the custom calls, by number.
struct FallbackTable {
  Evaluate evaluate;
  std::vector<const HloInstruction*> sites;
  std::vector<std::string> reasons;  // why there is no code
  std::vector<PreparedCall> calls;
};

// Generated code reads the fields at these places: pointers only, in this order.
struct Frame {
  void* context;            // RunContext
  void* const* parameters;  // one per parameter leaf
  void* const* outputs;     // one per result leaf
  char* arena;
  const void* const* constants;
  const FallbackTable* fallback;
};

enum FrameField { kContextField, kParametersField, kOutputsField, kArenaField, kConstantsField, kFallbackField };

}  // namespace xc::cpu

extern "C" {
// Evaluates instruction number `site`. `inputs` are the leaves of its operands in order, `outputs` those of its result.
// Returns 0, or 1 after recording the error in the run context.
int32_t xc_cpu_fallback(const xc::cpu::Frame* frame, int64_t site, const void* const* inputs, void* const* outputs);
// Runs custom call number `site` in the same way.
int32_t xc_cpu_custom_call(const xc::cpu::Frame* frame, int64_t site, void* const* inputs, void* const* outputs);
}

#endif  // XC_BACKENDS_CPU_FRAME_H_
