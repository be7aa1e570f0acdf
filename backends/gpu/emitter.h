// Turns a plan into kernels: one function for each kernel or library call that there is code for, and for the others
// the reason why there is none.
#ifndef XC_BACKENDS_GPU_EMITTER_H_
#define XC_BACKENDS_GPU_EMITTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/gpu/target.h"
#include "backends/plan/plan.h"

namespace xc::gpu {

// A function and how it is started: its parameters are pointers, one for each argument of a launch.
struct KernelCode {
  std::string name;
  int module = 0;  // of EmittedPlan::ptx
  int64_t blocks = 1;
  int threads = 1;
};

// One start of a kernel.
struct Launch {
  int kernel = 0;  // of EmittedPlan::kernels
  std::vector<BufferSlice> arguments;
  int64_t scratch_bytes = 0;  // of memory that is the kernel's while it runs: its last argument, unless there are none
};

struct EmittedPlan {
  std::vector<std::string> ptx;
  std::vector<std::string> ir;  // on request: the modules before the passes
  std::vector<KernelCode> kernels;
  // Of steps with code: what is started, one after the other; nothing where it is started with another step.
  absl::flat_hash_map<const plan::Step*, std::vector<Launch>> launches;
  // Of kernels and library calls without: why.
  absl::flat_hash_map<const plan::Step*, std::string> reasons;
};

// The arrays of a matrix product.
struct ProductArrays {
  BufferSlice a, b, result;
};
// Takes the product of a step, which then gets no kernel, or says by its status why it does not.
using TakeProduct =
    std::function<absl::Status(const plan::Step& step, const MatmulDesc& desc, const ProductArrays& arrays)>;

struct EmitOptions {
  absl::Time deadline = absl::InfiniteFuture();
  bool keep_ir = false;
  TakeProduct take_product;  // none: all products get kernels
};

// Errors: the deadline, and faults of the compiler. `plan` must outlive the result. The launches of a step whose
// product was taken follow it.
absl::StatusOr<EmittedPlan> EmitPlan(const plan::Plan& plan, const Target& target, const EmitOptions& options);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_EMITTER_H_
