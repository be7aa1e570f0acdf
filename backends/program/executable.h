// Executables of planned programs: what all backends that run on the host's memory share. A backend adds the code.
#ifndef XC_BACKENDS_PROGRAM_EXECUTABLE_H_
#define XC_BACKENDS_PROGRAM_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/plan/plan.h"
#include "backends/program/program.h"
#include "backends/runtime/run_context.h"
#include "compiler/pass.h"

namespace xc {

// One run's memory, as code finds it. Generated code reads the fields at these places: pointers only, in this order.
struct Frame {
  void* context;            // RunContext
  void* const* parameters;  // one per parameter leaf
  void* const* outputs;     // one per result leaf
  char* arena;
  const void* const* constants;
  const CallTable* calls;
  const char* sizes;  // what code that serves several sizes reads in the place of numbers; else null
};
enum FrameField {
  kContextField,
  kParametersField,
  kOutputsField,
  kArenaField,
  kConstantsField,
  kCallsField,
  kSizesField
};

// A module up to where code begins: passes run, buffers assigned, planned.
struct PlannedModule {
  std::unique_ptr<HloModule> module;
  std::string pass_report;
  BufferAssignment buffers;
  plan::Plan plan;
};

// `evaluate` folds constants; null: none are folded. Keeps to the options' limits; dumps each stage.
absl::StatusOr<PlannedModule> PlanModule(std::unique_ptr<HloModule> module, const CompileOptions& options,
                                         const TargetInfo& target, const Evaluate& evaluate);

class ProgramExecutable : public Executable {
 public:
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override;
  int64_t ResultParameter(size_t i) const override;
  int64_t temp_bytes() const override { return program_.arena_bytes; }
  std::string Text(absl::string_view name) const override;
  const std::vector<ProfileSite>& profile_sites() const override { return profile_sites_; }

 protected:
  // Runs the code. Errors are left in the frame's context.
  virtual void Start(const Frame& frame) const = 0;

  // Takes the planned module over, when its code is made. `plan` stays with the caller, without its custom calls.
  absl::Status SetProgram(PlannedModule* planned, const CompileOptions& options);
  // Takes a program over that was stored for a module like `module`.
  absl::Status SetProgram(Program program, const HloModule& module);
  // Frees the module and what only texts are made of, unless the run needs it.
  void ForgetModule();
  // To be called last: the executable can run afterwards. `arenas`, of blocks that are large enough, may be shared with
  // others; null: it has its own.
  void Prepare(Evaluate evaluate, std::shared_ptr<ArenaPool> arenas = nullptr);

  Program program_;
  std::vector<ProfileSite> profile_sites_;
  Block sizes_;  // Frame::sizes

 private:
  std::shared_ptr<ArenaPool> arenas_;
  std::unique_ptr<ArenaPool> guarded_;
  // For those who look inside: empty if the program was loaded.
  std::string pass_report_, plan_text_;
  BufferAssignment buffers_;
};

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_EXECUTABLE_H_
