// Settings of clustering inside a host framework: from the environment at first, changed by the program later.
#ifndef XC_JIT_PLUGIN_SETTINGS_H_
#define XC_JIT_PLUGIN_SETTINGS_H_

#include <string>

#include "absl/status/status.h"
#include "jit/launch/policy/policy.h"
#include "jit/mark/mark.h"

namespace xc {

// The policy inside a host framework where its user asks for no other. It differs from the common defaults since the
// host has quick kernels of its own for all that is in a cluster.
LaunchPolicy PluginPolicy();

struct PluginSettings {
  bool enabled = true;
  LaunchPolicy launch = PluginPolicy();
  MarkOptions mark;
  int threads = 0;            // 0: as many as the host says
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
// The settings that every run looks at. A policy lives for ever: calls use it while others change the settings.
const LaunchPolicy& CurrentLaunchPolicy();
int PluginThreads();
bool PluginCallerThread();

}  // namespace xc

#endif  // XC_JIT_PLUGIN_SETTINGS_H_
