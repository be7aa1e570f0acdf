// What the tool's commands share about running a program: timing it, and refusing what memory cannot hold.
#ifndef XC_TOOLS_PROGRAM_H_
#define XC_TOOLS_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "service/client.h"

namespace xc {

// Times up to `runs` runs, or as many as fit into `seconds` (if > 0), after one that does not count where there are
// more. Milliseconds of the best and the median one. The buffers are allocated once, before; without `keep_inputs` each
// input is freed when its buffer has it.
absl::Status TimeRuns(const Executable& executable, std::vector<Literal>* inputs, bool keep_inputs,
                      const RunOptions& options, int64_t runs, double seconds, double* best_ms, double* median_ms);

// ResourceExhausted if parameters and result alone are larger than `limit_bytes` (0: than the memory that
// this process may use).
absl::Status CheckInputMemory(const HloModule& module, int64_t limit_bytes);
// ResourceExhausted if a run would be, which holds inputs and outputs `copies` times, and the temporary memory; while
// the only copies are made, the largest input is there twice.
absl::Status CheckRunMemory(const Executable& executable, int copies, int64_t limit_bytes);

// The array of a .npy file, which must have the dimensions of `shape`, converted to its element type where
// that holds its kind of numbers (integers become floats, floats no integers).
absl::StatusOr<Literal> ReadArray(const std::string& path, const Shape& shape);

// Gives constants whose elements the text leaves out (`{...}`) the elements that XLA's own text reader gives them:
// bytes that count up through the module (pred: their lowest bit). Returns how many constants there were. Only for
// replaying what XLA ran; everywhere else such constants are refused.
int64_t FillElidedConstants(HloModule* module);

}  // namespace xc

#endif  // XC_TOOLS_PROGRAM_H_
