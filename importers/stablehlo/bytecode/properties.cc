// Which attributes the operations have as properties: MLIR writes these by position, in the order of their names.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "importers/stablehlo/bytecode/reader.h"

namespace xc::stablehlo {
namespace {

struct Row {
  absl::string_view op;
  absl::string_view names;
};

// Older versions of an operation, which have fewer, stand behind `|`.
constexpr Row kStablehlo[] = {
    {"builtin.module", "sym_name? sym_visibility?"},
    {"func.call", "arg_attrs? callee no_inline? res_attrs?|callee no_inline?|callee"},
    {"func.func",
     "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?|"
     "arg_attrs? function_type res_attrs? sym_name sym_visibility?"},
    {"sdy.manual_computation", "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "mesh sym_name"},
    {"sdy.propagation_barrier", "allowed_direction"},
    {"sdy.reshard", "sharding"},
    {"sdy.sharding_constraint", "sharding"},
    {"sdy.sharding_group", "group_id"},
    {"chlo.broadcast_add", "broadcast_dimensions?"},
    {"chlo.broadcast_and", "broadcast_dimensions?"},
    {"chlo.broadcast_atan2", "broadcast_dimensions?"},
    {"chlo.broadcast_compare", "broadcast_dimensions? compare_type? comparison_direction"},
    {"chlo.broadcast_complex", "broadcast_dimensions?"},
    {"chlo.broadcast_divide", "broadcast_dimensions?"},
    {"chlo.broadcast_maximum", "broadcast_dimensions?"},
    {"chlo.broadcast_minimum", "broadcast_dimensions?"},
    {"chlo.broadcast_multiply", "broadcast_dimensions?"},
    {"chlo.broadcast_or", "broadcast_dimensions?"},
    {"chlo.broadcast_power", "broadcast_dimensions?"},
    {"chlo.broadcast_remainder", "broadcast_dimensions?"},
    {"chlo.broadcast_shift_left", "broadcast_dimensions?"},
    {"chlo.broadcast_shift_right_arithmetic", "broadcast_dimensions?"},
    {"chlo.broadcast_shift_right_logical", "broadcast_dimensions?"},
    {"chlo.broadcast_subtract", "broadcast_dimensions?"},
    {"chlo.broadcast_xor", "broadcast_dimensions?"},
    {"chlo.constant", "value"},
    {"chlo.constant_like", "value"},
    {"chlo.ragged_dot", "precision_config? ragged_dot_dimension_numbers"},
    {"chlo.top_k", "k"},
    {"stablehlo.all_gather", "all_gather_dim channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_reduce", "channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_to_all", "channel_handle? concat_dimension replica_groups split_count split_dimension"},
    {"stablehlo.batch_norm_grad", "epsilon feature_index"},
    {"stablehlo.batch_norm_inference", "epsilon feature_index"},
    {"stablehlo.batch_norm_training", "epsilon feature_index"},
    {"stablehlo.broadcast", "broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "broadcast_dimensions"},
    {"stablehlo.cbrt", "result_accuracy?"},
    {"stablehlo.cholesky", "lower?"},
    {"stablehlo.collective_broadcast", "channel_handle? replica_groups"},
    {"stablehlo.collective_permute", "channel_handle? source_target_pairs"},
    {"stablehlo.compare", "compare_type? comparison_direction"},
    {"stablehlo.composite", "composite_attributes? decomposition name version?"},
    {"stablehlo.concatenate", "dimension"},
    {"stablehlo.constant", "value"},
    {"stablehlo.convolution",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? precision_config? rhs_dilation? "
     "window_reversal? window_strides?"},
    {"stablehlo.cosine", "result_accuracy?"},
    {"stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations? has_side_effect? operand_layouts? "
     "output_operand_aliases? result_layouts?"},
    {"stablehlo.dot", "precision_config?"},
    {"stablehlo.dot_general",
     "algorithm? dot_dimension_numbers precision_config?|dot_dimension_numbers precision_config?"},
    {"stablehlo.dynamic_broadcast_in_dim",
     "broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?"},
    {"stablehlo.dynamic_conv",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? rhs_dilation? "
     "window_reversal? window_strides?"},
    {"stablehlo.dynamic_gather", "dimension_numbers indices_are_sorted?"},
    {"stablehlo.dynamic_iota", "iota_dimension"},
    {"stablehlo.dynamic_slice", "slice_sizes"},
    {"stablehlo.exponential", "result_accuracy?"},
    {"stablehlo.exponential_minus_one", "result_accuracy?"},
    {"stablehlo.fft", "fft_length fft_type"},
    {"stablehlo.gather", "dimension_numbers indices_are_sorted? slice_sizes"},
    {"stablehlo.get_dimension_size", "dimension"},
    {"stablehlo.get_tuple_element", "index"},
    {"stablehlo.iota", "iota_dimension"},
    {"stablehlo.log", "result_accuracy?"},
    {"stablehlo.log_plus_one", "result_accuracy?"},
    {"stablehlo.logistic", "result_accuracy?"},
    {"stablehlo.map", "dimensions"},
    {"stablehlo.pad", "edge_padding_high edge_padding_low interior_padding"},
    {"stablehlo.reduce", "dimensions"},
    {"stablehlo.reduce_precision", "exponent_bits mantissa_bits"},
    {"stablehlo.reduce_scatter", "channel_handle? replica_groups scatter_dimension use_global_device_ids?"},
    {"stablehlo.reduce_window", "base_dilations? padding? window_dilations? window_dimensions window_strides?"},
    {"stablehlo.reverse", "dimensions"},
    {"stablehlo.rng", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "rng_algorithm"},
    {"stablehlo.rsqrt", "result_accuracy?"},
    {"stablehlo.scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"},
    {"stablehlo.select_and_scatter", "padding? window_dimensions? window_strides?"},
    {"stablehlo.set_dimension_size", "dimension"},
    {"stablehlo.sine", "result_accuracy?"},
    {"stablehlo.slice", "limit_indices start_indices strides"},
    {"stablehlo.sort", "dimension? is_stable?"},
    {"stablehlo.sqrt", "result_accuracy?"},
    {"stablehlo.tan", "result_accuracy?"},
    {"stablehlo.tanh", "result_accuracy?"},
    {"stablehlo.transpose", "permutation"},
    {"stablehlo.triangular_solve", "left_side lower transpose_a unit_diagonal"},
};

// VHLO's operations, without their version, where they differ: structures are laid out flat, and nothing is optional.
constexpr Row kVhlo[] = {
    {"func.call", "callee"},
    {"func.func", "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"stablehlo.all_gather",
     "all_gather_dim channel_id channel_type replica_groups use_global_device_ids|"
     "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"stablehlo.all_reduce",
     "channel_id channel_type replica_groups use_global_device_ids|"
     "channel_id replica_groups use_global_device_ids"},
    {"stablehlo.all_to_all",
     "channel_id channel_type concat_dimension replica_groups split_count split_dimension|"
     "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"stablehlo.collective_broadcast",
     "channel_id channel_type replica_groups|"
     "channel_id replica_groups"},
    {"stablehlo.collective_permute",
     "channel_id channel_type source_target_pairs|"
     "channel_id source_target_pairs"},
    {"stablehlo.convolution",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"stablehlo.dot_general",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config rhs_batching_dimensions "
     "rhs_component_count rhs_contracting_dimensions rhs_precision_type|"
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
     "rhs_contracting_dimensions"},
    {"stablehlo.dynamic_conv",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions precision_config rhs_dilation "
     "window_reversal window_strides|"
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"stablehlo.dynamic_gather",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims start_index_map "
     "start_indices_batching_dims|"
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"stablehlo.gather",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes "
     "start_index_map start_indices_batching_dims|"
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map"},
    {"stablehlo.reduce_scatter",
     "channel_id channel_type replica_groups scatter_dimension use_global_device_ids|"
     "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"stablehlo.scatter",
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims scatter_dims_to_operand_dims "
     "scatter_indices_batching_dims unique_indices update_window_dims|"
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices "
     "update_window_dims"},
};

using Table = absl::flat_hash_map<absl::string_view, absl::string_view>;

template <size_t n>
const Table* MakeTable(const Row (&rows)[n]) {
  auto* table = new Table();
  for (const Row& row : rows) table->emplace(row.op, row.names);
  return table;
}

}  // namespace

bool PropertyNames(absl::string_view op, bool is_vhlo, uint64_t count, std::vector<absl::string_view>* names) {
  static const Table* const kOwn = MakeTable(kStablehlo);
  static const Table* const kFlat = MakeTable(kVhlo);
  absl::string_view versions;
  const auto flat = kFlat->find(op);
  if (is_vhlo && flat != kFlat->end()) {
    versions = flat->second;
  } else if (const auto own = kOwn->find(op); own != kOwn->end()) {
    versions = own->second;
  }
  for (absl::string_view version : absl::StrSplit(versions, '|')) {
    *names = absl::StrSplit(version, ' ', absl::SkipEmpty());
    if (names->size() == count) break;
  }
  if (is_vhlo) {
    for (absl::string_view& name : *names) {
      if (name.back() == '?') name.remove_suffix(1);
    }
  }
  return names->size() == count;
}

}  // namespace xc::stablehlo
