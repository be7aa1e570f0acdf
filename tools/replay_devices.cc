#include "tools/replay_devices.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hlo/base/format.h"
#include "hlo/base/json.h"
#include "hlo/base/status.h"
#include "hlo/devices/device_groups.h"
#include "service/compare.h"
#include "service/device_program.h"
#include "service/files.h"
#include "service/inputs.h"
#include "service/npy.h"
#include "tools/program.h"
#include "tools/report.h"

namespace xc {

namespace {

// What XLA has partitioned is scheduled, and its shardings only tell how it was.
DeviceProgram::Form FormOf(const HloModule& module) {
  bool shardings = false;
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) shardings |= i->FindAttr<AttrKind::kSharding>() != nullptr;
  }
  const bool whole = shardings && !module.config().is_scheduled && module.config().num_partitions > 1;
  return whole ? DeviceProgram::Form::kWholeArrays : DeviceProgram::Form::kOfDevices;
}

}  // namespace

absl::StatusOr<bool> SetDevices(HloModule* module, int64_t devices) {
  bool collectives = false, channels = false;
  for (const auto& computation : module->computations()) {
    for (const auto& i : computation->instructions()) {
      if (!IsCollective(i->opcode())) continue;
      collectives = true;
      channels |= i->FindAttr<AttrKind::kChannelId>() != nullptr;
    }
  }
  const int64_t said = DeviceCount(*module);
  if (devices == 0) return collectives && said > 1;
  if (said == 1) {
    (channels ? module->config().num_partitions : module->config().replica_count) = devices;
  } else if (said != devices) {
    return absl::InvalidArgumentError(absl::StrCat("--devices=", devices, ": the module is for ", said));
  }
  return devices > 1;
}

absl::Status ReplayOnDevices(std::unique_ptr<HloModule> module, const DeviceReplay& replay, bool* wrong) {
  const std::unique_ptr<HloModule> original = module->Clone();
  const DeviceProgram::Form form = FormOf(*module);
  const absl::Time compile_start = absl::Now();
  XC_ASSIGN_OR_RETURN(auto program, DeviceProgram::Compile(Client::Default(), std::move(module), replay.platform, form,
                                                           replay.options));
  const double compile_s = absl::ToDoubleSeconds(absl::Now() - compile_start);
  for (const EvaluatedPart& part : program->executable().evaluated()) {
    std::fprintf(stderr, "evaluated, without code: %s: %s\n", part.what.c_str(), part.reason.c_str());
  }
  const int64_t devices = program->devices();
  std::vector<std::vector<Literal>> inputs(devices);
  for (int64_t d = 0; d < devices; ++d) {
    std::string directory = replay.inputs;
    if (!directory.empty() && IsDirectory(absl::StrCat(directory, "/", d))) directory = absl::StrCat(directory, "/", d);
    for (const Shape& leaf : program->parameter_leaves()) {
      const size_t i = inputs[d].size();
      if (directory.empty()) {
        inputs[d].push_back(MakeInput(i, leaf));
        continue;
      }
      XC_ASSIGN_OR_RETURN(Literal input, ReadArray(absl::StrCat(directory, "/", i, ".npy"), leaf));
      inputs[d].push_back(std::move(input));
    }
  }
  std::vector<std::vector<Literal>> outputs;
  double best_ms = 0;
  for (int64_t run = 0; run < std::max<int64_t>(replay.runs, 1); ++run) {
    const absl::Time start = absl::Now();
    XC_ASSIGN_OR_RETURN(outputs, RunOnDevices(*program, inputs, replay.run));
    const double ms = absl::ToDoubleMilliseconds(absl::Now() - start);
    best_ms = run == 0 ? ms : std::min(best_ms, ms);
  }
  for (int64_t d = 0; !replay.output_dir.empty() && d < devices; ++d) {
    const std::string directory = absl::StrCat(replay.output_dir, "/", d);
    XC_RETURN_IF_ERROR(MakeDirectories(directory));
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      XC_RETURN_IF_ERROR(WriteNpy(absl::StrCat(directory, "/", i, ".npy"), outputs[d][i]));
    }
  }
  Report& report = Report::Get();
  report.fields.Add("module", replay.name).Add("devices", devices).Add("compile_s", compile_s).Add("run_ms", best_ms);
  report.fields.Add("outputs", static_cast<int64_t>(program->result_leaves().size()));
  report.Line(Format("%s on %d devices of %s: compiled in %.3f s, run %.3f ms (best of %d), %d outputs", replay.name,
                     devices, replay.platform, compile_s, best_ms, replay.runs, program->result_leaves().size()));
  if (replay.against.empty()) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(auto other, DeviceProgram::Compile(Client::Default(), original->Clone(), replay.against, form));
  XC_ASSIGN_OR_RETURN(const auto expected, RunOnDevices(*other, inputs, replay.run));
  JsonList differences;
  for (int64_t d = 0; d < devices; ++d) {
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      const std::string difference = CompareNorm(outputs[d][i], expected[d][i]);
      if (difference.empty()) continue;
      *wrong = true;
      const std::string text =
          absl::StrCat("output ", i, " of device ", d, " differs from ", replay.against, ": ", difference);
      differences.Add(JsonText(text));
      report.Line(text);
    }
  }
  report.fields.Add("against", replay.against).Add("agree", !*wrong).AddJson("differences", differences.ToString());
  if (!*wrong) report.Line(absl::StrCat("all outputs of all devices agree with ", replay.against));
  return absl::OkStatus();
}

}  // namespace xc
