// Buffer assignment: where each array of the program lives. This is the contract between compiler and CPU emitter.
//
// The module's emitted computations (entry, while conditions and bodies, conditional branches, calls) are one program
// with one arena; offsets are the same in all of them. Fusions and reducers have no buffers of their own. Only leaves
// (arrays) have slices: a tuple is bookkeeping, its leaf's slice is that of the element it was made from.
//
// What an emitter relies on:
//  * IsForwarding instructions, parameters and constants emit nothing.
//  * while: state leaf k has one slice for the init, the parameters of condition and body, the body's root and the
//    result of the while. No copies are made at the loop's edge: those needed are `copy` instructions already.
//  * conditional: a branch's parameter leaf has the operand's slice, a branch's root leaf that of the result.
//  * call: likewise, for parameters and root.
//  * entry: root leaf i has the slice OutputSlice(i).
//  * An output slice is either equal to an operand's slice (then in place, see MayOverwrite), or apart from every
//    operand. dynamic-update-slice, scatter and sort copy the operand first if the slices differ.
#ifndef XC_COMPILER_MEMORY_BUFFER_ASSIGNMENT_H_
#define XC_COMPILER_MEMORY_BUFFER_ASSIGNMENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

inline constexpr int64_t kSliceAlignment = 64;

struct BufferSlice {
  enum class Kind : uint8_t {
    kNone,       // no bytes: tokens, arrays without elements may still have a place
    kArena,      // the run's arena, at `offset`
    kParameter,  // leaf `index` of BufferAssignment::parameters()
    kOutput,     // leaf `index` of BufferAssignment::outputs(), at `offset` (not 0 only for temporaries kept there)
    kConstant,   // BufferAssignment::constants()[index]
  };
  Kind kind = Kind::kNone;
  int64_t index = 0;
  int64_t offset = 0;
  int64_t size = 0;  // bytes of the array, not rounded up
  bool operator==(const BufferSlice&) const = default;
  std::string ToString() const;  // "arena+128[64]", "parameter 2[16]"
};

struct BufferOptions {
  // Bytes that an instruction needs while it runs (packed operands, library scratchpads); none if not set.
  std::function<int64_t(const HloInstruction*)> scratch_bytes;
};

class BufferAssignment {
 public:
  struct ParameterLeaf {
    int64_t number = 0;
    ShapeIndex index;
    int64_t size = 0;
    // The program writes here: an aliased output lives in it. The caller passes a buffer that may be overwritten.
    bool donated = false;
  };
  struct OutputLeaf {
    ShapeIndex index;
    int64_t size = 0;
    // kOutput with this leaf's own number, or kParameter if the module aliases this output with a parameter.
    BufferSlice slice;
  };

  // The slice of leaf `leaf` (in the order of Leaves(shape)); the first form is for arrays.
  const BufferSlice& Slice(const HloInstruction* instruction, int64_t leaf = 0) const;
  const BufferSlice& SliceAt(const HloInstruction* instruction, const ShapeIndex& index) const;
  // Whether the instruction has slices, that is, belongs to an emitted computation.
  bool Has(const HloInstruction* instruction) const { return slices_.contains(instruction); }
  // The instruction's scratch memory: kNone if it asked for none.
  const BufferSlice& Scratch(const HloInstruction* instruction) const;

  // Entry parameter leaves: all leaves of parameter 0, then of parameter 1, ….
  const std::vector<ParameterLeaf>& parameters() const { return parameters_; }
  // Leaves of the entry's result.
  const std::vector<OutputLeaf>& outputs() const { return outputs_; }
  const BufferSlice& OutputSlice(int64_t leaf) const { return outputs_[leaf].slice; }
  // Distinct constant arrays that have slices, row-major. Kept alive by the literals' owners here.
  const std::vector<std::shared_ptr<const Literal>>& constants() const { return constants_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  // The most bytes that are live at one time: no packing can need less, given schedule and sharing.
  int64_t lower_bound() const { return lower_bound_; }

  // Arena bytes, lower bound, each allocation with its values, largest first.
  std::string Report() const;

 private:
  friend class BufferAssigner;
  absl::flat_hash_map<const HloInstruction*, std::vector<BufferSlice>> slices_;
  absl::flat_hash_map<const HloInstruction*, BufferSlice> scratch_;
  std::vector<ParameterLeaf> parameters_;
  std::vector<OutputLeaf> outputs_;
  std::vector<std::shared_ptr<const Literal>> constants_;
  int64_t arena_bytes_ = 0;
  int64_t lower_bound_ = 0;
  struct ReportLine {
    BufferSlice slice;
    std::vector<std::string> values;
  };
  std::vector<ReportLine> report_;
};

// Gives each emitted computation one caller: a computation that several whiles, conditionals or calls run is cloned.
absl::StatusOr<bool> FlattenCalls(HloModule* module);

// Needs a schedule (ScheduleModule) and flat calls. Inserts the copies that loop states, branch results and outputs
// need into module and schedule, then assigns. Errors: shapes or aliasing that the program cannot have.
absl::StatusOr<BufferAssignment> AssignBuffers(HloModule* module, const BufferOptions& options = {});

// Runs the program's buffer traffic on symbolic values, without any notion of live ranges: every branch, and two rounds
// of every loop. An error names the instruction that would read a value that something else has overwritten.
absl::Status CheckBufferAssignment(const HloModule* module, const BufferAssignment& assignment);

}  // namespace xc

#endif  // XC_COMPILER_MEMORY_BUFFER_ASSIGNMENT_H_
