// Rules of single instructions: shapes, attributes, literals.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/verifier/internal.h"

namespace xc::verifier {
namespace {

absl::Status VerifyShape(const HloInstruction& instruction, const Shape& shape, const VerifierOptions& options) {
  if (absl::Status status = ValidateShape(shape); !status.ok()) return Error(instruction, status.message());
  if (shape.rank() > options.max_rank) {
    return Error(instruction, "has ", shape.rank(), " dimensions, should have at most ", options.max_rank);
  }
  for (const Shape& element : shape.tuple_shapes()) XC_RETURN_IF_ERROR(VerifyShape(instruction, element, options));
  return absl::OkStatus();
}

absl::Status VerifyLiteral(const HloInstruction& instruction) {
  if (instruction.shared_literal() == nullptr) return Error(instruction, "is a constant without a value");
  const Literal& literal = instruction.literal();
  if (!Agree(literal.shape(), instruction.shape())) {
    return Error(instruction, "has a value of shape ", literal.shape().ToString(false), ", should be ",
                 instruction.shape().ToString(false));
  }
  return absl::OkStatus();
}

// What a buffer holds; of other shapes, themselves. Custom calls make buffers of arrays, and arrays of buffers.
const Shape& Content(const Shape& shape) { return shape.IsBuffer() ? shape.tuple_shape(0) : shape; }

absl::Status VerifyAttributes(const HloInstruction& instruction) {
  for (const auto& [kind, value] : instruction.attributes().entries()) {
    if (!OpcodeHasAttr(instruction.opcode(), kind)) {
      return Error(instruction, OpcodeName(instruction.opcode()), " has attribute ", AttrName(kind),
                   ", should not have it");
    }
  }
  if (const StringList* precision = instruction.FindAttr<AttrKind::kOperandPrecision>()) {
    static constexpr absl::string_view kNames[] = {"default", "high", "highest", "packed_nibble"};
    for (const std::string& name : *precision) {
      if (std::find(std::begin(kNames), std::end(kNames), absl::string_view(name)) == std::end(kNames)) {
        return Error(instruction, "operand_precision has ", name, ", should be one of ", absl::StrJoin(kNames, ", "));
      }
    }
    int64_t count = static_cast<int64_t>(precision->size());
    if (count != 0 && instruction.opcode() != HloOpcode::kCustomCall && count != 2 &&
        count != instruction.operand_count()) {
      return Error(instruction, "operand_precision has ", count, " entries, should have one per operand");
    }
  }
  if (const auto* aliasing = instruction.FindAttr<AttrKind::kOutputToOperandAliasing>()) {
    std::vector<ShapeIndex> seen;
    for (const OutputOperandAlias& alias : *aliasing) {
      std::string where = absl::StrCat("output_to_operand_aliasing {", absl::StrJoin(alias.output_index, ","), "}: (",
                                       alias.operand, ", {", absl::StrJoin(alias.operand_index, ","), "})");
      if (alias.operand < 0 || alias.operand >= instruction.operand_count()) {
        return Error(instruction, where, " names operand ", alias.operand, ", should be less than ",
                     instruction.operand_count());
      }
      const Shape* out = SubshapeOrNull(instruction.shape(), alias.output_index);
      const Shape* in = SubshapeOrNull(instruction.operand(alias.operand)->shape(), alias.operand_index);
      if (out == nullptr || in == nullptr) {
        return Error(instruction, where, " names an element that the ", out == nullptr ? "result" : "operand",
                     " does not have");
      }
      if (!Agree(Content(*out), Content(*in))) {
        return Error(instruction, where, " joins ", out->ToString(false), " and ", in->ToString(false),
                     ", should be equal");
      }
      if (std::find(seen.begin(), seen.end(), alias.output_index) != seen.end()) {
        return Error(instruction, where, " aliases the same output a second time");
      }
      seen.push_back(alias.output_index);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyShapes(const HloModule& module, const VerifierOptions& options) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      XC_RETURN_IF_ERROR(VerifyShape(*instruction, instruction->shape(), options));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyInstruction(const HloInstruction& instruction) {
  XC_RETURN_IF_ERROR(VerifyAttributes(instruction));
  if (instruction.IsConstant()) XC_RETURN_IF_ERROR(VerifyLiteral(instruction));
  absl::StatusOr<Shape> inferred = InferShape(instruction);
  if (!inferred.ok()) return Error(instruction, inferred.status().message());
  if (!Agree(instruction.shape(), *inferred)) {
    return Error(instruction, OpcodeName(instruction.opcode()), ": has shape ", instruction.shape().ToString(false),
                 ", should have ", inferred->ToString(false));
  }
  return absl::OkStatus();
}

}  // namespace xc::verifier
