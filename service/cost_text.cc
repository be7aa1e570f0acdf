#include "service/cost_text.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "compiler/cost_analysis.h"
#include "importers/io.h"

namespace xc {

std::string CostText(absl::string_view hlo) {
  auto module = ReadModule(hlo);
  if (!module.ok()) return "";
  std::string out;
  for (const auto& instruction : (*module)->entry()->instructions()) {
    switch (instruction->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kBitcast:
        continue;
      default:
        break;
    }
    const InstructionCost cost = CostOf(instruction.get());
    absl::StrAppend(&out, instruction->name(), " ", OpcodeName(instruction->opcode()), " ", cost.flops, " ",
                    cost.transcendentals, " ");
    absl::StrAppend(&out, cost.bytes_read, " ", cost.bytes_written, "\n");
  }
  return out;
}

}  // namespace xc
