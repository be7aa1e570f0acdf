// Loops that no code of one iteration serves, since shapes or values that must be constant differ from iteration to
// iteration: small ones are lowered iteration by iteration.
#ifndef XC_JIT_LOWERING_UNROLLED_LOOP_H_
#define XC_JIT_LOWERING_UNROLLED_LOOP_H_

#include <vector>

#include "jit/lowering/lowering.h"

namespace xc {

// How many nodes all iterations of such a loop may have together.
inline constexpr int64_t kMaxUnrolledNodes = 4096;

// Nodes of one iteration that compute something, at least one, with those of the functions that they call; stops
// counting at the limit.
int64_t TurnNodes(const Graph& condition, const Graph& body);

// Lowers the loop `c` iteration by iteration where it stands, beginning with `state`. Whether there is another
// iteration must be known while lowering: values of counters and limits that would tell are asked of the graph's
// arguments (FailedPrecondition). Unimplemented: that is not known, or it would be too much code or memory.
absl::Status LowerUnrolled(OpContext& c, const Graph& condition, const Graph& body, std::vector<LoweredValue> state);

}  // namespace xc

#endif  // XC_JIT_LOWERING_UNROLLED_LOOP_H_
