// Copy insertion: the copies that make loop states, branch results and outputs separate values, inserted without regard
// to whether they are needed; buffer assignment removes those whose source and target can share a buffer.
#ifndef XC_COMPILER_MEMORY_COPY_INSERTION_H_
#define XC_COMPILER_MEMORY_COPY_INSERTION_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// A leaf of an instruction's result, leaves numbered in the order of Leaves(shape).
struct LeafRef {
  const HloInstruction* instruction = nullptr;
  int64_t leaf = 0;
  bool operator==(const LeafRef&) const = default;
};

// The number of the first leaf of element `element` of tuple shape `shape`.
int64_t FirstLeafOf(const Shape& shape, int64_t element);

// Which state leaves of each loop the body hands on unchanged: such a leaf is never written, in any iteration.
class LoopInvariants {
 public:
  explicit LoopInvariants(const HloModule* module);
  bool IsInvariant(const HloInstruction* loop, int64_t leaf) const;
  // Follows forwarding instructions, invariant loop states and calls within one computation to where the bytes come
  // from.
  LeafRef Resolve(LeafRef ref) const;

 private:
  absl::flat_hash_map<const HloInstruction*, std::vector<bool>> invariant_;
};

// Inserts into module and schedule, and returns, in the order in which to try to remove them:
//  * at the end of each loop body, a copy of every state leaf that changes (two if it is another state leaf, so that
//    states can be exchanged), and one of the loop's init;
//  * at the end of each branch, a copy of every result leaf;
//  * at the end of the entry, a copy of every output leaf, except an aliased parameter that is its own output.
std::vector<HloInstruction*> InsertCopies(HloModule* module, const LoopInvariants& invariants);

// The parameter leaf that each leaf of the entry's result is aliased with by input_output_alias; {-1, 0} if none.
struct ParameterLeafRef {
  int64_t number = -1;
  int64_t leaf = 0;
};
absl::StatusOr<std::vector<ParameterLeafRef>> AliasedOutputs(const HloModule* module);

}  // namespace xc

#endif  // XC_COMPILER_MEMORY_COPY_INSERTION_H_
