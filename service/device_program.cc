#include "service/device_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/device_group.h"
#include "compiler/sharding/manual.h"
#include "compiler/sharding/mesh_axes.h"
#include "compiler/sharding/unreduced.h"
#include "hlo/base/status.h"
#include "hlo/devices/device_groups.h"

namespace xc {
namespace {

// More threads than this would not run at once anywhere.
constexpr int64_t kMaxDevices = 1024;

// Shapes of whole arrays as those of one device's parts.
absl::Status CutShapes(const std::vector<DeviceTiling>& tilings, std::vector<Shape>* shapes) {
  for (size_t i = 0; i < shapes->size(); ++i) {
    if (tilings[i].IsReplicated()) continue;
    if (!(*shapes)[i].IsRowMajor()) {
      return absl::UnimplementedError(
          absl::StrCat("an array ", (*shapes)[i].ToString(), " on several devices should be row-major"));
    }
    XC_ASSIGN_OR_RETURN((*shapes)[i], tilings[i].ShardShape((*shapes)[i]));
  }
  return absl::OkStatus();
}

// Copies a device's part of a row-major array to its place in the whole array (`in`), or from there.
void CopyPart(const DeviceTiling& tiling, int64_t device, const Shape& whole, char* array, void* part, bool in) {
  // Dimensions after the last one that is cut are contiguous in both.
  int64_t last = tiling.rank() - 1, run = StorageBytes(whole.type());
  while (last > 0 && tiling.dim(last).empty()) run *= whole.dim(last--);
  const int64_t piece = whole.dim(last) / tiling.Tiles(last), row = run * whole.dim(last);
  run *= piece;
  // Rows of the part: its positions in the dimensions before.
  std::vector<int64_t> sizes, starts, position(last, 0);
  int64_t rows = 1;
  for (int64_t d = 0; d < last; ++d) {
    sizes.push_back(whole.dim(d) / tiling.Tiles(d));
    starts.push_back(tiling.TileOf(device, d) * sizes[d]);
    rows *= sizes[d];
  }
  const int64_t begin = tiling.TileOf(device, last) * run;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    for (int64_t d = 0; d < last; ++d) at = at * whole.dim(d) + starts[d] + position[d];
    char* in_array = array + at * row + begin;
    char* in_part = static_cast<char*>(part) + r * run;
    std::memcpy(in ? in_array : in_part, in ? in_part : in_array, run);
    for (int64_t d = last; d-- > 0;) {
      if (++position[d] < sizes[d]) break;
      position[d] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const DeviceProgram>> DeviceProgram::Compile(Client* client,
                                                                            std::unique_ptr<HloModule> module,
                                                                            absl::string_view platform, Form form,
                                                                            const CompileOptions& options,
                                                                            std::string* kept) {
  const int64_t devices = DeviceCount(*module);
  if (devices > kMaxDevices) {
    return absl::UnimplementedError(
        absl::StrCat("the module is for ", devices, " devices; a process can have ", kMaxDevices));
  }
  auto program = std::make_shared<DeviceProgram>();
  program->replicas_ = std::max<int64_t>(module->config().replica_count, 1);
  program->partitions_ = devices / program->replicas_;
  std::vector<bool> stacked;  // of the leaves of parameters and results: of which devices have summands
  if (form == Form::kWholeArrays) {
    if (program->replicas_ != 1) {
      return absl::UnimplementedError(
          absl::StrCat("a module of whole arrays has ", program->replicas_, " replicas, should have one"));
    }
    XC_ASSIGN_OR_RETURN(program->tilings_, PropagateShardings(*module, devices));
    DropMesh(module.get());
    for (const DeviceTiling& tiling : program->tilings_.parameters) {
      program->parameter_shardings_.push_back(tiling.ToSharding(devices));
    }
    for (const DeviceTiling& tiling : program->tilings_.results) {
      program->result_shardings_.push_back(tiling.ToSharding(devices));
    }
    for (const DeviceTiling& tiling : program->tilings_.parameters) stacked.push_back(!tiling.unreduced().empty());
    for (const DeviceTiling& tiling : program->tilings_.results) stacked.push_back(!tiling.unreduced().empty());
    XC_RETURN_IF_ERROR(StackUnreduced(module.get(), &program->tilings_));
    program->whole_ = !HasManualParts(*module);
    if (program->whole_) {
      module->config().num_partitions = 1;
      module->config().input_output_alias.clear();
      module->config().buffer_donors.clear();
    } else {
      XC_RETURN_IF_ERROR(LocalizeManualParts(module.get(), program->tilings_));
    }
  }
  XC_ASSIGN_OR_RETURN(program->executable_, client->Compile(std::move(module), platform, options, kept));
  program->parameter_leaves_ = program->executable_->parameter_leaves();
  program->result_leaves_ = program->executable_->result_leaves();
  if (program->whole_) {
    XC_RETURN_IF_ERROR(CutShapes(program->tilings_.parameters, &program->parameter_leaves_));
    XC_RETURN_IF_ERROR(CutShapes(program->tilings_.results, &program->result_leaves_));
  }
  size_t next = 0;
  for (std::vector<Shape>* leaves : {&program->parameter_leaves_, &program->result_leaves_}) {
    for (Shape& leaf : *leaves) {
      if (next < stacked.size() && stacked[next++]) leaf = WithoutStack(leaf);
    }
  }
  return std::shared_ptr<const DeviceProgram>(std::move(program));
}

absl::Status DeviceProgram::RunWhole(absl::Span<const DeviceBuffers> buffers, const RunOptions& options) const {
  std::vector<Block> blocks;
  const auto block = [&](const Shape& shape) -> absl::StatusOr<char*> {
    XC_ASSIGN_OR_RETURN(Block bytes, Block::Allocate(shape.ByteSize()));
    blocks.push_back(std::move(bytes));
    return blocks.back().data();
  };
  std::vector<const void*> parameters;
  for (size_t i = 0; i < parameter_leaves_.size(); ++i) {
    const DeviceTiling& tiling = tilings_.parameters[i];
    if (tiling.IsReplicated()) {
      parameters.push_back(buffers[0].parameters[i]);
      continue;
    }
    const Shape& whole = executable_->parameter_leaves()[i];
    XC_ASSIGN_OR_RETURN(char* bytes, block(whole));
    for (int64_t device = 0; device < devices(); ++device) {
      CopyPart(tiling, device, whole, bytes, const_cast<void*>(buffers[device].parameters[i]), /*in=*/true);
    }
    parameters.push_back(bytes);
  }
  std::vector<void*> results;
  for (size_t i = 0; i < result_leaves_.size(); ++i) {
    if (tilings_.results[i].IsReplicated()) {
      results.push_back(buffers[0].results[i]);
      continue;
    }
    XC_ASSIGN_OR_RETURN(char* bytes, block(executable_->result_leaves()[i]));
    results.push_back(bytes);
  }
  std::vector<std::vector<int64_t>> sizes;
  XC_RETURN_IF_ERROR(executable_->Run(parameters, results, options, &sizes));
  for (int64_t device = 0; device < devices(); ++device) {
    for (size_t i = 0; i < result_leaves_.size(); ++i) {
      const Shape& whole = executable_->result_leaves()[i];
      if (!whole.IsArray()) continue;
      if (!tilings_.results[i].IsReplicated()) {
        CopyPart(tilings_.results[i], device, whole, static_cast<char*>(results[i]), buffers[device].results[i],
                 /*in=*/false);
      } else if (device > 0) {
        std::memcpy(buffers[device].results[i], results[i], whole.ByteSize());
      }
    }
    if (buffers[device].dynamic_sizes != nullptr) *buffers[device].dynamic_sizes = sizes;
  }
  return absl::OkStatus();
}

absl::Status DeviceProgram::Run(absl::Span<const DeviceBuffers> buffers, const RunOptions& options,
                                absl::Duration patience) const {
  if (static_cast<int64_t>(buffers.size()) != devices()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program is for ", devices(), " devices, buffers of ", buffers.size(), " are given"));
  }
  for (const DeviceBuffers& of_device : buffers) {
    if (of_device.parameters.size() != parameter_leaves_.size() || of_device.results.size() != result_leaves_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the program has ", parameter_leaves_.size(), " inputs and ",
                                                     result_leaves_.size(), " outputs, a device has buffers for ",
                                                     of_device.parameters.size(), " and ", of_device.results.size()));
    }
  }
  if (whole_) return RunWhole(buffers, options);
  return RunDevices(devices(), patience, [&](int64_t device, Communicator* communicator) {
    RunOptions own = options;
    own.device.replica_id = static_cast<uint32_t>(device / partitions_);
    own.device.partition_id = static_cast<uint32_t>(device % partitions_);
    own.device.ordinal = static_cast<int32_t>(device);
    own.device.communicator = communicator;
    return executable_->Run(buffers[device].parameters, buffers[device].results, own, buffers[device].dynamic_sizes);
  });
}

absl::StatusOr<std::vector<std::vector<Literal>>> RunOnDevices(const DeviceProgram& program,
                                                               const std::vector<std::vector<Literal>>& inputs,
                                                               const RunOptions& options, absl::Duration patience) {
  const std::vector<Shape>&parameters = program.parameter_leaves(), &leaves = program.result_leaves();
  std::vector<Block> blocks;
  std::vector<std::vector<const void*>> from(inputs.size());
  std::vector<std::vector<void*>> to(inputs.size());
  std::vector<std::vector<std::vector<int64_t>>> sizes(inputs.size());
  std::vector<DeviceBuffers> buffers;
  for (size_t d = 0; d < inputs.size(); ++d) {
    if (inputs[d].size() != parameters.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program takes ", parameters.size(), " inputs, device ", d, " is given ", inputs[d].size()));
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!Compatible(inputs[d][i].shape(), parameters[i])) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " of device ", d, " is ",
                                                       inputs[d][i].shape().ToString(false), ", the program takes ",
                                                       parameters[i].ToString(false)));
      }
      XC_ASSIGN_OR_RETURN(Block bytes, Block::Allocate(parameters[i].ByteSize()));
      if (parameters[i].IsArray()) {
        Literal in_layout = inputs[d][i].Clone();
        *in_layout.mutable_shape() = parameters[i];
        in_layout.ToLayout(reinterpret_cast<uint8_t*>(bytes.data()));
      }
      from[d].push_back(bytes.data());
      blocks.push_back(std::move(bytes));
    }
    for (const Shape& leaf : leaves) {
      XC_ASSIGN_OR_RETURN(Block bytes, Block::Allocate(leaf.ByteSize()));
      to[d].push_back(bytes.data());
      blocks.push_back(std::move(bytes));
    }
    buffers.push_back({from[d], to[d], &sizes[d]});
  }
  XC_RETURN_IF_ERROR(program.Run(buffers, options, patience));
  std::vector<std::vector<Literal>> results(inputs.size());
  for (size_t d = 0; d < inputs.size(); ++d) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      Literal& literal = results[d].emplace_back(leaves[i]);
      if (leaves[i].IsArray()) literal.FromLayout(static_cast<const uint8_t*>(to[d][i]));
      if (i < sizes[d].size()) literal.set_dynamic_sizes(std::move(sizes[d][i]));
    }
  }
  return results;
}

}  // namespace xc
