// The fixed, ordered list of passes. The driver, `xla opt`, flags and documentation read this table.
#ifndef XC_COMPILER_PIPELINE_H_
#define XC_COMPILER_PIPELINE_H_

#include "absl/types/span.h"
#include "compiler/pass.h"

namespace xc {

struct PipelineRow {
  const char* phase;
  const char* pass;
  PassFunction run;
  // Neighbouring rows with the same number other than 0 are repeated as a group until none changes anything, or
  // kMaxGroupRounds times.
  int group;
  const char* why;
};

inline constexpr int kMaxGroupRounds = 6;

absl::Span<const PipelineRow> Pipeline();

// The row of a pass by name, or nullptr.
const PipelineRow* FindPass(absl::string_view name);

}  // namespace xc

#endif  // XC_COMPILER_PIPELINE_H_
