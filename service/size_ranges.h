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

// What is known of the module when its ranges are chosen.
struct RangesKnown {
  std::vector<std::string> apart;   // ranges to open first
  std::vector<std::string> closed;  // ranges without an end that get one
  int64_t tries = INT64_MAX;        // then, how many combinations there may be
};

// A text as ReadModuleOfShapes takes it, `[8,4],[8]` or `b=2,n=17`, with ranges in the place of sizes: `[1..64,4]` has
// 64 sizes, and `[8..64:8,4]` those that are multiples of 8. A range with a name can be meant again: `[b=1..64,4],[b]`,
// and `[$(2*b)]` for what follows from it.
//
// A range without an end (`b=1..`) is open: it has only the sizes that all others are made of as pieces. Where there
// are more than kMost combinations, the longest others are open, too.
class SizeRanges {
 public:
  static constexpr int64_t kMost = 131072;  // combinations
  struct Open {
    std::string name;
    int64_t low = 1, high = INT64_MAX, multiple = 1;
    std::vector<int64_t> pieces;  // the least first
  };

  // InvalidArgument: something else, or too many open ranges for kMost combinations.
  static absl::StatusOr<SizeRanges> Parse(absl::string_view text, const RangesKnown& known = {});
  // The ranges that a text's symbols have.
  static absl::StatusOr<SizeRanges> OfSymbols(const std::vector<Symbol>& symbols, const RangesKnown& known = {});

  // With an end only those that are not open; those without a name of their own are called size0, size1, ….
  const std::vector<Symbol>& ranges() const { return text_.symbols(); }
  const std::vector<Open>& open() const { return open_; }
  // Gives open ranges as pieces the first `dense` values, then those that double, as long as the product of all ranges'
  // is at most `most`, counted in multiples; and fewer of both, if there are to be fewer combinations.
  absl::Status SetPieces(int64_t dense, int64_t most);
  // Open range number `o` in combination `i`; and the text of that combination with `value` in its place.
  int64_t OpenValue(int64_t i, size_t o) const;
  absl::StatusOr<std::string> With(int64_t i, size_t o, int64_t value) const;

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
  static absl::StatusOr<SizeRanges> Make(std::vector<Symbol> symbols, absl::string_view text, const RangesKnown& known);
  static absl::StatusOr<std::string> Bind(const SymbolicText& text, const SymbolValues& values);
  const Open* OpenNamed(const std::string& name) const;
  SymbolValues Values(int64_t i) const;

  SymbolicText text_, outside_;  // of open ranges, both have what is outside
  std::vector<Open> open_;
  int64_t count_ = 1, most_ = kMost;
};

}  // namespace xc

#endif  // XC_SERVICE_SIZE_RANGES_H_
