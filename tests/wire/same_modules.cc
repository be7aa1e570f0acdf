// Reads pairs of files with modules, `A<TAB>B` or `A<TAB>B<TAB>error` per line of the plan: both should give the same
// module, metadata included, or B an error that contains the words of the third column.
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/base/status.h"
#include "hlo/equality.h"
#include "hlo/io.h"
#include "service/files.h"

namespace xc {
namespace {

absl::Status Check(const std::string& first, const std::string& second) {
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> a, ReadModuleFile(first));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> b, ReadModuleFile(second));
  return DeepEqual(*a, *b, {.metadata = true});
}

int Run(const std::string& plan) {
  absl::StatusOr<std::string> lines = ReadFile(plan);
  if (!lines.ok()) {
    std::printf("%s\n", std::string(lines.status().message()).c_str());
    return 2;
  }
  int failed = 0;
  for (absl::string_view line : absl::StrSplit(*lines, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() < 2) return 2;
    absl::Status status;
    if (columns.size() == 2) {
      status = Check(columns[0], columns[1]);
      if (status.ok()) continue;
    } else {
      status = ReadModuleFile(columns[1]).status();
      if (!status.ok() && absl::StrContains(status.message(), columns[2])) continue;
    }
    ++failed;
    std::printf("%s and %s: %s\n", columns[0].c_str(), columns[1].c_str(), status.ToString().c_str());
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace xc

int main(int argc, char** argv) { return argc == 2 ? xc::Run(argv[1]) : 2; }
