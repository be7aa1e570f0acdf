// What a program calls besides its code and the runtime: the evaluator, for instructions that the backend has no code
// for, and functions of the registry of custom calls. By number, as the plan has them.
#ifndef XC_BACKENDS_PROGRAM_CALLS_H_
#define XC_BACKENDS_PROGRAM_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/custom_call.h"
#include "hlo/instruction.h"

namespace xc {

// Evaluates one instruction on its operands' values. Given by whoever owns an evaluator (the interpreter).
using Evaluate = std::function<absl::StatusOr<Literal>(const HloInstruction&, absl::Span<const Literal* const>)>;

struct CallTable {
  struct Site {
    const HloInstruction* instruction = nullptr;
    std::string reason;  // why there is no code
  };
  Evaluate evaluate;
  std::vector<Site> sites;
  std::vector<PreparedCall> calls;

  // Evaluates site number `site`. `inputs` are the leaves of its operands in order, `outputs` those of its result; null
  // where a leaf has no bytes. Arrays are in the layouts of their shapes.
  absl::Status RunSite(int64_t site, const void* const* inputs, void* const* outputs) const;
};

// Evaluates any instruction in this way.
absl::Status EvaluateInto(const Evaluate& evaluate, const HloInstruction& instruction, const void* const* inputs,
                          void* const* outputs);

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_CALLS_H_
