// One attribute as text: its name (or names, where its parts have their own) and its value.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/text/lexer.h"
#include "hlo/text/metadata_payload.h"
#include "hlo/text/print_impl.h"

namespace xc {
namespace {

void Begin(absl::string_view name, std::string* out) { absl::StrAppend(out, ", ", name, "="); }

void AppendBrackets(const Int64List& ints, std::string* out) {
  absl::StrAppend(out, "[", absl::StrJoin(ints, ","), "]");
}

// Text of values, by type.

void Append(bool v, std::string* out) { out->append(v ? "true" : "false"); }
void Append(int64_t v, std::string* out) { absl::StrAppend(out, v); }
void Append(float v, std::string* out) { out->append(PrintFloat(v)); }
void Append(const Int64List& v, std::string* out) { AppendInts(v, out); }
void Append(const StringList& v, std::string* out) { absl::StrAppend(out, "{", absl::StrJoin(v, ","), "}"); }
void Append(const Shape& v, std::string* out) { out->append(v.ToString()); }

void Append(const std::vector<bool>& v, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < v.size(); ++i) absl::StrAppend(out, i > 0 ? "," : "", v[i] ? "true" : "false");
  out->push_back('}');
}

void Append(const std::vector<Int64List>& v, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < v.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendInts(v[i], out);
  }
  out->push_back('}');
}

void Append(const std::vector<Shape>& v, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < v.size(); ++i) absl::StrAppend(out, i > 0 ? ", " : "", v[i].ToString());
  out->push_back('}');
}

template <typename F>
void AppendDims(const WindowAttr& w, absl::string_view name, std::string* out, const F& value) {
  if (out->back() != '{') out->push_back(' ');
  absl::StrAppend(out, name, "=");
  for (size_t i = 0; i < w.dims.size(); ++i) {
    if (i > 0) out->push_back('x');
    value(w.dims[i]);
  }
}

void Append(const WindowAttr& w, std::string* out) {
  const auto any = [&](auto test) { return std::any_of(w.dims.begin(), w.dims.end(), test); };
  const auto number = [&](int64_t WindowDim::*member) {
    return [out, member](const WindowDim& d) { absl::StrAppend(out, d.*member); };
  };
  out->push_back('{');
  if (!w.dims.empty()) AppendDims(w, "size", out, number(&WindowDim::size));
  if (any([](const WindowDim& d) { return d.stride != 1; })) AppendDims(w, "stride", out, number(&WindowDim::stride));
  if (any([](const WindowDim& d) { return d.padding_low != 0 || d.padding_high != 0; })) {
    AppendDims(w, "pad", out, [out](const WindowDim& d) { absl::StrAppend(out, d.padding_low, "_", d.padding_high); });
  }
  if (any([](const WindowDim& d) { return d.base_dilation != 1; })) {
    AppendDims(w, "lhs_dilate", out, number(&WindowDim::base_dilation));
  }
  if (any([](const WindowDim& d) { return d.window_dilation != 1; })) {
    AppendDims(w, "rhs_dilate", out, number(&WindowDim::window_dilation));
  }
  if (any([](const WindowDim& d) { return d.reversal; })) {
    AppendDims(w, "rhs_reversal", out, [out](const WindowDim& d) { out->push_back(d.reversal ? '1' : '0'); });
  }
  out->push_back('}');
}

void Append(const ConvDims& v, std::string* out) {
  const auto part = [out](int64_t first, char first_label, int64_t second, char second_label,
                          const Int64List& spatial) {
    std::string labels(spatial.size() + 2, '?');
    const auto put = [&](int64_t at, char label) {
      if (at >= 0 && at < static_cast<int64_t>(labels.size())) labels[at] = label;
    };
    put(first, first_label);
    put(second, second_label);
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
    out->append(labels);
  };
  part(v.input_batch, 'b', v.input_feature, 'f', v.input_spatial);
  out->push_back('_');
  part(v.kernel_input_feature, 'i', v.kernel_output_feature, 'o', v.kernel_spatial);
  out->append("->");
  part(v.output_batch, 'b', v.output_feature, 'f', v.output_spatial);
}

void Append(const SliceAttr& v, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < v.starts.size(); ++i) {
    absl::StrAppend(out, i > 0 ? ", " : "", "[", v.starts[i], ":", v.limits[i]);
    if (v.strides[i] != 1) absl::StrAppend(out, ":", v.strides[i]);
    out->push_back(']');
  }
  out->push_back('}');
}

void Append(const PaddingAttr& v, std::string* out) {
  for (size_t i = 0; i < v.dims.size(); ++i) {
    const PaddingDim& d = v.dims[i];
    absl::StrAppend(out, i > 0 ? "x" : "", d.low, "_", d.high);
    if (d.interior != 0) absl::StrAppend(out, "_", d.interior);
  }
}

void Append(const OutputOperandAliasing& v, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < v.size(); ++i) {
    if (i > 0) out->append(", ");
    AppendInts(v[i].output_index, out);
    absl::StrAppend(out, ": (", v[i].operand, ", ");
    AppendInts(v[i].operand_index, out);
    out->push_back(')');
  }
  out->push_back('}');
}

void AppendIotaTail(const Int64List& reshape, const Int64List& transpose, std::string* out) {
  out->append("<=");
  AppendBrackets(reshape, out);
  if (!transpose.empty()) absl::StrAppend(out, "T(", absl::StrJoin(transpose, ","), ")");
}

void Append(const ReplicaGroups& v, std::string* out) {
  if (v.iota_dims.empty()) return Append(v.groups, out);
  AppendBrackets(v.iota_dims, out);
  AppendIotaTail(v.iota_reshape_dims, v.iota_transpose, out);
}

void Append(const Metadata& m, std::string* out) {
  out->push_back('{');
  const auto name = [out](absl::string_view n) {
    if (out->back() != '{') out->push_back(' ');
    absl::StrAppend(out, n, "=");
  };
  const auto text = [&](absl::string_view n, const std::string& v) {
    if (v.empty()) return;
    name(n);
    out->append(Quote(v));
  };
  const auto number = [&](absl::string_view n, int64_t v) {
    if (v == 0) return;
    name(n);
    absl::StrAppend(out, v);
  };
  text("op_type", m.op_type);
  text("op_name", m.op_name);
  text("source_file", m.source_file);
  number("source_line", m.source_line);
  number("source_end_line", m.source_end_line);
  number("source_column", m.source_column);
  number("source_end_column", m.source_end_column);
  number("stack_frame_id", m.stack_frame_id);
  if (!m.profile_type.empty()) {
    name("profile_type");
    AppendInts(m.profile_type, out);
  }
  text("deduplicated_name", m.deduplicated_name);
  if (m.preserve_layout) {
    name("preserve_layout");
    out->append("true");
  }
  text("scheduling_name", m.scheduling_name);
  number("size_of_generated_code_in_bytes", m.size_of_generated_code_in_bytes);
  number("size_of_memory_working_set_in_bytes", m.size_of_memory_working_set_in_bytes);
  if (const auto payload = FindMetadataPayload(m.extra_proto)) {
    name("metadata_payload");
    out->append(Quote(*payload));
  }
  out->push_back('}');
}

absl::string_view ShardingTypeName(Sharding::Type type) {
  static constexpr absl::string_view kNames[] = {"replicated", "maximal", "tuple",    "other",
                                                 "manual",     "unknown", "unreduced"};
  return kNames[static_cast<int>(type)];
}

void Append(const Sharding& s, std::string* out) {
  if (!s.named_text.empty()) {
    out->append(s.named_text);
    return;
  }
  out->push_back('{');
  if (s.type == Sharding::Type::kTuple) {
    for (size_t i = 0; i < s.tuple.size(); ++i) {
      if (i > 0) out->append(", ");
      if (i > 0 && i % 5 == 0) absl::StrAppend(out, "/*index=", i, "*/");
      Append(s.tuple[i], out);
    }
    out->push_back('}');
    return;
  }
  if (s.type == Sharding::Type::kOther) {
    out->append("devices=");
    AppendBrackets(s.tile_dims, out);
    if (!s.iota_reshape_dims.empty()) {
      AppendIotaTail(s.iota_reshape_dims, s.iota_transpose, out);
    } else {
      out->append(absl::StrJoin(s.devices, ","));
    }
  } else {
    absl::StrAppend(out, ShardingTypeName(s.type));
    if (s.type == Sharding::Type::kMaximal) absl::StrAppend(out, " device=", s.devices.empty() ? 0 : s.devices[0]);
  }
  if (s.replicate_on_last_tile_dim) out->append(" last_tile_dim_replicate");
  if (!s.last_tile_dims.empty()) {
    out->append(" last_tile_dims={");
    for (size_t i = 0; i < s.last_tile_dims.size(); ++i) {
      absl::StrAppend(out, i > 0 ? ", " : "", ShardingTypeName(s.last_tile_dims[i]));
    }
    out->push_back('}');
  }
  if (s.is_shard_group) absl::StrAppend(out, s.shard_like ? " shard_like " : " shard_as ", s.shard_group_id);
  if (s.metadata.size() == 1) {
    out->append(" metadata=");
    Append(s.metadata[0], out);
  } else if (!s.metadata.empty()) {
    out->append(" metadata={");
    for (size_t i = 0; i < s.metadata.size(); ++i) {
      if (i > 0) out->append(", ");
      Append(s.metadata[i], out);
    }
    out->push_back('}');
  }
  out->push_back('}');
}

void Append(const DomainAttr& v, std::string* out) {
  absl::StrAppend(out, "{kind=", Quote(v.kind), ", entry=");
  Append(v.entry, out);
  out->append(", exit=");
  Append(v.exit, out);
  out->push_back('}');
}

void Append(const BackendConfig& v, std::string* out) { out->append(v.braces ? v.text : Quote(v.text)); }

void Append(const Statistics& v, std::string* out) {
  absl::StrAppend(out, "{visualizing_index=", v.visualizing_index);
  for (const auto& [name, value] : v.values) absl::StrAppend(out, ",", name, "=", PrintFloat(value));
  out->push_back('}');
}

void Append(const std::shared_ptr<const Literal>& v, std::string* out) {
  if (v->IsTuple()) {
    out->append("( ");
    for (size_t i = 0; i < v->tuple().size(); ++i) {
      if (i > 0) out->append(", ");
      Append(std::make_shared<const Literal>(v->tuple()[i].Clone()), out);
    }
    out->append(" )");
    return;
  }
  absl::StrAppend(out, v->shape().ToString(), " ");
  AppendLiteral(*v, -1, out);
}

void Append(CompareDirection v, std::string* out) { absl::StrAppend(out, CompareDirectionName(v)); }
void Append(CompareType v, std::string* out) {
  static constexpr absl::string_view kNames[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  absl::StrAppend(out, kNames[static_cast<int>(v)]);
}
void Append(FusionKind v, std::string* out) { absl::StrAppend(out, FusionKindName(v)); }
void Append(FftType v, std::string* out) {
  static constexpr absl::string_view kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  absl::StrAppend(out, kNames[static_cast<int>(v)]);
}
void Append(RandomDistribution v, std::string* out) {
  static constexpr absl::string_view kNames[] = {"rng_invalid", "rng_uniform", "rng_normal"};
  absl::StrAppend(out, kNames[static_cast<int>(v)]);
}
void Append(RandomAlgorithm v, std::string* out) {
  static constexpr absl::string_view kNames[] = {"rng_default", "rng_three_fry", "rng_philox"};
  absl::StrAppend(out, kNames[static_cast<int>(v)]);
}
void Append(TriangularTranspose v, std::string* out) {
  static constexpr absl::string_view kNames[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  absl::StrAppend(out, kNames[static_cast<int>(v)]);
}
void Append(const FrontendAttributes& v, std::string* out) { AppendFrontendAttributes(v, out); }

// Strings that stand without quotes.
bool IsBareString(AttrKind kind) {
  switch (kind) {
    case AttrKind::kSparsity:
    case AttrKind::kAlgorithm:
    case AttrKind::kIsAssociative:
    case AttrKind::kCustomCallSchedule:
    case AttrKind::kApiVersion:
    case AttrKind::kPaddingType:
    case AttrKind::kOrigin:
    case AttrKind::kResultAccuracy:
      return true;
    default:
      return false;
  }
}

void AppendIf(absl::string_view name, const Int64List& ints, std::string* out) {
  if (ints.empty()) return;
  Begin(name, out);
  AppendInts(ints, out);
}
void AppendAlways(absl::string_view name, const Int64List& ints, std::string* out) {
  Begin(name, out);
  AppendInts(ints, out);
}

// Attributes whose text is spread over several names.
void AppendSpread(const DotDims& v, std::string* out) {
  AppendIf("lhs_batch_dims", v.lhs_batch, out);
  AppendAlways("lhs_contracting_dims", v.lhs_contracting, out);
  AppendIf("rhs_batch_dims", v.rhs_batch, out);
  AppendAlways("rhs_contracting_dims", v.rhs_contracting, out);
}
void AppendSpread(const RaggedDims& v, std::string* out) {
  AppendAlways("lhs_ragged_dims", v.lhs_ragged, out);
  AppendIf("rhs_group_dims", v.rhs_group, out);
}
void AppendSpread(const GatherDims& v, std::string* out) {
  AppendAlways("offset_dims", v.offset_dims, out);
  AppendAlways("collapsed_slice_dims", v.collapsed_slice_dims, out);
  AppendAlways("start_index_map", v.start_index_map, out);
  AppendIf("operand_batching_dims", v.operand_batching_dims, out);
  AppendIf("start_indices_batching_dims", v.start_indices_batching_dims, out);
  absl::StrAppend(out, ", index_vector_dim=", v.index_vector_dim);
}
void AppendSpread(const ScatterDims& v, std::string* out) {
  AppendAlways("update_window_dims", v.update_window_dims, out);
  AppendAlways("inserted_window_dims", v.inserted_window_dims, out);
  AppendAlways("scatter_dims_to_operand_dims", v.scatter_dims_to_operand_dims, out);
  AppendIf("input_batching_dims", v.input_batching_dims, out);
  AppendIf("scatter_indices_batching_dims", v.scatter_indices_batching_dims, out);
  absl::StrAppend(out, ", index_vector_dim=", v.index_vector_dim);
}

absl::string_view TextName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kSliceSizesList:
      return "slice_sizes";
    case AttrKind::kRngAlgorithm:
      return "algorithm";
    case AttrKind::kCustomCallSchedule:
      return "schedule";
    default:
      return AttrName(kind);
  }
}

}  // namespace

void AppendAttribute(AttrKind kind, const AttrValue& value, std::string* out) {
  std::visit(
      [&]<typename T>(const T& v) {
        if constexpr (std::is_same_v<T, DotDims> || std::is_same_v<T, RaggedDims> || std::is_same_v<T, GatherDims> ||
                      std::is_same_v<T, ScatterDims>) {
          AppendSpread(v, out);
        } else {
          Begin(TextName(kind), out);
          if constexpr (std::is_same_v<T, std::string>) {
            out->append(IsBareString(kind) ? v : Quote(v));
          } else {
            Append(v, out);
          }
        }
      },
      value);
}

void AppendInts(const Int64List& ints, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < ints.size(); ++i) {
    if (i > 0) out->push_back(',');
    absl::StrAppend(out, ints[i]);
  }
  out->push_back('}');
}

// A value that is a braced text stands without quotes.
void AppendFrontendAttributes(const FrontendAttributes& attributes, std::string* out) {
  out->push_back('{');
  bool first = true;
  for (const auto& [key, value] : attributes) {
    const bool braced = value.size() >= 2 && value.front() == '{' && value.back() == '}';
    absl::StrAppend(out, first ? "" : ",", key, "=", braced ? value : Quote(value));
    first = false;
  }
  out->push_back('}');
}

std::string PrintSharding(const Sharding& sharding) {
  std::string out;
  Append(sharding, &out);
  return out;
}

}  // namespace xc
