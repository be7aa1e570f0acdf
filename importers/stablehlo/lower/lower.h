// The lowerings that rows of the op table name, by family.
#ifndef XC_IMPORTERS_STABLEHLO_LOWER_LOWER_H_
#define XC_IMPORTERS_STABLEHLO_LOWER_LOWER_H_

#include "importers/stablehlo/lower/lowering.h"

namespace xc::stablehlo {

// lower_elementwise.cc
void LowerElementwise(OpLowering& op);  // the row's opcode on the operands as they are
void LowerClamp(OpLowering& op);
void LowerCompare(OpLowering& op);
void Compare(OpLowering& op, Op x, Op y);  // with the operation's attributes
void LowerConstant(OpLowering& op);
void LowerIota(OpLowering& op);
void LowerReducePrecision(OpLowering& op);
void LowerSelect(OpLowering& op);

// lower_movement.cc
void LowerBroadcast(OpLowering& op);
void LowerBroadcastInDim(OpLowering& op);
void LowerConcatenate(OpLowering& op);
void LowerDimensionSize(OpLowering& op);
void LowerDynamicSlice(OpLowering& op);
void LowerGather(OpLowering& op);
void LowerPad(OpLowering& op);
void LowerReshape(OpLowering& op);
void LowerReverse(OpLowering& op);
void LowerScatter(OpLowering& op);
void LowerSlice(OpLowering& op);
void LowerTranspose(OpLowering& op);

// lower_sizes.cc
void LowerDynamicIota(OpLowering& op);
void LowerDynamicPad(OpLowering& op);
void LowerDynamicReshape(OpLowering& op);
void LowerRealDynamicSlice(OpLowering& op);
// The elements of operand i, which have to be known: its `what`.
Int64List KnownInts(OpLowering& op, int64_t i, absl::string_view what);
// The sizes of a result, which operand i gives, or, where that is not known, the result's type.
Int64List ResultSizes(OpLowering& op, int64_t i, int64_t result = 0);
// The targets of custom calls that take sizes, or say something of them. LowerCallOfSizes: whether it knows the target.
bool IsCallOfSizes(absl::string_view target);
bool LowerCallOfSizes(OpLowering& op, absl::string_view target);

// lower_reductions.cc
void LowerMap(OpLowering& op);
void LowerReduce(OpLowering& op);
void LowerReduceWindow(OpLowering& op);
void LowerSelectAndScatter(OpLowering& op);
void LowerSort(OpLowering& op);

// lower_linear_algebra.cc
void LowerBatchNorm(OpLowering& op);
void LowerCholesky(OpLowering& op);
void LowerConvolution(OpLowering& op);
void LowerDot(OpLowering& op);
void LowerDotGeneral(OpLowering& op);
void LowerFft(OpLowering& op);
void LowerRaggedDot(OpLowering& op);
void LowerTriangularSolve(OpLowering& op);

// lower_chlo.cc
void LowerAtan(OpLowering& op);
void LowerBroadcasting(OpLowering& op);
void LowerConj(OpLowering& op);
void LowerConstantLike(OpLowering& op);
void LowerBesselI1e(OpLowering& op);
void LowerDigamma(OpLowering& op);
void LowerErfInv(OpLowering& op);
void LowerErfc(OpLowering& op);
void LowerIsInfinite(OpLowering& op);
void LowerLgamma(OpLowering& op);
void LowerNextAfter(OpLowering& op);
void LowerPolygamma(OpLowering& op);
void LowerSquare(OpLowering& op);
void LowerTopK(OpLowering& op);
void LowerZeta(OpLowering& op);

// lower_control.cc
void LowerBarrier(OpLowering& op);
void LowerBranches(OpLowering& op);
void LowerCall(OpLowering& op);
void LowerComposite(OpLowering& op);
void LowerGetTupleElement(OpLowering& op);
void LowerRng(OpLowering& op);
void LowerRngBitGenerator(OpLowering& op);
RandomAlgorithm RngAlgorithm(OpLowering& op);  // its attribute
void LowerWhile(OpLowering& op);

// lower_sharding.cc
void LowerManual(OpLowering& op);
void LowerSharding(OpLowering& op);
// An annotation (hlo/ops/known_calls.h) of `value`, by which it gets the shape `shape`.
Op Annotate(HloBuilder& b, Op value, absl::string_view target, Sharding sharding, const Shape& shape);

// lower_communication.cc
void LowerCollective(OpLowering& op);

// lower_custom_call.cc
void LowerCustomCall(OpLowering& op);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_LOWER_LOWER_H_
