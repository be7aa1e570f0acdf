// Shrinks a module that shows a fault to one that still shows it and from which nothing more can be taken.
#ifndef XC_TOOLS_REDUCE_H_
#define XC_TOOLS_REDUCE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "hlo/module.h"

namespace xc {

// A copy whose entry returns the value of its instruction `name`, without what that does not need. Parameters stay.
// Null if there is no such instruction or nothing can return it (a token).
std::unique_ptr<HloModule> WithRoot(const HloModule& module, const std::string& name);

struct ReduceOptions {
  absl::Time deadline = absl::InfiniteFuture();
  // Told of each module that is smaller and still fails.
  std::function<void(const HloModule&)> progress;
};

// `fails` is asked of verified modules only, and must hold for `module`. Tried until none succeeds: an earlier
// instruction as the result, parts of a tuple result, an operand or a parameter or zeros in place of an instruction (in
// called computations as well), and leaving out parameters that nothing uses.
std::unique_ptr<HloModule> ReduceModule(std::unique_ptr<HloModule> module,
                                        const std::function<bool(const HloModule&)>& fails,
                                        const ReduceOptions& options = {});

}  // namespace xc

#endif  // XC_TOOLS_REDUCE_H_
