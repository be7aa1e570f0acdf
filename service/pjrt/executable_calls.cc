// The functions of the PJRT C API that tell about executables.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/cost_analysis.h"
#include "compiler/sharding/mesh_axes.h"
#include "compiler/sharding/partition.h"
#include "compiler/sharding/propagate.h"
#include "compiler/sharding/unreduced.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/status.h"
#include "hlo/wire/carried_proto.h"
#include "hlo/wire/shape_proto.h"
#include "importers/io.h"
#include "proto/compile_options.pb.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"
#include "service/pjrt/shown_collectives.h"
#include "service/pjrt/shown_shardings.h"

namespace xc::pjrt {
namespace {

// `shape` with a layout for every array: that of the next order where there are any and it is not empty, else the one
// that it has or the row-major one.
Shape WithLayouts(Shape shape, const Dims** next_order) {
  for (Shape& element : shape.mutable_tuple_shapes()) element = WithLayouts(std::move(element), next_order);
  if (shape.IsTuple()) return shape;
  if (shape.IsArray() && !shape.has_layout()) shape.set_layout(Layout::Descending(shape.rank()));
  if (*next_order == nullptr) return shape;
  const Dims& order = *(*next_order)++;
  if (!order.empty() && order.size() == shape.dims().size()) {
    shape.mutable_layout()->minor_to_major.assign(order.begin(), order.end());
  }
  return shape;
}

// How the leaves lie on the devices: from here JAX learns the shardings of what it did not give any.
void AddShardings(const DeviceProgram& program, pb::HloModuleProtoWithConfig* proto) {
  pb::HloModuleProto* const module = proto->mutable_hlo_module();
  const std::vector<Sharding>& results = program.result_shardings();
  Sharding all;
  all.type = Sharding::Type::kTuple;
  all.tuple = results;
  // One result stands for itself.
  ShardingToProto(results.size() == 1 ? results[0] : all, module->mutable_spmd_output_sharding());
  module->clear_spmd_parameters_shardings();
  for (const Sharding& sharding : program.parameter_shardings()) {
    ShardingToProto(sharding, module->add_spmd_parameters_shardings());
  }
}

// Readers of the module want a layout for every array: the row-major one where there is none.
void FillLayouts(pb::ShapeProto* shape) {
  for (pb::ShapeProto& element : *shape->mutable_tuple_shapes()) FillLayouts(&element);
  const bool is_array = IsArrayType(static_cast<ElementType>(shape->element_type()));
  if (!is_array || shape->has_layout()) return;
  for (int i = shape->dimensions_size(); i-- > 0;) shape->mutable_layout()->add_minor_to_major(i);
  shape->mutable_layout();
}

void FillLayouts(pb::HloModuleProto* module) {
  for (pb::HloComputationProto& computation : *module->mutable_computations()) {
    for (pb::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      FillLayouts(instruction.mutable_shape());
      if (instruction.has_literal()) FillLayouts(instruction.mutable_literal()->mutable_shape());
    }
  }
}

// What each device would compute of a program of whole arrays, which runs once for all of them.
absl::StatusOr<std::unique_ptr<HloModule>> PartsOf(const CompiledProgram& compiled) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule(compiled.source));
  module->config().replica_count = 1;
  module->config().num_partitions = compiled.num_partitions;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      const bool asks = i->opcode() == HloOpcode::kCustomCall && i->custom_call_target() == "InspectSharding";
      if (asks && i->operand_count() == 1) computation->Replace(i, i->operand(0));
    }
  }
  PassContext context;
  XC_RETURN_IF_ERROR(InlineCalls(module.get(), context).status());
  XC_ASSIGN_OR_RETURN(EntryTilings tilings, PropagateShardings(*module, compiled.num_partitions));
  DropShardingGroups(module.get());
  DropMesh(module.get());
  const EntryTilings as_given = tilings;
  XC_RETURN_IF_ERROR(StackUnreduced(module.get(), &tilings));
  XC_RETURN_IF_ERROR(PartitionModule(module.get(), tilings));
  DropStacks(module.get(), as_given);
  for (const PassFunction pass : {SimplifyTuples, EliminateCommonSubexpressions, EliminateDeadCode}) {
    XC_RETURN_IF_ERROR(pass(module.get(), context).status());
  }
  return module;
}

// Each donated parameter whose result nobody named becomes the first result of its size that is still free.
void AliasDonors(HloModule* module) {
  ModuleConfig& config = module->config();
  const Shape& root = module->entry()->root()->shape();
  const auto taken = [&](const ShapeIndex& result) {
    const auto& aliases = config.input_output_alias;
    return std::any_of(aliases.begin(), aliases.end(), [&](const auto& a) { return a.output_index == result; });
  };
  std::vector<BufferDonor> rest;
  for (const BufferDonor& donor : config.buffer_donors) {
    const Shape& given = module->entry()->parameter(donor.parameter)->shape();
    bool found = false;
    for (const auto& [result, leaf] : Leaves(root)) {
      if (found || !donor.parameter_index.empty() || !given.IsArray() || !leaf->IsArray() || taken(result)) continue;
      if (given.ByteSize() != leaf->ByteSize()) continue;
      config.input_output_alias.push_back({result, donor.parameter, {}, /*must_alias=*/false});
      found = true;
    }
    if (!found) rest.push_back(donor);
  }
  config.buffer_donors = std::move(rest);
}

// The module that a program's text and costs are told of: what a device computes. Where that cannot be made of a
// program of whole arrays, it is the whole.
absl::StatusOr<std::unique_ptr<HloModule>> ModuleOf(const CompiledProgram& compiled) {
  if (compiled.for_several != nullptr && compiled.for_several->runs_whole()) {
    if (absl::StatusOr<std::unique_ptr<HloModule>> parts = PartsOf(compiled); parts.ok()) return parts;
  }
  const std::string text = compiled.executable().Text("optimized_hlo");
  // A program that was loaded is without its optimized module: then it is the one that was compiled.
  return ReadModule(text.empty() ? compiled.source : text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> CompiledProgram::OptimizedModule() const {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ModuleOf(*this));
  // Programs that differ in names only share an executable.
  module->set_name(name);
  if (for_several != nullptr) {
    ShowCollectives(module.get());
    AliasDonors(module.get());
  }
  return module;
}

absl::StatusOr<std::string> CompiledProgram::OptimizedProto() const {
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, OptimizedModule());
  XC_ASSIGN_OR_RETURN(const std::string bytes, WriteModule(*module, ModuleFormat::kBinaryProto));
  pb::HloModuleProtoWithConfig proto;
  if (!proto.mutable_hlo_module()->ParseFromString(bytes)) return absl::InternalError("the module cannot be written");
  FillLayouts(proto.mutable_hlo_module());
  pb::ProgramShapeProto* const layout = proto.mutable_config()->mutable_entry_computation_layout();
  const Dims* parameter_order = parameter_orders.empty() ? nullptr : parameter_orders.data();
  for (int64_t i = 0; i < module->entry()->parameter_count(); ++i) {
    ShapeToProto(WithLayouts(EntryParameterShape(*module, i), &parameter_order), layout->add_parameters());
    layout->add_parameter_names(module->entry()->parameter(i)->name());
  }
  const Dims* result_order = result_orders.empty() ? nullptr : result_orders.data();
  ShapeToProto(WithLayouts(EntryResultShape(*module), &result_order), layout->mutable_result());
  *proto.mutable_hlo_module()->mutable_host_program_shape() = *layout;
  if (for_several != nullptr && !for_several->result_shardings().empty()) AddShardings(*for_several, &proto);
  ListDevicesAsIotas(proto.mutable_hlo_module());
  proto.mutable_config()->set_replica_count(num_replicas);
  proto.mutable_config()->set_num_partitions(num_partitions);
  return proto.SerializeAsString();
}

const CompiledProgram::Costs& CompiledProgram::costs() const {
  std::call_once(cost_once_, [this] {
    auto module = ModuleOf(*this);
    if (!module.ok()) return;
    const InstructionCost cost = CostOf((*module)->entry());
    const auto add = [this](std::string name, int64_t value) {
      if (value == 0) return;  // XLA's analysis says nothing of it
      NamedValue named = {};
      named.struct_size = sizeof(NamedValue);
      Give(costs_.names.emplace_back(std::move(name)), &named.name, &named.name_size);
      named.type = kFloatValue;
      named.float_value = static_cast<float>(value);
      named.value_size = 1;
      costs_.values.push_back(named);
    };
    add("flops", cost.flops);
    add("transcendentals", cost.transcendentals);
    add("bytes accessed", cost.bytes_read + cost.bytes_written);
    add("bytes accessedout{}", cost.bytes_written);
    const std::vector<OperandCost> operands = OperandCostsOf((*module)->entry());
    for (size_t i = 0; i < operands.size(); ++i) {
      add(absl::StrCat("bytes accessed", i, "{}"), operands[i].bytes);
      add(absl::StrCat("utilization", i, "{}"), operands[i].uses);
    }
  });
  return costs_;
}

Error* Executable_Destroy(Executable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

Error* Executable_Name(Executable_Name_Args* args) {
  Give(args->executable->compiled->name, &args->executable_name, &args->executable_name_size);
  return nullptr;
}

Error* Executable_NumReplicas(Executable_NumReplicas_Args* args) {
  args->num_replicas = args->executable->compiled->num_replicas;
  return nullptr;
}

Error* Executable_NumPartitions(Executable_NumPartitions_Args* args) {
  args->num_partitions = args->executable->compiled->num_partitions;
  return nullptr;
}

Error* Executable_NumOutputs(Executable_NumOutputs_Args* args) {
  args->num_outputs = args->executable->compiled->result_types.size();
  return nullptr;
}

Error* Executable_SizeOfGeneratedCodeInBytes(Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  args->size_in_bytes = args->executable->compiled->executable().size_bytes();
  return nullptr;
}

Error* Executable_GetCostAnalysis(Executable_GetCostAnalysis_Args* args) {
  return Answer([&] {
    const auto& values = args->executable->compiled->costs().values;
    args->num_properties = values.size();
    args->properties = values.data();
    return absl::OkStatus();
  });
}

Error* Executable_GetCompiledMemoryStats(Executable_GetCompiledMemoryStats_Args* args) {
  const CompiledProgram& compiled = *args->executable->compiled;
  const auto bytes = [](const std::vector<Shape>& leaves) {
    int64_t sum = 0;
    for (const Shape& leaf : leaves) sum += leaf.ByteSize();
    return sum;
  };
  int64_t aliased = 0;
  const auto& parameters = compiled.parameter_leaves();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i < compiled.donated.size() && compiled.donated[i]) aliased += parameters[i].ByteSize();
  }
  args->generated_code_size_in_bytes = compiled.executable().size_bytes();
  args->argument_size_in_bytes = bytes(parameters);
  // XLA's results, if they are several, are a tuple: a table of pointers.
  const size_t results = compiled.result_leaves().size();
  args->output_size_in_bytes = bytes(compiled.result_leaves());
  if (results > 1) args->output_size_in_bytes += static_cast<int64_t>(results * sizeof(void*));
  args->alias_size_in_bytes = aliased;
  args->temp_size_in_bytes = compiled.executable().temp_bytes();
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = 0;
  args->host_output_size_in_bytes = 0;
  args->host_alias_size_in_bytes = 0;
  args->host_temp_size_in_bytes = 0;
  const int64_t peak = args->argument_size_in_bytes + args->output_size_in_bytes + args->temp_size_in_bytes - aliased;
  // Fields of newer versions of the API.
  if (args->struct_size > offsetof(Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes)) {
    args->peak_memory_in_bytes = peak;
  }
  if (args->struct_size > offsetof(Executable_GetCompiledMemoryStats_Args, total_size_in_bytes)) {
    args->total_size_in_bytes = peak;
  }
  return nullptr;
}

Error* Executable_OutputElementTypes(Executable_OutputElementTypes_Args* args) {
  const auto& types = args->executable->compiled->result_types;
  args->output_types = const_cast<BufferType*>(types.data());
  args->num_output_types = types.size();
  return nullptr;
}

Error* Executable_OutputDimensions(Executable_OutputDimensions_Args* args) {
  const CompiledProgram& compiled = *args->executable->compiled;
  args->num_outputs = compiled.ranks.size();
  args->dims = compiled.flat_dims.data();
  args->dim_sizes = compiled.ranks.data();
  return nullptr;
}

Error* Executable_OutputMemoryKinds(Executable_OutputMemoryKinds_Args* args) {
  const CompiledProgram& compiled = *args->executable->compiled;
  args->num_outputs = compiled.memory_kinds.size();
  args->memory_kinds = compiled.memory_kinds.data();
  args->memory_kind_sizes = compiled.memory_kind_sizes.data();
  return nullptr;
}

Error* Executable_OptimizedProgram(Executable_OptimizedProgram_Args* args) {
  return Answer([&]() -> absl::Status {
    static constexpr char kFormat[] = "hlo_with_config";
    args->program->format = kFormat;
    args->program->format_size = sizeof(kFormat) - 1;
    std::string proto;
    {
      const std::lock_guard<std::mutex> lock(args->executable->mu);
      proto = std::move(args->executable->optimized);
      args->executable->optimized.clear();
    }
    if (proto.empty()) {
      XC_ASSIGN_OR_RETURN(proto, args->executable->compiled->OptimizedProto());
    }
    // The caller asks for the size first, and then hands over as much memory.
    if (args->program->code == nullptr) {
      args->program->code_size = proto.size();
      const std::lock_guard<std::mutex> lock(args->executable->mu);
      args->executable->optimized = std::move(proto);
      return absl::OkStatus();
    }
    if (args->program->code_size < proto.size()) {
      return absl::InvalidArgumentError("there is not enough room for the optimized program");
    }
    std::memcpy(args->program->code, proto.data(), proto.size());
    return absl::OkStatus();
  });
}

Error* Executable_Fingerprint(Executable_Fingerprint_Args* args) {
  Give(args->executable->compiled->fingerprint, &args->executable_fingerprint, &args->executable_fingerprint_size);
  return nullptr;
}

Error* LoadedExecutable_Destroy(LoadedExecutable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

Error* LoadedExecutable_GetExecutable(LoadedExecutable_GetExecutable_Args* args) {
  return Answer([&] {
    args->executable = new Executable{args->loaded_executable->compiled};
    return absl::OkStatus();
  });
}

Error* LoadedExecutable_AddressableDevices(LoadedExecutable_AddressableDevices_Args* args) {
  args->addressable_devices = args->executable->compiled->devices.data();
  args->num_addressable_devices = args->executable->compiled->devices.size();
  return nullptr;
}

Error* LoadedExecutable_Delete(LoadedExecutable_Delete_Args* args) {
  args->executable->deleted = true;
  return nullptr;
}

Error* LoadedExecutable_IsDeleted(LoadedExecutable_IsDeleted_Args* args) {
  args->is_deleted = args->executable->deleted;
  return nullptr;
}

Error* LoadedExecutable_Fingerprint(LoadedExecutable_Fingerprint_Args* args) {
  Give(args->executable->compiled->fingerprint, &args->executable_fingerprint, &args->executable_fingerprint_size);
  return nullptr;
}

Error* ExecuteContext_Create(ExecuteContext_Create_Args* args) {
  return Answer([&] {
    args->context = new ExecuteContext;
    return absl::OkStatus();
  });
}

Error* ExecuteContext_Destroy(ExecuteContext_Destroy_Args* args) {
  delete args->context;
  return nullptr;
}

}  // namespace xc::pjrt
