// Finds what changes a program's result: the first pass, then the first instruction or fusion.
#ifndef XC_TOOLS_BISECT_H_
#define XC_TOOLS_BISECT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/client.h"

namespace xc {

// `expected` are the right results for `inputs`. The verdict has one line for the pass, or for the platform where the
// result is wrong without any pass, and one for the first instruction: where the interpreter computes the optimized
// module rightly, that of the generated code whose value is wrong; otherwise that whose value the pass changed.
absl::StatusOr<std::string> BisectPasses(const HloModule& module, const std::string& platform,
                                         const CompileOptions& options, const RunOptions& run,
                                         const std::vector<Literal>& inputs, const std::vector<Literal>& expected);

// The first instruction of `after`'s entry whose value, by the interpreter, is not that of the instruction of the same
// name in `before`; a line that starts with a newline.
absl::StatusOr<std::string> FirstChangedValue(const HloModule& before, const HloModule& after,
                                              const std::vector<Literal>& inputs);

}  // namespace xc

#endif  // XC_TOOLS_BISECT_H_
