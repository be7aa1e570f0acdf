// Lists of shapes, or of symbols' values, in which sizes may be ranges: what programs compiled ahead of time are for.
#ifndef XC_SERVICE_SIZE_RANGES_H_
#define XC_SERVICE_SIZE_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/symbolic.h"

namespace xc {

// A text as ReadModuleOfShapes takes it, `[8,4],[8]` or `b=2,n=17`, with ranges in the place of sizes: `[1..64,4]` has
// 64 sizes, and `[8..64:8,4]` those that are multiples of 8. A range with a name can be meant again: `[b=1..64,4],[b]`,
// and `[$(2*b)]` for what follows from it.
class SizeRanges {
 public:
  static constexpr int64_t kMost = 65536;  // combinations

  // InvalidArgument: something else, or more than kMost combinations.
  static absl::StatusOr<SizeRanges> Parse(absl::string_view text);
  // The ranges that a text's symbols have; an error names one that has no end.
  static absl::StatusOr<SizeRanges> OfSymbols(const std::vector<Symbol>& symbols);

  // How many combinations of sizes there are.
  int64_t count() const { return count_; }
  // Whether there is but one, by no range.
  bool exact() const { return text_.symbols().empty(); }
  // The text with the sizes of combination `i` in the place of ranges.
  absl::StatusOr<std::string> At(int64_t i) const;
  // The same with sizes to make code for many sizes from (SymbolicText::Sample); `outside`: they need not be in the
  // ranges.
  absl::StatusOr<std::string> Sample(int which, bool outside) const;

 private:
  SizeRanges(SymbolicText text, SymbolicText outside) : text_(std::move(text)), outside_(std::move(outside)) {}
  static absl::StatusOr<SizeRanges> Make(const std::vector<Symbol>& symbols, absl::string_view text);
  static absl::StatusOr<std::string> Bind(const SymbolicText& text, const SymbolValues& values);

  SymbolicText text_, outside_;
  int64_t count_ = 1;
};

}  // namespace xc

#endif  // XC_SERVICE_SIZE_RANGES_H_
