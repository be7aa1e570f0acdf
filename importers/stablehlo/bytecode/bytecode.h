// Reads MLIR bytecode, MLIR's binary form, into the same tree that the parser makes of assembly text. The format is
// MLIR's, in versions 0 to 6; operations are those of StableHLO, CHLO, func and sdy, or of VHLO, whose versioned copies
// of them portable artifacts consist of.
#ifndef XC_IMPORTERS_STABLEHLO_BYTECODE_BYTECODE_H_
#define XC_IMPORTERS_STABLEHLO_BYTECODE_BYTECODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/text/parser.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

inline constexpr absl::string_view kBytecodeMagic = "ML\xefR";

inline bool IsBytecode(absl::string_view bytes) { return bytes.substr(0, kBytecodeMagic.size()) == kBytecodeMagic; }

// "MLIR bytecode, byte 17: MESSAGE".
std::string DescribeByte(absl::string_view file, const char* at, absl::string_view message);

// `program` refers to the bytes, which must live as long. Whatever the bytes, the time and memory that this takes are
// bounded by a multiple of their number.
absl::Status ReadBytecode(absl::string_view bytes, const ParseOptions& options, Program* program);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_BYTECODE_BYTECODE_H_
