// The memory that the steps of a plan read and write, and which of them depend on each other.
#ifndef XC_BACKENDS_GPU_STEP_ACCESSES_H_
#define XC_BACKENDS_GPU_STEP_ACCESSES_H_

#include <vector>

#include "backends/plan/plan.h"

namespace xc::gpu {

struct Accesses {
  std::vector<BufferSlice> read, written;
  bool everywhere = false;  // too much to tell

  void Add(const Accesses& other);
};

// The first `bytes` of a slice.
BufferSlice Part(BufferSlice slice, const plan::Size& bytes);
// Whether one writes what the other reads or writes.
bool Conflict(const Accesses& x, const Accesses& y);

// `callees` has those of the plan's computations before the step's.
Accesses AccessesOf(const plan::Step& step, const std::vector<Accesses>& callees);
// Of all computations of the plan.
std::vector<Accesses> AccessesOf(const plan::Plan& plan);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_STEP_ACCESSES_H_
