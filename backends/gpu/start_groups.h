// Which steps of a computation a device starts together. A start takes microseconds, whatever it does: small kernels,
// copies and fills that do not depend on each other become one kernel, each part in blocks of its own; those that do
// depend on each other, and loops of them, become a kernel of one block, if they are so small that it is soon done.
#ifndef XC_BACKENDS_GPU_START_GROUPS_H_
#define XC_BACKENDS_GPU_START_GROUPS_H_

#include <functional>
#include <vector>

#include "backends/plan/plan.h"

namespace xc::gpu {

// Threads of a block, where nothing else decides.
constexpr int kBlockThreads = 256;
// The most that a thread reads or writes at once.
constexpr int kVectorBytes = 16;

struct StartGroup {
  int at = 0;                // the step in whose place all of them start
  std::vector<int> members;  // steps, in the plan's order
  // One block does them one after the other; loops, branches and calls may be among them, with all of their steps.
  bool sequence = false;
};

// How a kernel is written.
struct KernelShape {
  int block = 0;        // the size that its blocks must have; 0: any; -1: it must start alone
  int64_t threads = 1;  // in all
};
using ShapeOfKernel = std::function<KernelShape(const plan::Step&, const plan::Kernel&)>;

// The computations that a step runs.
std::vector<int> CalleesOf(const plan::Step& step);

// For each computation of the plan its groups: of two steps or more, or sequences. But in sequences, what one step of a
// group writes no other one reads or writes, with one exception: copies that AtOnce takes.
std::vector<std::vector<StartGroup>> GroupStarts(const plan::Plan& plan, const ShapeOfKernel& shape_of);

// Whether a copy is so small that one block makes it, with others like it: it reads all that they read before any of
// them writes, so that each may write what another one reads.
bool IsAtOnce(const plan::Copy& copy);
// What such copies, made one after the other in the order of the plan, leave in memory, as copies of what was there
// before the first.
std::vector<plan::Copy> AtOnce(std::vector<plan::Copy> copies);
// The most bytes that one access may have in a copy, in a fill.
int64_t CopyUnit(const plan::Copy& copy);
int64_t FillUnit(const plan::Clear& clear);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_START_GROUPS_H_
