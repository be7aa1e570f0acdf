// The arrays of a scheduled program and when each of them is needed: what buffer assignment finds places for.
#ifndef XC_COMPILER_MEMORY_LIVE_VALUES_H_
#define XC_COMPILER_MEMORY_LIVE_VALUES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/copy_insertion.h"
#include "hlo/module.h"

namespace xc {

// An array that some instruction defines, live from `start` to `end`. Time counts events of the program in the order of
// its text, loops and branches unrolled once: a result is defined one tick after its instruction's operands are read
// and dies there if no one else reads it.
struct LiveValue {
  const HloInstruction* instruction = nullptr;
  int64_t leaf = 0;
  int64_t size = 0;
  int64_t start = 0, end = 0;
  bool computed = false;   // by the instruction itself: it may be written over a dying operand
  BufferSlice place;       // kParameter or kConstant: it is there already
  bool read_only = false;  // constants, parameters that nothing may write

  std::string Name() const;
};

struct LiveValues {
  using Leafs = std::vector<int>;  // a value per leaf; -1 for tokens and other things without bytes
  // Memory that an instruction needs while it runs.
  struct Scratch {
    const HloInstruction* instruction;
    int64_t bytes;
    int64_t time;
  };

  std::vector<LiveValue> values;
  absl::flat_hash_map<const HloInstruction*, Leafs> leafs;
  std::vector<const HloInstruction*> computed;            // those that compute their values, in order of time
  std::vector<std::pair<int, int>> must_share;            // values that are one buffer: states of loops, …
  std::vector<std::pair<int64_t, int>> computed_outputs;  // entry's outputs without a parameter's buffer, their values
  Leafs root;                                             // of the entry
  std::vector<Scratch> scratch;

  std::vector<BufferAssignment::ParameterLeaf> parameters;
  std::vector<BufferAssignment::OutputLeaf> outputs;  // without slices
  std::vector<std::shared_ptr<const Literal>> constants;
};

// `aliased` has, for each output, the parameter that it must live in, if any. Needs a schedule and flat calls.
absl::StatusOr<LiveValues> FindLiveValues(const HloModule* module, const BufferOptions& options,
                                          const LoopInvariants& invariants,
                                          const std::vector<ParameterLeafRef>& aliased);

}  // namespace xc

#endif  // XC_COMPILER_MEMORY_LIVE_VALUES_H_
