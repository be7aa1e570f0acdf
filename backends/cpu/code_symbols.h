// What generated code may call, by name, and how it is entered.
#ifndef XC_BACKENDS_CPU_CODE_SYMBOLS_H_
#define XC_BACKENDS_CPU_CODE_SYMBOLS_H_

#include <vector>

#include "backends/cpu/jit.h"
#include "backends/program/executable.h"

namespace xc::cpu {

using Entry = int32_t (*)(const Frame*);

// Functions of the runtime, of math, and of this backend.
const std::vector<Symbol>& AllSymbols();

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_CODE_SYMBOLS_H_
