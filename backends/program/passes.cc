#include "backends/program/passes.h"

#include "absl/time/clock.h"
#include "backends/runtime/float_state.h"
#include "compiler/driver.h"
#include "hlo/base/choices.h"
#include "hlo/base/format.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

class Folder : public ConstantEvaluator {
 public:
  explicit Folder(const xc::Evaluate& evaluate) : evaluate_(evaluate) {}
  absl::StatusOr<Literal> Evaluate(const HloInstruction* instruction,
                                   absl::Span<const Literal* const> operands) override {
    return evaluate_(*instruction, operands);
  }

 private:
  const xc::Evaluate& evaluate_;
};

}  // namespace

std::optional<std::chrono::steady_clock::time_point> PassDeadline(const CompileOptions& options) {
  if (options.deadline == absl::InfiniteFuture()) return std::nullopt;
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options.deadline - absl::Now());
}

absl::StatusOr<std::string> RunPasses(HloModule* module, const CompileOptions& options, const TargetInfo& target,
                                      const Evaluate& evaluate) {
  const FloatScope floats(FloatScope::Denormals::kKept);  // of constants
  PassContext context;
  context.target = target;
  context.options.disabled_passes = options.disabled_passes;
  context.options.stop_after = options.until_pass;
  context.options.run_required = true;
  context.options.excess_precision = options.excess_precision;
  context.options.deadline = PassDeadline(options);
  Folder folder(evaluate);
  if (evaluate) context.evaluator = &folder;
  DriverCallbacks callbacks;
  callbacks.verify = [](const HloModule& m) { return VerifyModule(m); };
#ifdef NDEBUG
  callbacks.verify_all = options.dump != nullptr;
#endif
  if (options.dump) {
    callbacks.dump = [&](int number, absl::string_view pass, const HloModule& m) {
      options.dump(number == 0 ? "000.before_passes.hlo" : Format("%03d.after_%s.hlo", number, pass), m.ToString());
    };
  }
  XC_ASSIGN_OR_RETURN(const PipelineReport report, RunPipeline(module, context, callbacks));
  for (const PassRun& run : report.runs) {
    if (options.timeline != nullptr) options.timeline->Add(run.pass, "pass", run.start_ns, run.end_ns);
  }
  return ForAllSizes() && !options.keep_texts ? "" : report.ToString(context);
}

}  // namespace xc
