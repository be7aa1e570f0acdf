// Emits scatter and select-and-scatter, whose indices into the result are known at run time only.
#ifndef XC_BACKENDS_CODEGEN_SCATTER_H_
#define XC_BACKENDS_CODEGEN_SCATTER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/codegen/fused_emitter.h"
#include "hlo/instruction.h"

namespace xc::codegen {

// Tells an emitter where the expression's inputs are.
using BindInputs = std::function<void(FusedEmitter&)>;

// Combines the updates of a scatter into `outputs`, which hold the operands' values and are bound as the operands: one
// update after the other. Windows are in vectors of `lanes` where the operand is contiguous. With `part`, a number
// below ScatterParts, only that part of each window: parts may be written at the same time.
absl::Status EmitScatter(ElementEmitter& element, const HloInstruction* scatter, const BindInputs& bind,
                         absl::Span<llvm::Value* const> outputs, int lanes, llvm::Value* part = nullptr);
int64_t ScatterParts(const HloInstruction& scatter);
// Whether each update window touches many rows of the operand, so that writing the same part of all windows before the
// next part stays within less memory than writing window after window.
bool ScattersAcrossRows(const HloInstruction& scatter);

// Writes parts `begin` to `end` of the result of a select-and-scatter, a number below SelectAndScatterParts each, to
// `output`, which is bound as the instruction itself: its first values in vectors of `lanes`, then one window after the
// other. Parts may be written at the same time.
absl::Status EmitSelectAndScatter(ElementEmitter& element, const HloInstruction* instruction, const BindInputs& bind,
                                  llvm::Value* output, int lanes, llvm::Value* begin, llvm::Value* end);
int64_t SelectAndScatterParts(const HloInstruction& instruction);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_SCATTER_H_
