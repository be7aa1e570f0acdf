// The table of docs/ops.md: which operations are compiled, for which types, and what stands in the way of the others.
#ifndef XC_JIT_TOOL_OP_REPORT_H_
#define XC_JIT_TOOL_OP_REPORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace xc {

// `wanted` has a line per operation: its name, a tab, and its types as "T={float32,int32}", or nothing; lines that
// start with # do not count. Operations that are in the registries but not wanted are listed after them.
absl::StatusOr<std::string> OpReport(const std::string& wanted);

}  // namespace xc

#endif  // XC_JIT_TOOL_OP_REPORT_H_
