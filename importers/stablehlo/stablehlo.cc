#include "importers/stablehlo/stablehlo.h"

#include "absl/strings/match.h"
#include "hlo/base/status.h"
#include "importers/stablehlo/bytecode/bytecode.h"
#include "importers/stablehlo/bytecode/exported.h"
#include "importers/stablehlo/lower/lowering.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc {

absl::StatusOr<std::unique_ptr<HloModule>> ParsePortableStableHlo(absl::string_view bytes, const PortableCall& call,
                                                                  const ParseOptions& options) {
  if (!stablehlo::IsBytecode(bytes)) return absl::InvalidArgumentError("expected StableHLO as MLIR bytecode");
  stablehlo::Program program;
  XC_RETURN_IF_ERROR(stablehlo::ReadBytecode(bytes, options, &program));
  XC_RETURN_IF_ERROR(stablehlo::BindPlatform(call.platforms, &program));
  XC_RETURN_IF_ERROR(stablehlo::BindSizes(call.sizes, &program));
  stablehlo::Lowering lowering(program, bytes, options);
  lowering.set_checks_shapes(call.check_shapes);
  return lowering.Run();
}

bool LooksLikeExportedStableHlo(absl::string_view bytes) { return stablehlo::FindExported(bytes).has_value(); }

bool LooksLikeStableHlo(absl::string_view text) {
  if (stablehlo::IsBytecode(text)) return true;
  Lexer lex(text);
  const Token first = lex.tok();
  if (first.kind == Tok::kPunct && (first.punct == '#' || first.punct == '!')) {
    lex.Next();
    if (lex.tok().kind != Tok::kName || lex.tok().percent) return false;
    lex.Next();
    return lex.At('=');
  }
  if (first.kind == Tok::kString) return first.text == "builtin.module" || first.text == "func.func";
  if (first.kind != Tok::kName || first.percent) return false;
  if (first.text == "builtin.module" || first.text == "func.func" || first.text == "sdy.mesh") return true;
  if (first.text != "module") return false;
  lex.Next();
  return lex.At('{') || lex.AtName("attributes") ||
         (lex.tok().kind == Tok::kName && !lex.tok().percent && absl::StartsWith(lex.tok().text, "@"));
}

absl::StatusOr<std::unique_ptr<HloModule>> ParseExportedStableHlo(absl::string_view bytes,
                                                                  const ParseOptions& options) {
  const std::optional<stablehlo::Exported> exported = stablehlo::FindExported(bytes);
  if (!exported) return absl::InvalidArgumentError("this is no file of jax.export");
  XC_RETURN_IF_ERROR(stablehlo::CheckExported(*exported));
  return ParsePortableStableHlo(exported->module, {.platforms = exported->platforms}, options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ParseStableHlo(absl::string_view text, const ParseOptions& options) {
  stablehlo::Program program;
  if (stablehlo::IsBytecode(text)) {
    XC_RETURN_IF_ERROR(stablehlo::ReadBytecode(text, options, &program));
  } else {
    stablehlo::Parser parser(text, options, &program);
    if (!parser.ParseProgram()) return parser.status();
  }
  return stablehlo::Lowering(program, text, options).Run();
}

}  // namespace xc
