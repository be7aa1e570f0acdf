#include "hlo/verifier/verifier.h"

#include "hlo/verifier/internal.h"

namespace xc {

std::string DescribeInstruction(const HloInstruction& instruction) {
  std::string text = absl::StrCat(instruction.name().empty() ? absl::string_view("unnamed instruction")
                                                             : absl::string_view(instruction.name()));
  if (instruction.parent() != nullptr) absl::StrAppend(&text, " in computation ", instruction.parent()->name());
  if (const Metadata* metadata = instruction.FindAttr<AttrKind::kMetadata>()) {
    std::string source;
    if (!metadata->source_file.empty()) source = absl::StrCat(metadata->source_file, ":", metadata->source_line);
    std::string name;
    if (!metadata->op_name.empty()) name = absl::StrCat("op_name \"", metadata->op_name, "\"");
    if (!name.empty() || !source.empty()) {
      absl::StrAppend(&text, " (", name, !name.empty() && !source.empty() ? ", " : "", source, ")");
    }
  }
  return text;
}

absl::Status VerifyModule(const HloModule& module, const VerifierOptions& options) {
  XC_RETURN_IF_ERROR(verifier::VerifyStructure(module));
  XC_RETURN_IF_ERROR(verifier::VerifyCallGraph(module, options));
  XC_RETURN_IF_ERROR(verifier::VerifyShapes(module, options));
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      XC_RETURN_IF_ERROR(verifier::VerifyInstruction(*instruction));
      XC_RETURN_IF_ERROR(verifier::VerifyCommunication(*instruction));
    }
  }
  return verifier::VerifyModuleConfig(module);
}

}  // namespace xc
