#include "tools/replay_symbolic.h"

#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "hlo/base/json.h"
#include "hlo/base/status.h"
#include "hlo/symbolic.h"
#include "hlo/verifier/verifier.h"
#include "service/argument_shapes.h"
#include "service/compare.h"
#include "service/general_code.h"
#include "service/inputs.h"
#include "service/size_classes.h"
#include "tools/program.h"
#include "tools/report.h"
#include "tools/units.h"

namespace xc {
namespace {

// Compares results with those of another platform: " agree" or what differs, for a line; *wrong is set where they
// differ.
absl::StatusOr<std::string> Compare(const HloModule& module, const std::string& platform,
                                    absl::Span<const Literal* const> inputs, const std::vector<Literal>& outputs,
                                    const RunOptions& run, bool* wrong) {
  XC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> other,
                      Client::Default()->Compile(module.Clone(), platform, {}));
  XC_ASSIGN_OR_RETURN(const std::vector<Literal> expected, RunOnLiterals(*other, inputs, run));
  std::string differences;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference = CompareNorm(outputs[i], expected[i]);
    if (difference.empty()) continue;
    *wrong = true;
    absl::StrAppend(&differences, ", output ", i, " differs from ", platform, ": ", difference);
  }
  if (!differences.empty()) return differences;
  return absl::StrCat(", all ", HumanCount(static_cast<int64_t>(outputs.size()), "output"), " agree with ", platform);
}

// Runs the module for the sizes that `bound` names, and reports it: a line, and an object in `runs`.
absl::Status RunModule(std::unique_ptr<HloModule> module, const std::string& bound, GeneralCode& code,
                       const SymbolicRuns& settings, const CompileOptions& options, const RunOptions& run,
                       JsonList* runs, bool* wrong) {
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
  JsonObject fields;
  fields.Add("shapes", bound).Add("general", stats.exact == before).Add("ready_ms", ready_ms);
  if (stats.exact > before) fields.Add("refusal", stats.last_refusal);
  if (!settings.against.empty()) {
    bool differs = false;
    XC_ASSIGN_OR_RETURN(verdict, Compare(*original, settings.against, pointers, outputs, run, &differs));
    *wrong |= differs;
    fields.Add("agree", !differs);
  }
  double best_ms = 0, median_ms = 0;
  XC_RETURN_IF_ERROR(TimeRuns(*executable, &inputs, false, run, settings.runs, settings.seconds, &best_ms, &median_ms));
  runs->Add(fields.Add("run_ms", best_ms).Add("median_ms", median_ms).ToString());
  Report::Get().Line(absl::StrCat(
      bound, ": ",
      stats.exact > before ? absl::StrCat("code of its own (", stats.last_refusal, ")") : std::string("general code"),
      ", ready in ", HumanSeconds(ready_ms / 1e3), ", run ", HumanSeconds(best_ms / 1e3), verdict));
  return absl::OkStatus();
}

// What became of all sizes: `symbols`, if they have names.
void ReportRuns(const GeneralCode& code, const std::string& symbols, const JsonList& runs) {
  const GeneralCode::Stats stats = code.stats();
  Report& report = Report::Get();
  report.fields.Add("symbols", symbols).AddJson("runs", runs.ToString());
  report.fields.Add("general_compilations", stats.general).Add("served", stats.served).Add("own_code", stats.exact);
  report.Line(absl::StrCat(symbols.empty() ? "" : absl::StrCat("symbols ", symbols, ": "),
                           HumanCount(stats.general, "compilation"), " for several sizes served ", stats.served,
                           " of them, ", stats.exact, " got code of their own"));
}

// Lists of shapes as they are given, and their sizes.
struct ShapeLists {
  std::vector<std::string> texts;
  std::vector<std::vector<Shape>> lists;
  SizeClasses classes;
};

absl::StatusOr<ShapeLists> ParseShapeLists(absl::string_view text) {
  ShapeLists all;
  size_t count = 0;
  for (absl::string_view one : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    all.texts.emplace_back(absl::StripAsciiWhitespace(one));
    XC_ASSIGN_OR_RETURN(all.lists.emplace_back(), ParseArgumentShapes(one));
    std::vector<int64_t> sizes;
    for (const Shape& shape : all.lists.back()) sizes.insert(sizes.end(), shape.dims().begin(), shape.dims().end());
    if (all.lists.size() > 1 && sizes.size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shapes '", all.texts.back(), "' have other ranks than '", all.texts[0], "'"));
    }
    count = sizes.size();
    all.classes.Add(sizes);
  }
  return all;
}

// The first list with other sizes, as text.
std::string WithSizes(const ShapeLists& all, const std::vector<int64_t>& sizes) {
  std::string text;
  size_t next = 0;
  for (Shape sample : all.lists[0]) {
    for (int64_t d = 0; d < sample.rank(); ++d) sample.set_dim(d, sizes[next++]);
    const bool typed = sample.type() != ElementType::kInvalid;
    absl::StrAppend(&text, text.empty() ? "" : ",",
                    typed ? sample.ToString(false) : absl::StrCat("[", absl::StrJoin(sample.dims(), ","), "]"));
  }
  return text;
}

}  // namespace

absl::Status ReplaySymbolic(const std::string& text, const SymbolicRuns& settings, const CompileOptions& options,
                            const RunOptions& run, bool* wrong) {
  XC_ASSIGN_OR_RETURN(const SymbolicText symbolic, SymbolicText::Parse(text));
  std::string symbols;
  for (const Symbol& symbol : symbolic.symbols()) {
    absl::StrAppend(&symbols, symbols.empty() ? "" : " ", symbol.ToString());
  }
  if (settings.shapes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module has the symbols ", symbols, ": give values by --shapes=\"b=2,n=17; b=3,n=5\""));
  }
  GeneralCode code(Client::Default(), settings.platform, [&](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    XC_ASSIGN_OR_RETURN(const SymbolValues values, symbolic.Sample(which));
    return symbolic.BindModule(values);
  });
  JsonList runs;
  for (absl::string_view binding : absl::StrSplit(settings.shapes, ';', absl::SkipWhitespace())) {
    XC_ASSIGN_OR_RETURN(const SymbolValues values, ParseSymbolValues(binding));
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, symbolic.BindModule(values));
    std::string bound;
    for (const auto& [name, value] : values) absl::StrAppend(&bound, bound.empty() ? "" : ",", name, "=", value);
    XC_RETURN_IF_ERROR(RunModule(std::move(module), bound, code, settings, options, run, &runs, wrong));
  }
  ReportRuns(code, symbols, runs);
  return absl::OkStatus();
}

absl::Status ReplayShapes(const std::function<absl::StatusOr<std::unique_ptr<HloModule>>(const std::string&)>& read,
                          const SymbolicRuns& settings, const CompileOptions& options, const RunOptions& run,
                          bool* wrong) {
  XC_ASSIGN_OR_RETURN(const ShapeLists all, ParseShapeLists(settings.shapes));
  GeneralCode code(Client::Default(), settings.platform, [&](int which) -> absl::StatusOr<std::unique_ptr<HloModule>> {
    absl::StatusOr<std::unique_ptr<HloModule>> module = absl::UnimplementedError("no sample");
    for (int way = 0; way < SizeClasses::kWays && !module.ok(); ++way) {
      const absl::StatusOr<std::vector<int64_t>> sizes = all.classes.Sample(which, way);
      if (!sizes.ok()) continue;
      module = read(WithSizes(all, *sizes));
      if (!module.ok()) continue;
      if (absl::Status valid = VerifyModule(**module); !valid.ok()) module = valid;
    }
    return module;
  });
  JsonList runs;
  for (const std::string& text : all.texts) {
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, read(text));
    XC_RETURN_IF_ERROR(VerifyModule(*module));
    XC_RETURN_IF_ERROR(RunModule(std::move(module), text, code, settings, options, run, &runs, wrong));
  }
  ReportRuns(code, "", runs);
  return absl::OkStatus();
}

}  // namespace xc
