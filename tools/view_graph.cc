// A module as a graph: DOT, and SVG laid out here.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "service/page/page.h"
#include "tools/view.h"

namespace xc {
namespace {

std::string DotQuoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

absl::string_view Fill(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kParameter:
      return "#dbeafe";
    case HloOpcode::kConstant:
      return "#eeeeee";
    case HloOpcode::kFusion:
      return "#fdebc8";
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
      return "#fbd5d5";
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return "#e4d7f5";
    default:
      return "#e6f4e6";
  }
}

void AppendDotComputation(const HloComputation& computation, std::string* out) {
  absl::StrAppend(out, "subgraph ", DotQuoted(absl::StrCat("cluster_", computation.id())),
                  " {\nlabel=", DotQuoted(computation.name()), ";\n");
  for (const auto& instruction : computation.instructions()) {
    const std::string node = absl::StrCat("n", instruction->id());
    absl::StrAppend(out, node, " [label=",
                    DotQuoted(absl::StrCat(instruction->name(), "\n", OpcodeName(instruction->opcode()), " ",
                                           instruction->shape().ToString(false))),
                    ",fillcolor=\"", Fill(instruction->opcode()), "\"", instruction->IsRoot() ? ",penwidth=2" : "",
                    "];\n");
    for (const HloInstruction* operand : instruction->operands()) {
      absl::StrAppend(out, "n", operand->id(), " -> ", node, ";\n");
    }
    for (const HloInstruction* before : instruction->control_predecessors()) {
      absl::StrAppend(out, "n", before->id(), " -> ", node, " [style=dotted];\n");
    }
    if (instruction->opcode() == HloOpcode::kFusion && !instruction->called_computations().empty()) {
      AppendDotComputation(*instruction->fused_computation(), out);
      absl::StrAppend(out, "n", instruction->fused_root()->id(), " -> ", node, " [style=dashed];\n");
    }
  }
  absl::StrAppend(out, "}\n");
}

}  // namespace

std::string ViewDot(const HloModule& module) {
  std::string out = absl::StrCat("digraph ", DotQuoted(module.name()),
                                 " {\nnode [shape=box,style=filled,fontname=\"sans-serif\",fontsize=10];\n");
  for (const auto& computation : module.computations()) {
    if (!computation->IsFusion()) AppendDotComputation(*computation, &out);
  }
  out += "}\n";
  return out;
}

std::string ViewSvg(const HloModule& module, int64_t max_nodes) {
  constexpr int kBoxWidth = 190, kBoxHeight = 38, kGapX = 14, kGapY = 34;
  std::vector<HloInstruction*> order;
  if (module.entry() != nullptr) order = module.entry()->PostOrder();
  const bool cut = static_cast<int64_t>(order.size()) > max_nodes;
  if (cut) order.resize(max_nodes);
  absl::flat_hash_map<const HloInstruction*, std::pair<int, int>> place;  // column, layer
  std::vector<int> width;
  for (const HloInstruction* instruction : order) {
    int layer = 0;
    for (const HloInstruction* operand : instruction->operands()) layer = std::max(layer, place.at(operand).second + 1);
    if (static_cast<int>(width.size()) <= layer) width.resize(layer + 1);
    place[instruction] = {width[layer]++, layer};
  }
  const int columns = width.empty() ? 1 : *std::max_element(width.begin(), width.end());
  const int total_width = columns * (kBoxWidth + kGapX) + kGapX;
  const int total_height = static_cast<int>(width.size()) * (kBoxHeight + kGapY) + kGapY + 20;
  std::string out = absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", total_width, "\" height=\"", total_height,
      "\" font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"8\" y=\"15\">", EscapeHtml(module.name()),
      cut ? absl::StrCat(": the first ", max_nodes, " instructions of the entry") : std::string(), "</text>\n");
  const auto x_of = [&](const HloInstruction* i) {
    const auto [column, layer] = place.at(i);
    const int row_width = width[layer] * (kBoxWidth + kGapX) - kGapX;
    return (total_width - row_width) / 2 + column * (kBoxWidth + kGapX);
  };
  const auto y_of = [&](const HloInstruction* i) { return 20 + kGapY / 2 + place.at(i).second * (kBoxHeight + kGapY); };
  for (const HloInstruction* instruction : order) {
    for (const HloInstruction* operand : instruction->operands()) {
      absl::StrAppend(&out, "<line x1=\"", x_of(operand) + kBoxWidth / 2, "\" y1=\"", y_of(operand) + kBoxHeight,
                      "\" x2=\"", x_of(instruction) + kBoxWidth / 2, "\" y2=\"", y_of(instruction),
                      "\" stroke=\"#99a\"/>\n");
    }
  }
  for (const HloInstruction* instruction : order) {
    const int x = x_of(instruction), y = y_of(instruction);
    absl::StrAppend(&out, "<g><title>", EscapeHtml(instruction->ToString().substr(0, 1000)), "</title><rect x=\"", x,
                    "\" y=\"", y, "\" width=\"", kBoxWidth, "\" height=\"", kBoxHeight, "\" rx=\"5\" fill=\"",
                    Fill(instruction->opcode()), "\" stroke=\"", instruction->IsRoot() ? "#222" : "#aab",
                    "\"/><text x=\"", x + 6, "\" y=\"", y + 15, "\">", EscapeHtml(instruction->name().substr(0, 28)),
                    "</text><text x=\"", x + 6, "\" y=\"", y + 30, "\" fill=\"#666\">",
                    OpcodeName(instruction->opcode()), " ",
                    EscapeHtml(instruction->shape().ToString(false).substr(0, 24)), "</text></g>\n");
  }
  out += "</svg>\n";
  return out;
}

}  // namespace xc
