// An order of instructions and computations that follows from the graph alone: names, ids and the order of the text do
// not matter. Equality and fingerprints number things by it.
#ifndef XC_HLO_ANALYSIS_CANONICAL_ORDER_H_
#define XC_HLO_ANALYSIS_CANONICAL_ORDER_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo/module.h"

namespace xc {

// Parameters by number; then what the root depends on, operands first, in the order of operands; then all other
// instructions in the order of the computation's list. No instruction may depend on itself.
std::vector<const HloInstruction*> CanonicalOrder(const HloComputation& computation);

// Numbers of computations: callees before callers, in the order in which `roots` reach them.
struct ComputationOrder {
  std::vector<const HloComputation*> computations;
  std::vector<std::vector<const HloInstruction*>> instructions;  // CanonicalOrder of each
  absl::flat_hash_map<const HloComputation*, int64_t> number;
};
ComputationOrder CanonicalComputationOrder(absl::Span<const HloComputation* const> roots);

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_CANONICAL_ORDER_H_
