#include "jit/plugin/background.h"

#include <cstdlib>

#include "jit/host/compile_queue.h"

namespace xc {
namespace {

constexpr int kNice = 5;  // calls that are being served go first

CompileQueue& TheQueue() {
  static CompileQueue* queue = [] {
    auto* q = new CompileQueue(kNice);
    // Runs before the destructors of LLVM's globals, which were made when the library was loaded.
    std::atexit([] { TheQueue().Stop(); });
    return q;
  }();
  return *queue;
}

}  // namespace

void CompileInBackground(std::function<void()> task) { TheQueue().Add(nullptr, std::move(task)); }
int PendingCompilations() { return TheQueue().pending(); }
bool WaitForCompilations(double seconds) { return TheQueue().DrainFor(seconds); }

}  // namespace xc
