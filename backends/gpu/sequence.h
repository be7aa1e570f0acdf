// Steps that one block does one after the other, loops, branches and calls with all their steps among them.
#ifndef XC_BACKENDS_GPU_SEQUENCE_H_
#define XC_BACKENDS_GPU_SEQUENCE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/step_accesses.h"
#include "backends/gpu/step_code.h"
#include "backends/plan/plan.h"

namespace xc::gpu {

class Sequence {
 public:
  // `accesses`: of all computations of the plan.
  Sequence(const plan::Plan& plan, const std::vector<Accesses>& accesses) : plan_(plan), accesses_(accesses) {}

  // Adds a step to the end.
  void Add(const plan::Step& step);

  // Those added and, of their callees, all.
  const std::vector<const plan::Step*>& steps() const { return steps_; }
  const std::vector<BufferSlice>& arguments() const { return code_.arguments(); }
  const std::vector<Parameter>& parameters() const { return code_.parameters(); }
  // Sequences of one key have the same code.
  const std::string& key() const { return code_.key(); }

  // Writes the whole body of a function with these parameters.
  absl::Status Write(KernelFunction& f);

 private:
  using V = llvm::Value*;
  struct Part {
    int first = 0;  // argument
    Regions regions;
  };

  void Collect(const plan::Step& step);
  // Writes a step, behind a barrier if it depends on what was written since the last one.
  absl::Status WriteStep(const plan::Step& step);
  absl::Status WriteComputation(int number);
  absl::Status WriteLoop(const plan::Loop& loop, int argument);
  absl::Status WriteBranch(const plan::Branch& branch, int argument);
  absl::Status WriteRegion(const KernelFunction::Region& region);
  // What all threads read where it lies, as an i32.
  V ReadNumber(int argument, int bytes);
  void Barrier();

  const plan::Plan& plan_;
  const std::vector<Accesses>& accesses_;
  std::vector<const plan::Step*> added_, steps_;
  StepCode code_{"sequence", /*ordered=*/true};
  absl::flat_hash_map<const plan::Step*, Part> parts_;
  // While it is written:
  KernelFunction* f_ = nullptr;
  int threads_ = 32;
  Accesses since_barrier_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_SEQUENCE_H_
