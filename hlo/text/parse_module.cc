// The module line, stack frame tables, computations, and what can be checked only when all have been read.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser_impl.h"
#include "hlo/text/structure.h"

namespace xc {

bool Parser::Fail(const char* at, absl::string_view message) {
  if (!failed_) {
    failed_ = true;
    error_ = lex_.Describe(at, message);
  }
  return false;
}

bool Parser::Expected(absl::string_view what) {
  const Token& tok = lex_.tok();
  if (tok.kind == Tok::kBad) return Fail(tok.begin, lex_.bad());
  if (tok.kind == Tok::kEof) return Fail(tok.begin, absl::StrCat("expected ", what, ", found the end of the text"));
  absl::string_view found(tok.begin, std::min<int64_t>(tok.end - tok.begin, 40));
  return Fail(tok.begin, absl::StrCat("expected ", what, ", found ", tok.kind == Tok::kString ? "the string " : "'",
                                      found, tok.kind == Tok::kString ? "" : "'"));
}

bool Parser::Expect(char punct) {
  if (Accept(punct)) return true;
  return Expected(absl::StrCat("'", std::string(1, punct), "'"));
}

bool Parser::AtEnd() {
  if (lex_.tok().kind == Tok::kEof) return true;
  return Expected("the end of the text");
}

std::unique_ptr<HloModule> Parser::Module() {
  auto module = std::make_unique<HloModule>("");
  module_ = module.get();
  if (lex_.AtName("HloModule") && !ParseHeader(module_)) return nullptr;
  while (lex_.tok().kind != Tok::kEof) {
    if (!ParseComputation(module_)) return nullptr;
  }
  if (module->computations().empty()) {
    Expected("'HloModule' or a computation");
    return nullptr;
  }
  if (!ResolveCalls(module_)) return nullptr;
  const HloComputation* culprit = nullptr;
  if (const std::string error = CallGraphError(*module_, options_.max_call_depth, &culprit); !error.empty()) {
    Fail(defined_at_[culprit], error);
    return nullptr;
  }
  // Without ENTRY, the last computation is it.
  if (module->entry() == nullptr) module->set_entry(module->computations().back().get());
  if (module->name().empty()) module->set_name(module->entry()->name());
  ModuleConfig& config = module->config();
  const HloComputation& entry = *module->entry();
  if (!config.has_entry_layout) {
    config.has_entry_layout = true;
    for (const HloInstruction* parameter : entry.parameters()) {
      config.entry_parameter_layouts.push_back(parameter->shape());
    }
    config.entry_result_layout = entry.root()->shape();
  } else if (config.entry_parameter_layouts.size() != entry.parameters().size()) {
    Fail(defined_at_[&entry],
         absl::StrCat("the entry computation has ", entry.parameters().size(),
                      " parameters, entry_computation_layout gives ", config.entry_parameter_layouts.size()));
    return nullptr;
  } else {
    for (size_t i = 0; i < entry.parameters().size(); ++i) {
      if (!Compatible(config.entry_parameter_layouts[i], entry.parameter(i)->shape())) {
        Fail(defined_at_[&entry],
             absl::StrCat("parameter ", i, " of the entry computation has the shape ",
                          entry.parameter(i)->shape().ToString(false), ", entry_computation_layout gives ",
                          config.entry_parameter_layouts[i].ToString(false)));
        return nullptr;
      }
    }
    if (!Compatible(config.entry_result_layout, entry.root()->shape())) {
      Fail(defined_at_[&entry],
           absl::StrCat("the entry computation returns ", entry.root()->shape().ToString(false),
                        ", entry_computation_layout gives ", config.entry_result_layout.ToString(false)));
      return nullptr;
    }
  }
  return module;
}

// HloModule name, attribute=value, …
bool Parser::ParseHeader(HloModule* module) {
  lex_.Next();
  if (lex_.tok().kind != Tok::kName) return Expected("the name of the module");
  module->set_name(std::string(lex_.tok().text));
  lex_.Next();
  Accept(':');  // as some versions of XLA wrote it
  std::vector<absl::string_view> seen;
  while (Accept(',')) {
    const char* at = lex_.position();
    if (lex_.tok().kind != Tok::kName) return Expected("the name of a module attribute");
    const absl::string_view name = lex_.tok().text;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return Fail(at, absl::StrCat("module attribute '", name, "' is given twice"));
    }
    seen.push_back(name);
    lex_.Next();
    if (!Expect('=') || !ParseHeaderAttribute(module, name, at)) return false;
  }
  return ParseStackTables(&module->config().stack_frames);
}

bool Parser::ParseHeaderAttribute(HloModule* module, absl::string_view name, const char* at) {
  ModuleConfig& config = module->config();
  if (name == "is_scheduled") return Parse(&config.is_scheduled);
  if (name == "replica_count") return Parse(&config.replica_count);
  if (name == "num_partitions") return Parse(&config.num_partitions);
  if (name == "entry_computation_layout") return ParseEntryLayout(&config);
  if (name == "input_output_alias") return ParseInputOutputAlias(&config);
  if (name == "buffer_donor") return ParseBufferDonors(&config);
  if (name == "frontend_attributes") return Parse(&config.frontend_attributes);
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return Parse(&config.allow_spmd_sharding_propagation_to_parameters);
  }
  if (name == "allow_spmd_sharding_propagation_to_output") {
    return Parse(&config.allow_spmd_sharding_propagation_to_output);
  }
  if (name == "alias_passthrough_params" || name == "origin_recovery_table") {
    std::string value;
    if (!ParseRaw(&value)) return false;
    config.other.emplace_back(std::string(name), std::move(value));
    return true;
  }
  return Fail(at, absl::StrCat("unknown module attribute '", name,
                               "'; expected one of: is_scheduled, input_output_alias, buffer_donor, "
                               "alias_passthrough_params, entry_computation_layout, "
                               "allow_spmd_sharding_propagation_to_parameters, "
                               "allow_spmd_sharding_propagation_to_output, replica_count, num_partitions, "
                               "frontend_attributes, origin_recovery_table"));
}

// {(f32[2]{0}, s32[])->f32[2]{0}}
bool Parser::ParseEntryLayout(ModuleConfig* config) {
  if (!Expect('{') || !Expect('(')) return false;
  while (!lex_.At(')')) {
    if (!Parse(&config->entry_parameter_layouts.emplace_back())) return false;
    if (!Accept(',')) break;
  }
  if (!Expect(')')) return false;
  if (lex_.tok().kind != Tok::kArrow) return Expected("'->'");
  lex_.Next();
  config->has_entry_layout = true;
  return Parse(&config->entry_result_layout) && Expect('}');
}

// { {0}: (1, {}, may-alias), {1}: (2, {0}) }
bool Parser::ParseInputOutputAlias(ModuleConfig* config) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    InputOutputAlias& alias = config->input_output_alias.emplace_back();
    if (!ParseShapeIndex(&alias.output_index) || !Expect(':') || !Expect('(') || !Parse(&alias.parameter) ||
        !Expect(',') || !ParseShapeIndex(&alias.parameter_index)) {
      return false;
    }
    if (Accept(',')) {
      if (!lex_.AtName("may-alias") && !lex_.AtName("must-alias")) return Expected("may-alias or must-alias");
      alias.must_alias = lex_.AtName("must-alias");
      lex_.Next();
    }
    if (!Expect(')')) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

// { (0, {}), (1, {2}) }
bool Parser::ParseBufferDonors(ModuleConfig* config) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    BufferDonor& donor = config->buffer_donors.emplace_back();
    if (!Expect('(') || !Parse(&donor.parameter) || !Expect(',') || !ParseShapeIndex(&donor.parameter_index) ||
        !Expect(')')) {
      return false;
    }
    if (!Accept(',')) break;
  }
  return Expect('}');
}

// The tables FileNames, FunctionNames, FileLocations and StackFrames, whose entries are numbered from 1. Text numbers
// parents one higher than the wire format (which has 0 for none), so that a frame without parent names itself or 1.
bool Parser::ParseStackTables(StackFrames* frames) {
  const auto number = [&](size_t next) {
    int64_t value;
    const char* at = lex_.position();
    if (!Parse(&value)) return false;
    return value == static_cast<int64_t>(next) || Fail(at, absl::StrCat("expected entry number ", next));
  };
  const auto fields = [&](std::initializer_list<std::pair<absl::string_view, int64_t*>> names) {
    if (!Expect('{')) return false;
    while (!lex_.At('}')) {
      bool found = false;
      for (const auto& [name, to] : names) {
        if (!lex_.AtName(name)) continue;
        lex_.Next();
        if (!Expect('=') || !Parse(to)) return false;
        found = true;
        break;
      }
      if (!found) return Expected("a field of this table or '}'");
      Accept(',');
    }
    return Expect('}');
  };
  for (;;) {
    std::vector<std::string>* names = lex_.AtName("FileNames")       ? &frames->file_names
                                      : lex_.AtName("FunctionNames") ? &frames->function_names
                                                                     : nullptr;
    const char next = lex_.PeekChar();
    if (next == '(' || next == '{') return true;  // a computation of that name
    if (names != nullptr) {
      lex_.Next();
      while (lex_.tok().kind == Tok::kInt) {
        if (!number(names->size() + 1) || !Parse(&names->emplace_back())) return false;
      }
    } else if (lex_.AtName("FileLocations")) {
      lex_.Next();
      while (lex_.tok().kind == Tok::kInt) {
        if (!number(frames->file_locations.size() + 1)) return false;
        StackFrames::Location& l = frames->file_locations.emplace_back();
        if (!fields({{"file_name_id", &l.file_name_id},
                     {"function_name_id", &l.function_name_id},
                     {"line", &l.line},
                     {"column", &l.column},
                     {"end_line", &l.end_line},
                     {"end_column", &l.end_column}})) {
          return false;
        }
      }
    } else if (lex_.AtName("StackFrames")) {
      lex_.Next();
      while (lex_.tok().kind == Tok::kInt) {
        if (!number(frames->frames.size() + 1)) return false;
        StackFrames::Frame& f = frames->frames.emplace_back();
        const char* at = lex_.position();
        if (!fields({{"file_location_id", &f.file_location_id}, {"parent_frame_id", &f.parent_frame_id}})) return false;
        if (f.parent_frame_id < 1) return Fail(at, "parent_frame_id counts from 1");
        --f.parent_frame_id;
      }
    } else {
      return true;
    }
  }
}

// (p: f32[2], q: (s32[], f32[])) -> f32[2]: the parameters say theirs again, so that only the result's is kept.
bool Parser::ParseProgramShape(std::optional<Shape>* result) {
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (lex_.tok().kind != Tok::kName) return Expected("the name of a parameter");
    lex_.Next();
    Shape shape;
    if (!Expect(':') || !Parse(&shape)) return false;
    if (!Accept(',')) break;
  }
  if (!Expect(')')) return false;
  if (lex_.tok().kind != Tok::kArrow) return Expected("'->'");
  lex_.Next();
  return Parse(&result->emplace());
}

bool Parser::ParseComputation(HloModule* module) {
  const bool entry = lex_.AtName("ENTRY");
  const char* start = lex_.position();
  if (entry) {
    lex_.Next();
    if (entry_seen_) return Fail(start, "a module has only one ENTRY computation, this is the second");
    entry_seen_ = true;
  }
  if (lex_.tok().kind != Tok::kName) return Expected("a computation");
  const absl::string_view name = lex_.tok().text;
  const char* at = lex_.position();
  if (computations_.contains(name)) return Fail(at, absl::StrCat("computation '", name, "' is defined twice"));
  lex_.Next();
  std::optional<Shape> declared;
  const char* declared_at = lex_.position();
  if (lex_.At('(') && !ParseProgramShape(&declared)) return false;
  if (!lex_.At('{')) {
    const bool first = module->name().empty() && module->computations().empty();
    return Expected(first ? "'HloModule NAME', or '{' after the name of a computation" : "'{'");
  }
  lex_.Next();

  // Instructions may add computations of their own (async sugar) before this one is complete.
  HloComputation* computation = module->AddComputation(name);
  computations_.emplace(name, computation);
  defined_at_.emplace(computation, at);
  values_.clear();
  root_seen_ = false;
  while (!lex_.At('}')) {
    if (!ParseInstructionLine(computation)) return false;
  }
  lex_.Next();
  if (!FinishComputation(computation, at)) return false;
  if (declared.has_value() && !Compatible(*declared, computation->root()->shape())) {
    return Fail(declared_at, absl::StrCat("computation '", name, "' is declared to give ", declared->ToString(false),
                                          ", and its root '", computation->root()->name(), "' is ",
                                          computation->root()->shape().ToString(false)));
  }
  if (entry) module->set_entry(computation);
  while (lex_.At(',')) {
    lex_.Next();
    if (!lex_.AtName("execution_thread")) return Expected("execution_thread=");
    lex_.Next();
    std::string thread;
    if (!Expect('=') || !Parse(&thread)) return false;
    computation->set_execution_thread(std::move(thread));
  }
  return true;
}

bool Parser::FinishComputation(HloComputation* computation, const char* at) {
  if (computation->instruction_count() == 0) {
    return Fail(at, absl::StrCat("computation '", computation->name(), "' has no instructions"));
  }
  if (computation->root() == nullptr) computation->set_root(computation->instructions().back().get());
  for (int64_t i = 0; i < computation->parameter_count(); ++i) {
    if (computation->parameter(i) == nullptr) {
      return Fail(at, absl::StrCat("computation '", computation->name(), "' has ", computation->parameter_count(),
                                   " parameters or more, but none with the number ", i));
    }
  }
  return true;
}

bool Parser::ResolveCalls(HloModule* module) {
  for (const CallFixup& fixup : fixups_) {
    const auto it = computations_.find(fixup.name);
    if (it == computations_.end()) return Fail(fixup.at, absl::StrCat("no computation '", fixup.name, "' is defined"));
    fixup.instruction->SetCalledComputation(fixup.slot, it->second);
    if (fixup.instruction->opcode() == HloOpcode::kFusion) it->second->set_is_fusion();
  }
  for (const CallFixup& fixup : fixups_) {
    for (const HloComputation* called : fixup.instruction->called_computations()) {
      if (called == nullptr) {
        return Fail(fixup.at, absl::StrCat(OpcodeName(fixup.instruction->opcode()),
                                           " needs another computation beside this one: ",
                                           fixup.instruction->opcode() == HloOpcode::kWhile ? "condition and body"
                                           : fixup.instruction->opcode() == HloOpcode::kConditional
                                               ? "true_computation and false_computation"
                                               : "select and scatter"));
      }
    }
  }
  return true;
}

absl::Status ParseModuleAttributes(absl::string_view text, ModuleConfig* config) {
  const std::string line = absl::StrCat("HloModule m", text);
  const ParseOptions options;
  Parser parser(line, options);
  HloModule module("m");
  module.config() = std::move(*config);
  if (parser.ParseHeader(&module)) parser.AtEnd();
  *config = std::move(module.config());
  return parser.status();
}

absl::StatusOr<std::unique_ptr<HloModule>> ParseModule(absl::string_view text, const ParseOptions& options) {
  Parser parser(text, options);
  std::unique_ptr<HloModule> module = parser.Module();
  if (absl::Status status = parser.status(); !status.ok()) return status;
  return module;
}

}  // namespace xc
