// What became of the graphs that came to the plugin, for people.
#ifndef XC_JIT_PLUGIN_REPORT_H_
#define XC_JIT_PLUGIN_REPORT_H_

#include <string>

namespace xc {

// How much was compiled and how much it helps, then totals, clusters with what they were compiled for, graphs with what
// stayed outside of clusters and why, and settings: as text, or as a page of HTML.
std::string PluginReport(bool html);

}  // namespace xc

#endif  // XC_JIT_PLUGIN_REPORT_H_
