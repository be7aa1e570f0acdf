// Finds the pass that changes a program's result.
#ifndef XC_TOOLS_BISECT_H_
#define XC_TOOLS_BISECT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/client.h"

namespace xc {

// Compiles `module` with the pass list cut after each pass (binary search) and says in a sentence after which one the
// outputs stop agreeing with `expected`.
absl::StatusOr<std::string> BisectPasses(const HloModule& module, const std::string& platform,
                                         const CompileOptions& options, const RunOptions& run,
                                         const std::vector<Literal>& inputs, const std::vector<Literal>& expected);

}  // namespace xc

#endif  // XC_TOOLS_BISECT_H_
