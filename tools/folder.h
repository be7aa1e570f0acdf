// Constant folding for the tools that run passes themselves: by the interpreter.
#ifndef XC_TOOLS_FOLDER_H_
#define XC_TOOLS_FOLDER_H_

#include "backends/interpreter/evaluator.h"
#include "compiler/driver.h"

namespace xc {

class Folder : public ConstantEvaluator {
 public:
  absl::StatusOr<Literal> Evaluate(const HloInstruction* instruction,
                                   absl::Span<const Literal* const> operands) override {
    return Evaluator().EvaluateInstruction(*instruction, operands);
  }
};

}  // namespace xc

#endif  // XC_TOOLS_FOLDER_H_
