// A session's graph as one HLO module, with the values of its variables as constants: what is compiled ahead of time,
// and what the tools show.
#ifndef XC_JIT_HOST_SESSION_MODULE_H_
#define XC_JIT_HOST_SESSION_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "hlo/module.h"
#include "jit/host/session.h"

namespace xc {

struct SessionModule {
  // Its parameters are the session's inputs, its result their outputs: a tuple, or the only one.
  std::unique_ptr<HloModule> module;
  // The host refuses some values, such as an index out of range; the module gives what the HLO op gives for them.
  bool unchecked = false;
};

// `dims`: of each input, or empty where all sizes of the inputs are known. InvalidArgument: they do not fit, or a size
// is open; Unimplemented with the node: an op that does not compile, a result whose length only the run knows, a graph
// that writes variables; FailedPrecondition: an op needs the value of an input.
absl::StatusOr<SessionModule> LowerSession(Session& session, const std::vector<Dims>& dims);

}  // namespace xc

#endif  // XC_JIT_HOST_SESSION_MODULE_H_
