#include "hlo/wire/carried_proto.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hlo/base/status.h"
#include "hlo/ops/dot_sparsity.h"
#include "hlo/text/lexer.h"
#include "hlo/text/printer.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

constexpr int kMaxShardingNesting = 100;

template <typename Message>
google::protobuf::UnknownFieldSet* UnknownFields(Message* message) {
  return message->GetReflection()->MutableUnknownFields(message);
}

bool IsIdentity(const Int64List& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

// The private field of OpMetadata says that the layout is to be preserved.
void MetadataToProto(const Metadata& m, pb::OpMetadata* proto) {
  if (!m.extra_proto.empty()) proto->MergeFromString(m.extra_proto);
  proto->set_op_type(m.op_type);
  proto->set_op_name(m.op_name);
  proto->set_source_file(m.source_file);
  proto->set_source_line(static_cast<int32_t>(m.source_line));
  proto->set_source_end_line(static_cast<int32_t>(m.source_end_line));
  proto->set_source_column(static_cast<int32_t>(m.source_column));
  proto->set_source_end_column(static_cast<int32_t>(m.source_end_column));
  proto->set_stack_frame_id(static_cast<int32_t>(m.stack_frame_id));
  for (int64_t type : m.profile_type) proto->add_profile_type(static_cast<pb::ProfileType>(type));
  proto->set_deduplicated_name(m.deduplicated_name);
  proto->set_scheduling_name(m.scheduling_name);
  proto->set_size_of_generated_code_in_bytes(m.size_of_generated_code_in_bytes);
  proto->set_size_of_memory_working_set_in_bytes(m.size_of_memory_working_set_in_bytes);
  if (m.preserve_layout) UnknownFields(proto)->AddVarint(kPrivateField, 1);
}

Metadata MetadataFromProto(pb::OpMetadata proto) {
  Metadata m;
  m.op_type = proto.op_type();
  m.op_name = proto.op_name();
  m.source_file = proto.source_file();
  m.source_line = proto.source_line();
  m.source_end_line = proto.source_end_line();
  m.source_column = proto.source_column();
  m.source_end_column = proto.source_end_column();
  m.stack_frame_id = proto.stack_frame_id();
  m.profile_type.assign(proto.profile_type().begin(), proto.profile_type().end());
  m.deduplicated_name = proto.deduplicated_name();
  m.scheduling_name = proto.scheduling_name();
  m.size_of_generated_code_in_bytes = proto.size_of_generated_code_in_bytes();
  m.size_of_memory_working_set_in_bytes = proto.size_of_memory_working_set_in_bytes();
  google::protobuf::UnknownFieldSet* unknown = UnknownFields(&proto);
  for (int i = 0; i < unknown->field_count(); ++i) {
    if (unknown->field(i).number() == kPrivateField) m.preserve_layout = true;
  }
  unknown->DeleteByNumber(kPrivateField);
  proto.clear_op_type();
  proto.clear_op_name();
  proto.clear_source_file();
  proto.clear_source_line();
  proto.clear_source_end_line();
  proto.clear_source_column();
  proto.clear_source_end_column();
  proto.clear_stack_frame_id();
  proto.clear_profile_type();
  proto.clear_deduplicated_name();
  proto.clear_scheduling_name();
  proto.clear_size_of_generated_code_in_bytes();
  proto.clear_size_of_memory_working_set_in_bytes();
  m.extra_proto = proto.SerializeAsString();
  return m;
}

// The private field of OpSharding holds the text of forms that are kept as written.
void ShardingToProto(const Sharding& s, pb::OpSharding* proto) {
  if (!s.named_text.empty()) {
    UnknownFields(proto)->AddLengthDelimited(kPrivateField, s.named_text);
    return;
  }
  proto->set_type(static_cast<pb::OpSharding::Type>(s.type));
  for (int64_t d : s.tile_dims) proto->add_tile_assignment_dimensions(d);
  for (int64_t d : s.devices) proto->add_tile_assignment_devices(d);
  for (int64_t d : s.iota_reshape_dims) proto->add_iota_reshape_dims(d);
  for (size_t i = 0; i < s.iota_reshape_dims.size(); ++i) {
    proto->add_iota_transpose_perm(
        static_cast<int32_t>(i < s.iota_transpose.size() ? s.iota_transpose[i] : static_cast<int64_t>(i)));
  }
  proto->set_replicate_on_last_tile_dim(s.replicate_on_last_tile_dim);
  for (Sharding::Type type : s.last_tile_dims) proto->add_last_tile_dims(static_cast<pb::OpSharding::Type>(type));
  proto->set_is_shard_group(s.is_shard_group);
  proto->set_shard_group_id(s.shard_group_id);
  if (s.shard_like) proto->set_shard_group_type(pb::OpSharding::LIKE);
  for (const Sharding& element : s.tuple) ShardingToProto(element, proto->add_tuple_shardings());
  for (const Metadata& m : s.metadata) MetadataToProto(m, proto->add_metadata());
}

namespace {

absl::StatusOr<Sharding> ShardingFromProtoNested(const pb::OpSharding& proto, int depth) {
  if (depth > kMaxShardingNesting) return absl::InvalidArgumentError("shardings are nested too deep");
  Sharding s;
  const google::protobuf::UnknownFieldSet& unknown = proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == kPrivateField &&
        unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      s.type = Sharding::Type::kOther;
      s.named_text = unknown.field(i).length_delimited();
      return s;
    }
  }
  const auto type = [](int value) -> absl::StatusOr<Sharding::Type> {
    if (value < 0 || value > static_cast<int>(Sharding::Type::kUnreduced)) {
      return absl::InvalidArgumentError(absl::StrCat("sharding type ", value, " is not known"));
    }
    return static_cast<Sharding::Type>(value);
  };
  if (proto.has_named_sharding()) return absl::UnimplementedError("named shardings have no text here");
  XC_ASSIGN_OR_RETURN(s.type, type(proto.type()));
  s.tile_dims.assign(proto.tile_assignment_dimensions().begin(), proto.tile_assignment_dimensions().end());
  s.devices.assign(proto.tile_assignment_devices().begin(), proto.tile_assignment_devices().end());
  s.iota_reshape_dims.assign(proto.iota_reshape_dims().begin(), proto.iota_reshape_dims().end());
  s.iota_transpose.assign(proto.iota_transpose_perm().begin(), proto.iota_transpose_perm().end());
  if (IsIdentity(s.iota_transpose)) s.iota_transpose.clear();
  s.replicate_on_last_tile_dim = proto.replicate_on_last_tile_dim();
  for (int value : proto.last_tile_dims()) {
    XC_ASSIGN_OR_RETURN(const Sharding::Type t, type(value));
    s.last_tile_dims.push_back(t);
  }
  s.is_shard_group = proto.is_shard_group();
  s.shard_group_id = proto.shard_group_id();
  s.shard_like = proto.shard_group_type() == pb::OpSharding::LIKE;
  for (const pb::OpSharding& element : proto.tuple_shardings()) {
    XC_ASSIGN_OR_RETURN(Sharding e, ShardingFromProtoNested(element, depth + 1));
    s.tuple.push_back(std::move(e));
  }
  for (const pb::OpMetadata& m : proto.metadata()) s.metadata.push_back(MetadataFromProto(m));
  return s;
}

}  // namespace

absl::StatusOr<Sharding> ShardingFromProto(const pb::OpSharding& proto) { return ShardingFromProtoNested(proto, 0); }

void FrontendAttributesToProto(const FrontendAttributes& attributes, pb::FrontendAttributes* proto) {
  for (const auto& [key, value] : attributes) (*proto->mutable_map())[key] = value;
}

FrontendAttributes FrontendAttributesFromProto(const pb::FrontendAttributes& proto) {
  FrontendAttributes attributes(proto.map().begin(), proto.map().end());
  std::sort(attributes.begin(), attributes.end());
  return attributes;
}

void StatisticsToProto(const Statistics& statistics, pb::StatisticsViz* proto) {
  proto->set_stat_index_to_visualize(statistics.visualizing_index);
  for (const auto& [name, value] : statistics.values) {
    pb::Statistic* s = proto->add_statistics();
    s->set_stat_name(name);
    s->set_stat_val(value);
  }
}

Statistics StatisticsFromProto(const pb::StatisticsViz& proto) {
  Statistics statistics;
  statistics.visualizing_index = proto.stat_index_to_visualize();
  for (const pb::Statistic& s : proto.statistics()) statistics.values.emplace_back(s.stat_name(), s.stat_val());
  return statistics;
}

namespace {

absl::Status BadText(absl::string_view what, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read the ", what, " '", text, "'"));
}

// Reads the tree of an origin: ( node, … ) or { "name" {index} } or {}.
bool ReadOrigin(Lexer* lex, std::vector<int64_t>* path, pb::OriginalValueProto* proto) {
  const auto accept = [&](char c) {
    if (!lex->At(c)) return false;
    lex->Next();
    return true;
  };
  if (path->size() > kMaxShardingNesting) return false;
  if (accept('(')) {
    path->push_back(0);
    while (!lex->At(')')) {
      if (!ReadOrigin(lex, path, proto)) return false;
      ++path->back();
      if (!accept(',')) break;
    }
    path->pop_back();
    return accept(')');
  }
  if (!accept('{')) return false;
  if (accept('}')) return true;
  if (lex->tok().kind != Tok::kString) return false;
  pb::OriginalValueElementProto* element = proto->add_elements();
  for (int64_t i : *path) element->add_shape_index(i);
  pb::OriginalArrayProto* array = element->mutable_original_array();
  array->set_instruction_name(Unescape(lex->tok().text));
  lex->Next();
  if (accept('{')) {
    while (lex->tok().kind == Tok::kInt) {
      int64_t index;
      if (!absl::SimpleAtoi(lex->tok().text, &index)) return false;
      array->add_shape_index(index);
      lex->Next();
      if (!accept(',')) break;
    }
    if (!accept('}')) return false;
  }
  return accept('}');
}

void PrintOrigin(const pb::OriginalValueProto& proto, const Shape& shape, std::vector<int64_t>* path,
                 std::string* out) {
  if (shape.IsTuple()) {
    out->push_back('(');
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      if (i > 0) out->append(", ");
      path->push_back(i);
      PrintOrigin(proto, shape.tuple_shape(i), path, out);
      path->pop_back();
    }
    out->push_back(')');
    return;
  }
  out->push_back('{');
  for (const pb::OriginalValueElementProto& element : proto.elements()) {
    if (!std::equal(path->begin(), path->end(), element.shape_index().begin(), element.shape_index().end())) continue;
    if (!element.has_original_array()) break;
    out->append(Quote(element.original_array().instruction_name()));
    if (element.original_array().shape_index_size() > 0) {
      absl::StrAppend(out, " {", absl::StrJoin(element.original_array().shape_index(), ","), "}");
    }
    break;
  }
  out->push_back('}');
}

}  // namespace

absl::Status OriginToProto(const std::string& text, pb::OriginalValueProto* proto) {
  Lexer lex(text);
  bool ok = lex.At('{');
  if (ok) {
    lex.Next();
    if (lex.At('[')) {
      lex.Next();
      ok = lex.AtName("synthetic_call");
      lex.Next();
      ok = ok && lex.At(']');
      lex.Next();
      proto->set_is_synthetic_call(true);
    } else {
      std::vector<int64_t> path;
      ok = ReadOrigin(&lex, &path, proto);
    }
    ok = ok && lex.At('}');
  }
  return ok ? absl::OkStatus() : BadText("origin", text);
}

std::string OriginFromProto(const pb::OriginalValueProto& proto, const Shape& shape) {
  if (proto.is_synthetic_call()) return "{[synthetic_call]}";
  std::string out = "{";
  std::vector<int64_t> path;
  PrintOrigin(proto, shape, &path, &out);
  return out + "}";
}

absl::Status ResultAccuracyToProto(const std::string& text, pb::ResultAccuracy* proto) {
  std::string plain;
  for (char c : text) {
    if (!absl::ascii_isspace(c)) plain.push_back(c);
  }
  absl::string_view rest = plain;
  if (!absl::ConsumePrefix(&rest, "{") || !absl::ConsumeSuffix(&rest, "}")) return BadText("result_accuracy", text);
  if (absl::ConsumePrefix(&rest, "mode=")) {
    if (rest != "highest" && rest != "default") return BadText("result_accuracy", text);
    proto->set_mode(rest == "highest" ? pb::ResultAccuracy::HIGHEST : pb::ResultAccuracy::DEFAULT);
    return absl::OkStatus();
  }
  if (!absl::ConsumePrefix(&rest, "tolerance={") || !absl::ConsumeSuffix(&rest, "}")) {
    return BadText("result_accuracy", text);
  }
  pb::ResultAccuracy::Tolerance* tolerance = proto->mutable_tolerance();
  for (absl::string_view part : absl::StrSplit(rest, ',', absl::SkipEmpty())) {
    double number = 0;
    int64_t ulps = 0;
    if (absl::ConsumePrefix(&part, "atol=") && absl::SimpleAtod(part, &number)) {
      tolerance->set_atol(number);
    } else if (absl::ConsumePrefix(&part, "rtol=") && absl::SimpleAtod(part, &number)) {
      tolerance->set_rtol(number);
    } else if (absl::ConsumePrefix(&part, "ulps=") && absl::SimpleAtoi(part, &ulps)) {
      tolerance->set_ulps(ulps);
    } else {
      return BadText("result_accuracy", text);
    }
  }
  return absl::OkStatus();
}

std::string ResultAccuracyFromProto(const pb::ResultAccuracy& proto) {
  if (proto.has_tolerance()) {
    return absl::StrCat("{tolerance={atol=", PrintFloat(proto.tolerance().atol()),
                        ",rtol=", PrintFloat(proto.tolerance().rtol()), ",ulps=", proto.tolerance().ulps(), "}}");
  }
  return proto.mode() == pb::ResultAccuracy::HIGHEST ? "{mode=highest}" : "{mode=default}";
}

absl::Status SparsityToProto(const std::string& text, pb::SparsityConfig* proto) {
  XC_ASSIGN_OR_RETURN(const DotSparsity sparsity, ParseDotSparsity(text));
  const auto one = [](const OperandSparsity& side, pb::SparsityConfig::TensorSparsityConfig* config) {
    config->set_dimension(side.dimension);
    config->set_num_non_zero(side.num_non_zero);
    config->set_block_size(side.block_size);
    config->set_stride(side.stride);
  };
  if (sparsity.lhs) one(*sparsity.lhs, proto->mutable_lhs());
  if (sparsity.rhs) one(*sparsity.rhs, proto->mutable_rhs());
  return absl::OkStatus();
}

std::string SparsityFromProto(const pb::SparsityConfig& proto) {
  std::string out;
  const auto one = [&](absl::string_view operand, const pb::SparsityConfig::TensorSparsityConfig& c) {
    absl::StrAppend(&out, out.empty() ? "" : "_", operand, ".", c.dimension(), "@", c.num_non_zero(), ":",
                    c.block_size());
    if (c.stride() != 0) absl::StrAppend(&out, "/", c.stride());
  };
  if (proto.has_lhs()) one("L", proto.lhs());
  if (proto.has_rhs()) one("R", proto.rhs());
  return out;
}

}  // namespace xc
