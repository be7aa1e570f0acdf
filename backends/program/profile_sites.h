// Chooses the steps of a plan that are timed one by one when a program is profiled.
#ifndef XC_BACKENDS_PROGRAM_PROFILE_SITES_H_
#define XC_BACKENDS_PROGRAM_PROFILE_SITES_H_

#include <vector>

#include "backends/backend.h"
#include "backends/plan/plan.h"

namespace xc {

// A site is a step with a timer around it, which costs about 60 ns each time. The steps of the entry computation are
// all sites if their timers add at most a fiftieth to the estimated time of a run, or if the run is short. Otherwise,
// and in loops, a step is a site if its own estimated time is long enough. The time of a step that is no site is part
// of the loop or run around it.
class ProfileSites {
 public:
  explicit ProfileSites(const plan::Plan& plan);

  // The number of the step's site; -1: it has none. `in_loop`: the step may run many times in a run.
  int32_t Add(const plan::Step& step, bool in_loop);
  // Whether one iteration takes so long that counting the iterations costs next to nothing.
  bool CountsIterations(const plan::Loop& loop) const;
  std::vector<ProfileSite> Take() { return std::move(sites_); }

 private:
  const plan::Plan& plan_;
  bool all_of_entry_ = false;
  const HloInstruction* last_ = nullptr;  // of the last site: its further steps add no cost
  std::vector<ProfileSite> sites_;
};

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_PROFILE_SITES_H_
