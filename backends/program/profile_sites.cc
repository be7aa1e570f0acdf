#include "backends/program/profile_sites.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/cost_analysis.h"

namespace xc {
namespace {

constexpr double kEventNs = 60, kMostOverhead = 0.02;

// What a fast processor would take at least, with all data in its caches.
double LeastNs(const InstructionCost& cost) {
  const double compute = static_cast<double>(cost.flops) / 100 + static_cast<double>(cost.transcendentals) / 5;
  const double memory = static_cast<double>(cost.bytes_read + cost.bytes_written) / 64;
  return std::max(compute, memory);
}

// The step's kind as events are sorted by; empty: it takes no time of its own.
std::string Kind(const plan::Step& step) {
  if (std::holds_alternative<plan::Kernel>(step.action)) return "kernel";
  if (std::holds_alternative<plan::LibraryCall>(step.action)) return "library";
  if (std::holds_alternative<plan::CustomCall>(step.action)) return "custom call";
  if (std::holds_alternative<plan::Evaluate>(step.action)) return "evaluated";
  if (std::holds_alternative<plan::Loop>(step.action)) return "loop";
  if (std::holds_alternative<plan::Branch>(step.action)) return "branch";
  if (std::holds_alternative<plan::Call>(step.action)) return "call";
  if (std::holds_alternative<plan::Copy>(step.action) || std::holds_alternative<plan::Clear>(step.action))
    return "copy";
  return "";
}

bool IsControl(const plan::Step& step) {
  return std::holds_alternative<plan::Loop>(step.action) || std::holds_alternative<plan::Branch>(step.action) ||
         std::holds_alternative<plan::Call>(step.action);
}

std::string Detail(const plan::Step& step) {
  if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) return std::string(plan::FormName(kernel->form));
  if (const auto* call = std::get_if<plan::LibraryCall>(&step.action)) {
    return call->then == nullptr ? call->function : absl::StrCat(call->function, " ", call->then_of->name());
  }
  return std::string(OpcodeName(step.instruction->opcode()));
}

InstructionCost CostOfStep(const plan::Step& step) {
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    return {0, 0, copy->bytes.constant(), copy->bytes.constant()};
  }
  if (const auto* clear = std::get_if<plan::Clear>(&step.action)) return {0, 0, 0, clear->bytes.constant()};
  return CostOf(step.instruction);
}

}  // namespace

ProfileSites::ProfileSites(const plan::Plan& plan) : plan_(plan) {
  double run_ns = 0;
  int64_t steps = 0;
  for (const plan::Step& step : plan.entry().steps) {
    if (Kind(step).empty()) continue;
    ++steps;
    run_ns += LeastNs(CostOfStep(step));
  }
  all_of_entry_ = run_ns < 1e6 ? static_cast<double>(steps) * kEventNs < 1e6 * kMostOverhead
                               : static_cast<double>(steps) * kEventNs < run_ns * kMostOverhead;
}

int32_t ProfileSites::Add(const plan::Step& step, bool in_loop) {
  const std::string kind = Kind(step);
  if (kind.empty()) return -1;
  const InstructionCost cost = CostOfStep(step);
  const bool told = (all_of_entry_ && !in_loop) || LeastNs(cost) * kMostOverhead >= kEventNs;
  if (!told) return -1;
  const HloInstruction& instruction = *step.instruction;
  ProfileSite site;
  site.name = instruction.name();
  site.kind = kind;
  site.detail = Detail(step);
  site.shape = instruction.shape().ToString(false);
  if (const Metadata* metadata = instruction.FindAttr<AttrKind::kMetadata>()) {
    site.op_name = metadata->op_name;
    if (!metadata->source_file.empty()) site.source = absl::StrCat(metadata->source_file, ":", metadata->source_line);
  }
  // Of the steps of one instruction, the first has its cost; what branches and calls do is told inside of them.
  const bool has_cost = !std::holds_alternative<plan::Branch>(step.action) &&
                        !std::holds_alternative<plan::Call>(step.action) && (last_ != &instruction || kind == "copy");
  if (has_cost) {
    site.flops = cost.flops + cost.transcendentals;
    site.bytes = cost.bytes_read + cost.bytes_written;
    if (kind != "copy") last_ = &instruction;
  }
  site.nests = IsControl(step);
  sites_.push_back(std::move(site));
  return static_cast<int32_t>(sites_.size()) - 1;
}

bool ProfileSites::CountsIterations(const plan::Loop& loop) const {
  const InstructionCost body = CostOf(plan_.computations[loop.body].computation);
  return LeastNs(body) * kMostOverhead >= 2;
}

}  // namespace xc
