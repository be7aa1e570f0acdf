// All functions that generated code may call by name, but for those of the executable that runs it (custom calls and
// the evaluator).
#ifndef XC_BACKENDS_RUNTIME_CODE_SYMBOLS_H_
#define XC_BACKENDS_RUNTIME_CODE_SYMBOLS_H_

#include "absl/types/span.h"
#include "backends/runtime/symbols.h"

namespace xc {

// The runtime's functions, those of math_functions.h, and what LLVM itself calls.
absl::Span<const RuntimeSymbol> CodeSymbols();

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CODE_SYMBOLS_H_
