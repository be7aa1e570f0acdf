// Padding-safety analysis: whether a program made for a larger batch computes in its first elements what the program
// made for a smaller batch does.
#ifndef XC_HLO_ANALYSIS_PADDING_SAFETY_H_
#define XC_HLO_ANALYSIS_PADDING_SAFETY_H_

#include "absl/status/status.h"
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

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_PADDING_SAFETY_H_
