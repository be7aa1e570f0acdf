// `xla replay` of modules at several sizes, by one code where it serves them.
#ifndef XC_TOOLS_REPLAY_SYMBOLIC_H_
#define XC_TOOLS_REPLAY_SYMBOLIC_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/client.h"

namespace xc {

struct SymbolicRuns {
  std::string platform, against;
  std::string shapes;  // bindings, as `b=2,n=17; b=3,n=5`
  int64_t runs = 1;
  double seconds = 0;
};

// Runs `text`, which has symbols, for each binding, on deterministic inputs, with one compilation for all that it
// serves; prints for each binding how long it took to get ready and to run. *wrong is set where results differ from
// those of `against`.
absl::Status ReplaySymbolic(const std::string& text, const SymbolicRuns& settings, const CompileOptions& options,
                            const RunOptions& run, bool* wrong);
// The same for a program whose arguments' sizes are open, with lists of their shapes in the place of bindings, as
// `[2,17],[17]; [3,5],[5]`: `read` gives the module for one list. Sizes that are equal in all lists are taken to be so.
absl::Status ReplayShapes(const std::function<absl::StatusOr<std::unique_ptr<HloModule>>(const std::string&)>& read,
                          const SymbolicRuns& settings, const CompileOptions& options, const RunOptions& run,
                          bool* wrong);

}  // namespace xc

#endif  // XC_TOOLS_REPLAY_SYMBOLIC_H_
