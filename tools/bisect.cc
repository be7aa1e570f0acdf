#include "tools/bisect.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/registry.h"
#include "compiler/driver.h"
#include "hlo/base/status.h"
#include "service/compare.h"
#include "tools/folder.h"
#include "tools/reduce.h"

namespace xc {
namespace {

bool Same(const std::vector<Literal>& a, const std::vector<Literal>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!CompareNorm(a[i], b[i]).empty()) return false;
  }
  return true;
}

absl::StatusOr<std::vector<Literal>> RunOn(const HloModule& module, const std::string& platform,
                                           const CompileOptions& options, const RunOptions& run,
                                           const std::vector<Literal>& inputs) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      Client::Default()->Compile(module.Clone(), platform, options));
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  return RunOnLiterals(*executable, pointers, run);
}

class Bisection {
 public:
  Bisection(const HloModule& module, const std::string& platform, const CompileOptions& options, const RunOptions& run,
            const std::vector<Literal>& inputs, const std::vector<Literal>& expected)
      : module_(module), platform_(platform), options_(options), run_(run), inputs_(inputs), expected_(expected) {
    options_.dump = nullptr;
  }

  absl::StatusOr<std::string> Run() {
    XC_ASSIGN_OR_RETURN(bool right, Agrees(-1));
    if (!right) {
      XC_ASSIGN_OR_RETURN(const std::string code, FirstWrongCode(module_));
      return absl::StrCat("bisect: the result differs without any pass: the fault is in platform ", platform_,
                          " itself, not in a pass", code);
    }
    int good = -1, bad = static_cast<int>(Pipeline().size()) - 1;
    XC_ASSIGN_OR_RETURN(right, Agrees(bad));
    if (right) {
      return std::string("bisect: with every pass by itself the result agrees; the fault needs the options given");
    }
    while (bad - good > 1) {
      const int middle = (good + bad) / 2;
      XC_ASSIGN_OR_RETURN(right, Agrees(middle));
      (right ? good : bad) = middle;
    }
    std::string verdict = absl::StrCat("bisect: the result differs after pass ", bad + 1, " of ", Pipeline().size(),
                                       ", `", Pipeline()[bad].pass, "` (phase ", Pipeline()[bad].phase, ")");
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> before, After(good));
    XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> after, After(bad));
    XC_ASSIGN_OR_RETURN(std::vector<Literal> meant, RunModule(*after, "interpreter", {}));
    if (Same(meant, expected_)) {
      XC_ASSIGN_OR_RETURN(const std::string code, FirstWrongCode(*after));
      return verdict + code;
    }
    XC_ASSIGN_OR_RETURN(const std::string value, FirstChangedValue(*before, *after, inputs_));
    return verdict + value;
  }

 private:
  static CompileOptions WithoutPasses() {
    CompileOptions options;
    options.disabled_passes = {"all"};
    return options;
  }

  absl::StatusOr<std::vector<Literal>> RunModule(const HloModule& module, const std::string& platform,
                                                 const CompileOptions& options) {
    return RunOn(module, platform, options, run_, inputs_);
  }

  // Whether the program compiled with the passes up to and including row `last` (-1: none) gives the expected results.
  absl::StatusOr<bool> Agrees(int last) {
    CompileOptions options = options_;
    if (last < 0) {
      options = WithoutPasses();
      options.cpu = options_.cpu;
    } else {
      options.until_pass = Pipeline()[last].pass;
    }
    XC_ASSIGN_OR_RETURN(std::vector<Literal> results, RunModule(module_, platform_, options));
    return Same(results, expected_);
  }

  // The module after the passes up to row `last`.
  absl::StatusOr<std::unique_ptr<HloModule>> After(int last) {
    std::unique_ptr<HloModule> module = module_.Clone();
    if (last < 0) return module;
    XC_ASSIGN_OR_RETURN(Backend * backend, BackendByName(platform_));
    Folder folder;
    PassContext context;
    XC_ASSIGN_OR_RETURN(context.target, backend->Target(options_));
    context.evaluator = &folder;
    context.options.excess_precision = options_.excess_precision;
    context.options.stop_after = Pipeline()[last].pass;
    context.options.disabled_passes = options_.disabled_passes;
    XC_RETURN_IF_ERROR(RunPipeline(module.get(), context, {}).status());
    return module;
  }

  // The first instruction of the entry whose code gives another value than the interpreter does. "" if none alone does.
  absl::StatusOr<std::string> FirstWrongCode(const HloModule& module) {
    for (const HloInstruction* instruction : module.entry()->PostOrder()) {
      if (instruction->operands().empty() || instruction->opcode() == HloOpcode::kTuple) continue;
      const std::unique_ptr<HloModule> prefix = WithRoot(module, instruction->name());
      if (prefix == nullptr) continue;
      XC_ASSIGN_OR_RETURN(std::vector<Literal> meant, RunModule(*prefix, "interpreter", {}));
      XC_ASSIGN_OR_RETURN(std::vector<Literal> results, RunModule(*prefix, platform_, WithoutPasses()));
      if (Same(results, meant)) continue;
      return absl::StrCat("\nbisect: the code for ", instruction->opcode() == HloOpcode::kFusion ? "fusion " : "",
                          instruction->name(), " is the first to give another value: ", instruction->ToString());
    }
    return std::string("\nbisect: no instruction gives another value by itself");
  }

  const HloModule& module_;
  const std::string& platform_;
  CompileOptions options_;
  const RunOptions& run_;
  const std::vector<Literal>& inputs_;
  const std::vector<Literal>& expected_;
};

}  // namespace

absl::StatusOr<std::string> FirstChangedValue(const HloModule& before, const HloModule& after,
                                              const std::vector<Literal>& inputs) {
  absl::flat_hash_map<std::string, const HloInstruction*> old;
  for (const auto& instruction : before.entry()->instructions()) old[instruction->name()] = instruction.get();
  for (const HloInstruction* instruction : after.entry()->PostOrder()) {
    const auto it = old.find(instruction->name());
    if (it == old.end() || instruction->operands().empty() || !SameShape(it->second->shape(), instruction->shape())) {
      continue;
    }
    const std::unique_ptr<HloModule> was = WithRoot(before, instruction->name()),
                                     is = WithRoot(after, instruction->name());
    if (was == nullptr || is == nullptr) continue;
    XC_ASSIGN_OR_RETURN(std::vector<Literal> meant, RunOn(*was, "interpreter", {}, {}, inputs));
    XC_ASSIGN_OR_RETURN(std::vector<Literal> results, RunOn(*is, "interpreter", {}, {}, inputs));
    if (Same(results, meant)) continue;
    return absl::StrCat("\nbisect: the pass changed the value of ", instruction->name(), ": ", instruction->ToString(),
                        "\nbisect: it was ", it->second->ToString());
  }
  return std::string("\nbisect: no instruction that the pass kept has another value; what it made new has");
}

absl::StatusOr<std::string> BisectPasses(const HloModule& module, const std::string& platform,
                                         const CompileOptions& options, const RunOptions& run,
                                         const std::vector<Literal>& inputs, const std::vector<Literal>& expected) {
  return Bisection(module, platform, options, run, inputs, expected).Run();
}

}  // namespace xc
