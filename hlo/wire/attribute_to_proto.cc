// Attributes to HloInstructionProto, kind by kind.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/wire/attribute_proto.h"
#include "hlo/wire/carried_proto.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

using K = AttrKind;
using Proto = pb::HloInstructionProto;

void Fill(const Int64List& from, google::protobuf::RepeatedField<int64_t>* to) { to->Assign(from.begin(), from.end()); }

void WindowToProto(const WindowAttr& window, pb::Window* proto) {
  for (const WindowDim& d : window.dims) {
    pb::WindowDimension* p = proto->add_dimensions();
    p->set_size(d.size);
    p->set_stride(d.stride);
    p->set_padding_low(d.padding_low);
    p->set_padding_high(d.padding_high);
    p->set_window_dilation(d.window_dilation);
    p->set_base_dilation(d.base_dilation);
    p->set_window_reversal(d.reversal);
  }
}

void ConvDimsToProto(const ConvDims& d, pb::ConvolutionDimensionNumbers* p) {
  p->set_input_batch_dimension(d.input_batch);
  p->set_input_feature_dimension(d.input_feature);
  Fill(d.input_spatial, p->mutable_input_spatial_dimensions());
  p->set_kernel_input_feature_dimension(d.kernel_input_feature);
  p->set_kernel_output_feature_dimension(d.kernel_output_feature);
  Fill(d.kernel_spatial, p->mutable_kernel_spatial_dimensions());
  p->set_output_batch_dimension(d.output_batch);
  p->set_output_feature_dimension(d.output_feature);
  Fill(d.output_spatial, p->mutable_output_spatial_dimensions());
}

void DotDimsToProto(const DotDims& d, pb::DotDimensionNumbers* p) {
  Fill(d.lhs_batch, p->mutable_lhs_batch_dimensions());
  Fill(d.rhs_batch, p->mutable_rhs_batch_dimensions());
  Fill(d.lhs_contracting, p->mutable_lhs_contracting_dimensions());
  Fill(d.rhs_contracting, p->mutable_rhs_contracting_dimensions());
}

void GatherDimsToProto(const GatherDims& d, pb::GatherDimensionNumbers* p) {
  Fill(d.offset_dims, p->mutable_offset_dims());
  Fill(d.collapsed_slice_dims, p->mutable_collapsed_slice_dims());
  Fill(d.start_index_map, p->mutable_start_index_map());
  Fill(d.operand_batching_dims, p->mutable_operand_batching_dims());
  Fill(d.start_indices_batching_dims, p->mutable_start_indices_batching_dims());
  p->set_index_vector_dim(d.index_vector_dim);
}

void ScatterDimsToProto(const ScatterDims& d, pb::ScatterDimensionNumbers* p) {
  Fill(d.update_window_dims, p->mutable_update_window_dims());
  Fill(d.inserted_window_dims, p->mutable_inserted_window_dims());
  Fill(d.scatter_dims_to_operand_dims, p->mutable_scatter_dims_to_operand_dims());
  Fill(d.input_batching_dims, p->mutable_input_batching_dims());
  Fill(d.scatter_indices_batching_dims, p->mutable_scatter_indices_batching_dims());
  p->set_index_vector_dim(d.index_vector_dim);
}

absl::Status ReplicaGroupsToProto(const ReplicaGroups& groups, Proto* proto) {
  if (groups.iota_dims.empty()) {
    pb::CollectiveDeviceListProto* list = proto->mutable_collective_device_list();
    for (const Int64List& group : groups.groups) Fill(group, list->add_replica_groups()->mutable_replica_ids());
    return absl::OkStatus();
  }
  if (groups.iota_dims.size() != 2) {
    return absl::InvalidArgumentError("replica groups in iota form need two dimensions: groups and their size");
  }
  pb::IotaReplicaGroupListProto* iota = proto->mutable_iota_collective_device_list();
  iota->set_num_replica_groups(groups.iota_dims[0]);
  iota->set_num_devices_per_group(groups.iota_dims[1]);
  Fill(groups.iota_reshape_dims, iota->mutable_iota_reshape_dims());
  for (size_t i = 0; i < groups.iota_reshape_dims.size(); ++i) {
    iota->add_iota_transpose_perm(
        static_cast<int32_t>(i < groups.iota_transpose.size() ? groups.iota_transpose[i] : static_cast<int64_t>(i)));
  }
  return absl::OkStatus();
}

// Finds the enumerator that a generated `parse` function knows by `name`.
template <typename E>
absl::Status ParseEnum(bool (*parse)(google::protobuf::ConstStringParam, E*), const std::string& name,
                       absl::string_view what, E* out) {
  if (parse(name, out)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no ", what));
}

absl::Status OneToProto(K kind, const HloInstruction& i, Proto* proto) {
  switch (kind) {
    case K::kDimensions:
      Fill(i.attr<K::kDimensions>(), proto->mutable_dimensions());
      break;
    case K::kWindow:
      WindowToProto(i.attr<K::kWindow>(), proto->mutable_window());
      break;
    case K::kDimLabels:
      ConvDimsToProto(i.attr<K::kDimLabels>(), proto->mutable_convolution_dimension_numbers());
      break;
    case K::kFeatureGroupCount:
      proto->set_feature_group_count(i.attr<K::kFeatureGroupCount>());
      break;
    case K::kBatchGroupCount:
      proto->set_batch_group_count(i.attr<K::kBatchGroupCount>());
      break;
    case K::kOperandPrecision:
      for (const std::string& name : i.attr<K::kOperandPrecision>()) {
        pb::PrecisionConfig::Precision precision;
        XC_RETURN_IF_ERROR(ParseEnum(&pb::PrecisionConfig::Precision_Parse, absl::AsciiStrToUpper(name),
                                     "operand precision", &precision));
        proto->mutable_precision_config()->add_operand_precision(precision);
      }
      break;
    case K::kDotDims:
      if (i.opcode() != HloOpcode::kRaggedDot) {
        DotDimsToProto(i.attr<K::kDotDims>(), proto->mutable_dot_dimension_numbers());
      } else {
        DotDimsToProto(i.attr<K::kDotDims>(),
                       proto->mutable_ragged_dot_dimension_numbers()->mutable_dot_dimension_numbers());
      }
      break;
    case K::kRaggedDims: {
      const RaggedDims& d = i.attr<K::kRaggedDims>();
      Fill(d.lhs_ragged, proto->mutable_ragged_dot_dimension_numbers()->mutable_lhs_ragged_dimensions());
      Fill(d.rhs_group, proto->mutable_ragged_dot_dimension_numbers()->mutable_rhs_group_dimensions());
      break;
    }
    case K::kSparsity:
      return SparsityToProto(i.attr<K::kSparsity>(), proto->mutable_sparsity_config());
    case K::kAlgorithm: {
      pb::PrecisionConfig::Algorithm algorithm;
      XC_RETURN_IF_ERROR(ParseEnum(&pb::PrecisionConfig::Algorithm_Parse,
                                   absl::StrCat("ALG_", absl::AsciiStrToUpper(i.attr<K::kAlgorithm>())),
                                   "algorithm of a dot", &algorithm));
      proto->mutable_precision_config()->set_algorithm(algorithm);
      break;
    }
    case K::kGatherDims:
      GatherDimsToProto(i.attr<K::kGatherDims>(), proto->mutable_gather_dimension_numbers());
      break;
    case K::kScatterDims:
      ScatterDimsToProto(i.attr<K::kScatterDims>(), proto->mutable_scatter_dimension_numbers());
      break;
    case K::kSliceSizes:
      Fill(i.attr<K::kSliceSizes>(), proto->mutable_gather_slice_sizes());
      break;
    case K::kSliceSizesList:
      for (const Int64List& sizes : i.attr<K::kSliceSizesList>()) {
        for (int64_t size : sizes) proto->add_dynamic_slice_sizes(size);
      }
      break;
    case K::kDynamicSliceSizes:
      Fill(i.attr<K::kDynamicSliceSizes>(), proto->mutable_dynamic_slice_sizes());
      break;
    case K::kIndicesAreSorted:
      proto->set_indices_are_sorted(i.attr<K::kIndicesAreSorted>());
      break;
    case K::kUniqueIndices:
      proto->set_unique_indices(i.attr<K::kUniqueIndices>());
      break;
    case K::kSlice: {
      const SliceAttr& slice = i.attr<K::kSlice>();
      for (size_t d = 0; d < slice.starts.size(); ++d) {
        Proto::SliceDimensions* p = proto->add_slice_dimensions();
        p->set_start(slice.starts[d]);
        p->set_limit(slice.limits[d]);
        p->set_stride(slice.strides[d]);
      }
      break;
    }
    case K::kPadding:
      proto->mutable_padding_config();
      for (const PaddingDim& d : i.attr<K::kPadding>().dims) {
        auto* p = proto->mutable_padding_config()->add_dimensions();
        p->set_edge_padding_low(d.low);
        p->set_edge_padding_high(d.high);
        p->set_interior_padding(d.interior);
      }
      break;
    case K::kDirection:
      proto->set_comparison_direction(std::string(CompareDirectionName(i.direction())));
      break;
    case K::kCompareType: {
      static constexpr const char* kNames[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
      proto->set_comparison_type(kNames[static_cast<int>(i.attr<K::kCompareType>())]);
      break;
    }
    case K::kIndex:
      proto->set_tuple_index(i.tuple_index());
      break;
    case K::kIotaDimension:
      proto->add_dimensions(i.attr<K::kIotaDimension>());
      break;
    case K::kInferredDimension:
      proto->add_dimensions(i.attr<K::kInferredDimension>());
      break;
    case K::kEpsilon:
      proto->set_epsilon(i.attr<K::kEpsilon>());
      break;
    case K::kFeatureIndex:
      proto->set_feature_index(i.attr<K::kFeatureIndex>());
      break;
    case K::kFusionKind:
      proto->set_fusion_kind(std::string(FusionKindName(i.fusion_kind())));
      break;
    case K::kOutputToOperandAliasing:
      for (const OutputOperandAlias& alias : i.attr<K::kOutputToOperandAliasing>()) {
        pb::OutputOperandAliasing* p = proto->add_output_operand_aliasing();
        Fill(alias.output_index, p->mutable_output_shape_index());
        p->set_operand_index(alias.operand);
        Fill(alias.operand_index, p->mutable_operand_shape_index());
      }
      break;
    case K::kFftType:
      proto->set_fft_type(static_cast<pb::FftType>(i.attr<K::kFftType>()));
      break;
    case K::kFftLength:
      Fill(i.attr<K::kFftLength>(), proto->mutable_fft_length());
      break;
    case K::kExponentBits:
      proto->set_exponent_bits(static_cast<int32_t>(i.attr<K::kExponentBits>()));
      break;
    case K::kMantissaBits:
      proto->set_mantissa_bits(static_cast<int32_t>(i.attr<K::kMantissaBits>()));
      break;
    case K::kDistribution:
      proto->set_distribution(static_cast<pb::RandomDistribution>(i.attr<K::kDistribution>()));
      break;
    case K::kRngAlgorithm:
      proto->set_rng_algorithm(static_cast<pb::RandomAlgorithm>(i.attr<K::kRngAlgorithm>()));
      break;
    case K::kDelta:
      proto->set_delta(i.attr<K::kDelta>());
      break;
    case K::kIsStable:
      proto->set_is_stable(i.attr<K::kIsStable>());
      break;
    case K::kK:
      proto->set_k(i.attr<K::kK>());
      break;
    case K::kLargest:
      proto->set_largest(i.attr<K::kLargest>());
      break;
    case K::kLower:
      if (i.opcode() == HloOpcode::kCholesky) {
        proto->mutable_cholesky_options()->set_lower(i.attr<K::kLower>());
      } else {
        proto->mutable_triangular_solve_options()->set_lower(i.attr<K::kLower>());
      }
      break;
    case K::kLeftSide:
      proto->mutable_triangular_solve_options()->set_left_side(i.attr<K::kLeftSide>());
      break;
    case K::kUnitDiagonal:
      proto->mutable_triangular_solve_options()->set_unit_diagonal(i.attr<K::kUnitDiagonal>());
      break;
    case K::kTransposeA:
      proto->mutable_triangular_solve_options()->set_transpose_a(
          static_cast<pb::TriangularSolveOptions::Transpose>(i.attr<K::kTransposeA>()));
      break;
    case K::kIsReverse:
      proto->set_is_reverse(i.attr<K::kIsReverse>());
      break;
    case K::kIsAssociative:
      proto->set_is_associative(i.attr<K::kIsAssociative>() == "true"    ? pb::TRI_STATE_TRUE
                                : i.attr<K::kIsAssociative>() == "false" ? pb::TRI_STATE_FALSE
                                                                         : pb::TRI_STATE_UNSPECIFIED);
      break;
    case K::kNumCarries:
      proto->set_num_carries(i.attr<K::kNumCarries>());
      break;
    case K::kIsComposite:
      proto->set_is_composite(i.attr<K::kIsComposite>());
      break;
    case K::kCustomCallTarget:
      proto->set_custom_call_target(i.custom_call_target());
      break;
    case K::kOperandLayoutConstraints:
      proto->set_constrain_layout(true);
      for (const Shape& shape : i.attr<K::kOperandLayoutConstraints>()) {
        ShapeToProto(shape, proto->add_operand_shapes_with_layout());
      }
      break;
    case K::kCustomCallHasSideEffect:
      proto->set_custom_call_has_side_effect(i.attr<K::kCustomCallHasSideEffect>());
      break;
    case K::kCustomCallSchedule: {
      pb::CustomCallSchedule value;
      XC_RETURN_IF_ERROR(ParseEnum(&pb::CustomCallSchedule_Parse, i.attr<K::kCustomCallSchedule>(),
                                   "schedule of a custom call", &value));
      proto->set_custom_call_schedule(value);
      break;
    }
    case K::kApiVersion: {
      pb::CustomCallApiVersion value;
      XC_RETURN_IF_ERROR(
          ParseEnum(&pb::CustomCallApiVersion_Parse, i.attr<K::kApiVersion>(), "API version of a custom call", &value));
      proto->set_custom_call_api_version(value);
      break;
    }
    case K::kPaddingType: {
      pb::PaddingType value;
      XC_RETURN_IF_ERROR(ParseEnum(&pb::PaddingType_Parse, i.attr<K::kPaddingType>(), "padding type", &value));
      proto->set_padding_type(value);
      break;
    }
    case K::kLiteral:
      LiteralToProto(*i.attr<K::kLiteral>(), proto->mutable_literal());
      break;
    case K::kReplicaGroups:
      return ReplicaGroupsToProto(i.attr<K::kReplicaGroups>(), proto);
    case K::kSourceTargetPairs:
      for (const Int64List& pair : i.attr<K::kSourceTargetPairs>()) {
        if (pair.size() != 2) return absl::InvalidArgumentError("source_target_pairs needs two devices in each pair");
        pb::SourceTarget* p = proto->add_source_target_pairs();
        p->set_source(pair[0]);
        p->set_target(pair[1]);
      }
      break;
    case K::kChannelId:
      proto->set_channel_id(i.attr<K::kChannelId>());
      break;
    case K::kConstrainLayout:
      proto->set_constrain_layout(i.attr<K::kConstrainLayout>());
      break;
    case K::kUseGlobalDeviceIds:
      proto->set_use_global_device_ids(i.attr<K::kUseGlobalDeviceIds>());
      break;
    case K::kIsHostTransfer:
      proto->set_is_host_transfer(i.attr<K::kIsHostTransfer>());
      break;
    case K::kInfeedConfig:
      proto->set_infeed_config(i.attr<K::kInfeedConfig>());
      break;
    case K::kOutfeedConfig:
      proto->set_outfeed_config(i.attr<K::kOutfeedConfig>());
      break;
    case K::kOutfeedShape:
      ShapeToProto(i.attr<K::kOutfeedShape>(), proto->mutable_outfeed_shape());
      break;
    case K::kAsyncExecutionThread:
      proto->set_async_execution_thread(i.attr<K::kAsyncExecutionThread>());
      break;
    case K::kCrossProgramPrefetchIndex:
      proto->set_cross_program_prefetch_index(static_cast<int32_t>(i.attr<K::kCrossProgramPrefetchIndex>()));
      break;
    case K::kParameterReplication:
      for (bool b : i.attr<K::kParameterReplication>()) {
        proto->mutable_parameter_replication()->add_replicated_at_leaf_buffers(b);
      }
      break;
    case K::kDomain:
      // The message's entry is the operand's side, which the text calls exit.
      ShardingToProto(i.attr<K::kDomain>().exit, proto->mutable_domain_entry_sharding());
      ShardingToProto(i.attr<K::kDomain>().entry, proto->mutable_domain_exit_sharding());
      break;
    case K::kMetadata:
      MetadataToProto(i.attr<K::kMetadata>(), proto->mutable_metadata());
      break;
    case K::kSharding:
      ShardingToProto(i.attr<K::kSharding>(), proto->mutable_sharding());
      break;
    case K::kBackendConfig:
      proto->set_backend_config(i.attr<K::kBackendConfig>().text);
      break;
    case K::kFrontendAttributes:
      FrontendAttributesToProto(i.attr<K::kFrontendAttributes>(), proto->mutable_frontend_attributes());
      break;
    case K::kStatistics:
      StatisticsToProto(i.attr<K::kStatistics>(), proto->mutable_statistics_viz());
      break;
    case K::kOrigin:
      return OriginToProto(i.attr<K::kOrigin>(), proto->mutable_original_value());
    case K::kResultAccuracy:
      return ResultAccuracyToProto(i.attr<K::kResultAccuracy>(), proto->mutable_result_accuracy());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AttributesToProto(const HloInstruction& instruction, pb::HloInstructionProto* proto) {
  for (const auto& [kind, value] : instruction.attributes().entries()) {
    XC_RETURN_IF_ERROR(OneToProto(kind, instruction, proto));
  }
  // Text leaves the version out where it is the first one; in the message that would mean none.
  if (instruction.opcode() == HloOpcode::kCustomCall && !instruction.attributes().Has(K::kApiVersion)) {
    proto->set_custom_call_api_version(pb::API_VERSION_ORIGINAL);
  }
  return absl::OkStatus();
}

}  // namespace xc
