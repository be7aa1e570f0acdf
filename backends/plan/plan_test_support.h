// For tests: plans of modules as text.
#ifndef XC_BACKENDS_PLAN_PLAN_TEST_SUPPORT_H_
#define XC_BACKENDS_PLAN_PLAN_TEST_SUPPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "compiler/pass.h"

namespace xc::plan {

// The plan of the module as it is written, with no pass run; or what is wrong with it.
std::string PlanOf(absl::string_view hlo, const TargetInfo& target = TargetInfo());

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PLAN_TEST_SUPPORT_H_
