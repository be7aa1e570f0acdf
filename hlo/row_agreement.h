// Whether a program made for more rows computes in its first rows what the program made for fewer rows does.
#ifndef XC_HLO_ROW_AGREEMENT_H_
#define XC_HLO_ROW_AGREEMENT_H_

#include "absl/status/status.h"
#include "hlo/module.h"

namespace xc {

// OK if `more`, called with arrays that hold those of a call of `fewer` in their first rows and copies of the last of
// these rows in all others, gives arrays that hold the results of `fewer` in their first rows. Rows are the dimension
// in which the shape of an array in `fewer` differs from that of its counterpart in `more`; all other arrays are equal.
// Parameters have their rows in dimension 0.
//
// The proof walks both programs side by side: they must be the same but for sizes, and every instruction must compute
// its rows each by itself. What combines rows is accepted where copies of a row do not count (and, or, maximum,
// minimum), so that checks over all elements hold. Sums keep to each row, but for the order in which a kernel adds.
// Else Unimplemented, with the instruction and why.
absl::Status RowsAgree(const HloModule& fewer, const HloModule& more);

}  // namespace xc

#endif  // XC_HLO_ROW_AGREEMENT_H_
