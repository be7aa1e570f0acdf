// Pictures of a module: a self-contained HTML page, an SVG drawing, or Graphviz's dot.
#ifndef XC_TOOLS_VIEW_H_
#define XC_TOOLS_VIEW_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// A buffer's life on the entry's schedule, for the picture of memory over time.
struct BufferLife {
  std::string name;
  int64_t offset = 0, size = 0;  // bytes in the arena
  int64_t begin = 0, end = 0;    // positions in the schedule, both included
};

// The buffers of the temporary memory that the module's program has on the CPU, by instruction of the entry.
absl::StatusOr<std::vector<BufferLife>> BufferLives(const HloModule& module);

// Collapsible computations, fusions as boxes with their computation inside, links from operands to instructions, a
// search field, and buffers over time if there are any.
std::string ViewHtml(const HloModule& module, const std::vector<BufferLife>& buffers);
// One cluster per computation; fusions expanded.
std::string ViewDot(const HloModule& module);
// The entry computation as boxes in layers, edges downwards. Modules with more than `max_nodes` instructions in the
// entry show the first ones, and say so.
std::string ViewSvg(const HloModule& module, int64_t max_nodes = 600);

// & < > and quotes as entities.
std::string EscapeHtml(absl::string_view text);

}  // namespace xc

#endif  // XC_TOOLS_VIEW_H_
