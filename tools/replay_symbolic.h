// `xla replay` of a text with symbolic sizes.
#ifndef XC_TOOLS_REPLAY_SYMBOLIC_H_
#define XC_TOOLS_REPLAY_SYMBOLIC_H_

#include <string>

#include "absl/status/status.h"
#include "service/client.h"

namespace xc {

struct SymbolicRuns {
  std::string platform, against;
  std::string shapes;  // bindings, as `b=2,n=17; b=3,n=5`
  int64_t runs = 1;
  double seconds = 0;
};

// Runs `text` for each binding, on deterministic inputs, with one compilation for all that it serves; prints for each
// binding how long it took to get ready and to run. *wrong is set where results differ from those of `against`.
absl::Status ReplaySymbolic(const std::string& text, const SymbolicRuns& settings, const CompileOptions& options,
                            const RunOptions& run, bool* wrong);

}  // namespace xc

#endif  // XC_TOOLS_REPLAY_SYMBOLIC_H_
