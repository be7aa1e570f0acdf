// One thread that compiles while the host's kernels serve.
#ifndef XC_JIT_PLUGIN_BACKGROUND_H_
#define XC_JIT_PLUGIN_BACKGROUND_H_

#include <functional>

#include "jit/launch/compile_queue.h"

namespace xc {

// Runs `task` some time on the process's compiling thread, which is started at first use and joined at exit; see
// CompileQueue::Add.
bool CompileInBackground(Demand demand, std::function<void()> task);
// Tasks queued or running.
int PendingCompilations();
// Waits until there are none, `seconds` at most; whether that was reached.
bool WaitForCompilations(double seconds);

}  // namespace xc

#endif  // XC_JIT_PLUGIN_BACKGROUND_H_
