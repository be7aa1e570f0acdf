#include "backends/plan/plan_test_support.h"

#include "backends/plan/planner.h"
#include "backends/plan/prepare.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc::plan {

std::string PlanOf(absl::string_view hlo, const TargetInfo& target) {
  auto module = ParseModule(hlo);
  if (!module.ok()) return std::string(module.status().message());
  if (const absl::Status status = VerifyModule(**module); !status.ok()) return std::string(status.message());
  const auto buffers = Prepare(module->get());
  if (!buffers.ok()) return std::string(buffers.status().message());
  const auto plan = MakePlan(**module, *buffers, target);
  return plan.ok() ? ToString(*plan) : std::string(plan.status().message());
}

}  // namespace xc::plan
