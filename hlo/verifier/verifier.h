// The verifier: whether a module means something. Run on every module that comes in and after every pass that changed
// one; what has passed it needs no further checks of operand counts, attributes, types or dimensions.
#ifndef XC_HLO_VERIFIER_VERIFIER_H_
#define XC_HLO_VERIFIER_VERIFIER_H_

#include <string>

#include "absl/status/status.h"
#include "hlo/module.h"

namespace xc {

struct VerifierOptions {
  // Calls, loops, branches and fusions within each other; backends may recurse this deep.
  int64_t max_call_depth = 500;
  // Dimensions of one array.
  int64_t max_rank = 64;
};

// OK, or what is wrong with the first instruction found wrong: its name and computation, what it has, what it should
// have, and where it came from if its metadata says so.
absl::Status VerifyModule(const HloModule& module, const VerifierOptions& options = {});

// "add.3 in computation main (op_name "layer/add", model.py:12)".
std::string DescribeInstruction(const HloInstruction& instruction);

}  // namespace xc

#endif  // XC_HLO_VERIFIER_VERIFIER_H_
