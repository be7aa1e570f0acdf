// Passes that make a module smaller or cheaper without leaving HLO's own terms.
#ifndef XC_COMPILER_SIMPLIFY_SIMPLIFY_H_
#define XC_COMPILER_SIMPLIFY_SIMPLIFY_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiler/pass.h"

namespace xc {

// Replaces calls and fusions by the instructions that they run. Control dependencies of the call hold for all of them.
absl::StatusOr<bool> InlineCalls(HloModule* module, PassContext& context);
// Elements of tuples, and tuples of all elements of a tuple.
absl::StatusOr<bool> SimplifyTuples(HloModule* module, PassContext& context);
// Instructions that neither reach the root nor have side effects; computations that nobody calls.
absl::StatusOr<bool> EliminateDeadCode(HloModule* module, PassContext& context);
// Instructions equal in all but name and metadata.
absl::StatusOr<bool> EliminateCommonSubexpressions(HloModule* module, PassContext& context);
// Instructions with constant operands, within the bounds of the options; never a broadcast or an iota.
absl::StatusOr<bool> FoldConstants(HloModule* module, PassContext& context);
// The rewrite rows of all families.
absl::StatusOr<bool> SimplifyAlgebra(HloModule* module, PassContext& context);
// Loops and conditionals: known predicates, dead and invariant state, invariant code.
absl::StatusOr<bool> SimplifyLoops(HloModule* module, PassContext& context);
absl::StatusOr<bool> SimplifyConditionals(HloModule* module, PassContext& context);

// Replaces `call` by the instructions of `callee` with these arguments, and removes it.
void InlineComputation(HloInstruction* call, const HloComputation* callee,
                       const std::vector<HloInstruction*>& arguments);

// Whether two instructions of one op have the same attributes, but for those that say nothing about the value.
bool SameAttributes(const HloInstruction* a, const HloInstruction* b);

// How often a loop's body runs, where a counter with constant start, step and bound says so.
std::optional<int64_t> TripCount(const HloInstruction* loop);
// How often it runs at most, where the condition is a conjunction that such a counter is part of.
std::optional<int64_t> MaxTripCount(const HloInstruction* loop);

// One algebraic rewrite: `apply` gives the replacement (in the same computation, of the same shape) or nullptr.
struct RewriteRow {
  const char* name;
  HloOpcode opcode;
  HloInstruction* (*apply)(HloInstruction* instruction, PassContext& context);
};

// Families of rows; within an opcode the order of the rows is the order of trial.
absl::Span<const RewriteRow> ArithmeticRows();
absl::Span<const RewriteRow> LogicRows();
absl::Span<const RewriteRow> ConvertRows();
absl::Span<const RewriteRow> ShapeRows();
absl::Span<const RewriteRow> SliceRows();
absl::Span<const RewriteRow> ReduceRows();
absl::Span<const RewriteRow> DotRows();

// Rows that hold for any elementwise op: scalars and broadcasts moved behind it.
HloInstruction* SinkBroadcasts(HloInstruction* instruction, PassContext& context);

}  // namespace xc

#endif  // XC_COMPILER_SIMPLIFY_SIMPLIFY_H_
