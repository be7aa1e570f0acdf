#include "backends/runtime/code_symbols.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "backends/runtime/math_functions.h"

namespace xc {

absl::Span<const RuntimeSymbol> CodeSymbols() {
  static const auto* const symbols = [] {
    auto* all = new std::vector<RuntimeSymbol>(RuntimeSymbols().begin(), RuntimeSymbols().end());
    for (const MathFunction& f : MathFunctions()) all->push_back({f.symbol.c_str(), f.address});
    // What LLVM itself may call.
    all->push_back({"memcpy", reinterpret_cast<void*>(&memcpy)});
    all->push_back({"memset", reinterpret_cast<void*>(&memset)});
    all->push_back({"memmove", reinterpret_cast<void*>(&memmove)});
    all->push_back({"roundf", reinterpret_cast<void*>(static_cast<float (*)(float)>(&std::round))});
    all->push_back({"round", reinterpret_cast<void*>(static_cast<double (*)(double)>(&std::round))});
    return all;
  }();
  return *symbols;
}

}  // namespace xc
