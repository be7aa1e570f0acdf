// Which instructions a computation's fusions consist of, taken down for one program and made again for others that
// differ in sizes alone (hlo/base/choices.h): what pays was decided by the first one's sizes, what is right is checked.
#ifndef XC_COMPILER_FUSE_FUSION_RECORD_H_
#define XC_COMPILER_FUSE_FUSION_RECORD_H_

#include <vector>

#include "compiler/pass.h"

namespace xc {

// A fusion to be built; instructions as numbers in the computation's post-order, members ascending.
struct FusionRecord {
  std::vector<int> members, roots;
};

// Whether fusions of the computation may be made again from a record: no update in place, whose rules go by sizes.
bool MayRecordFusions(const HloComputation& computation);

// Takes the fusions of a computation down.
void RecordFusions(const std::vector<HloInstruction*>& order, const std::vector<FusionRecord>& fusions);

// The fusions that were taken down for a computation of the same form. Where that is another one, or they would not be
// right for these sizes, nothing is chosen any more.
std::vector<FusionRecord> ReplayFusions(const std::vector<HloInstruction*>& order, const TargetInfo& target);

}  // namespace xc

#endif  // XC_COMPILER_FUSE_FUSION_RECORD_H_
