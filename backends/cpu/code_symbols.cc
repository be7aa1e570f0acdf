#include "backends/cpu/code_symbols.h"

#include "backends/cpu/callbacks.h"
#include "backends/runtime/code_symbols.h"

namespace xc::cpu {
namespace {

std::vector<Symbol> MakeSymbols() {
  std::vector<Symbol> symbols;
  for (const RuntimeSymbol& s : CodeSymbols()) symbols.push_back({s.name, s.address});
  symbols.push_back({"xc_cpu_fallback", reinterpret_cast<void*>(&xc_cpu_fallback)});
  symbols.push_back({"xc_cpu_custom_call", reinterpret_cast<void*>(&xc_cpu_custom_call)});
  return symbols;
}

}  // namespace

const std::vector<Symbol>& AllSymbols() {
  static const auto* symbols = new std::vector<Symbol>(MakeSymbols());
  return *symbols;
}

}  // namespace xc::cpu
