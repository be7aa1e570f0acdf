// HLO text with symbolic sizes: `$n`, and `$(2*n+1)` for expressions of symbols, may stand wherever a number can. The
// module's header says which symbols there are and what they may be: `HloModule m, symbols={b=1..64, n=8..512:8}` has b
// from 1 to 64 and n from 8 to 512 in multiples of 8; `n=8..` has no end, and a symbol without a range is any size from
// 1 on.
//
// Such a text stands for a module for each binding of its symbols; what a bound module claims about its shapes is then
// checked as that of any module is.
#ifndef XC_HLO_SYMBOLIC_H_
#define XC_HLO_SYMBOLIC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace xc {

struct Symbol {
  std::string name;
  int64_t low = 1, high = INT64_MAX, multiple = 1;

  // OutOfRange unless the symbol may be `value`.
  absl::Status Check(int64_t value) const;
  std::string ToString() const;  // "n=8..512:8"
};

using SymbolValues = std::map<std::string, int64_t>;

// The value of an expression of numbers and symbols: + - * / %, min(a,b), max(a,b), parentheses. Quotients are rounded
// down. Errors: what it does not say, unknown symbols, division by zero, overflow.
absl::StatusOr<int64_t> EvaluateSize(absl::string_view expression, const SymbolValues& values);

// Values as `b=2,n=17`.
absl::StatusOr<SymbolValues> ParseSymbolValues(absl::string_view text);

class SymbolicText {
 public:
  // Whether the text's header has symbols.
  static bool IsSymbolic(absl::string_view text);
  static absl::StatusOr<SymbolicText> Parse(std::string text);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  // The text for these values, of all symbols, which must be what the header says that they may be.
  absl::StatusOr<std::string> Bind(const SymbolValues& values) const;
  // The module of that text, verified.
  absl::StatusOr<std::unique_ptr<HloModule>> BindModule(const SymbolValues& values) const;
  // The binding under which the entry's parameters have these dimensions: sizes of dimensions that are symbols. Errors:
  // dimensions that contradict each other or the text, symbols that no dimension is.
  absl::StatusOr<SymbolValues> Solve(const std::vector<std::vector<int64_t>>& parameters) const;
  // Whether all expressions in which the symbol is are sums, differences and products.
  bool OnlyAddsAndMultiplies(absl::string_view symbol) const;
  // Values that say well what may differ: large, prime but for what the symbol is a multiple of, and different for each
  // symbol, as far as the ranges go; `which` counts different ones, and number 4 has equal ones. OutOfRange where the
  // ranges have too few values.
  absl::StatusOr<SymbolValues> Sample(int which) const;

 private:
  // The text in pieces: each is followed by a size, but for the last.
  std::vector<std::string> pieces_, sizes_;
  std::vector<Symbol> symbols_;
};

}  // namespace xc

#endif  // XC_HLO_SYMBOLIC_H_
