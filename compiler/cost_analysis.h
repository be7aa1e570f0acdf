// What an instruction costs: floating-point operations, transcendental functions, bytes read and written.
#ifndef XC_COMPILER_COST_ANALYSIS_H_
#define XC_COMPILER_COST_ANALYSIS_H_

#include <vector>

#include "hlo/module.h"

namespace xc {

struct InstructionCost {
  int64_t flops = 0;            // simple operations; a multiply-add is two
  int64_t transcendentals = 0;  // exp, log, tanh, …, one per element
  int64_t bytes_read = 0;       // of operands, as far as they are looked at
  int64_t bytes_written = 0;
  InstructionCost& operator+=(const InstructionCost& other);
};

// The cost of one instruction: operations and bytes, as far as they follow from shapes. A fusion has the operations of
// the instructions inside and the bytes of its operands and result; a loop one iteration of condition and body; a
// conditional its most expensive branch. Sums that overflow stay at the largest number.
InstructionCost CostOf(const HloInstruction* instruction);

// The cost of all instructions of a computation.
InstructionCost CostOf(const HloComputation* computation);

// What instructions read of their operands, by the operand's number: bytes_read by parts, and how many instructions
// have such an operand. Loops and calls count what they run, once; of conditionals no operands are told.
struct OperandCost {
  int64_t bytes = 0, uses = 0;
};
std::vector<OperandCost> OperandCostsOf(const HloComputation* computation);

}  // namespace xc

#endif  // XC_COMPILER_COST_ANALYSIS_H_
