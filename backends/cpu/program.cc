#include "backends/cpu/program.h"

#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/io.h"
#include "proto/program.pb.h"

namespace xc::cpu {
namespace {

void WriteBuffer(const CallBuffer& buffer, pb::CpuProgramProto::Buffer* proto) {
  proto->set_type(static_cast<int32_t>(buffer.type));
  proto->mutable_dims()->Add(buffer.dims.begin(), buffer.dims.end());
  proto->mutable_minor_to_major()->Add(buffer.minor_to_major.begin(), buffer.minor_to_major.end());
}

// Views of `protos`.
std::vector<CallBuffer> ReadBuffers(const google::protobuf::RepeatedPtrField<pb::CpuProgramProto::Buffer>& protos) {
  std::vector<CallBuffer> buffers;
  for (const auto& proto : protos) {
    buffers.push_back({static_cast<RtType>(proto.type()), absl::MakeConstSpan(proto.dims().data(), proto.dims_size()),
                       absl::MakeConstSpan(proto.minor_to_major().data(), proto.minor_to_major_size()), nullptr});
  }
  return buffers;
}

absl::Status ReadFallbacks(const pb::CpuProgramProto& proto, Program* program) {
  if (proto.fallbacks().empty()) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(program->module, ReadModule(proto.module()));
  absl::flat_hash_map<std::string, const HloInstruction*> by_name;
  for (const auto& computation : program->module->computations()) {
    for (const auto& i : computation->instructions()) by_name[i->name()] = i.get();
  }
  for (const std::string& name : proto.fallbacks()) {
    auto it = by_name.find(name);
    if (it == by_name.end()) return absl::InvalidArgumentError(absl::StrCat("it has no instruction ", name));
    program->fallback.sites.push_back(it->second);
  }
  return absl::OkStatus();
}

}  // namespace

void SetBuffers(const BufferAssignment& buffers, Program* program) {
  program->arena_bytes = buffers.arena_bytes();
  for (const BufferAssignment::ParameterLeaf& leaf : buffers.parameters()) {
    program->parameters.push_back({leaf.size, leaf.donated});
  }
  for (const BufferAssignment::OutputLeaf& leaf : buffers.outputs()) {
    const bool in_parameter = leaf.slice.kind == BufferSlice::Kind::kParameter;
    program->outputs.push_back({leaf.size, in_parameter ? leaf.slice.index : -1, leaf.slice.offset});
  }
}

absl::StatusOr<std::string> WriteProgram(const Program& program, const std::vector<std::string>& objects) {
  pb::CpuProgramProto proto;
  proto.set_entry(program.entry);
  for (const std::string& object : objects) proto.add_objects(object);
  proto.set_arena_bytes(program.arena_bytes);
  for (const Program::Parameter& parameter : program.parameters) {
    auto* p = proto.add_parameters();
    p->set_bytes(parameter.bytes);
    p->set_donated(parameter.donated);
  }
  for (const Program::Output& output : program.outputs) {
    auto* p = proto.add_outputs();
    p->set_bytes(output.bytes);
    p->set_in_parameter(output.parameter >= 0);
    p->set_parameter(std::max<int64_t>(output.parameter, 0));
    p->set_offset(output.offset);
  }
  for (const auto& literal : program.literals) proto.add_constants(literal->bytes(), literal->byte_size());
  for (const PreparedCall& call : program.fallback.calls) {
    const CallArgs args = call.args();
    auto* p = proto.add_calls();
    p->set_target(std::string(args.target));
    p->set_backend_config(std::string(args.backend_config));
    for (const CallBuffer& buffer : args.inputs) WriteBuffer(buffer, p->add_inputs());
    for (const CallBuffer& buffer : args.outputs) WriteBuffer(buffer, p->add_outputs());
  }
  for (const HloInstruction* site : program.fallback.sites) {
    if (site->opcode() == HloOpcode::kCustomCall) {
      return absl::UnimplementedError(absl::StrCat("the custom call ", site->name(), " has no function here"));
    }
    proto.add_fallbacks(site->name());
  }
  if (!program.fallback.sites.empty()) {
    XC_ASSIGN_OR_RETURN(*proto.mutable_module(), WriteModule(*program.module, ModuleFormat::kBinaryProto));
  }
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) return absl::ResourceExhaustedError("larger than a message can be");
  return bytes;
}

absl::StatusOr<Program> ReadProgram(absl::string_view bytes, std::vector<std::string>* objects) {
  pb::CpuProgramProto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("it is no CpuProgramProto");
  }
  Program program;
  program.entry = proto.entry();
  program.arena_bytes = proto.arena_bytes();
  if (program.arena_bytes < 0) return absl::InvalidArgumentError("its temporary memory has a negative size");
  for (const auto& p : proto.parameters()) program.parameters.push_back({p.bytes(), p.donated()});
  for (const auto& p : proto.outputs()) {
    program.outputs.push_back({p.bytes(), p.in_parameter() ? p.parameter() : -1, p.offset()});
    if (!p.in_parameter()) continue;
    if (p.parameter() < 0 || p.parameter() >= proto.parameters_size() || p.offset() < 0 || p.bytes() < 0 ||
        p.offset() + p.bytes() > proto.parameters(p.parameter()).bytes()) {
      return absl::InvalidArgumentError("an output lies outside of its parameter");
    }
  }
  for (const std::string& constant : proto.constants()) {
    XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(constant.size()));
    std::memcpy(block.data(), constant.data(), constant.size());
    program.constants.push_back(block.data());
    program.constant_bytes += constant.size();
    program.blocks.push_back(std::move(block));
  }
  for (const auto& p : proto.calls()) {
    const std::vector<CallBuffer> inputs = ReadBuffers(p.inputs()), outputs = ReadBuffers(p.outputs());
    CallArgs args;
    args.target = p.target();
    args.inputs = inputs;
    args.outputs = outputs;
    args.backend_config = p.backend_config();
    for (const auto* buffers : {&inputs, &outputs}) {
      for (const CallBuffer& buffer : *buffers) {
        if (buffer.dims.size() != buffer.minor_to_major.size()) {
          return absl::InvalidArgumentError("a layout has other dimensions than its array");
        }
      }
    }
    XC_ASSIGN_OR_RETURN(PreparedCall call, PreparedCall::Make(args));
    program.fallback.calls.push_back(std::move(call));
  }
  XC_RETURN_IF_ERROR(ReadFallbacks(proto, &program));
  for (std::string& object : *proto.mutable_objects()) objects->push_back(std::move(object));
  return program;
}

}  // namespace xc::cpu
