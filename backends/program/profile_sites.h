// Which steps of a plan code for profiling tells the time of.
#ifndef XC_BACKENDS_PROGRAM_PROFILE_SITES_H_
#define XC_BACKENDS_PROGRAM_PROFILE_SITES_H_

#include <vector>

#include "backends/backend.h"
#include "backends/plan/plan.h"

namespace xc {

// Telling the time of a step takes some 60 ns. All steps of the entry are told apart if that is at most a fiftieth of a
// run, or the run is short; others, and those of loops, if they take long enough themselves, as far as can be
// estimated. What is not told apart counts to what it stands in.
class ProfileSites {
 public:
  explicit ProfileSites(const plan::Plan& plan);

  // The number of the step's site; -1: it has none. `in_loop`: the step may run many times in a run.
  int32_t Add(const plan::Step& step, bool in_loop);
  // Whether counting the iterations of a loop costs next to nothing.
  bool CountsIterations(const plan::Loop& loop) const;
  std::vector<ProfileSite> Take() { return std::move(sites_); }

 private:
  const plan::Plan& plan_;
  bool all_of_entry_ = false;
  const HloInstruction* last_ = nullptr;  // whose cost a site has already
  std::vector<ProfileSite> sites_;
};

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_PROFILE_SITES_H_
