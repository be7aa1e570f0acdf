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
  // A field of the target: the row runs for backends for which it is set. Null: for all.
  bool TargetInfo::*needs = nullptr;
  // Backends cannot do without what it does: planning and code rest on it.
  bool required = false;

  // Whether the row runs for `target`.
  bool RunsFor(const TargetInfo& target) const { return target.passes && (needs == nullptr || target.*needs); }
};

inline constexpr int kMaxGroupRounds = 6;

absl::Span<const PipelineRow> Pipeline();

// The row of a pass by name, or nullptr.
const PipelineRow* FindPass(absl::string_view name);

}  // namespace xc

#endif  // XC_COMPILER_PIPELINE_H_
