// Pictures of a module: a self-contained HTML page, an SVG drawing, or Graphviz's dot.
#ifndef XC_TOOLS_VIEW_H_
#define XC_TOOLS_VIEW_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "service/page/page.h"

namespace xc {

// The temporary memory that the module's program has on the CPU: bytes, instructions of the entry's schedule, and the
// values that lie in it.
struct MemoryUse {
  int64_t bytes = 0, steps = 0;
  std::vector<PageValue> values;
};
absl::StatusOr<MemoryUse> MemoryOf(const HloModule& module);

// The module as a page: computations as graphs, the entry first seen, with costs and sources, and memory over time if
// there is any. `trace`: a profile as service/page/page.h takes it, or "".
Page ViewPage(const HloModule& module, const MemoryUse& memory, const std::string& trace = "");
// One cluster per computation; fusions expanded.
std::string ViewDot(const HloModule& module);
// The entry computation as boxes in layers, edges downwards. Modules with more than `max_nodes` instructions in the
// entry show the first ones, and say so.
std::string ViewSvg(const HloModule& module, int64_t max_nodes = 600);

}  // namespace xc

#endif  // XC_TOOLS_VIEW_H_
