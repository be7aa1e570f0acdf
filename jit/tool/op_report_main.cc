// Prints docs/ops.md: op_report COMPILABLE_OPS.tsv [DOCUMENT]. With a document, compares with it instead: status 1 and
// the first line that differs if it is not up to date.
#include <cstdio>

#include "absl/strings/str_split.h"
#include "jit/tool/op_report.h"
#include "service/files.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: op_report COMPILABLE_OPS.tsv [DOCUMENT]\n");
    return 2;
  }
  auto wanted = xc::ReadFile(argv[1]);
  auto report = wanted.ok() ? xc::OpReport(*wanted) : wanted.status();
  if (!report.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(report.status().message()).c_str());
    return 2;
  }
  if (argc == 2) {
    std::fputs(report->c_str(), stdout);
    return 0;
  }
  auto document = xc::ReadFile(argv[2]);
  if (document.ok() && *document == *report) return 0;
  std::vector<std::string> have = absl::StrSplit(document.ok() ? *document : "", '\n');
  std::vector<std::string> want = absl::StrSplit(*report, '\n');
  for (size_t i = 0; i < want.size(); ++i) {
    if (i < have.size() && have[i] == want[i]) continue;
    std::fprintf(stderr, "%s is not up to date: line %zu should be\n%s\n", argv[2], i + 1, want[i].c_str());
    return 1;
  }
  std::fprintf(stderr, "%s has lines too many\n", argv[2]);
  return 1;
}
