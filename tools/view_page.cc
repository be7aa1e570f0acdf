// A module as what a page shows: its computations as graphs.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/cost_analysis.h"
#include "hlo/base/format.h"
#include "tools/view.h"

namespace xc {
namespace {

constexpr size_t kMaxAttributes = 4000;  // bytes of text

// What follows the operand list in the printed line, without the metadata.
std::string AttributesOf(const HloInstruction& instruction) {
  const std::string line = instruction.ToString();
  size_t at = line.find(absl::StrCat(OpcodeName(instruction.opcode()), "("));
  if (at == std::string::npos) return "";
  at = line.find('(', at);
  int depth = 0;
  for (; at < line.size(); ++at) {
    if (line[at] == '(') ++depth;
    if (line[at] == ')' && --depth == 0) break;
  }
  if (at >= line.size()) return "";
  std::string rest = line.substr(at + 1);
  if (rest.size() > 2 && rest[0] == ',') rest = rest.substr(2);
  if (const size_t metadata = rest.find("metadata={"); metadata != std::string::npos) {
    const size_t end = rest.find('}', metadata);
    const std::string after = end == std::string::npos ? "" : rest.substr(end + 1);
    rest = rest.substr(0, metadata >= 2 ? metadata - 2 : 0) + after;
  }
  if (rest.size() > kMaxAttributes) rest = absl::StrCat(rest.substr(0, kMaxAttributes), "…");
  return rest;
}

std::string KindOf(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kParameter:
      return "parameter";
    case HloOpcode::kConstant:
      return "constant";
    case HloOpcode::kFusion:
      return "fusion";
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
      return "dot";
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return "control";
    default:
      return "other";
  }
}

using GraphNumbers = absl::flat_hash_map<const HloComputation*, int>;

PageNode NodeOf(const HloInstruction& instruction, const GraphNumbers& graphs) {
  PageNode node;
  node.name = instruction.name();
  node.opcode = std::string(OpcodeName(instruction.opcode()));
  node.shape = instruction.shape().ToString(false);
  node.kind = KindOf(instruction);
  for (const HloComputation* called : instruction.called_computations()) node.calls.push_back(graphs.at(called));
  if (const std::string text = AttributesOf(instruction); !text.empty()) node.details.emplace_back("attributes", text);
  const Metadata& metadata = instruction.metadata();
  if (!metadata.op_name.empty()) node.details.emplace_back("op_name", metadata.op_name);
  if (!metadata.source_file.empty()) {
    node.details.emplace_back("source", absl::StrCat(metadata.source_file, ":", metadata.source_line));
  }
  const InstructionCost cost = CostOf(&instruction);
  node.cost = {cost.flops, cost.transcendentals, cost.bytes_read, cost.bytes_written};
  return node;
}

PageGraph GraphOf(const HloComputation& computation, const GraphNumbers& graphs) {
  PageGraph graph;
  graph.label = Format("%s%s: %d instructions", computation.IsEntry() ? "entry " : "", computation.name(),
                       static_cast<int>(computation.instruction_count()));
  absl::flat_hash_map<const HloInstruction*, int> numbers;
  for (const HloInstruction* instruction : computation.PostOrder()) {
    PageNode node = NodeOf(*instruction, graphs);
    for (const HloInstruction* operand : instruction->operands()) node.inputs.push_back(numbers.at(operand));
    if (instruction->IsRoot()) graph.root = static_cast<int>(graph.nodes.size());
    numbers[instruction] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

}  // namespace

Page ViewPage(const HloModule& module, const MemoryUse& memory, const std::string& trace) {
  Page page;
  page.title = page.headline = module.name();
  page.facts = {Format("%d instructions in %d computations", static_cast<int>(module.InstructionCount()),
                       static_cast<int>(module.computations().size()))};
  GraphNumbers numbers;
  for (const auto& computation : module.computations()) {
    numbers[computation.get()] = static_cast<int>(numbers.size());
  }
  for (const auto& computation : module.computations()) {
    if (computation->IsEntry()) page.entry = static_cast<int>(page.graphs.size());
    page.graphs.push_back(GraphOf(*computation, numbers));
  }
  page.values = memory.values;
  page.memory_bytes = memory.bytes;
  page.steps = memory.steps;
  page.trace = trace;
  return page;
}

}  // namespace xc
