#include "tools/replay_symbolic.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "hlo/base/status.h"
#include "hlo/symbolic.h"
#include "service/compare.h"
#include "service/general_code.h"
#include "service/inputs.h"
#include "tools/program.h"

namespace xc {

absl::Status ReplaySymbolic(const std::string& text, const SymbolicRuns& settings, const CompileOptions& options,
                            const RunOptions& run, bool* wrong) {
  XC_ASSIGN_OR_RETURN(const SymbolicText symbolic, SymbolicText::Parse(text));
  std::string symbols;
  for (const Symbol& symbol : symbolic.symbols()) absl::StrAppend(&symbols, " ", symbol.ToString());
  if (settings.shapes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module has the symbols", symbols, ": give values by --shapes=\"b=2,n=17; b=3,n=5\""));
  }
  GeneralCode code(Client::Default(), settings.platform, [&](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const SymbolValues values, symbolic.Sample(which));
    return symbolic.BindModule(values);
  });
  for (absl::string_view binding : absl::StrSplit(settings.shapes, ';', absl::SkipWhitespace())) {
    XC_ASSIGN_OR_RETURN(const SymbolValues values, ParseSymbolValues(binding));
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, symbolic.BindModule(values));
    XC_RETURN_IF_ERROR(CheckInputMemory(*module, options.max_memory_bytes));
    const std::unique_ptr<HloModule> original = module->Clone();
    const int64_t before = code.stats().exact;
    const absl::Time start = absl::Now();
    XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable, code.Get(std::move(module), options));
    const double ready_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
    const GeneralCode::Stats stats = code.stats();
    XC_RETURN_IF_ERROR(CheckRunMemory(*executable, 2, options.max_memory_bytes));
    std::vector<Literal> inputs;
    std::vector<const Literal*> pointers;
    for (const Shape& leaf : executable->parameter_leaves()) inputs.push_back(MakeInput(inputs.size(), leaf));
    for (const Literal& input : inputs) pointers.push_back(&input);
    XC_ASSIGN_OR_RETURN(const std::vector<Literal> outputs, RunOnLiterals(*executable, pointers, run));
    std::string verdict;
    if (!settings.against.empty()) {
      XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> other,
                          Client::Default()->Compile(original->Clone(), settings.against, {}));
      XC_ASSIGN_OR_RETURN(const std::vector<Literal> expected, RunOnLiterals(*other, pointers, run));
      verdict = absl::StrCat(", all ", outputs.size(), " outputs agree with ", settings.against);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string difference = CompareNorm(outputs[i], expected[i]);
        if (difference.empty()) continue;
        *wrong = true;
        verdict = absl::StrCat(", output ", i, " differs from ", settings.against, ": ", difference);
      }
    }
    double best_ms = 0, median_ms = 0;
    XC_RETURN_IF_ERROR(
        TimeRuns(*executable, &inputs, false, run, settings.runs, settings.seconds, &best_ms, &median_ms));
    std::string bound;
    for (const auto& [name, value] : values) absl::StrAppend(&bound, bound.empty() ? "" : ",", name, "=", value);
    std::printf(
        "%s: %s, ready in %.3f ms, run %.3f ms%s\n", bound.c_str(),
        stats.exact > before ? absl::StrCat("code of its own (", stats.last_refusal, ")").c_str() : "general code",
        ready_ms, best_ms, verdict.c_str());
  }
  const GeneralCode::Stats stats = code.stats();
  std::printf("symbols%s: %lld compilations for several sizes served %lld of them, %lld got code of their own\n",
              symbols.c_str(), static_cast<long long>(stats.general), static_cast<long long>(stats.served),
              static_cast<long long>(stats.exact));
  return absl::OkStatus();
}

}  // namespace xc
