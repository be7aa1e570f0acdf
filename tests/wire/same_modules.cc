// Reads pairs of files with modules, `A<TAB>B` or `A<TAB>B<TAB>error` per line of the plan: both should give the same
// module, metadata included, or B an error that contains the words of the third column.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/analysis/equality.h"
#include "hlo/base/status.h"
#include "importers/io.h"
#include "tests/wire/plan.h"

namespace xc {
namespace {

absl::Status Check(const std::string& first, const std::string& second) {
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> a, ReadModuleFile(first));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> b, ReadModuleFile(second));
  return DeepEqual(*a, *b, {.metadata = true});
}

absl::Status CheckRefused(const std::string& file, const std::string& words) {
  const absl::Status status = ReadModuleFile(file).status();
  if (!status.ok() && absl::StrContains(status.message(), words)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("expected an error with `", words, "`, not ", status.ToString()));
}

int Run(const std::string& plan) {
  return RunPlan(
      plan, 2, 3, [](const auto& columns) { return absl::StrCat(columns[0], " and ", columns[1]); },
      [](const auto& columns) {
        return columns.size() == 2 ? Check(columns[0], columns[1]) : CheckRefused(columns[1], columns[2]);
      });
}

}  // namespace
}  // namespace xc

int main(int argc, char** argv) { return argc == 2 ? xc::Run(argv[1]) : 2; }
