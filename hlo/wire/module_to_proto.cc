// Modules to HloModuleProto, in the order of the text.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/text/printer.h"
#include "hlo/wire/attribute_proto.h"
#include "hlo/wire/carried_proto.h"
#include "hlo/wire/module_proto.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

void FillIndex(const Int64List& from, google::protobuf::RepeatedField<int64_t>* to) {
  to->Assign(from.begin(), from.end());
}

using Leftovers = absl::flat_hash_map<int64_t, std::string>;

absl::Status InstructionToProto(const HloInstruction& i, const Leftovers& leftovers, pb::HloInstructionProto* proto) {
  if (const auto it = leftovers.find(i.id()); it != leftovers.end()) proto->MergeFromString(it->second);
  XC_RETURN_IF_ERROR(AttributesToProto(i, proto));
  proto->set_name(i.name());
  proto->set_opcode(std::string(OpcodeName(i.opcode())));
  proto->set_id(i.id());
  ShapeToProto(i.shape(), proto->mutable_shape());
  for (const HloInstruction* operand : i.operands()) {
    if (operand == nullptr) return absl::InvalidArgumentError("an operand is missing");
    proto->add_operand_ids(operand->id());
  }
  for (const HloInstruction* before : i.control_predecessors()) proto->add_control_predecessor_ids(before->id());
  for (const HloComputation* called : i.called_computations()) {
    if (called == nullptr) return absl::InvalidArgumentError("a called computation is missing");
    proto->add_called_computation_ids(called->id());
  }
  // The message names the body of a loop before its condition.
  if (i.opcode() == HloOpcode::kWhile && proto->called_computation_ids_size() == 2) {
    proto->mutable_called_computation_ids()->SwapElements(0, 1);
  }
  if (i.opcode() == HloOpcode::kParameter) proto->set_parameter_number(i.parameter_number());
  if (i.IsConstant() && i.shared_literal() != nullptr) {
    LiteralToProto(i.literal(), proto->mutable_literal());
    // Elements are in the order of the literal's layout; the instruction's is only a wish.
  }
  return absl::OkStatus();
}

absl::Status ComputationToProto(const HloComputation& computation, const Leftovers& leftovers,
                                pb::HloComputationProto* proto) {
  proto->set_name(computation.name());
  proto->set_id(computation.id());
  proto->set_is_fusion_computation(computation.IsFusion());
  if (computation.execution_thread() != "main") proto->set_execution_thread(computation.execution_thread());
  if (computation.root() == nullptr) return absl::InvalidArgumentError("it has no root");
  proto->set_root_id(computation.root()->id());
  for (const HloInstruction* instruction : TextOrder(computation)) {
    if (absl::Status status = InstructionToProto(*instruction, leftovers, proto->add_instructions()); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("instruction '", instruction->name(), "': ", status.message()));
    }
  }
  pb::ProgramShapeProto* shape = proto->mutable_program_shape();
  for (const HloInstruction* parameter : computation.parameters()) {
    if (parameter == nullptr) return absl::InvalidArgumentError("a parameter is missing");
    ShapeToProto(parameter->shape(), shape->add_parameters());
    shape->add_parameter_names(parameter->name());
  }
  ShapeToProto(computation.root()->shape(), shape->mutable_result());
  return absl::OkStatus();
}

void StackFramesToProto(const StackFrames& frames, pb::StackFrameIndexProto* proto) {
  for (const std::string& name : frames.file_names) proto->add_file_names(name);
  for (const std::string& name : frames.function_names) proto->add_function_names(name);
  for (const StackFrames::Location& l : frames.file_locations) {
    pb::StackFrameIndexProto::FileLocation* p = proto->add_file_locations();
    p->set_file_name_id(static_cast<int32_t>(l.file_name_id));
    p->set_function_name_id(static_cast<int32_t>(l.function_name_id));
    p->set_line(static_cast<int32_t>(l.line));
    p->set_column(static_cast<int32_t>(l.column));
    p->set_end_line(static_cast<int32_t>(l.end_line));
    p->set_end_column(static_cast<int32_t>(l.end_column));
  }
  for (const StackFrames::Frame& f : frames.frames) {
    pb::StackFrameIndexProto::StackFrame* p = proto->add_stack_frames();
    p->set_file_location_id(static_cast<int32_t>(f.file_location_id));
    p->set_parent_frame_id(static_cast<int32_t>(f.parent_frame_id));
  }
}

// Attributes of the module line without a field of their own, as text.
std::string PrivateAttributes(const ModuleConfig& config) {
  std::string out;
  const auto bools = [&](absl::string_view name, const std::vector<bool>& values) {
    if (values.empty()) return;
    absl::StrAppend(&out, ", ", name, "={");
    for (size_t i = 0; i < values.size(); ++i) absl::StrAppend(&out, i > 0 ? "," : "", values[i] ? "true" : "false");
    out.push_back('}');
  };
  bools("allow_spmd_sharding_propagation_to_parameters", config.allow_spmd_sharding_propagation_to_parameters);
  bools("allow_spmd_sharding_propagation_to_output", config.allow_spmd_sharding_propagation_to_output);
  if (config.replica_count != 1) absl::StrAppend(&out, ", replica_count=", config.replica_count);
  if (config.num_partitions != 1) absl::StrAppend(&out, ", num_partitions=", config.num_partitions);
  for (const auto& [name, value] : config.other) absl::StrAppend(&out, ", ", name, "=", value);
  return out;
}

}  // namespace

absl::StatusOr<pb::HloModuleProto> ModuleToProto(const HloModule& module) {
  pb::HloModuleProto proto;
  const ModuleConfig& config = module.config();
  Leftovers leftovers;
  if (!config.extra_proto.empty()) {
    proto.MergeFromString(config.extra_proto);
    google::protobuf::UnknownFieldSet* unknown = proto.GetReflection()->MutableUnknownFields(&proto);
    for (int i = 0; i < unknown->field_count(); ++i) {
      const google::protobuf::UnknownField& field = unknown->field(i);
      if (field.number() != kLeftoverField || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
        continue;
      }
      pb::HloInstructionProto leftover;
      if (leftover.ParseFromString(field.length_delimited())) leftovers[leftover.id()] = field.length_delimited();
    }
    unknown->DeleteByNumber(kLeftoverField);
  }
  proto.set_name(module.name());
  if (module.entry() == nullptr) return absl::InvalidArgumentError("the module has no entry computation");
  proto.set_entry_computation_name(module.entry()->name());
  proto.set_entry_computation_id(module.entry()->id());
  for (const HloComputation* computation : TextOrder(module)) {
    if (absl::Status status = ComputationToProto(*computation, leftovers, proto.add_computations()); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("computation '", computation->name(), "': ", status.message()));
    }
    if (config.is_scheduled && !computation->IsFusion()) {
      pb::HloScheduleProto::InstructionSequence& sequence =
          (*proto.mutable_schedule()->mutable_sequences())[computation->id()];
      for (const HloInstruction* instruction : TextOrder(*computation)) sequence.add_instruction_ids(instruction->id());
    }
  }
  pb::ProgramShapeProto* host = proto.mutable_host_program_shape();
  if (config.has_entry_layout) {
    for (const Shape& shape : config.entry_parameter_layouts) ShapeToProto(shape, host->add_parameters());
    for (const HloInstruction* parameter : module.entry()->parameters()) host->add_parameter_names(parameter->name());
    ShapeToProto(config.entry_result_layout, host->mutable_result());
  } else {
    *host = proto.computations(proto.computations_size() - 1).program_shape();
    for (const pb::HloComputationProto& c : proto.computations()) {
      if (c.id() == module.entry()->id()) *host = c.program_shape();
    }
  }
  for (const InputOutputAlias& alias : config.input_output_alias) {
    auto* p = proto.mutable_input_output_alias()->add_entries();
    FillIndex(alias.output_index, p->mutable_output_shape_index());
    p->set_parameter_number(alias.parameter);
    FillIndex(alias.parameter_index, p->mutable_parameter_shape_index());
    p->set_kind(alias.must_alias ? pb::MUST_ALIAS : pb::MAY_ALIAS);
  }
  for (const BufferDonor& donor : config.buffer_donors) {
    auto* p = proto.mutable_buffer_donor()->add_entries();
    p->set_parameter_number(donor.parameter);
    FillIndex(donor.parameter_index, p->mutable_parameter_shape_index());
  }
  if (!config.frontend_attributes.empty()) {
    FrontendAttributesToProto(config.frontend_attributes, proto.mutable_frontend_attributes());
  }
  if (!config.stack_frames.empty()) StackFramesToProto(config.stack_frames, proto.mutable_stack_frame_index());
  if (const std::string text = PrivateAttributes(config); !text.empty()) {
    proto.GetReflection()->MutableUnknownFields(&proto)->AddLengthDelimited(kPrivateField, text);
  }
  return proto;
}

}  // namespace xc
