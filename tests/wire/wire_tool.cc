// The half of the wire test that needs this project's code: for each line `TEXT<TAB>THEIRS<TAB>OURS` of the plan, reads
// the text, compares it with the message THEIRS that jaxlib made of it, and writes its own message to OURS.
#include "hlo/analysis/equality.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "service/files.h"
#include "tests/wire/plan.h"

namespace xc {
namespace {

absl::Status Check(const std::string& text, const std::string& theirs, const std::string& ours) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModuleFile(text));
  XC_ASSIGN_OR_RETURN(std::string bytes, WriteModule(*module, ModuleFormat::kBinaryProto));
  XC_RETURN_IF_ERROR(WriteFile(ours, bytes));
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> read, ReadModuleFile(theirs));
  // Of what the text says jaxlib's message leaves this out.
  module->config().allow_spmd_sharding_propagation_to_parameters.clear();
  module->config().allow_spmd_sharding_propagation_to_output.clear();
  return DeepEqual(*module, *read);
}

int Run(const std::string& plan) {
  return RunPlan(
      plan, 3, 3, [](const auto& columns) { return columns[0]; },
      [](const auto& columns) { return Check(columns[0], columns[1], columns[2]); });
}

}  // namespace
}  // namespace xc

int main(int argc, char** argv) { return argc == 2 ? xc::Run(argv[1]) : 2; }
