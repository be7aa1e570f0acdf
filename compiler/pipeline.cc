// The table itself: every pass once, with the reason for its place.
#include "compiler/pipeline.h"

#include "compiler/expand/expand.h"
#include "compiler/fuse/fuse.h"
#include "compiler/simplify/simplify.h"

namespace xc {

absl::Span<const PipelineRow> Pipeline() {
  static constexpr PipelineRow kRows[] = {
      {"prepare", "layouts", AssignLayouts, 0,
       "Everything after it, emitters included, may take every array to be row-major, and one value to stand for "
       "another that has another layout in the input; the transposes it makes are simplified like others.",
       nullptr, true},
      {"prepare", "one-device", ReduceToOneDevice, 0,
       "Annotations, collectives and asynchronous pairs only pass values on here; the calls in them are inlined next."},
      {"prepare", "collectives", ExpandCollectives, 0,
       "What is left of them is for several devices: backends know custom calls only.", nullptr, true},
      {"prepare", "running-windows", ExpandRunningWindows, 0,
       "As scans, expanded next: their time grows with the array's length, not with its square."},
      {"prepare", "long-windows", ExpandLongWindows, 0,
       "What is left of them, where windows overlap: as windows of windows, whose time grows with the root of theirs."},
      {"prepare", "scan", ExpandScan, 0, "Its loop calls the scanned computation, which is inlined next."},
      {"prepare", "inline-calls", InlineCalls, 0,
       "Calls and the input's own fusions only hide instructions from all that follows."},
      {"prepare", "flatten-calls", FlattenCallGraph, 0,
       "Loop passes change bodies in place, which is right only if one loop runs them."},
      {"prepare", "batch-norm", ExpandBatchNorm, 0, "Backends know no batch norm; its parts are simplified and fused."},
      {"prepare", "bit-ops", ExpandBitOps, 0, "After the layouts, which leave bit conversions between widths."},
      {"prepare", "total-order", ExpandTotalOrder, 0,
       "Before the loops, which take what they compare out of bodies: then it is not seen where it comes from."},
      {"prepare", "convolutions", ExpandConvolutions, 0,
       "Kernels know three spatial dimensions; what lays out the others is simplified like other code."},
      {"prepare", "approx-topk", ExpandApproxTopK, 0,
       "A sort and slices, which become a topk when they are simplified."},
      {"prepare", "sparse-dots", ExpandSparseDots, 0, "What is left are the dots that all rules and kernels know."},
      {"prepare", "scaled-dots", ExpandScaledDots, 0, "The parts are simplified and fused."},
      {"prepare", "excess-precision", KeepExcessPrecision, 0,
       "Only on request. Before the simplifications, which meet the conversions that stay."},
      {"simplify", "tuples", SimplifyTuples, 1,
       "First in the round: elements lead to the instructions that made them."},
      {"simplify", "conditionals", SimplifyConditionals, 1, "A known branch opens its contents to the other rules."},
      {"simplify", "loops", SimplifyLoops, 1, "Constants of a loop's state are what the algebra of its body needs."},
      {"simplify", "algebra", SimplifyAlgebra, 1, "Rewrite rows; they leave constants for folding and equal terms."},
      {"simplify", "fold-constants", FoldConstants, 1,
       "After the algebra, which removes most of what could be folded."},
      {"simplify", "cse", EliminateCommonSubexpressions, 1, "After the rules, which make equal what means the same."},
      {"simplify", "dead-code", EliminateDeadCode, 1, "Last in the round: what the others left behind."},
      {"expand", "topk", RecognizeTopK, 0, "Needs the slices of a sort in their simplest form.", &TargetInfo::topk},
      {"expand", "element-types", WidenElementTypes, 0, "After topk was found, and before dots are arranged."},
      {"expand", "dots", CanonicalizeDots, 0,
       "After the algebra has moved transposes into dimension numbers: makes those left fit the matrix kernels."},
      {"expand", "small-dots", ExpandSmallDots, 0,
       "After the loops, which take products of invariants out as wholes; what is made of them is simplified and "
       "fused."},
      {"expand", "simplify-expanded", SimplifyAlgebra, 2,
       "Transposes and reshapes of the expansions meet their operands."},
      {"expand", "cse-expanded", EliminateCommonSubexpressions, 2, "Expansions repeat terms."},
      {"expand", "transposed-rows", JoinTransposedRows, 0,
       "After the last algebra: a transpose between reshapes is one that its rules do not see."},
      {"expand", "dead-code-expanded", EliminateDeadCode, 2, "Only live code is fused."},
      {"fuse", "fusion", FuseInstructions, 0,
       "On simplified code; barriers still stand between what must not be fused."},
      {"fuse", "own-broadcasts", GiveUpdatesOwnBroadcasts, 0,
       "After the last round of common subexpressions, which would undo it."},
      {"fuse", "own-operands", GiveScattersOwnOperands, 0, "Likewise: copies of one array are a common subexpression."},
      {"fuse", "stitch-rows", StitchRows, 0, "Joins finished fusions, and leaves kinds that fusion does not know.",
       &TargetInfo::reduce_input_fusion},
      {"finish", "barriers", ExpandBarriers, 0, "After the last pass that moves code across them."},
      {"finish", "tuples-finish", SimplifyTuples, 0, "Barriers leave tuples taken apart and put together."},
      {"finish", "dead-code-finish", EliminateDeadCode, 0, "What fusion left, so that only live code has buffers."},
      {"finish", "flatten-calls-finish", FlattenCallGraph, 0,
       "Inlined branches may share bodies; buffers need one caller for each.", nullptr, true},
      {"finish", "schedule", Schedule, 0, "The order decides what is live together; buffer assignment follows it.",
       nullptr, true},
  };
  return kRows;
}

const PipelineRow* FindPass(absl::string_view name) {
  for (const PipelineRow& row : Pipeline()) {
    if (name == row.pass) return &row;
  }
  return nullptr;
}

}  // namespace xc
