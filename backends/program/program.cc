#include "backends/program/program.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime/preparation.h"
#include "hlo/base/status.h"
#include "hlo/wire/module_proto.h"
#include "hlo/wire/shape_proto.h"
#include "proto/program.pb.h"

namespace xc {
namespace {

using ShapeProtos = google::protobuf::RepeatedPtrField<pb::ShapeProto>;

void WriteBuffers(absl::Span<const CallBuffer> buffers, ShapeProtos* protos) {
  for (const CallBuffer& buffer : buffers) {
    if (buffer.type == RtType::kToken) {
      ShapeToProto(Shape::Token(), protos->Add());
      continue;
    }
    Shape shape(static_cast<ElementType>(buffer.type), {buffer.dims.begin(), buffer.dims.end()});
    shape.mutable_layout()->minor_to_major.assign(buffer.minor_to_major.begin(), buffer.minor_to_major.end());
    ShapeToProto(shape, protos->Add());
  }
}

absl::StatusOr<std::vector<Shape>> ReadShapes(const ShapeProtos& protos) {
  std::vector<Shape> shapes;
  for (const pb::ShapeProto& proto : protos) {
    XC_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto));
    if (shape.IsToken()) {
      shapes.push_back(std::move(shape));
      continue;
    }
    // A scalar's layout, which has no dimension to order, is none in this form.
    if (shape.IsScalar()) shape.set_layout(Layout::Descending(0));
    if (!shape.IsArray() || !shape.has_layout() || shape.has_unknown_size()) {
      return absl::InvalidArgumentError(absl::StrCat("a custom call's ", shape.ToString(),
                                                     " is neither a token nor an array with sizes and a layout"));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// Views of `shapes`.
std::vector<CallBuffer> BuffersOf(const std::vector<Shape>& shapes) {
  std::vector<CallBuffer> buffers;
  for (const Shape& shape : shapes) {
    CallBuffer& buffer = buffers.emplace_back();
    buffer.type = static_cast<RtType>(shape.type());
    if (!shape.IsArray()) continue;
    buffer.dims = shape.dims();
    buffer.minor_to_major = shape.layout().minor_to_major;
  }
  return buffers;
}

// Whether `output` is a range of its parameter's bytes.
bool LiesInParameter(const pb::ProgramProto::Output& output, const pb::ProgramProto& proto) {
  if (output.parameter() < 0 || output.parameter() >= proto.parameters_size()) return false;
  const int64_t size = proto.parameters(static_cast<int>(output.parameter())).bytes();
  return output.bytes() >= 0 && output.bytes() <= size && output.offset() >= 0 &&
         output.offset() <= size - output.bytes();
}

absl::Status ReadFallbacks(const pb::ProgramProto& proto, Program* program) {
  if (proto.fallbacks().empty()) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(program->module, ModuleFromBytes(proto.module()));
  absl::flat_hash_map<std::string, const HloInstruction*> by_name;
  for (const auto& computation : program->module->computations()) {
    for (const auto& i : computation->instructions()) by_name[i->name()] = i.get();
  }
  if (proto.reasons_size() != proto.fallbacks_size()) {
    return absl::InvalidArgumentError("it does not say why each instruction without code has none");
  }
  for (int i = 0; i < proto.fallbacks_size(); ++i) {
    auto it = by_name.find(proto.fallbacks(i));
    if (it == by_name.end()) {
      return absl::InvalidArgumentError(absl::StrCat("it has no instruction ", proto.fallbacks(i)));
    }
    program->calls.sites.push_back({it->second, proto.reasons(i)});
  }
  return absl::OkStatus();
}

bool PreparesProducts(const plan::Plan& plan) {
  for (const plan::Computation& computation : plan.computations) {
    for (const plan::Step& step : computation.steps) {
      const auto* call = std::get_if<plan::LibraryCall>(&step.action);
      if (call == nullptr) continue;
      for (const auto& argument : call->arguments) {
        const auto* descriptor = std::get_if<plan::Descriptor>(&argument);
        if (descriptor == nullptr) continue;
        const auto* product = std::get_if<MatmulDesc>(descriptor);
        const auto* convolution = std::get_if<ConvDesc>(descriptor);
        if (product != nullptr && NeedsPreparation(*product)) return true;
        if (convolution != nullptr && NeedsPreparation(*convolution)) return true;
      }
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Program> MakeProgram(const BufferAssignment& buffers, plan::Plan* plan) {
  Program program;
  program.arena_bytes = buffers.arena_bytes();
  program.prepares_products = PreparesProducts(*plan);
  for (const BufferAssignment::ParameterLeaf& leaf : buffers.parameters()) {
    program.parameters.push_back({leaf.size, leaf.donated});
  }
  for (const BufferAssignment::OutputLeaf& leaf : buffers.outputs()) {
    const bool in_parameter = leaf.slice.kind == BufferSlice::Kind::kParameter;
    program.outputs.push_back({leaf.size, in_parameter ? leaf.slice.index : -1, leaf.slice.offset});
  }
  for (const plan::EvaluatedSite& site : plan->evaluated) {
    program.calls.sites.push_back({site.instruction, site.reason});
  }
  program.calls.calls = std::move(plan->custom_calls);
  program.literals = buffers.constants();
  program.literals.insert(program.literals.end(), plan->constants.begin(), plan->constants.end());
  const std::vector<bool> used = plan::UsedConstants(*plan, buffers.constants().size());
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) program.literals[i] = std::make_shared<const Literal>();
    const auto& literal = program.literals[i];
    if (literal->elided()) {
      return absl::InvalidArgumentError(absl::StrCat("a constant of shape ", literal->shape().ToString(),
                                                     " has no elements (`{...}`): the program cannot run"));
    }
    program.constant_bytes += literal->byte_size();
    program.constants.push_back(literal->bytes());
  }
  return program;
}

absl::StatusOr<std::string> WriteProgram(const Program& program, const std::vector<std::string>& objects) {
  pb::ProgramProto proto;
  proto.set_entry(program.entry);
  for (const std::string& object : objects) proto.add_objects(object);
  proto.set_arena_bytes(program.arena_bytes);
  proto.set_prepares_products(program.prepares_products);
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
  for (const PreparedCall& call : program.calls.calls) {
    const CallArgs args = call.args();
    auto* p = proto.add_calls();
    p->set_target(std::string(args.target));
    p->set_backend_config(std::string(args.backend_config));
    p->set_tuple_result(args.tuple_result);
    WriteBuffers(args.inputs, p->mutable_inputs());
    WriteBuffers(args.outputs, p->mutable_outputs());
  }
  for (const CallTable::Site& site : program.calls.sites) {
    if (site.instruction->opcode() == HloOpcode::kCustomCall) {
      return absl::UnimplementedError(
          absl::StrCat("the custom call ", site.instruction->name(), " has no function here"));
    }
    proto.add_fallbacks(site.instruction->name());
    proto.add_reasons(site.reason);
  }
  if (!program.calls.sites.empty()) {
    XC_ASSIGN_OR_RETURN(*proto.mutable_module(), ModuleToBytes(*program.module));
  }
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) return absl::ResourceExhaustedError("larger than a message can be");
  return bytes;
}

absl::StatusOr<Program> ReadProgram(absl::string_view bytes, std::vector<std::string>* objects) {
  pb::ProgramProto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("it is no ProgramProto");
  }
  Program program;
  program.entry = proto.entry();
  program.arena_bytes = proto.arena_bytes();
  program.prepares_products = proto.prepares_products();
  if (program.arena_bytes < 0) return absl::InvalidArgumentError("its temporary memory has a negative size");
  for (const auto& p : proto.parameters()) program.parameters.push_back({p.bytes(), p.donated()});
  for (const auto& p : proto.outputs()) {
    program.outputs.push_back({p.bytes(), p.in_parameter() ? p.parameter() : -1, p.offset()});
    if (p.in_parameter() && !LiesInParameter(p, proto)) {
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
    XC_ASSIGN_OR_RETURN(const std::vector<Shape> input_shapes, ReadShapes(p.inputs()));
    XC_ASSIGN_OR_RETURN(const std::vector<Shape> output_shapes, ReadShapes(p.outputs()));
    const std::vector<CallBuffer> inputs = BuffersOf(input_shapes), outputs = BuffersOf(output_shapes);
    CallArgs args;
    args.target = p.target();
    args.inputs = inputs;
    args.outputs = outputs;
    args.backend_config = p.backend_config();
    args.tuple_result = p.tuple_result();
    XC_ASSIGN_OR_RETURN(PreparedCall call, PreparedCall::Make(args));
    program.calls.calls.push_back(std::move(call));
  }
  XC_RETURN_IF_ERROR(ReadFallbacks(proto, &program));
  for (std::string& object : *proto.mutable_objects()) objects->push_back(std::move(object));
  return program;
}

}  // namespace xc
