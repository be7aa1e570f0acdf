// Settings of clustering inside a host framework: from the environment at first, changed by the program later.
#ifndef XC_JIT_PLUGIN_SETTINGS_H_
#define XC_JIT_PLUGIN_SETTINGS_H_

#include <string>

#include "absl/status/status.h"
#include "jit/mark/mark.h"

namespace xc {

// When a cluster is compiled for new argument shapes.
enum class PluginPolicy {
  kNow,         // the call waits
  kLazy,        // the call waits, but only after `lazy_runs` runs on the host
  kBackground,  // a thread compiles; the call waits `wait_ms` at most and then runs on the host
};

struct PluginSettings {
  bool enabled = true;
  PluginPolicy policy = PluginPolicy::kBackground;
  MarkOptions mark;
  int lazy_runs = 3;
  int wait_ms = 0;
  int max_shapes = 24;        // compiled per cluster; further shapes run on the host
  bool buckets = true;        // code for more rows may serve calls of fewer
  int threads = 0;            // 0: as many as the host says
  bool cost_gate = true;      // what is slower than the host goes back to it
  bool caller_thread = true;  // functions of one launch run in the thread that calls them
  bool log = true;            // one line per problem on standard error
  std::string dump_dir;       // rewritten graphs and clusters go there
};

// A copy of the current settings.
PluginSettings CurrentPluginSettings();
// Lines of key=value. Nothing changes if one of them is wrong.
absl::Status ConfigurePlugin(const std::string& lines);
// `changed` is called after each change, on the thread that makes it.
void OnConfigurePlugin(void (*changed)());
std::string DescribePluginSettings();
// The settings that every run looks at.
int PluginThreads();
bool PluginCostGate();
bool PluginCallerThread();

}  // namespace xc

#endif  // XC_JIT_PLUGIN_SETTINGS_H_
