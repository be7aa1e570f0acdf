#include "jit/plugin/background.h"

#include <stdlib.h>

#include <utility>

namespace xc {
namespace {

CompileQueue& TheQueue() {
  static CompileQueue* queue = [] {
    auto* q = new CompileQueue(CompileQueue::kBehindCalls);
    // Other libraries' objects are destroyed at the end, after this; libxc.so's own are not, so std::atexit would be
    // lost there (service/no_exit_destructors.cc).
    on_exit([](int, void*) { TheQueue().Stop(); }, nullptr);
    return q;
  }();
  return *queue;
}

}  // namespace

bool CompileInBackground(Demand demand, std::function<void()> task) {
  return TheQueue().Add(nullptr, std::move(demand), std::move(task));
}
int PendingCompilations() { return TheQueue().pending(); }
bool WaitForCompilations(double seconds) { return TheQueue().DrainFor(seconds); }

}  // namespace xc
