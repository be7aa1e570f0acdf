// The plan of a test beside jaxlib: a line for each check, its columns between tabs.
#ifndef XC_TESTS_WIRE_PLAN_H_
#define XC_TESTS_WIRE_PLAN_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "service/files.h"

namespace xc {

// Checks every line of the file and prints those that fail, `label(columns)` first. 0: all passed; 1: some failed; 2:
// the plan cannot be read, or a line has fewer than `least` or more than `most` columns.
template <typename Label, typename Check>
int RunPlan(const std::string& plan, size_t least, size_t most, Label label, Check check) {
  absl::StatusOr<std::string> lines = ReadFile(plan);
  if (!lines.ok()) {
    std::printf("%s\n", std::string(lines.status().message()).c_str());
    return 2;
  }
  int failed = 0;
  for (absl::string_view line : absl::StrSplit(*lines, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() < least || columns.size() > most) return 2;
    const absl::Status status = check(columns);
    if (status.ok()) continue;
    ++failed;
    std::printf("%s: %s\n", label(columns).c_str(), std::string(status.message()).c_str());
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace xc

#endif  // XC_TESTS_WIRE_PLAN_H_
