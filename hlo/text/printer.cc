#include "hlo/text/printer.h"

#include "absl/strings/str_cat.h"
#include "hlo/text/lexer.h"
#include "hlo/text/print_impl.h"

namespace xc {
// The instructions in an order in which operands and control predecessors come first.
std::vector<const HloInstruction*> TextOrder(const HloComputation& computation) {
  std::vector<const HloInstruction*> order;
  order.reserve(computation.instruction_count());
  if (computation.module() != nullptr) {
    const auto& schedule = computation.module()->schedule();
    const auto it = schedule.find(&computation);
    if (it != schedule.end() && static_cast<int64_t>(it->second.size()) == computation.instruction_count()) {
      order.assign(it->second.begin(), it->second.end());
      return order;
    }
  }
  absl::flat_hash_set<const HloInstruction*> printed;
  printed.reserve(computation.instruction_count());
  for (const auto& instruction : computation.instructions()) {
    for (const auto* before : {&instruction->operands(), &instruction->control_predecessors()}) {
      for (const HloInstruction* other : *before) {
        if (printed.contains(other)) continue;
        order.clear();
        for (HloInstruction* i : computation.PostOrder()) order.push_back(i);
        return order;
      }
    }
    printed.insert(instruction.get());
    order.push_back(instruction.get());
  }
  return order;
}

// Computations in an order in which those called come first.
std::vector<const HloComputation*> TextOrder(const HloModule& module) {
  std::vector<const HloComputation*> order;
  absl::flat_hash_set<const HloComputation*> printed;
  bool ordered = true;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      for (const HloComputation* called : instruction->called_computations()) {
        if (!printed.contains(called)) ordered = false;
      }
    }
    printed.insert(computation.get());
    order.push_back(computation.get());
  }
  if (ordered) return order;
  // Those that the entry does not reach go first, callees before callers.
  absl::flat_hash_set<const HloComputation*> done;
  std::vector<const HloComputation*> reached;
  for (const HloComputation* computation : module.ComputationPostOrder()) {
    reached.push_back(computation);
    done.insert(computation);
  }
  std::vector<const HloComputation*> result;
  std::vector<std::pair<const HloComputation*, bool>> stack;
  for (const HloComputation* start : order) {
    stack.emplace_back(start, false);
    while (!stack.empty()) {
      const auto [computation, leave] = stack.back();
      stack.pop_back();
      if (leave) {
        result.push_back(computation);
        continue;
      }
      if (!done.insert(computation).second) continue;
      stack.emplace_back(computation, true);
      for (const auto& instruction : computation->instructions()) {
        for (const HloComputation* called : instruction->called_computations()) stack.emplace_back(called, false);
      }
    }
  }
  // An unreached computation may call a reached one, never the other way round.
  reached.insert(reached.end(), result.begin(), result.end());
  return reached;
}

namespace {

void AppendInstruction(const HloInstruction& instruction, const PrintOptions& options, std::string* out) {
  AppendName(instruction.name(), options, out);
  absl::StrAppend(out, " = ", instruction.shape().ToString(options.layouts), " ", OpcodeName(instruction.opcode()),
                  "(");
  if (instruction.opcode() == HloOpcode::kParameter) {
    absl::StrAppend(out, instruction.parameter_number());
  } else if (instruction.opcode() == HloOpcode::kConstant) {
    if (instruction.shared_literal() != nullptr) {
      AppendLiteral(instruction.literal(), options.max_constant_elements, out);
    }
  } else {
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (i > 0) out->append(", ");
      if (i > 0 && i % 5 == 0) absl::StrAppend(out, "/*index=", i, "*/");
      const HloInstruction* operand = instruction.operand(i);
      if (operand == nullptr) {
        out->append("null");
        continue;
      }
      if (options.operand_shapes) absl::StrAppend(out, operand->shape().ToString(options.layouts), " ");
      AppendName(operand->name(), options, out);
    }
  }
  out->push_back(')');
  AppendAttributes(instruction, options, out);
}

void AppendComputation(const HloComputation& computation, const PrintOptions& options, std::string* out) {
  if (computation.IsEntry()) out->append("ENTRY ");
  AppendName(computation.name(), options, out);
  if (options.program_shapes) {
    out->append(" (");
    for (int64_t i = 0; i < computation.parameter_count(); ++i) {
      const HloInstruction* parameter = computation.parameter(i);
      if (i > 0) out->append(", ");
      if (parameter != nullptr) {
        absl::StrAppend(out, parameter->name(), ": ", parameter->shape().ToString(/*with_layout=*/false));
      }
    }
    absl::StrAppend(out, ") -> ",
                    computation.root() != nullptr ? computation.root()->shape().ToString(/*with_layout=*/false) : "()");
  }
  out->append(" {\n");
  for (const HloInstruction* instruction : TextOrder(computation)) {
    out->append(instruction == computation.root() ? "  ROOT " : "  ");
    AppendInstruction(*instruction, options, out);
    out->push_back('\n');
  }
  out->push_back('}');
  if (!computation.execution_thread().empty() && computation.execution_thread() != "main") {
    absl::StrAppend(out, ", execution_thread=", Quote(computation.execution_thread()));
  }
  out->push_back('\n');
}

void AppendShapes(const std::vector<Shape>& shapes, std::string* out) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0) out->append(", ");
    if (i > 0 && i % 5 == 0) absl::StrAppend(out, "/*index=", i, "*/");
    out->append(shapes[i].ToString());
  }
}

void AppendBools(absl::string_view name, const std::vector<bool>& bools, std::string* out) {
  if (bools.empty()) return;
  absl::StrAppend(out, ", ", name, "={");
  for (size_t i = 0; i < bools.size(); ++i) absl::StrAppend(out, i > 0 ? "," : "", bools[i] ? "true" : "false");
  out->push_back('}');
}

void AppendHeader(const HloModule& module, std::string* out) {
  const ModuleConfig& config = module.config();
  absl::StrAppend(out, "HloModule ", module.name());
  if (config.is_scheduled) out->append(", is_scheduled=true");
  if (!config.input_output_alias.empty()) {
    out->append(", input_output_alias={ ");
    for (size_t i = 0; i < config.input_output_alias.size(); ++i) {
      const InputOutputAlias& alias = config.input_output_alias[i];
      if (i > 0) out->append(", ");
      AppendInts(alias.output_index, out);
      absl::StrAppend(out, ": (", alias.parameter, ", ");
      AppendInts(alias.parameter_index, out);
      out->append(alias.must_alias ? ", must-alias)" : ", may-alias)");
    }
    out->append(" }");
  }
  if (!config.buffer_donors.empty()) {
    out->append(", buffer_donor={ ");
    for (size_t i = 0; i < config.buffer_donors.size(); ++i) {
      absl::StrAppend(out, i > 0 ? ", (" : "(", config.buffer_donors[i].parameter, ", ");
      AppendInts(config.buffer_donors[i].parameter_index, out);
      out->push_back(')');
    }
    out->append(" }");
  }
  const auto other = [&](bool table) {
    for (const auto& [name, value] : config.other) {
      if ((name == "origin_recovery_table") == table) absl::StrAppend(out, ", ", name, "=", value);
    }
  };
  other(/*table=*/false);
  if (config.has_entry_layout) {
    out->append(", entry_computation_layout={(");
    AppendShapes(config.entry_parameter_layouts, out);
    absl::StrAppend(out, ")->", config.entry_result_layout.ToString(), "}");
  }
  AppendBools("allow_spmd_sharding_propagation_to_parameters", config.allow_spmd_sharding_propagation_to_parameters,
              out);
  AppendBools("allow_spmd_sharding_propagation_to_output", config.allow_spmd_sharding_propagation_to_output, out);
  if (config.replica_count != 1) absl::StrAppend(out, ", replica_count=", config.replica_count);
  if (config.num_partitions != 1) absl::StrAppend(out, ", num_partitions=", config.num_partitions);
  if (!config.frontend_attributes.empty()) {
    out->append(", frontend_attributes=");
    AppendFrontendAttributes(config.frontend_attributes, out);
  }
  other(/*table=*/true);
  out->append("\n\n");
}

void AppendStackFrames(const StackFrames& frames, std::string* out) {
  if (frames.empty()) return;
  const auto names = [out](absl::string_view title, const std::vector<std::string>& list) {
    absl::StrAppend(out, title, "\n");
    for (size_t i = 0; i < list.size(); ++i) absl::StrAppend(out, i + 1, " ", Quote(list[i]), "\n");
    out->push_back('\n');
  };
  names("FileNames", frames.file_names);
  names("FunctionNames", frames.function_names);
  out->append("FileLocations\n");
  for (size_t i = 0; i < frames.file_locations.size(); ++i) {
    const StackFrames::Location& l = frames.file_locations[i];
    absl::StrAppend(out, i + 1, " {file_name_id=", l.file_name_id, " function_name_id=", l.function_name_id,
                    " line=", l.line);
    absl::StrAppend(out, " end_line=", l.end_line, " column=", l.column, " end_column=", l.end_column, "}\n");
  }
  out->append("\nStackFrames\n");
  for (size_t i = 0; i < frames.frames.size(); ++i) {
    absl::StrAppend(out, i + 1, " {file_location_id=", frames.frames[i].file_location_id,
                    " parent_frame_id=", frames.frames[i].parent_frame_id + 1, "}\n");
  }
  out->append("\n\n");
}

}  // namespace

void AppendName(absl::string_view name, const PrintOptions& options, std::string* out) {
  if (options.percent) out->push_back('%');
  out->append(name.data(), name.size());
}

std::string PrintModule(const HloModule& module, const PrintOptions& options) {
  std::string out;
  AppendHeader(module, &out);
  if (options.metadata) AppendStackFrames(module.config().stack_frames, &out);
  bool first = true;
  for (const HloComputation* computation : TextOrder(module)) {
    if (!first) out.push_back('\n');
    first = false;
    AppendComputation(*computation, options, &out);
  }
  return out;
}

std::string PrintComputation(const HloComputation& computation, const PrintOptions& options) {
  std::string out;
  AppendComputation(computation, options, &out);
  return out;
}

std::string PrintInstruction(const HloInstruction& instruction, const PrintOptions& options) {
  std::string out;
  AppendInstruction(instruction, options, &out);
  return out;
}

std::string HloModule::ToString() const { return PrintModule(*this); }
std::string HloComputation::ToString() const { return PrintComputation(*this); }
std::string HloInstruction::ToString() const { return PrintInstruction(*this); }

}  // namespace xc
