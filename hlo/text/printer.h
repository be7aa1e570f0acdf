// Writes modules as HLO text, as XLA does: what ParseModule reads back to an equal module.
#ifndef XC_HLO_TEXT_PRINTER_H_
#define XC_HLO_TEXT_PRINTER_H_

#include <string>
#include <vector>

#include "hlo/module.h"

namespace xc {

struct PrintOptions {
  bool percent = true;          // `%` before names
  bool operand_shapes = false;  // shapes before operands
  bool layouts = true;          // layouts of instruction shapes
  bool program_shapes = true;   // (p: f32[]) -> f32[] behind the names of computations
  bool metadata = true;         // metadata and the tables of stack frames
  bool backend_config = true;
  bool control_predecessors = true;
  // Array constants of more elements are written as {...}; negative: none.
  int64_t max_constant_elements = -1;

  // For reading: no `%`, no metadata, no program shapes, no large constants.
  static PrintOptions Short() {
    PrintOptions o;
    o.percent = o.metadata = o.program_shapes = false;
    o.max_constant_elements = 16;
    return o;
  }
};

// Instructions stand in an order in which operands come before users (the schedule, else the order they have in the
// computation if it is one, else post-order), computations likewise.
std::string PrintModule(const HloModule& module, const PrintOptions& options = {});
std::string PrintComputation(const HloComputation& computation, const PrintOptions& options = {});
std::string PrintInstruction(const HloInstruction& instruction, const PrintOptions& options = {});

// The orders named above.
std::vector<const HloInstruction*> TextOrder(const HloComputation& computation);
std::vector<const HloComputation*> TextOrder(const HloModule& module);

// The elements only: "{ { 1, 2 }, { 3, 4 } }".
std::string PrintLiteral(const Literal& literal, int64_t max_elements = -1);

// A float as text that reads back as the same value: "0.1", "inf", "nan(0x3)".
std::string PrintFloat(float value);
std::string PrintFloat(double value);

std::string PrintSharding(const Sharding& sharding);

}  // namespace xc

#endif  // XC_HLO_TEXT_PRINTER_H_
