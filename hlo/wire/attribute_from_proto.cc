// Attributes from HloInstructionProto: each reader takes its fields out of the message, so that the rest can be kept.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/devices/mesh_groups.h"
#include "hlo/text/structure.h"
#include "hlo/wire/attribute_proto.h"
#include "hlo/wire/carried_proto.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

using K = AttrKind;
using Proto = pb::HloInstructionProto;

Int64List List(const google::protobuf::RepeatedField<int64_t>& from) { return {from.begin(), from.end()}; }

WindowAttr WindowFromProto(const pb::Window& proto) {
  WindowAttr window;
  for (const pb::WindowDimension& p : proto.dimensions()) {
    WindowDim d;
    d.size = p.size();
    d.stride = p.stride();
    d.padding_low = p.padding_low();
    d.padding_high = p.padding_high();
    d.window_dilation = p.window_dilation();
    d.base_dilation = p.base_dilation();
    d.reversal = p.window_reversal();
    window.dims.push_back(d);
  }
  return window;
}

ConvDims ConvDimsFromProto(const pb::ConvolutionDimensionNumbers& p) {
  ConvDims d;
  d.input_batch = p.input_batch_dimension();
  d.input_feature = p.input_feature_dimension();
  d.input_spatial = List(p.input_spatial_dimensions());
  d.kernel_input_feature = p.kernel_input_feature_dimension();
  d.kernel_output_feature = p.kernel_output_feature_dimension();
  d.kernel_spatial = List(p.kernel_spatial_dimensions());
  d.output_batch = p.output_batch_dimension();
  d.output_feature = p.output_feature_dimension();
  d.output_spatial = List(p.output_spatial_dimensions());
  return d;
}

DotDims DotDimsFromProto(const pb::DotDimensionNumbers& p) {
  return {List(p.lhs_batch_dimensions()), List(p.rhs_batch_dimensions()), List(p.lhs_contracting_dimensions()),
          List(p.rhs_contracting_dimensions())};
}

GatherDims GatherDimsFromProto(const pb::GatherDimensionNumbers& p) {
  GatherDims d;
  d.offset_dims = List(p.offset_dims());
  d.collapsed_slice_dims = List(p.collapsed_slice_dims());
  d.start_index_map = List(p.start_index_map());
  d.operand_batching_dims = List(p.operand_batching_dims());
  d.start_indices_batching_dims = List(p.start_indices_batching_dims());
  d.index_vector_dim = p.index_vector_dim();
  return d;
}

ScatterDims ScatterDimsFromProto(const pb::ScatterDimensionNumbers& p) {
  ScatterDims d;
  d.update_window_dims = List(p.update_window_dims());
  d.inserted_window_dims = List(p.inserted_window_dims());
  d.scatter_dims_to_operand_dims = List(p.scatter_dims_to_operand_dims());
  d.input_batching_dims = List(p.input_batching_dims());
  d.scatter_indices_batching_dims = List(p.scatter_indices_batching_dims());
  d.index_vector_dim = p.index_vector_dim();
  return d;
}

absl::Status Unknown(absl::string_view what, int value) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", value, " is not known"));
}

// Flat sizes of slices are cut by the ranks of the arrays that are sliced, over and over.
std::vector<Int64List> CutSliceSizes(const Proto& proto, const HloInstruction& instruction) {
  std::vector<int64_t> ranks;
  if (instruction.operand_count() > 0) {
    for (const auto& leaf : Leaves(instruction.operand(0)->shape())) ranks.push_back(leaf.second->rank());
  }
  std::vector<Int64List> lists;
  const int count = proto.dynamic_slice_sizes_size();
  for (int at = 0; at < count;) {
    const int64_t rank = ranks.empty() ? 0 : ranks[lists.size() % ranks.size()];
    Int64List list;
    for (int64_t i = 0; i < std::max<int64_t>(rank, 1) && at < count; ++i) {
      list.push_back(proto.dynamic_slice_sizes(at++));
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

// Reads the attributes of one instruction; each reader takes its fields out of the message.
class Reader {
 public:
  Reader(Proto* proto, HloInstruction* instruction, int64_t* elided_bytes)
      : p_(*proto), i_(*instruction), elided_bytes_(elided_bytes) {}

  absl::Status Read() {
    ReadDimensions();
    ReadSimple();
    XC_RETURN_IF_ERROR(ReadEnums());
    XC_RETURN_IF_ERROR(ReadPrecision());
    ReadDimensionNumbers();
    XC_RETURN_IF_ERROR(ReadCustomCall());
    XC_RETURN_IF_ERROR(ReadCollective());
    return ReadCommon();
  }

 private:
  bool Has(K kind) const { return OpcodeHasAttr(i_.opcode(), kind); }

  void ReadDimensions() {
    if (Has(K::kDimensions)) {
      // all-to-all may have none, and map of arrays that have some.
      const bool optional =
          i_.opcode() == HloOpcode::kAllToAll || (i_.opcode() == HloOpcode::kMap && i_.shape().rank() > 0);
      if (!optional || p_.dimensions_size() > 0) i_.set_attr<K::kDimensions>(List(p_.dimensions()));
      p_.clear_dimensions();
    }
    if (Has(K::kIotaDimension)) {
      if (p_.dimensions_size() == 1) i_.set_attr<K::kIotaDimension>(p_.dimensions(0));
      p_.clear_dimensions();
    }
    if (Has(K::kInferredDimension)) {
      if (p_.dimensions_size() == 1) i_.set_attr<K::kInferredDimension>(p_.dimensions(0));
      p_.clear_dimensions();
    }
    if (Has(K::kSlice)) {
      SliceAttr slice;
      for (const Proto::SliceDimensions& d : p_.slice_dimensions()) {
        slice.starts.push_back(d.start());
        slice.limits.push_back(d.limit());
        slice.strides.push_back(d.stride());
      }
      i_.set_attr<K::kSlice>(std::move(slice));
      p_.clear_slice_dimensions();
    }
    if (Has(K::kPadding)) {
      PaddingAttr padding;
      for (const auto& d : p_.padding_config().dimensions()) {
        padding.dims.push_back({d.edge_padding_low(), d.edge_padding_high(), d.interior_padding()});
      }
      i_.set_attr<K::kPadding>(std::move(padding));
      p_.clear_padding_config();
    }
    if (Has(K::kDynamicSliceSizes)) {
      i_.set_attr<K::kDynamicSliceSizes>(List(p_.dynamic_slice_sizes()));
      p_.clear_dynamic_slice_sizes();
    }
    if (Has(K::kSliceSizesList)) {
      if (p_.dynamic_slice_sizes_size() > 0) i_.set_attr<K::kSliceSizesList>(CutSliceSizes(p_, i_));
      p_.clear_dynamic_slice_sizes();
    }
    if (Has(K::kSliceSizes)) {
      i_.set_attr<K::kSliceSizes>(List(p_.gather_slice_sizes()));
      p_.clear_gather_slice_sizes();
    }
    if (Has(K::kFftLength)) {
      i_.set_attr<K::kFftLength>(List(p_.fft_length()));
      p_.clear_fft_length();
    }
  }

  void ReadSimple() {
#define XC_READ(kind, field)                             \
  if (Has(K::kind)) {                                    \
    i_.set_attr<K::kind>(AttrType<K::kind>(p_.field())); \
    p_.clear_##field();                                  \
  }
    // For these, the default of the message is a value like any other.
    XC_READ(kIndex, tuple_index)
    XC_READ(kEpsilon, epsilon)
    XC_READ(kFeatureIndex, feature_index)
    XC_READ(kExponentBits, exponent_bits)
    XC_READ(kMantissaBits, mantissa_bits)
    XC_READ(kDelta, delta)
    XC_READ(kK, k)
    XC_READ(kLargest, largest)
    XC_READ(kCustomCallTarget, custom_call_target)
#undef XC_READ
#define XC_READ(kind, field)                                                                                     \
  if (Has(K::kind)) {                                                                                            \
    if (p_.field() != std::decay_t<decltype(p_.field())>()) i_.set_attr<K::kind>(AttrType<K::kind>(p_.field())); \
    p_.clear_##field();                                                                                          \
  }
    // For these it means that the attribute is not there.
    XC_READ(kIndicesAreSorted, indices_are_sorted)
    XC_READ(kUniqueIndices, unique_indices)
    XC_READ(kIsStable, is_stable)
    XC_READ(kIsReverse, is_reverse)
    XC_READ(kNumCarries, num_carries)
    XC_READ(kIsComposite, is_composite)
    XC_READ(kCustomCallHasSideEffect, custom_call_has_side_effect)
    XC_READ(kChannelId, channel_id)
    XC_READ(kUseGlobalDeviceIds, use_global_device_ids)
    XC_READ(kIsHostTransfer, is_host_transfer)
    XC_READ(kFeatureGroupCount, feature_group_count)
    XC_READ(kBatchGroupCount, batch_group_count)
    XC_READ(kConstrainLayout, constrain_layout)
    XC_READ(kInfeedConfig, infeed_config)
    XC_READ(kOutfeedConfig, outfeed_config)
    XC_READ(kAsyncExecutionThread, async_execution_thread)
#undef XC_READ
    if (Has(K::kCrossProgramPrefetchIndex) &&
        p_.optional_cross_program_prefetch_index_case() == Proto::kCrossProgramPrefetchIndex) {
      i_.set_attr<K::kCrossProgramPrefetchIndex>(p_.cross_program_prefetch_index());
      p_.clear_cross_program_prefetch_index();
    }
    if (Has(K::kParameterReplication) && p_.has_parameter_replication()) {
      const auto& leaves = p_.parameter_replication().replicated_at_leaf_buffers();
      if (!leaves.empty()) i_.set_attr<K::kParameterReplication>({leaves.begin(), leaves.end()});
      p_.clear_parameter_replication();
    }
    if (i_.opcode() == HloOpcode::kCholesky) {
      i_.set_attr<K::kLower>(p_.cholesky_options().lower());
      p_.clear_cholesky_options();
    } else if (Has(K::kLeftSide)) {
      i_.set_attr<K::kLeftSide>(p_.triangular_solve_options().left_side());
      i_.set_attr<K::kLower>(p_.triangular_solve_options().lower());
      i_.set_attr<K::kUnitDiagonal>(p_.triangular_solve_options().unit_diagonal());
    }
  }

  absl::Status ReadEnums() {
    if (Has(K::kDirection)) {
      bool found = false;
      for (int d = 0; d <= static_cast<int>(CompareDirection::kLt); ++d) {
        if (CompareDirectionName(static_cast<CompareDirection>(d)) != p_.comparison_direction()) continue;
        i_.set_attr<K::kDirection>(static_cast<CompareDirection>(d));
        found = true;
      }
      if (!found) {
        return absl::InvalidArgumentError(
            absl::StrCat("comparison direction '", p_.comparison_direction(), "' is not known"));
      }
      p_.clear_comparison_direction();
      static constexpr absl::string_view kTypes[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
      found = p_.comparison_type().empty();
      for (int t = 0; t < 4; ++t) {
        if (kTypes[t] != p_.comparison_type()) continue;
        i_.set_attr<K::kCompareType>(static_cast<CompareType>(t));
        found = true;
      }
      if (!found) {
        return absl::InvalidArgumentError(absl::StrCat("comparison type '", p_.comparison_type(), "' is not known"));
      }
      p_.clear_comparison_type();
    }
    if (Has(K::kFusionKind)) {
      bool found = false;
      for (int k = 0; k <= static_cast<int>(FusionKind::kCustom); ++k) {
        if (FusionKindName(static_cast<FusionKind>(k)) != p_.fusion_kind()) continue;
        i_.set_attr<K::kFusionKind>(static_cast<FusionKind>(k));
        found = true;
      }
      if (!found) return absl::InvalidArgumentError(absl::StrCat("fusion kind '", p_.fusion_kind(), "' is not known"));
      p_.clear_fusion_kind();
    }
#define XC_READ(kind, field, last, what)                                          \
  if (Has(K::kind)) {                                                             \
    const int value = p_.field();                                                 \
    if (value < 0 || value > static_cast<int>(last)) return Unknown(what, value); \
    i_.set_attr<K::kind>(static_cast<AttrType<K::kind>>(value));                  \
    p_.clear_##field();                                                           \
  }
    XC_READ(kFftType, fft_type, FftType::kIrfft, "FFT type")
    XC_READ(kDistribution, distribution, RandomDistribution::kNormal, "random distribution")
    XC_READ(kRngAlgorithm, rng_algorithm, RandomAlgorithm::kPhilox, "random algorithm")
#undef XC_READ
    if (Has(K::kTransposeA)) {
      const int value = p_.triangular_solve_options().transpose_a();
      if (value < 0 || value > static_cast<int>(TriangularTranspose::kAdjoint)) return Unknown("transpose", value);
      i_.set_attr<K::kTransposeA>(static_cast<TriangularTranspose>(value));
      p_.clear_triangular_solve_options();
    }
    if (Has(K::kIsAssociative)) {
      if (p_.is_associative() == pb::TRI_STATE_TRUE) i_.set_attr<K::kIsAssociative>("true");
      if (p_.is_associative() == pb::TRI_STATE_FALSE) i_.set_attr<K::kIsAssociative>("false");
      p_.clear_is_associative();
    }
    return absl::OkStatus();
  }

  absl::Status ReadPrecision() {
    if (!Has(K::kOperandPrecision) || !p_.has_precision_config()) return absl::OkStatus();
    StringList names;
    for (int value : p_.precision_config().operand_precision()) {
      if (!pb::PrecisionConfig::Precision_IsValid(value)) return Unknown("operand precision", value);
      names.push_back(absl::AsciiStrToLower(
          pb::PrecisionConfig::Precision_Name(static_cast<pb::PrecisionConfig::Precision>(value))));
    }
    if (!names.empty()) i_.set_attr<K::kOperandPrecision>(std::move(names));
    const int algorithm = p_.precision_config().algorithm();
    if (!pb::PrecisionConfig::Algorithm_IsValid(algorithm)) return Unknown("algorithm", algorithm);
    if (algorithm != pb::PrecisionConfig::ALG_UNSET && Has(K::kAlgorithm)) {
      i_.set_attr<K::kAlgorithm>(absl::AsciiStrToLower(
          pb::PrecisionConfig::Algorithm_Name(static_cast<pb::PrecisionConfig::Algorithm>(algorithm)).substr(4)));
    }
    p_.clear_precision_config();
    return absl::OkStatus();
  }

  void ReadDimensionNumbers() {
    if (Has(K::kWindow) && p_.has_window()) {
      i_.set_attr<K::kWindow>(WindowFromProto(p_.window()));
      p_.clear_window();
    }
    if (Has(K::kDimLabels) && p_.has_convolution_dimension_numbers()) {
      i_.set_attr<K::kDimLabels>(ConvDimsFromProto(p_.convolution_dimension_numbers()));
      p_.clear_convolution_dimension_numbers();
    }
    if (i_.opcode() == HloOpcode::kRaggedDot) {
      const pb::RaggedDotDimensionNumbers& d = p_.ragged_dot_dimension_numbers();
      i_.set_attr<K::kDotDims>(DotDimsFromProto(d.dot_dimension_numbers()));
      i_.set_attr<K::kRaggedDims>({List(d.lhs_ragged_dimensions()), List(d.rhs_group_dimensions())});
      p_.clear_ragged_dot_dimension_numbers();
    } else if (Has(K::kDotDims)) {
      i_.set_attr<K::kDotDims>(DotDimsFromProto(p_.dot_dimension_numbers()));
      p_.clear_dot_dimension_numbers();
    }
    if (Has(K::kSparsity) && p_.has_sparsity_config()) {
      i_.set_attr<K::kSparsity>(SparsityFromProto(p_.sparsity_config()));
      p_.clear_sparsity_config();
    }
    if (Has(K::kGatherDims) && p_.has_gather_dimension_numbers()) {
      i_.set_attr<K::kGatherDims>(GatherDimsFromProto(p_.gather_dimension_numbers()));
      p_.clear_gather_dimension_numbers();
    }
    if (Has(K::kScatterDims) && p_.has_scatter_dimension_numbers()) {
      i_.set_attr<K::kScatterDims>(ScatterDimsFromProto(p_.scatter_dimension_numbers()));
      p_.clear_scatter_dimension_numbers();
    }
  }

  absl::Status ReadCustomCall() {
    if (Has(K::kOutputToOperandAliasing)) {
      OutputOperandAliasing aliasing;
      for (const pb::OutputOperandAliasing& p : p_.output_operand_aliasing()) {
        aliasing.push_back({List(p.output_shape_index()), p.operand_index(), List(p.operand_shape_index())});
      }
      if (!aliasing.empty()) i_.set_attr<K::kOutputToOperandAliasing>(std::move(aliasing));
      p_.clear_output_operand_aliasing();
    }
    if (Has(K::kOutfeedShape) && p_.has_outfeed_shape()) {
      XC_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(p_.outfeed_shape()));
      i_.set_attr<K::kOutfeedShape>(std::move(shape));
      p_.clear_outfeed_shape();
    }
    if (i_.opcode() != HloOpcode::kCustomCall) return absl::OkStatus();
    if (p_.constrain_layout() || p_.operand_shapes_with_layout_size() > 0) {
      std::vector<Shape> shapes;
      for (const pb::ShapeProto& s : p_.operand_shapes_with_layout()) {
        XC_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(s));
        shapes.push_back(std::move(shape));
      }
      i_.set_attr<K::kOperandLayoutConstraints>(std::move(shapes));
      p_.clear_constrain_layout();
      p_.clear_operand_shapes_with_layout();
    }
#define XC_READ(kind, field, type)                                           \
  if (p_.field() != 0) {                                                     \
    if (!pb::type##_IsValid(p_.field())) return Unknown(#field, p_.field()); \
    i_.set_attr<K::kind>(pb::type##_Name(p_.field()));                       \
    p_.clear_##field();                                                      \
  }
    XC_READ(kCustomCallSchedule, custom_call_schedule, CustomCallSchedule)
    XC_READ(kApiVersion, custom_call_api_version, CustomCallApiVersion)
    XC_READ(kPaddingType, padding_type, PaddingType)
#undef XC_READ
    if (p_.has_literal()) {
      XC_ASSIGN_OR_RETURN(Literal literal, LiteralFromProto(p_.literal(), elided_bytes_));
      i_.set_attr<K::kLiteral>(std::make_shared<const Literal>(std::move(literal)));
      p_.clear_literal();
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<ReplicaGroups> MeshGroups(const pb::MeshAxesReplicaGroupListProto& proto) {
    DeviceMesh mesh;
    for (const auto& axis : proto.mesh().axes()) mesh.axes.push_back({axis.name(), axis.size()});
    mesh.device_ids = List(proto.mesh().device_ids());
    mesh.iota_reshape_dims = List(proto.mesh().iota_transform().reshape_dims());
    mesh.iota_transpose = List(proto.mesh().iota_transform().transpose_perm());
    std::vector<MeshAxisRef> axes;
    for (const auto& axis : proto.axes()) {
      MeshAxisRef& ref = axes.emplace_back();
      ref.axis = axis.mesh_axis_index();
      if (!axis.has_sub_axis_info()) continue;
      ref.pre_size = axis.sub_axis_info().pre_size();
      ref.size = axis.sub_axis_info().size();
    }
    return GroupsOfMesh(mesh, axes);
  }

  absl::Status ReadCollective() {
    if (Has(K::kSourceTargetPairs)) {
      std::vector<Int64List> pairs;
      for (const pb::SourceTarget& p : p_.source_target_pairs()) pairs.push_back({p.source(), p.target()});
      i_.set_attr<K::kSourceTargetPairs>(std::move(pairs));
      p_.clear_source_target_pairs();
    }
    if (!Has(K::kReplicaGroups)) return absl::OkStatus();
    ReplicaGroups groups;
    const auto list = [&](const auto& from) {
      for (const pb::ReplicaGroup& g : from) groups.groups.push_back(List(g.replica_ids()));
    };
    if (p_.has_iota_collective_device_list()) {
      const pb::IotaReplicaGroupListProto& iota = p_.iota_collective_device_list();
      groups.iota_dims = {iota.num_replica_groups(), iota.num_devices_per_group()};
      groups.iota_reshape_dims = List(iota.iota_reshape_dims());
      bool identity = true;
      for (int i = 0; i < iota.iota_transpose_perm_size(); ++i) {
        groups.iota_transpose.push_back(iota.iota_transpose_perm(i));
        identity = identity && iota.iota_transpose_perm(i) == i;
      }
      if (identity) groups.iota_transpose.clear();
      p_.clear_iota_collective_device_list();
    } else if (p_.has_mesh_axes_replica_group_list()) {
      XC_ASSIGN_OR_RETURN(groups, MeshGroups(p_.mesh_axes_replica_group_list()));
      p_.clear_mesh_axes_replica_group_list();
    } else if (p_.has_collective_device_list()) {
      list(p_.collective_device_list().replica_groups());
      p_.clear_collective_device_list();
    } else if (p_.replica_groups_size() > 0) {
      list(p_.replica_groups());
    } else {
      return absl::OkStatus();
    }
    p_.clear_replica_groups();
    i_.set_attr<K::kReplicaGroups>(std::move(groups));
    return absl::OkStatus();
  }

  absl::Status ReadCommon() {
    if (Has(K::kDomain) && (p_.has_domain_entry_sharding() || p_.has_domain_exit_sharding())) {
      DomainAttr domain;
      domain.kind = "sharding";
      XC_ASSIGN_OR_RETURN(domain.exit, ShardingFromProto(p_.domain_entry_sharding()));
      XC_ASSIGN_OR_RETURN(domain.entry, ShardingFromProto(p_.domain_exit_sharding()));
      i_.set_attr<K::kDomain>(std::move(domain));
      p_.clear_domain_entry_sharding();
      p_.clear_domain_exit_sharding();
    }
    if (p_.has_metadata()) {
      i_.set_attr<K::kMetadata>(MetadataFromProto(std::move(*p_.mutable_metadata())));
      p_.clear_metadata();
    }
    if (p_.has_sharding()) {
      absl::StatusOr<Sharding> sharding = ShardingFromProto(p_.sharding());
      if (sharding.ok()) {
        i_.set_attr<K::kSharding>(*std::move(sharding));
        p_.clear_sharding();
      } else if (!absl::IsUnimplemented(sharding.status())) {
        return sharding.status();
      }
    }
    if (!p_.backend_config().empty()) {
      BackendConfig config{p_.backend_config(), IsBraced(p_.backend_config())};
      i_.set_attr<K::kBackendConfig>(std::move(config));
    }
    p_.clear_backend_config();
    if (p_.has_frontend_attributes()) {
      i_.set_attr<K::kFrontendAttributes>(FrontendAttributesFromProto(p_.frontend_attributes()));
      p_.clear_frontend_attributes();
    }
    if (p_.statistics_viz().statistics_size() > 0) {
      i_.set_attr<K::kStatistics>(StatisticsFromProto(p_.statistics_viz()));
    }
    p_.clear_statistics_viz();
    if (p_.has_original_value()) {
      i_.set_attr<K::kOrigin>(OriginFromProto(p_.original_value(), i_.shape()));
      p_.clear_original_value();
    }
    if (p_.has_result_accuracy()) {
      i_.set_attr<K::kResultAccuracy>(ResultAccuracyFromProto(p_.result_accuracy()));
      p_.clear_result_accuracy();
    }
    return absl::OkStatus();
  }

  Proto& p_;
  HloInstruction& i_;
  int64_t* elided_bytes_;
};

}  // namespace

absl::Status AttributesFromProto(pb::HloInstructionProto* proto, HloInstruction* instruction, int64_t* elided_bytes) {
  return Reader(proto, instruction, elided_bytes).Read();
}

}  // namespace xc
