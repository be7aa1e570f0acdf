// Padding-safety analysis: whether a program made for a larger batch computes in its first elements what the program
// made for a smaller batch does; and whether it computes any elements apart from the others.
#ifndef XC_HLO_ANALYSIS_PADDING_SAFETY_H_
#define XC_HLO_ANALYSIS_PADDING_SAFETY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// OK if `large`, called with arrays that hold those of a call of `small` in the first elements of their batch dimension
// and copies of the last of these in all others, the padding, gives arrays that hold the results of `small` in the
// first elements of theirs. The batch dimension of an array is that in which its shape in `small` differs from that of
// its counterpart in `large`; all other arrays are equal. That of parameters is dimension 0.
//
// The proof walks both programs side by side: they must be the same but for sizes, and every instruction must compute
// the elements of the batch each by itself. What combines them is accepted where copies do not count (and, or, maximum,
// minimum), so that checks over all elements hold. Sums keep to each element, but for the order in which a kernel adds.
// Else Unimplemented, with the instruction and why.
absl::Status CheckPaddingSafety(const HloModule& small, const HloModule& large);

// The dimension of the batch in each parameter, and in each leaf of the result; -1: none.
struct RowDims {
  std::vector<int64_t> parameters, results;
  bool operator==(const RowDims& other) const { return parameters == other.parameters && results == other.results; }
};

// A batch of `small_rows` (1 at least) and one of `large_rows`, more of them. OK if `large` computes, for any
// successive `small_rows` of its rows, what `small` gives for these rows, and all else that it gives as `small` does.
// An array has the batch in one dimension at most, any one, which may have several elements for each row. The proof is
// as above, but nothing combines rows or depends on their number.
absl::StatusOr<RowDims> CheckRowsApart(const HloModule& small, int64_t small_rows, const HloModule& large,
                                       int64_t large_rows);

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_PADDING_SAFETY_H_
