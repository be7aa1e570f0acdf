#include "tools/bisect.h"

#include "absl/strings/str_cat.h"
#include "compiler/pipeline.h"
#include "hlo/base/status.h"
#include "service/compare.h"

namespace xc {
namespace {

// Whether the program compiled with the passes up to and including row `last` (-1: none) gives the expected outputs.
absl::StatusOr<bool> Agrees(const HloModule& module, const std::string& platform, CompileOptions options, int last,
                            const RunOptions& run, const std::vector<Literal>& inputs,
                            const std::vector<Literal>& expected) {
  options.dump = nullptr;
  if (last < 0) {
    options.disabled_passes = {"all"};
    options.until_pass.clear();
  } else {
    options.until_pass = Pipeline()[last].pass;
  }
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      Client::Default()->Compile(module.Clone(), platform, options));
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  XC_ASSIGN_OR_RETURN(std::vector<Literal> outputs, RunOnLiterals(*executable, pointers, run));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!CompareNorm(outputs[i], expected[i]).empty()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> BisectPasses(const HloModule& module, const std::string& platform,
                                         const CompileOptions& options, const RunOptions& run,
                                         const std::vector<Literal>& inputs, const std::vector<Literal>& expected) {
  XC_ASSIGN_OR_RETURN(bool right, Agrees(module, platform, options, -1, run, inputs, expected));
  if (!right) {
    return absl::StrCat("bisect: the result differs without any pass: the fault is in platform ", platform,
                        " itself, not in a pass");
  }
  int good = -1, bad = static_cast<int>(Pipeline().size()) - 1;
  XC_ASSIGN_OR_RETURN(right, Agrees(module, platform, options, bad, run, inputs, expected));
  if (right)
    return std::string("bisect: with every pass by itself the result agrees; the fault needs the options given");
  while (bad - good > 1) {
    const int middle = (good + bad) / 2;
    XC_ASSIGN_OR_RETURN(right, Agrees(module, platform, options, middle, run, inputs, expected));
    (right ? good : bad) = middle;
  }
  return absl::StrCat("bisect: the result differs after pass ", bad + 1, " of ", Pipeline().size(), ", `",
                      Pipeline()[bad].pass, "` (phase ", Pipeline()[bad].phase, ")");
}

}  // namespace xc
