// From a module and its options to an executable, and executables as bytes.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/registry.h"
#include "backends/runtime/custom_call.h"
#include "compiler/cost_analysis.h"
#include "compiler/sharding/partitioned_calls.h"
#include "compiler/sharding/propagate.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"
#include "hlo/ops/known_calls.h"
#include "importers/io.h"
#include "proto/compile_options.pb.h"
#include "service/pjrt/events.h"
#include "service/pjrt/executables.h"
#include "service/pjrt/python_host.h"
#include "service/pjrt/xla_dumps.h"
#include "service/pjrt/xla_options.h"

namespace xc::pjrt {
namespace {

// XLA's flags may be given for a module: those that mean something here are heeded, others of its names are not.
absl::Status SetOption(const std::string& name, const pb::OptionOverrideProto& value, xc::CompileOptions* options) {
  XC_RETURN_IF_ERROR(CheckXlaOption(name, value));
  if (name == "xla_allow_excess_precision") options->excess_precision = BoolOf(value);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Device*>> AssignedDevices(const Client& client,
                                                     const pb::ExecutableBuildOptionsProto& build) {
  const int64_t replicas = std::max<int64_t>(1, build.num_replicas());
  const int64_t partitions = std::max<int64_t>(1, build.num_partitions());
  const int64_t there_are = static_cast<int64_t>(client.devices.size());
  if (replicas > kMostDevices || partitions > kMostDevices || replicas * partitions > there_are) {
    return absl::InvalidArgumentError(absl::StrCat("the program is for ", replicas, " replicas of ", partitions,
                                                   " partitions, but there are ", there_are, " devices"));
  }
  std::vector<int64_t> ids;
  const pb::DeviceAssignmentProto& assignment = build.device_assignment();
  for (int64_t replica = 0; replica < replicas; ++replica) {
    for (int64_t partition = 0; partition < partitions; ++partition) {
      if (!build.has_device_assignment()) {
        const bool one = replicas * partitions == 1 && build.device_ordinal() > 0;
        ids.push_back(one ? build.device_ordinal() : replica * partitions + partition);
      } else if (partition < assignment.computation_devices_size() &&
                 replica < assignment.computation_devices(partition).replica_device_ids_size()) {
        ids.push_back(assignment.computation_devices(partition).replica_device_ids(replica));
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("the device assignment names no device for replica ", replica, " of partition ", partition));
      }
    }
  }
  std::vector<Device*> devices;
  for (int64_t id : ids) {
    if (id < 0 || id >= there_are) return absl::InvalidArgumentError(absl::StrCat("there is no device ", id));
    devices.push_back(client.devices[id]);
  }
  return devices;
}

// Of each parameter leaf, whether the module says that it is donated.
std::vector<bool> DonatedLeaves(const HloModule& module) {
  std::vector<std::pair<int64_t, ShapeIndex>> leaves;
  for (int64_t i = 0; i < module.entry()->parameter_count(); ++i) {
    for (const auto& [index, leaf] : Leaves(module.entry()->parameter(i)->shape())) leaves.emplace_back(i, index);
  }
  std::vector<bool> donated(leaves.size());
  const auto mark = [&](int64_t parameter, const ShapeIndex& index) {
    const auto found = std::find(leaves.begin(), leaves.end(), std::make_pair(parameter, index));
    if (found != leaves.end()) donated[found - leaves.begin()] = true;
  };
  for (const InputOutputAlias& alias : module.config().input_output_alias) mark(alias.parameter, alias.parameter_index);
  for (const BufferDonor& donor : module.config().buffer_donors) mark(donor.parameter, donor.parameter_index);
  return donated;
}

// The number of a memory, in the order of a device's, for what a layout says of it.
size_t MemoryOf(const Shape& leaf) {
  constexpr int64_t kHostMemory = 5, kUnpinnedHostMemory = 6;
  if (!leaf.has_layout()) return 0;
  return leaf.layout().memory_space == kHostMemory ? 1 : leaf.layout().memory_space == kUnpinnedHostMemory ? 2 : 0;
}

// Takes the layouts that are not row-major out of the module's entry.
void TakeLayouts(HloModule* module, CompiledProgram* compiled) {
  ModuleConfig& config = module->config();
  if (!config.has_entry_layout) return;
  const auto take = [](Shape* shape, std::vector<Dims>* orders, auto&& self) -> void {
    for (Shape& element : shape->mutable_tuple_shapes()) self(&element, orders, self);
    if (shape->IsTuple()) return;
    if (shape->IsArray() && shape->has_layout()) {
      std::vector<int64_t>& order = shape->mutable_layout()->minor_to_major;
      orders->push_back(OrderOf(shape->dims(), order));
      order = Layout::Descending(shape->rank()).minor_to_major;
    } else {
      orders->emplace_back();
    }
  };
  for (Shape& shape : config.entry_parameter_layouts) take(&shape, &compiled->parameter_orders, take);
  take(&config.entry_result_layout, &compiled->result_orders, take);
  for (std::vector<Dims>* orders : {&compiled->parameter_orders, &compiled->result_orders}) {
    const bool any = std::any_of(orders->begin(), orders->end(), [](const Dims& order) { return !order.empty(); });
    if (!any) orders->clear();
  }
}

absl::StatusOr<xc::CompileOptions> ReadOptions(absl::string_view serialized, pb::CompileOptionsProto* proto) {
  if (!proto->ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return absl::InvalidArgumentError("the compile options are no CompileOptionsProto");
  }
  xc::CompileOptions options;
  for (const auto& [name, value] : proto->env_option_overrides()) XC_RETURN_IF_ERROR(SetOption(name, value, &options));
  return options;
}

// The module that a program is made of, in the form that is compiled; fills in the layouts at its entry.
absl::StatusOr<std::unique_ptr<HloModule>> ReadSource(CompiledProgram* compiled) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModule(compiled->source));
  module->config().replica_count = compiled->num_replicas;
  module->config().num_partitions = compiled->num_partitions;
  TakeLayouts(module.get(), compiled);
  return module;
}

// Tells those who asked for it how arrays lie, and takes their calls out of the module; on one device they are whole.
absl::Status AnswerInspections(HloModule* module, int64_t devices) {
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      if (i->opcode() != HloOpcode::kCustomCall || i->custom_call_target() != "InspectSharding") continue;
      if (i->operand_count() != 1) return absl::InvalidArgumentError("InspectSharding takes one array");
      XC_ASSIGN_OR_RETURN(const std::vector<DeviceTiling> tilings, OperandTilings(*module, devices, i));
      const auto* config = i->FindAttr<AttrKind::kBackendConfig>();
      XC_RETURN_IF_ERROR(TellSharding(config == nullptr ? "" : config->text, tilings[0].ToSharding(devices)));
      computation->Replace(i, i->operand(0));
    }
  }
  return absl::OkStatus();
}

// NotFound for a call that has no function here, in the words of JAX's own client.
absl::Status CheckCalls(const HloModule& module) {
  for (const HloComputation* computation : module.ComputationPostOrder()) {
    for (const auto& i : computation->instructions()) {
      if (i->opcode() != HloOpcode::kCustomCall || IsAnnotation(*i) || IsKnownCall(*i)) continue;
      const std::string& target = i->custom_call_target();
      const bool dead = i->user_count() == 0 && i.get() != computation->root() && !i->HasSideEffect();
      if (dead || HasCustomCall(target)) continue;
      const auto* version = i->FindAttr<AttrKind::kApiVersion>();
      if (target == "ragged_all_to_all") {
        return absl::UnimplementedError("ragged_all_to_all is not supported on the CPU, here as with JAX's own client");
      }
      if (version != nullptr && *version == "API_VERSION_TYPED_FFI") {
        return absl::NotFoundError(absl::StrCat("No FFI handler registered for ", target,
                                                " on a platform Host (canonical host); instruction ", i->name()));
      }
      return absl::UnimplementedError(absl::StrCat("No registered implementation for untyped custom call to ", target,
                                                   " for platform Host (instruction ", i->name(), ")"));
    }
  }
  return absl::OkStatus();
}

// Whether runs of the module may happen after their calls have returned: only the compiler's own functions are called.
bool MayWait(const HloModule& module) {
  for (const HloComputation* computation : module.ComputationPostOrder()) {
    for (const auto& i : computation->instructions()) {
      const HloOpcode opcode = i->opcode();
      if (opcode == HloOpcode::kInfeed || opcode == HloOpcode::kOutfeed || opcode == HloOpcode::kSend ||
          opcode == HloOpcode::kRecv) {
        return false;
      }
      if (opcode != HloOpcode::kCustomCall || IsAnnotation(*i) || IsKnownCall(*i)) continue;
      const std::string& target = i->custom_call_target();
      if (!IsBuiltInCall(target) || absl::StrContains(target, "python")) return false;
    }
  }
  return true;
}

// What a run may take, at least, on a core of today.
int64_t ExpectedNanoseconds(const HloModule& module) {
  const InstructionCost cost = CostOf(module.entry());
  return cost.flops / 100 + cost.bytes_read / 400 + cost.bytes_written / 400;
}

void DescribeResults(CompiledProgram* compiled) {
  for (const Shape& leaf : compiled->result_leaves()) {
    // Tokens are arrays without elements to JAX.
    const Shape shape = leaf.IsToken() ? Shape(ElementType::kPred, {0}) : leaf;
    compiled->result_shapes.push_back(shape);
    compiled->too_large |= static_cast<size_t>(shape.ByteSize()) > BytesOfMachine();
    compiled->result_memories.push_back(MemoryOf(leaf));
    compiled->result_types.push_back(ToBufferType(shape.type()));
    compiled->flat_dims.insert(compiled->flat_dims.end(), shape.dims().begin(), shape.dims().end());
    compiled->ranks.push_back(shape.dims().size());
    const std::string& kind = compiled->devices[0]->memories[MemoryOf(leaf)]->kind;
    compiled->memory_kinds.push_back(kind.c_str());
    compiled->memory_kind_sizes.push_back(kind.size());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedExecutable>> CompileModule(Client* client, absl::string_view source,
                                                                absl::string_view options, std::string code) {
  pb::CompileOptionsProto proto;
  XC_ASSIGN_OR_RETURN(const xc::CompileOptions compile_options, ReadOptions(options, &proto));
  auto compiled = std::make_shared<CompiledProgram>();
  XC_ASSIGN_OR_RETURN(compiled->devices, AssignedDevices(*client, proto.executable_build_options()));
  compiled->num_replicas = static_cast<int>(std::max<int64_t>(1, proto.executable_build_options().num_replicas()));
  compiled->num_partitions = static_cast<int>(std::max<int64_t>(1, proto.executable_build_options().num_partitions()));
  compiled->source = std::string(source);
  compiled->options = std::string(options);
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadSource(compiled.get()));
  compiled->name = module->name();
  XC_ASSIGN_OR_RETURN(const XlaDump dump, DumpOf(proto, compiled->name));
  DumpModule(dump, "before_optimizations", *module);
  compiled->donated = DonatedLeaves(*module);
  compiled->any_donated =
      std::find(compiled->donated.begin(), compiled->donated.end(), true) != compiled->donated.end();
  compiled->fingerprint = absl::StrCat(FingerprintOf(*module).ToHex(), "/", compile_options.KeyText());
  // Constants stand in a program as they do in its module: large ones are not kept twice more.
  constexpr size_t kLargestKept = size_t{64} << 20;
  compiled->code = std::move(code);
  std::string* const kept = source.size() <= kLargestKept ? &compiled->code : nullptr;
  if (compiled->devices.size() == 1) {
    XC_RETURN_IF_ERROR(CheckCalls(*module));
    compiled->may_wait = MayWait(*module);
    compiled->ExpectRun(ExpectedNanoseconds(*module));
    XC_ASSIGN_OR_RETURN(compiled->for_one,
                        client->compiler->Compile(std::move(module), DefaultPlatform(), compile_options, kept));
  } else {
    const bool whole = proto.executable_build_options().use_spmd_partitioning() && compiled->num_partitions > 1;
    if (whole) XC_RETURN_IF_ERROR(PartitionCalls(module.get(), compiled->num_partitions, PartitionByJax));
    XC_RETURN_IF_ERROR(AnswerInspections(module.get(), whole ? compiled->num_partitions : 1));
    XC_RETURN_IF_ERROR(CheckCalls(*module));
    compiled->may_wait = MayWait(*module);
    compiled->ExpectRun(ExpectedNanoseconds(*module));
    XC_ASSIGN_OR_RETURN(
        compiled->for_several,
        DeviceProgram::Compile(client->compiler, std::move(module), DefaultPlatform(),
                               whole ? DeviceProgram::Form::kWholeArrays : DeviceProgram::Form::kOfDevices,
                               compile_options, kept));
  }
  DescribeResults(compiled.get());
  if (!dump.directory.empty()) {
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> optimized, compiled->OptimizedModule());
    DumpModule(dump, "cpu_after_optimizations", *optimized);
  }
  auto loaded = std::make_unique<LoadedExecutable>();
  loaded->compiled = std::move(compiled);
  loaded->client = client;
  return loaded;
}

const xc::Executable& CompiledProgram::for_profile(xc::Client* compiler) const {
  std::call_once(profile_once_, [&] {
    const auto compile = [&]() -> absl::StatusOr<std::shared_ptr<const xc::Executable>> {
      pb::CompileOptionsProto proto;
      XC_ASSIGN_OR_RETURN(xc::CompileOptions compile_options, ReadOptions(options, &proto));
      compile_options.profile = true;
      CompiledProgram again;
      again.source = source;
      XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadSource(&again));
      return compiler->Compile(std::move(module), DefaultPlatform(), compile_options);
    };
    absl::StatusOr<std::shared_ptr<const xc::Executable>> made = CatchExceptions(compile);
    for_profile_ = made.ok() ? *std::move(made) : for_one;
  });
  return *for_profile_;
}

namespace {

// The beginning of serialized executables. Options, module and code follow, each after its size in eight bytes, low
// ones first.
constexpr absl::string_view kMagic = "xcpjrt2\n";

void PutPart(absl::string_view part, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(uint64_t{part.size()} >> (8 * i)));
  out->append(part.data(), part.size());
}

// Takes a part off the front of `rest`; false where it is cut off.
bool TakePart(absl::string_view* rest, absl::string_view* part) {
  if (rest->size() < 8) return false;
  uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size |= uint64_t{static_cast<uint8_t>((*rest)[i])} << (8 * i);
  rest->remove_prefix(8);
  if (size > rest->size()) return false;
  *part = rest->substr(0, size);
  rest->remove_prefix(size);
  return true;
}

}  // namespace

std::string SerializeProgram(const CompiledProgram& compiled) {
  std::string out(kMagic);
  for (const std::string* part : {&compiled.options, &compiled.source, &compiled.code}) PutPart(*part, &out);
  return out;
}

absl::StatusOr<std::unique_ptr<LoadedExecutable>> LoadProgram(Client* client, absl::string_view serialized,
                                                              absl::string_view overridden_options) {
  absl::string_view rest = serialized, options, source, code;
  if (!absl::ConsumePrefix(&rest, kMagic) || !TakePart(&rest, &options) || !TakePart(&rest, &source) ||
      !TakePart(&rest, &code) || !rest.empty()) {
    return absl::InvalidArgumentError("this is no executable that this plugin serialized");
  }
  return CompileModule(client, source, overridden_options.empty() ? options : overridden_options, std::string(code));
}

Error* Client_Compile(Client_Compile_Args* args) {
  return Answer([&]() -> absl::Status {
    const absl::string_view format(args->program->format, args->program->format_size);
    if (format != "mlir" && format != "hlo") {
      return absl::UnimplementedError(
          absl::StrCat("programs in the form \"", format, "\" are not read; \"mlir\" and ", "\"hlo\" are"));
    }
    XC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedExecutable> executable,
                        CompileModule(args->client, absl::string_view(args->program->code, args->program->code_size),
                                      absl::string_view(args->compile_options, args->compile_options_size)));
    args->executable = executable.release();
    return absl::OkStatus();
  });
}

Error* Executable_Serialize(Executable_Serialize_Args* args) {
  return Answer([&] {
    auto* bytes = new std::string(SerializeProgram(*args->executable->compiled));
    Give(*bytes, &args->serialized_bytes, &args->serialized_bytes_size);
    args->serialized_executable = reinterpret_cast<SerializedExecutable*>(bytes);
    args->serialized_executable_deleter = [](SerializedExecutable* s) { delete reinterpret_cast<std::string*>(s); };
    return absl::OkStatus();
  });
}

Error* Executable_DeserializeAndLoad(Executable_DeserializeAndLoad_Args* args) {
  return Answer([&]() -> absl::Status {
    absl::string_view overridden;
    if (args->overridden_serialized_compile_options != nullptr) {
      overridden = absl::string_view(args->overridden_serialized_compile_options,
                                     args->overridden_serialized_compile_options_size);
    }
    XC_ASSIGN_OR_RETURN(
        std::unique_ptr<LoadedExecutable> executable,
        LoadProgram(args->client, absl::string_view(args->serialized_executable, args->serialized_executable_size),
                    overridden));
    args->loaded_executable = executable.release();
    return absl::OkStatus();
  });
}

Error* Executable_GetCompileOptions(Executable_GetCompileOptions_Args* args) {
  return Answer([&] {
    auto* bytes = new std::string(args->executable->compiled->options);
    Give(*bytes, &args->serialized_bytes, &args->serialized_bytes_size);
    args->serialized_compile_options = reinterpret_cast<SerializedCompileOptions*>(bytes);
    args->serialized_compile_options_deleter = [](SerializedCompileOptions* s) {
      delete reinterpret_cast<std::string*>(s);
    };
    return absl::OkStatus();
  });
}

Error* LoadedExecutable_GetDeviceAssignment(LoadedExecutable_GetDeviceAssignment_Args* args) {
  return Answer([&] {
    const CompiledProgram& compiled = *args->executable->compiled;
    pb::DeviceAssignmentProto proto;
    proto.set_replica_count(compiled.num_replicas);
    proto.set_computation_count(compiled.num_partitions);
    for (int partition = 0; partition < compiled.num_partitions; ++partition) {
      auto* devices = proto.add_computation_devices();
      for (int replica = 0; replica < compiled.num_replicas; ++replica) {
        devices->add_replica_device_ids(
            compiled.devices[replica * compiled.num_partitions + partition]->description.id);
      }
    }
    auto* bytes = new std::string(proto.SerializeAsString());
    Give(*bytes, &args->serialized_bytes, &args->serialized_bytes_size);
    args->serialized_device_assignment = reinterpret_cast<DeviceAssignmentSerialized*>(bytes);
    args->serialized_device_assignment_deleter = [](DeviceAssignmentSerialized* s) {
      delete reinterpret_cast<std::string*>(s);
    };
    return absl::OkStatus();
  });
}

}  // namespace xc::pjrt
