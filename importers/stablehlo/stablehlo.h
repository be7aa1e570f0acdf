// Reads StableHLO, MLIR assembly text or bytecode of functions with operations of the dialects stablehlo, chlo and
// func, as an HloModule. docs/stablehlo.md says what is read and what is refused.
#ifndef XC_IMPORTERS_STABLEHLO_STABLEHLO_H_
#define XC_IMPORTERS_STABLEHLO_STABLEHLO_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

// JAX lowers a program for a platform, and says which. Those for this one are read, whatever backend runs them: they
// call the functions that are known here.
inline constexpr char kLoweringPlatform[] = "cpu";

// Whether the text begins as MLIR assembly does, with a module, a function, or an alias, or is MLIR bytecode.
bool LooksLikeStableHlo(absl::string_view text);

// The function `main`, or the only public one, becomes the entry; functions become computations that `call` reaches,
// regions computations of the instruction that has them. A result of its own is the root, more are a tuple; where the
// program checks itself (custom calls of `check.expect_…`), the root is the tuple of those calls' operands. Errors are
// InvalidArgument with line, column, the line itself with a caret, the operation and what was expected; of bytecode,
// with the number of the byte.
absl::StatusOr<std::unique_ptr<HloModule>> ParseStableHlo(absl::string_view text, const ParseOptions& options = {});

// Where the types of the entry's arguments leave sizes open (`?`), their shapes are what the options' `argument_shape`
// gives, and all other sizes follow from these; an error says which operation's do not. Assertions of the module about
// them that do not hold are errors with the assertion's message.

// How bytecode of JAX is called.
struct PortableCall {
  // That it is for, named `cpu` and the like: a module that asks which one it runs on is told the CPU.
  std::vector<std::string> platforms;
  // Sizes that the module takes as arguments of their own, before all others.
  std::vector<int64_t> sizes;
  bool check_shapes = true;  // false: the module's assertions are passed over
};
absl::StatusOr<std::unique_ptr<HloModule>> ParsePortableStableHlo(absl::string_view bytes, const PortableCall& call,
                                                                  const ParseOptions& options = {});

// The same of a file that jax.export wrote (`exported.serialize()`): bytecode with what is needed to call it. Refused
// if it is not for one device that is a CPU.
bool LooksLikeExportedStableHlo(absl::string_view bytes);
absl::StatusOr<std::unique_ptr<HloModule>> ParseExportedStableHlo(absl::string_view bytes,
                                                                  const ParseOptions& options = {});

}  // namespace xc

#endif  // XC_IMPORTERS_STABLEHLO_STABLEHLO_H_
