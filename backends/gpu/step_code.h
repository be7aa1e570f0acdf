// The copies, fills and kernels that one function holds: its arguments, and their code.
#ifndef XC_BACKENDS_GPU_STEP_CODE_H_
#define XC_BACKENDS_GPU_STEP_CODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/gpu/emitter_impl.h"
#include "backends/plan/plan.h"

namespace xc::gpu {

class StepCode {
 public:
  // `ordered`: steps may read and write what others write, so that no argument is known to be memory of its own.
  explicit StepCode(std::string key, bool ordered = false) : key_(std::move(key)), ordered_(ordered) {}

  // Adds the arguments of a copy, a fill or a kernel, of which the number of the first is returned, and to the key what
  // its code depends on.
  int Add(const plan::Step& step, absl::string_view how = "");
  void AddArgument(const BufferSlice& slice, Parameter parameter);
  void AddToKey(absl::string_view text) { key_.append(text.data(), text.size()); }
  // The regions of a step whose arguments begin at `first`; this must outlive them.
  Regions Write(KernelFunction& f, const plan::Step& step, int first);

  const std::vector<BufferSlice>& arguments() const { return arguments_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Functions of one key have the same code.
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  const bool ordered_;
  std::vector<BufferSlice> arguments_;
  std::vector<Parameter> parameters_;
  std::vector<std::unique_ptr<PlannedKernel>> kernels_;  // of the regions
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_STEP_CODE_H_
