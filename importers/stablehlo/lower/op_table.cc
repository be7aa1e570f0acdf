#include "importers/stablehlo/lower/op_table.h"

#include "absl/container/flat_hash_map.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {
namespace {

using O = HloOpcode;

constexpr char kReplaced[] = "StableHLO has other operations in its place";
constexpr char kQuantized[] = "quantized types are not supported";
constexpr char kHostTransfer[] = "there is no host to transfer to and from";

// An operation that is an instruction of one opcode, and that has nothing but operands.
constexpr OpRow Plain(absl::string_view name, int operands, HloOpcode opcode) {
  return {.name = name, .operands = operands, .lower = LowerElementwise, .opcode = opcode};
}
constexpr OpRow Broadcasting(absl::string_view name, HloOpcode opcode) {
  return {.name = name,
          .operands = 2,
          .keys = "word=comparison_direction,word=compare_type",
          .lower = LowerBroadcasting,
          .opcode = opcode};
}
constexpr OpRow Collective(absl::string_view name, int regions, HloOpcode opcode) {
  return {.name = name, .regions = regions, .lower = LowerCollective, .opcode = opcode};
}
constexpr OpRow Sharding(absl::string_view name) {
  return {.name = name, .operands = 1, .lower = LowerSharding, .form = Form::kSharding};
}
constexpr OpRow Refused(absl::string_view name, absl::string_view why) { return {.name = name, .refusal = why}; }
constexpr OpRow Return(absl::string_view name) { return {.name = name, .form = Form::kReturn}; }

constexpr OpRow kOps[] = {
    // Functions.
    {.name = "func.call", .keys = "@=callee", .lower = LowerCall},
    Return("func.return"),
    Return("stablehlo.return"),

    // Elementwise.
    Plain("stablehlo.abs", 1, O::kAbs),
    Plain("stablehlo.add", 2, O::kAdd),
    Plain("stablehlo.and", 2, O::kAnd),
    Plain("stablehlo.atan2", 2, O::kAtan2),
    Plain("stablehlo.bitcast_convert", 1, O::kBitcastConvert),
    Plain("stablehlo.cbrt", 1, O::kCbrt),
    Plain("stablehlo.ceil", 1, O::kCeil),
    {.name = "stablehlo.clamp", .operands = 3, .lower = LowerClamp},
    {.name = "stablehlo.compare",
     .operands = 2,
     .keys = "word=comparison_direction,word=compare_type",
     .lower = LowerCompare},
    Plain("stablehlo.complex", 2, O::kComplex),
    Plain("stablehlo.convert", 1, O::kConvert),
    Plain("stablehlo.cosine", 1, O::kCosine),
    Plain("stablehlo.count_leading_zeros", 1, O::kCountLeadingZeros),
    Plain("stablehlo.divide", 2, O::kDivide),
    Plain("stablehlo.exponential", 1, O::kExponential),
    Plain("stablehlo.exponential_minus_one", 1, O::kExponentialMinusOne),
    Plain("stablehlo.floor", 1, O::kFloor),
    Plain("stablehlo.imag", 1, O::kImag),
    Plain("stablehlo.is_finite", 1, O::kIsFinite),
    Plain("stablehlo.log", 1, O::kLog),
    Plain("stablehlo.log_plus_one", 1, O::kLogPlusOne),
    Plain("stablehlo.logistic", 1, O::kLogistic),
    Plain("stablehlo.maximum", 2, O::kMaximum),
    Plain("stablehlo.minimum", 2, O::kMinimum),
    Plain("stablehlo.multiply", 2, O::kMultiply),
    Plain("stablehlo.negate", 1, O::kNegate),
    Plain("stablehlo.not", 1, O::kNot),
    Plain("stablehlo.or", 2, O::kOr),
    Plain("stablehlo.popcnt", 1, O::kPopcnt),
    Plain("stablehlo.power", 2, O::kPower),
    Plain("stablehlo.real", 1, O::kReal),
    {.name = "stablehlo.reduce_precision", .operands = 1, .lower = LowerReducePrecision},
    Plain("stablehlo.remainder", 2, O::kRemainder),
    Plain("stablehlo.round_nearest_afz", 1, O::kRoundNearestAfz),
    Plain("stablehlo.round_nearest_even", 1, O::kRoundNearestEven),
    Plain("stablehlo.rsqrt", 1, O::kRsqrt),
    {.name = "stablehlo.select", .operands = 3, .lower = LowerSelect},
    Plain("stablehlo.shift_left", 2, O::kShiftLeft),
    Plain("stablehlo.shift_right_arithmetic", 2, O::kShiftRightArithmetic),
    Plain("stablehlo.shift_right_logical", 2, O::kShiftRightLogical),
    Plain("stablehlo.sign", 1, O::kSign),
    Plain("stablehlo.sine", 1, O::kSine),
    Plain("stablehlo.sqrt", 1, O::kSqrt),
    Plain("stablehlo.subtract", 2, O::kSubtract),
    Plain("stablehlo.tan", 1, O::kTan),
    Plain("stablehlo.tanh", 1, O::kTanh),
    Plain("stablehlo.xor", 2, O::kXor),

    // Values from nothing. A constant's opcode is what lets regions make one from outside once more.
    {.name = "stablehlo.constant", .operands = 0, .lower = LowerConstant, .opcode = O::kConstant},
    {.name = "stablehlo.iota", .operands = 0, .keys = "dim=iota_dimension", .lower = LowerIota},
    Plain("stablehlo.partition_id", 0, O::kPartitionId),
    Plain("stablehlo.replica_id", 0, O::kReplicaId),

    // Movement.
    {.name = "stablehlo.broadcast", .operands = 1, .keys = "sizes=broadcast_sizes", .lower = LowerBroadcast},
    {.name = "stablehlo.broadcast_in_dim",
     .operands = 1,
     .keys = "dims=broadcast_dimensions",
     .lower = LowerBroadcastInDim},
    {.name = "stablehlo.dynamic_broadcast_in_dim",
     .operands = 2,
     .keys = "dims=broadcast_dimensions",
     .lower = LowerBroadcastInDim,
     .takes_sizes = true},
    {.name = "stablehlo.concatenate", .keys = "dim=dimension", .lower = LowerConcatenate},
    {.name = "stablehlo.dynamic_gather", .operands = 3, .lower = LowerGather, .takes_sizes = true},
    {.name = "stablehlo.dynamic_iota",
     .operands = 1,
     .keys = "dim=iota_dimension",
     .lower = LowerDynamicIota,
     .takes_sizes = true},
    {.name = "stablehlo.dynamic_pad", .operands = 5, .lower = LowerDynamicPad, .takes_sizes = true},
    {.name = "stablehlo.dynamic_reshape", .operands = 2, .lower = LowerDynamicReshape, .takes_sizes = true},
    {.name = "stablehlo.dynamic_slice",
     .keys = "sizes=slice_sizes",
     .lower = LowerDynamicSlice,
     .opcode = O::kDynamicSlice},
    {.name = "stablehlo.dynamic_update_slice", .lower = LowerDynamicSlice, .opcode = O::kDynamicUpdateSlice},
    {.name = "stablehlo.gather", .operands = 2, .lower = LowerGather},
    {.name = "stablehlo.get_dimension_size",
     .operands = 1,
     .keys = "dim=dimension",
     .lower = LowerDimensionSize,
     .opcode = O::kGetDimensionSize},
    {.name = "stablehlo.pad",
     .operands = 2,
     .keys = "low=edge_padding_low,high=edge_padding_high,interior=interior_padding",
     .lower = LowerPad},
    {.name = "stablehlo.real_dynamic_slice", .operands = 4, .lower = LowerRealDynamicSlice, .takes_sizes = true},
    {.name = "stablehlo.reshape", .operands = 1, .lower = LowerReshape},
    {.name = "stablehlo.reverse", .operands = 1, .keys = "dims=dimensions", .lower = LowerReverse},
    {.name = "stablehlo.scatter", .regions = 1, .lower = LowerScatter},
    {.name = "stablehlo.set_dimension_size",
     .operands = 2,
     .keys = "dim=dimension",
     .lower = LowerDimensionSize,
     .opcode = O::kSetDimensionSize},
    {.name = "stablehlo.slice", .operands = 1, .lower = LowerSlice},
    {.name = "stablehlo.transpose", .operands = 1, .keys = "dims=permutation", .lower = LowerTranspose},

    // Regions applied to elements.
    {.name = "stablehlo.map", .regions = 1, .lower = LowerMap},
    {.name = "stablehlo.reduce", .regions = 1, .lower = LowerReduce, .form = Form::kReduce},
    {.name = "stablehlo.reduce_window", .regions = 1, .lower = LowerReduceWindow},
    {.name = "stablehlo.select_and_scatter", .operands = 3, .regions = 2, .lower = LowerSelectAndScatter},
    {.name = "stablehlo.sort", .regions = 1, .lower = LowerSort},

    // Linear algebra.
    {.name = "stablehlo.batch_norm_grad", .operands = 5, .lower = LowerBatchNorm, .opcode = O::kBatchNormGrad},
    {.name = "stablehlo.batch_norm_inference",
     .operands = 5,
     .lower = LowerBatchNorm,
     .opcode = O::kBatchNormInference},
    {.name = "stablehlo.batch_norm_training", .operands = 3, .lower = LowerBatchNorm, .opcode = O::kBatchNormTraining},
    {.name = "stablehlo.cholesky", .operands = 1, .lower = LowerCholesky},
    {.name = "stablehlo.convolution",
     .operands = 2,
     .keys = "dim_numbers=dimension_numbers",
     .lower = LowerConvolution},
    {.name = "stablehlo.dot", .operands = 2, .keys = "precision=precision_config", .lower = LowerDot},
    {.name = "stablehlo.dot_general",
     .operands = 2,
     .keys = "batching_dims=lhs_batching_dimensions|rhs_batching_dimensions,"
             "contracting_dims=lhs_contracting_dimensions|rhs_contracting_dimensions,precision=precision_config",
     .lower = LowerDotGeneral},
    {.name = "stablehlo.dynamic_conv",
     .operands = 3,
     .keys = "dim_numbers=dimension_numbers",
     .lower = LowerConvolution,
     .takes_sizes = true},
    {.name = "stablehlo.fft", .operands = 1, .keys = "type=fft_type,length=fft_length", .lower = LowerFft},
    {.name = "stablehlo.triangular_solve", .operands = 2, .lower = LowerTriangularSolve},

    // Control and the rest.
    Plain("stablehlo.after_all", -1, O::kAfterAll),
    {.name = "stablehlo.case", .operands = 1, .regions = -1, .lower = LowerBranches},
    {.name = "stablehlo.composite", .keys = "string=name", .lower = LowerComposite},
    Plain("stablehlo.create_token", 0, O::kAfterAll),
    {.name = "stablehlo.custom_call", .keys = "@=call_target_name", .lower = LowerCustomCall},
    {.name = "stablehlo.get_tuple_element", .operands = 1, .lower = LowerGetTupleElement},
    {.name = "stablehlo.if", .operands = 1, .regions = 2, .lower = LowerBranches},
    {.name = "stablehlo.optimization_barrier", .lower = LowerBarrier, .form = Form::kEach},
    {.name = "stablehlo.rng", .operands = 3, .keys = "distribution=rng_distribution", .lower = LowerRng},
    {.name = "stablehlo.rng_bit_generator",
     .operands = 1,
     .keys = "algorithm=rng_algorithm",
     .lower = LowerRngBitGenerator},
    Plain("stablehlo.tuple", -1, O::kTuple),
    {.name = "stablehlo.while", .regions = 2, .lower = LowerWhile, .form = Form::kWhile},

    // Several devices.
    Collective("stablehlo.all_gather", 0, O::kAllGather),
    Collective("stablehlo.all_reduce", 1, O::kAllReduce),
    Collective("stablehlo.all_to_all", 0, O::kAllToAll),
    Collective("stablehlo.collective_broadcast", 0, O::kCollectiveBroadcast),
    Collective("stablehlo.collective_permute", 0, O::kCollectivePermute),
    Collective("stablehlo.reduce_scatter", 1, O::kReduceScatter),

    // Between types that mean the same.
    Sharding("builtin.unrealized_conversion_cast"),
    // The dialect sdy.
    {.name = "sdy.manual_computation", .regions = 1, .lower = LowerManual, .form = Form::kManual},
    Return("sdy.return"),
    Sharding("sdy.propagation_barrier"),
    Sharding("sdy.reshard"),
    Sharding("sdy.sharding_constraint"),
    Sharding("sdy.sharding_group"),

    // The dialect chlo.
    Plain("chlo.acos", 1, O::kAcos),
    Plain("chlo.acosh", 1, O::kAcosh),
    Plain("chlo.asin", 1, O::kAsin),
    Plain("chlo.asinh", 1, O::kAsinh),
    {.name = "chlo.atan", .operands = 1, .lower = LowerAtan},
    Plain("chlo.atanh", 1, O::kAtanh),
    {.name = "chlo.bessel_i1e", .operands = 1, .lower = LowerBesselI1e},
    Broadcasting("chlo.broadcast_add", O::kAdd),
    Broadcasting("chlo.broadcast_and", O::kAnd),
    Broadcasting("chlo.broadcast_atan2", O::kAtan2),
    Broadcasting("chlo.broadcast_compare", O::kCompare),
    Broadcasting("chlo.broadcast_complex", O::kComplex),
    Broadcasting("chlo.broadcast_divide", O::kDivide),
    Broadcasting("chlo.broadcast_maximum", O::kMaximum),
    Broadcasting("chlo.broadcast_minimum", O::kMinimum),
    Broadcasting("chlo.broadcast_multiply", O::kMultiply),
    Broadcasting("chlo.broadcast_or", O::kOr),
    Broadcasting("chlo.broadcast_power", O::kPower),
    Broadcasting("chlo.broadcast_remainder", O::kRemainder),
    Broadcasting("chlo.broadcast_shift_left", O::kShiftLeft),
    Broadcasting("chlo.broadcast_shift_right_arithmetic", O::kShiftRightArithmetic),
    Broadcasting("chlo.broadcast_shift_right_logical", O::kShiftRightLogical),
    Broadcasting("chlo.broadcast_subtract", O::kSubtract),
    Broadcasting("chlo.broadcast_xor", O::kXor),
    {.name = "chlo.conj", .operands = 1, .lower = LowerConj},
    {.name = "chlo.constant", .operands = 0, .lower = LowerConstant, .opcode = O::kConstant},
    {.name = "chlo.constant_like", .operands = 1, .lower = LowerConstantLike},
    Plain("chlo.cosh", 1, O::kCosh),
    {.name = "chlo.digamma", .operands = 1, .lower = LowerDigamma},
    Plain("chlo.erf", 1, O::kErf),
    {.name = "chlo.erf_inv", .operands = 1, .lower = LowerErfInv},
    {.name = "chlo.erfc", .operands = 1, .lower = LowerErfc},
    {.name = "chlo.is_inf", .operands = 1, .lower = LowerIsInfinite},
    {.name = "chlo.is_neg_inf", .operands = 1, .lower = LowerIsInfinite},
    {.name = "chlo.is_pos_inf", .operands = 1, .lower = LowerIsInfinite},
    {.name = "chlo.lgamma", .operands = 1, .lower = LowerLgamma},
    Plain("chlo.mulhi", 2, O::kMulhi),
    {.name = "chlo.next_after", .operands = 2, .lower = LowerNextAfter},
    {.name = "chlo.polygamma", .operands = 2, .lower = LowerPolygamma},
    {.name = "chlo.ragged_dot", .operands = 3, .lower = LowerRaggedDot},
    Plain("chlo.sinh", 1, O::kSinh),
    {.name = "chlo.square", .operands = 1, .lower = LowerSquare},
    Plain("chlo.tan", 1, O::kTan),
    {.name = "chlo.top_k", .operands = 1, .lower = LowerTopK},
    {.name = "chlo.zeta", .operands = 2, .lower = LowerZeta},

    // What HLO has not.
    Refused("stablehlo.cross-replica-sum", kReplaced),
    Refused("stablehlo.einsum", kReplaced),
    Refused("stablehlo.infeed", kHostTransfer),
    Refused("stablehlo.outfeed", kHostTransfer),
    Refused("stablehlo.recv", kHostTransfer),
    Refused("stablehlo.send", kHostTransfer),
    Refused("stablehlo.torch_index_select", kReplaced),
    Refused("stablehlo.unary_einsum", kReplaced),
    Refused("stablehlo.uniform_dequantize", kQuantized),
    Refused("stablehlo.uniform_quantize", kQuantized),
};

}  // namespace

const OpRow* FindOp(absl::string_view name) {
  static const auto* const kByName = [] {
    auto* by_name = new absl::flat_hash_map<absl::string_view, const OpRow*>();
    for (const OpRow& row : kOps) by_name->emplace(row.name, &row);
    return by_name;
  }();
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

std::string WrongCounts(const OpRow& row, size_t operands, size_t regions) {
  if (row.operands >= 0 && operands != static_cast<size_t>(row.operands)) {
    return absl::StrCat("expected ", row.operands, " operands, found ", operands);
  }
  if (row.regions >= 0 && regions != static_cast<size_t>(row.regions)) {
    return absl::StrCat("expected ", row.regions, " regions, found ", regions);
  }
  return "";
}

}  // namespace xc::stablehlo
