// "Did you mean": the name that somebody who wrote another one probably meant.
#ifndef XC_HLO_BASE_SUGGEST_H_
#define XC_HLO_BASE_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace xc {

// The one of `names` that is closest to `written` by letters left out, added, replaced or swapped; empty if none is
// close (a third of the letters may be wrong).
std::string Closest(absl::string_view written, const std::vector<std::string>& names);

// "; did you mean `prefixNAME`?", or nothing.
std::string DidYouMean(absl::string_view written, const std::vector<std::string>& names, absl::string_view prefix = "");

}  // namespace xc

#endif  // XC_HLO_BASE_SUGGEST_H_
