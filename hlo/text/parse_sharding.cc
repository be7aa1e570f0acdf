// What is carried for tools and for many devices: metadata, shardings, replica groups, domains.
#include "absl/strings/str_cat.h"
#include "hlo/text/metadata_payload.h"
#include "hlo/text/parser_impl.h"

namespace xc {

// {op_type="…" op_name="…" source_line=3}, separated by blanks or commas.
bool Parser::Parse(Metadata* out) {
  if (!Expect('{')) return false;
  std::vector<absl::string_view> seen;
  while (!lex_.At('}')) {
    const char* at = lex_.position();
    if (lex_.tok().kind != Tok::kName) return Expected("a metadata field or '}'");
    const absl::string_view name = lex_.tok().text;
    for (absl::string_view other : seen) {
      if (other == name) return Fail(at, absl::StrCat("metadata field '", name, "' is given twice"));
    }
    seen.push_back(name);
    lex_.Next();
    if (!Expect('=')) return false;
    const auto field = [&](auto* to) { return Parse(to); };
    bool ok;
    if (name == "op_type") {
      ok = field(&out->op_type);
    } else if (name == "op_name") {
      ok = field(&out->op_name);
    } else if (name == "source_file") {
      ok = field(&out->source_file);
    } else if (name == "source_line") {
      ok = field(&out->source_line);
    } else if (name == "source_end_line") {
      ok = field(&out->source_end_line);
    } else if (name == "source_column") {
      ok = field(&out->source_column);
    } else if (name == "source_end_column") {
      ok = field(&out->source_end_column);
    } else if (name == "stack_frame_id") {
      ok = field(&out->stack_frame_id);
    } else if (name == "deduplicated_name") {
      ok = field(&out->deduplicated_name);
    } else if (name == "scheduling_name") {
      ok = field(&out->scheduling_name);
    } else if (name == "preserve_layout") {
      ok = field(&out->preserve_layout);
    } else if (name == "profile_type") {
      ok = field(&out->profile_type);
    } else if (name == "size_of_generated_code_in_bytes") {
      ok = field(&out->size_of_generated_code_in_bytes);
    } else if (name == "size_of_memory_working_set_in_bytes") {
      ok = field(&out->size_of_memory_working_set_in_bytes);
    } else if (name == "metadata_payload") {
      std::string payload;
      ok = field(&payload);
      if (ok) AppendMetadataPayload(payload, &out->extra_proto);
    } else {
      return Fail(at, absl::StrCat("unknown metadata field '", name,
                                   "'; expected one of: op_type, op_name, source_file, source_line, source_end_line, "
                                   "source_column, source_end_column, stack_frame_id, deduplicated_name, "
                                   "scheduling_name, preserve_layout, profile_type, metadata_payload, "
                                   "size_of_generated_code_in_bytes, size_of_memory_working_set_in_bytes"));
    }
    if (!ok) return false;
    Accept(',');
  }
  return Expect('}');
}

bool Parser::ParseBracketInts(Int64List* out) {
  if (!Expect('[')) return false;
  while (!lex_.At(']')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect(']');
}

// <=[4,2]T(1,0)
bool Parser::ParseIotaTail(Int64List* reshape, Int64List* transpose) {
  if (!Expect('<') || !Expect('=') || !ParseBracketInts(reshape)) return false;
  if (lex_.AtName("T") && lex_.PeekChar() == '(') {
    lex_.Next();
    return ParseParenInts(transpose, /*star=*/false);
  }
  return true;
}

bool Parser::Parse(ReplicaGroups* out) {
  if (lex_.At('['))
    return ParseBracketInts(&out->iota_dims) && ParseIotaTail(&out->iota_reshape_dims, &out->iota_transpose);
  if (lex_.AtName("mesh")) return ParseMeshGroups(out);
  if (!lex_.At('{')) return Expected("replica groups as {{0,1},{2,3}} or [2,2]<=[4]");
  return Parse(&out->groups);
}

bool Parser::ParseShardingType(Sharding::Type* out) {
  static constexpr std::pair<absl::string_view, Sharding::Type> kNames[] = {{"replicated", Sharding::Type::kReplicated},
                                                                            {"maximal", Sharding::Type::kMaximal},
                                                                            {"manual", Sharding::Type::kManual},
                                                                            {"unknown", Sharding::Type::kUnknown},
                                                                            {"unreduced", Sharding::Type::kUnreduced},
                                                                            {"tuple", Sharding::Type::kTuple},
                                                                            {"other", Sharding::Type::kOther}};
  if (lex_.tok().kind == Tok::kName) {
    for (const auto& [name, type] : kNames) {
      if (lex_.tok().text == name) {
        *out = type;
        lex_.Next();
        return true;
      }
    }
  }
  return Expected("replicated, maximal, manual, unknown or unreduced");
}

bool Parser::Parse(Sharding* out) { return ParseShardingNested(out, 0); }

// {replicated}, {maximal device=1}, {devices=[2,2]<=[4] last_tile_dim_replicate}, {{…}, {…}}, {mesh[…], …}
bool Parser::ParseShardingNested(Sharding* out, int depth) {
  if (depth > options_.max_nesting) {
    return Fail(lex_.position(), absl::StrCat("shardings are nested more than ", options_.max_nesting, " deep"));
  }
  const char* start = lex_.position();
  if (!lex_.At('{')) return Expected("'{'");
  const Lexer saved = lex_;
  lex_.Next();
  if (lex_.At('{') || lex_.At('}')) {
    out->type = Sharding::Type::kTuple;
    while (!lex_.At('}')) {
      if (!ParseShardingNested(&out->tuple.emplace_back(), depth + 1)) return false;
      if (!Accept(',')) break;
    }
    return Expect('}');
  }
  if (lex_.AtName("mesh") || (lex_.tok().kind == Tok::kName && lex_.tok().text[0] == '@')) {
    lex_ = saved;
    const absl::string_view text = lex_.RawBraces();
    if (text.empty()) return Fail(start, "this '{' has no matching '}'");
    out->type = Sharding::Type::kOther;
    out->named_text = std::string(text);
    return true;
  }
  bool typed = false;
  while (!lex_.At('}')) {
    const char* at = lex_.position();
    if (lex_.tok().kind != Tok::kName) return Expected("part of a sharding or '}'");
    if (lex_.AtName("devices")) {
      lex_.Next();
      if (!Expect('=') || !ParseBracketInts(&out->tile_dims)) return false;
      out->type = Sharding::Type::kOther;
      typed = true;
      if (lex_.At('<')) {
        if (!ParseIotaTail(&out->iota_reshape_dims, &out->iota_transpose)) return false;
      } else {
        while (lex_.tok().kind == Tok::kInt) {
          if (!Parse(&out->devices.emplace_back())) return false;
          if (!Accept(',')) break;
        }
      }
    } else if (lex_.AtName("device")) {
      lex_.Next();
      if (!Expect('=') || !Parse(&out->devices.emplace_back())) return false;
    } else if (lex_.AtName("last_tile_dim_replicate")) {
      lex_.Next();
      out->replicate_on_last_tile_dim = true;
    } else if (lex_.AtName("last_tile_dims")) {
      lex_.Next();
      if (!Expect('=') || !Expect('{')) return false;
      while (!lex_.At('}')) {
        if (!ParseShardingType(&out->last_tile_dims.emplace_back())) return false;
        if (!Accept(',')) break;
      }
      if (!Expect('}')) return false;
    } else if (lex_.AtName("shard_as") || lex_.AtName("shard_like")) {
      out->is_shard_group = true;
      out->shard_like = lex_.AtName("shard_like");
      lex_.Next();
      if (!Parse(&out->shard_group_id)) return false;
    } else if (lex_.AtName("metadata")) {
      lex_.Next();
      if (!Expect('=')) return false;
      if (lex_.At('{') && (lex_.PeekChar() == '{' || lex_.PeekChar() == '}')) {
        lex_.Next();
        while (!lex_.At('}')) {
          if (!Parse(&out->metadata.emplace_back())) return false;
          if (!Accept(',')) break;
        }
        if (!Expect('}')) return false;
      } else if (!Parse(&out->metadata.emplace_back())) {
        return false;
      }
    } else {
      if (typed) return Fail(at, absl::StrCat("'", lex_.tok().text, "' does not belong in a sharding"));
      typed = true;
      if (!ParseShardingType(&out->type)) return false;
      if (out->type == Sharding::Type::kMaximal && !lex_.AtName("device")) return Expected("device=");
    }
    Accept(',');
  }
  return Expect('}');
}

// {kind="sharding", entry={…}, exit={…}}
bool Parser::Parse(DomainAttr* out) {
  if (!Expect('{')) return false;
  const auto label = [&](absl::string_view name) {
    if (!lex_.AtName(name)) return Expected(absl::StrCat("'", name, "='"));
    lex_.Next();
    return Expect('=');
  };
  return label("kind") && Parse(&out->kind) && Expect(',') && label("entry") && Parse(&out->entry) && Expect(',') &&
         label("exit") && Parse(&out->exit) && Expect('}');
}

}  // namespace xc
