// One row per operation: how its short form reads, and what makes HLO of it.
#ifndef XC_IMPORTERS_STABLEHLO_LOWER_OP_TABLE_H_
#define XC_IMPORTERS_STABLEHLO_LOWER_OP_TABLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "hlo/opcode.h"

namespace xc::stablehlo {

class OpLowering;
using LowerFn = void (*)(OpLowering& op);

// What follows the name of an operation in its short form.
enum class Form : uint8_t {
  kOne,     // operands and attributes; a list of types ends with that of the result
  kEach,    // the same, with a result for each type of the list
  kReturn,  // the same without results: ends a region
  kReduce,
  kWhile,
  kSharding,  // an operand, then how it lies on devices
  kManual,    // operands, how they and the results lie on devices, and what each device does
};

struct OpRow {
  absl::string_view name;
  int operands = -1;  // -1: any number
  int regions = 0;
  // What the short form's keys are called as attributes, "dims=permutation,…"; `a|b`: the two sides of `[0] x [1]`.
  // `word`, one after the other, stands for words without a key, `@` for a symbol, `string` for a string.
  absl::string_view keys = "";
  LowerFn lower = nullptr;  // null: refused
  HloOpcode opcode = HloOpcode::kTuple;
  Form form = Form::kOne;
  absl::string_view refusal = "";  // why it is refused
  bool takes_sizes = false;        // as operands
};

// Null for names that are no operation's.
const OpRow* FindOp(absl::string_view name);

// "expected 2 operands, found 1", or nothing if the numbers are right.
std::string WrongCounts(const OpRow& row, size_t operands, size_t regions);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_LOWER_OP_TABLE_H_
