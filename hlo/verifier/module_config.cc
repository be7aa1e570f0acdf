// Rules of what the HloModule line says, of schedules, and of sizes taken together.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/verifier/internal.h"

namespace xc::verifier {
namespace {

std::string IndexText(const ShapeIndex& index) { return absl::StrCat("{", absl::StrJoin(index, ","), "}"); }

template <typename... Parts>
absl::Status ModuleError(const HloModule& module, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("module ", module.name(), ": ", parts...));
}

absl::StatusOr<const Shape*> ParameterPart(const HloModule& module, absl::string_view what, int64_t parameter,
                                           const ShapeIndex& index) {
  const HloComputation& entry = *module.entry();
  if (parameter < 0 || parameter >= entry.parameter_count()) {
    return ModuleError(module, what, " names parameter ", parameter, ", should be less than ", entry.parameter_count());
  }
  const Shape* part = SubshapeOrNull(entry.parameter(parameter)->shape(), index);
  if (part == nullptr) {
    return ModuleError(module, what, " names element ", IndexText(index), " of parameter ", parameter, ", which is ",
                       entry.parameter(parameter)->shape().ToString(false));
  }
  return part;
}

// Two arrays of known sizes that fit into each other's memory.
bool EqualBytes(const Shape& a, const Shape& b) {
  const auto known = [](const Shape& shape) { return shape.IsArray() && !shape.has_unknown_size(); };
  return known(a) && known(b) && a.ByteSize() == b.ByteSize();
}

absl::Status VerifyAliasing(const HloModule& module) {
  const HloComputation& entry = *module.entry();
  absl::flat_hash_set<ShapeIndex> outputs;
  absl::flat_hash_set<std::pair<int64_t, ShapeIndex>> parameters;
  for (const InputOutputAlias& alias : module.config().input_output_alias) {
    const Shape* out = SubshapeOrNull(entry.root()->shape(), alias.output_index);
    if (out == nullptr) {
      return ModuleError(module, "input_output_alias names output ", IndexText(alias.output_index), ", the result is ",
                         entry.root()->shape().ToString(false));
    }
    XC_ASSIGN_OR_RETURN(const Shape* in,
                        ParameterPart(module, "input_output_alias", alias.parameter, alias.parameter_index));
    if (!Agree(*out, *in) && !EqualBytes(*out, *in)) {
      return ModuleError(module, "input_output_alias joins output ", IndexText(alias.output_index), ", ",
                         out->ToString(false), ", and parameter ", alias.parameter, " ",
                         IndexText(alias.parameter_index), ", ", in->ToString(false),
                         "; both should have equally many bytes");
    }
    if (!outputs.insert(alias.output_index).second) {
      return ModuleError(module, "input_output_alias has output ", IndexText(alias.output_index), " twice");
    }
    if (!parameters.emplace(alias.parameter, alias.parameter_index).second) {
      return ModuleError(module, "input_output_alias has parameter ", alias.parameter, " ",
                         IndexText(alias.parameter_index), " twice");
    }
  }
  for (const BufferDonor& donor : module.config().buffer_donors) {
    XC_RETURN_IF_ERROR(ParameterPart(module, "buffer_donor", donor.parameter, donor.parameter_index).status());
    if (!parameters.emplace(donor.parameter, donor.parameter_index).second) {
      return ModuleError(module, "parameter ", donor.parameter, " ", IndexText(donor.parameter_index),
                         " is a buffer_donor and aliased or donated already");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyEntryLayout(const HloModule& module) {
  const ModuleConfig& config = module.config();
  if (!config.has_entry_layout) return absl::OkStatus();
  const HloComputation& entry = *module.entry();
  int64_t count = static_cast<int64_t>(config.entry_parameter_layouts.size());
  if (count != entry.parameter_count()) {
    return ModuleError(module, "entry_computation_layout has ", count, " parameters, should have ",
                       entry.parameter_count());
  }
  auto check = [&](const Shape& layout, const Shape& shape, absl::string_view what) {
    if (absl::Status status = ValidateShape(layout); !status.ok()) {
      return ModuleError(module, "entry_computation_layout: ", status.message());
    }
    if (Agree(layout, shape)) return absl::OkStatus();
    return ModuleError(module, "entry_computation_layout has ", layout.ToString(false), " for ", what, ", should be ",
                       shape.ToString(false));
  };
  for (int64_t i = 0; i < count; ++i) {
    XC_RETURN_IF_ERROR(
        check(config.entry_parameter_layouts[i], entry.parameter(i)->shape(), absl::StrCat("parameter ", i)));
  }
  return check(config.entry_result_layout, entry.root()->shape(), "the result");
}

absl::Status VerifySchedule(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    auto it = module.schedule().find(computation.get());
    if (it == module.schedule().end()) continue;
    const std::vector<HloInstruction*>& sequence = it->second;
    absl::flat_hash_map<const HloInstruction*, size_t> place;
    for (const auto& instruction : computation->instructions()) place.emplace(instruction.get(), sequence.size());
    for (size_t i = 0; i < sequence.size(); ++i) {
      auto found = place.find(sequence[i]);
      if (found == place.end()) return Error(*computation, "its schedule has an instruction of another computation");
      if (found->second != sequence.size()) return Error(*sequence[i], "is in the schedule twice, should be once");
      found->second = i;
    }
    for (const auto& instruction : computation->instructions()) {
      size_t at = place[instruction.get()];
      if (at == sequence.size()) return Error(*instruction, "is missing in the schedule of its computation");
      for (const auto* befores : {&instruction->operands(), &instruction->control_predecessors()}) {
        for (const HloInstruction* before : *befores) {
          if (place[before] >= at) {
            return Error(*instruction, "is scheduled before ", before->name(), ", should be after it");
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyTotalSize(const HloModule& module) {
  constexpr __int128 kMost = __int128{1} << 62;
  __int128 total = 0;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      std::vector<const Shape*> work = {&instruction->shape()};
      while (!work.empty()) {
        const Shape* shape = work.back();
        work.pop_back();
        if (shape->IsTuple() || !shape->has_unknown_size()) total += shape->ByteSize();
        for (const Shape& element : shape->tuple_shapes()) work.push_back(&element);
      }
      if (total > kMost) {
        return Error(*instruction, "the sizes of all values up to this one add up to more than 2^62 bytes");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyModuleConfig(const HloModule& module) {
  const ModuleConfig& config = module.config();
  if (config.replica_count < 1) {
    return ModuleError(module, "replica_count is ", config.replica_count, ", should be at least 1");
  }
  if (config.num_partitions < 1) {
    return ModuleError(module, "num_partitions is ", config.num_partitions, ", should be at least 1");
  }
  XC_RETURN_IF_ERROR(VerifyAliasing(module));
  XC_RETURN_IF_ERROR(VerifyEntryLayout(module));
  XC_RETURN_IF_ERROR(VerifySchedule(module));
  return VerifyTotalSize(module);
}

}  // namespace xc::verifier
