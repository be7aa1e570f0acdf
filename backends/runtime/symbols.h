// The functions that generated code may call, by name, for the JIT to bind.
#ifndef XC_BACKENDS_RUNTIME_SYMBOLS_H_
#define XC_BACKENDS_RUNTIME_SYMBOLS_H_

#include "absl/types/span.h"

namespace xc {

struct RuntimeSymbol {
  const char* name;
  void* address;
};

// All xc_rt_ functions; the table lives as long as the process.
absl::Span<const RuntimeSymbol> RuntimeSymbols();

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SYMBOLS_H_
