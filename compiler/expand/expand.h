// Passes that put ops into the forms that backends take.
#ifndef XC_COMPILER_EXPAND_EXPAND_H_
#define XC_COMPILER_EXPAND_EXPAND_H_

#include "compiler/pass.h"

namespace xc {

// Whether the runtime's kernels multiply elements of `a` and `b` and sum them up in elements of `c`.
bool IsProductOfKernels(ElementType a, ElementType b, ElementType c);
// Whether the number of elements that count in some array is computed while the module runs.
bool HasDynamicDimensions(const HloModule& module);
// Arrays of run-time sizes as arrays of their bounds: every value `f32[<=8,4]` becomes a tuple `(f32[8,4], s32[])` of
// the array and the size of each dimension that has one; in the result too, where elements beyond the sizes are zero.
// Parameters of the entry become arrays of the bounds, all of which count. Ops mask what lies beyond the sizes where it
// would count (dynamic_ops.h). Calls are inlined and layouts assigned. Unimplemented, with the module in pieces: an op
// or a layout has no such form.
absl::StatusOr<bool> ExpandDynamicDimensions(HloModule* module, PassContext& context);
// Makes every array row-major. Entry parameters and results with other layouts become the row-major arrays of the same
// bytes, transposed inside; the module's entry layout is dropped with that, so whoever needs it reads it before.
// Bitcasts of other layouts become transposes and a reshape. Custom calls keep the layouts that they ask for: a bitcast
// stands between each of them and a row-major array. May run again on what it made.
absl::StatusOr<bool> AssignLayouts(HloModule* module, PassContext& context);
// Collectives, asynchronous pairs, copies between memories and partitioners' annotations as what they give on one
// device. What has other shapes than its operands is for several devices and stays.
absl::StatusOr<bool> ReduceToOneDevice(HloModule* module, PassContext& context);
// Collectives of a module for several devices as calls of the runtime's, "xc.collective". What combines values in a way
// that the runtime does not have is made of a gathering and the combiner's own computation, in the order of ranks.
// Errors: devices that the module does not have, and forms that run on one device only.
absl::StatusOr<bool> ExpandCollectives(HloModule* module, PassContext& context);
// reduce-window whose windows all begin or end where the array does (cumulative sums) as a scan.
absl::StatusOr<bool> ExpandRunningWindows(HloModule* module, PassContext& context);
// reduce-window with long windows that overlap as windows of windows.
absl::StatusOr<bool> ExpandLongWindows(HloModule* module, PassContext& context);
// scan as a while loop over slices.
absl::StatusOr<bool> ExpandScan(HloModule* module, PassContext& context);
// bitcast-convert between widths below a byte, and stochastic-convert, as integer operations.
absl::StatusOr<bool> ExpandBitOps(HloModule* module, PassContext& context);
// Convolutions of more than three spatial dimensions as ones of three.
absl::StatusOr<bool> ExpandConvolutions(HloModule* module, PassContext& context);
// dot with sparsity as dot of the whole arrays.
absl::StatusOr<bool> ExpandSparseDots(HloModule* module, PassContext& context);
// If PassOptions::excess_precision: f16 and bf16 arithmetic in f32, rounded where values are stored or moved.
absl::StatusOr<bool> KeepExcessPrecision(HloModule* module, PassContext& context);
// scaled-dot as dot; ragged-dot with one dimension of each kind.
absl::StatusOr<bool> ExpandScaledDots(HloModule* module, PassContext& context);
// Products, topk and solvers of types that have no kernels, in wider types.
absl::StatusOr<bool> WidenElementTypes(HloModule* module, PassContext& context);
// batch-norm-training, -inference and -grad as elementwise ops and reductions.
absl::StatusOr<bool> ExpandBatchNorm(HloModule* module, PassContext& context);
// Comparisons in total order of numbers that were made to have one zero and one NaN, as others.
absl::StatusOr<bool> ExpandTotalOrder(HloModule* module, PassContext& context);
// Products as [batch…, m, k] × [batch…, k, n]: one contracted and one free dimension an operand, in either order.
absl::StatusOr<bool> CanonicalizeDots(HloModule* module, PassContext& context);
// Products of a few dozen multiplications, and inner products of up to some thousand, also of a vector with each row of
// a matrix in several batches, as elementwise products and their sums.
absl::StatusOr<bool> ExpandSmallDots(HloModule* module, PassContext& context);
// Transposes that leave their last dimensions in place as transposes of arrays that have these as one.
absl::StatusOr<bool> JoinTransposedRows(HloModule* module, PassContext& context);
// ApproxTopK and PartialReduce as sorts of which the first elements are kept: exact.
absl::StatusOr<bool> ExpandApproxTopK(HloModule* module, PassContext& context);
// A sort of (values, iota) of which only the first k are used -> topk.
absl::StatusOr<bool> RecognizeTopK(HloModule* module, PassContext& context);
// Removes optimization barriers, and what else only orders: add-dependency, domain.
absl::StatusOr<bool> ExpandBarriers(HloModule* module, PassContext& context);
// Gives each emitted computation one caller.
absl::StatusOr<bool> FlattenCallGraph(HloModule* module, PassContext& context);
// Orders every emitted computation.
absl::StatusOr<bool> Schedule(HloModule* module, PassContext& context);

}  // namespace xc

#endif  // XC_COMPILER_EXPAND_EXPAND_H_
