#include "hlo/analysis/equality.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/analysis/canonical_order.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

template <typename... Parts>
absl::Status Differ(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}

class Comparison {
 public:
  Comparison(const EqualityOptions& options, ComputationOrder a, ComputationOrder b)
      : options_(options), a_(std::move(a)), b_(std::move(b)) {}

  absl::Status Run() const {
    if (a_.computations.size() != b_.computations.size()) {
      return Differ("there are ", a_.computations.size(), " and ", b_.computations.size(), " computations");
    }
    for (size_t i = 0; i < a_.computations.size(); ++i) {
      XC_RETURN_IF_ERROR(Compare(i));
    }
    return absl::OkStatus();
  }

 private:
  using Numbers = absl::flat_hash_map<const HloInstruction*, int64_t>;
  static Numbers Number(const std::vector<const HloInstruction*>& order) {
    Numbers numbers;
    numbers.reserve(order.size());
    for (const HloInstruction* instruction : order) numbers.emplace(instruction, numbers.size());
    return numbers;
  }

  absl::Status Compare(size_t at) const {
    const HloComputation &a = *a_.computations[at], &b = *b_.computations[at];
    if (options_.names && a.name() != b.name()) return Differ("computation ", a.name(), " is named ", b.name());
    if (a.execution_thread() != b.execution_thread()) return Differ("threads of computation ", a.name(), " differ");
    if (a.instruction_count() != b.instruction_count() || a.parameter_count() != b.parameter_count()) {
      return Differ("computation ", a.name(), " has ", a.instruction_count(), " instructions and ", a.parameter_count(),
                    " parameters, ", b.name(), " ", b.instruction_count(), " and ", b.parameter_count());
    }
    const auto &order_a = a_.instructions[at], &order_b = b_.instructions[at];
    Numbers numbers_a = Number(order_a), numbers_b = Number(order_b);
    for (size_t i = 0; i < order_a.size(); ++i) {
      if (std::string reason = Difference(*order_a[i], *order_b[i], numbers_a, numbers_b); !reason.empty()) {
        return Differ("instruction ", order_a[i]->name(), " of computation ", a.name(), " and ", order_b[i]->name(),
                      " of ", b.name(), ": ", reason);
      }
    }
    if ((a.root() == nullptr) != (b.root() == nullptr) ||
        (a.root() != nullptr && numbers_a[a.root()] != numbers_b[b.root()])) {
      return Differ("the roots of computations ", a.name(), " and ", b.name(), " differ");
    }
    return absl::OkStatus();
  }

  // What differs between two instructions, or nothing.
  std::string Difference(const HloInstruction& a, const HloInstruction& b, const Numbers& numbers_a,
                         const Numbers& numbers_b) const {
    if (a.opcode() != b.opcode()) return absl::StrCat(OpcodeName(a.opcode()), " and ", OpcodeName(b.opcode()));
    if (options_.names && a.name() != b.name()) return "the names differ";
    if (!(options_.layouts ? a.shape() == b.shape() : SameShape(a.shape(), b.shape()))) {
      return absl::StrCat("shapes ", a.shape().ToString(), " and ", b.shape().ToString());
    }
    if (a.opcode() == HloOpcode::kParameter && a.parameter_number() != b.parameter_number()) {
      return absl::StrCat("parameter numbers ", a.parameter_number(), " and ", b.parameter_number());
    }
    if (a.operand_count() != b.operand_count()) {
      return absl::StrCat(a.operand_count(), " and ", b.operand_count(), " operands");
    }
    for (int64_t i = 0; i < a.operand_count(); ++i) {
      if (numbers_a.at(a.operand(i)) != numbers_b.at(b.operand(i))) {
        return absl::StrCat("operands ", i, ", ", a.operand(i)->name(), " and ", b.operand(i)->name());
      }
    }
    std::vector<int64_t> before_a, before_b;
    for (const HloInstruction* before : a.control_predecessors()) before_a.push_back(numbers_a.at(before));
    for (const HloInstruction* before : b.control_predecessors()) before_b.push_back(numbers_b.at(before));
    std::sort(before_a.begin(), before_a.end());
    std::sort(before_b.begin(), before_b.end());
    if (before_a != before_b) return "control predecessors differ";
    if (a.called_computations().size() != b.called_computations().size()) {
      return absl::StrCat(a.called_computations().size(), " and ", b.called_computations().size(),
                          " called computations");
    }
    for (size_t i = 0; i < a.called_computations().size(); ++i) {
      if (a_.number.at(a.called(i)) != b_.number.at(b.called(i))) {
        return absl::StrCat("called computations ", a.called(i)->name(), " and ", b.called(i)->name());
      }
    }
    if ((a.shared_literal() == nullptr) != (b.shared_literal() == nullptr)) return "one has no value";
    if (a.shared_literal() != nullptr && a.shared_literal() != b.shared_literal()) {
      if (a.literal().elided() != b.literal().elided()) return "the elements of one are left out";
      if (!a.literal().BitEqual(b.literal())) return "values differ";
    }
    return AttributeDifference(a.attributes(), b.attributes(), options_.metadata);
  }

  const EqualityOptions& options_;
  const ComputationOrder a_, b_;
};

absl::Status CompareConfigs(const ModuleConfig& a, const ModuleConfig& b, const EqualityOptions& options) {
  auto same_shape = [&](const Shape& x, const Shape& y) { return options.layouts ? x == y : SameShape(x, y); };
  bool layouts = a.has_entry_layout == b.has_entry_layout &&
                 a.entry_parameter_layouts.size() == b.entry_parameter_layouts.size() &&
                 same_shape(a.entry_result_layout, b.entry_result_layout);
  for (size_t i = 0; layouts && i < a.entry_parameter_layouts.size(); ++i) {
    layouts = same_shape(a.entry_parameter_layouts[i], b.entry_parameter_layouts[i]);
  }
  if (!layouts) return Differ("entry_computation_layout differs");
  if (a.input_output_alias != b.input_output_alias) return Differ("input_output_alias differs");
  if (a.buffer_donors != b.buffer_donors) return Differ("buffer_donor differs");
  if (a.is_scheduled != b.is_scheduled) return Differ("is_scheduled differs");
  if (a.replica_count != b.replica_count || a.num_partitions != b.num_partitions) {
    return Differ("replica_count or num_partitions differs");
  }
  if (a.frontend_attributes != b.frontend_attributes) return Differ("frontend_attributes of the modules differ");
  if (a.allow_spmd_sharding_propagation_to_parameters != b.allow_spmd_sharding_propagation_to_parameters ||
      a.allow_spmd_sharding_propagation_to_output != b.allow_spmd_sharding_propagation_to_output) {
    return Differ("allow_spmd_sharding_propagation differs");
  }
  if (a.other != b.other) return Differ("a further attribute of the modules differs");
  if (options.metadata && !(a.stack_frames == b.stack_frames)) return Differ("stack frames differ");
  return absl::OkStatus();
}

// The entry, and with `config` all computations that it does not reach, in the order of the module.
ComputationOrder OrderOf(const HloModule& module, const EqualityOptions& options) {
  std::vector<const HloComputation*> roots = {module.entry()};
  if (options.config) {
    for (const auto& computation : module.computations()) roots.push_back(computation.get());
  }
  return CanonicalComputationOrder(roots);
}

}  // namespace

std::string AttributeDifference(const Attributes& a, const Attributes& b, bool metadata,
                                std::optional<AttrKind> except) {
  auto skip = [&](AttrKind kind) { return kind == except || (!metadata && IsMetadata(kind)); };
  const auto &x = a.entries(), &y = b.entries();
  size_t i = 0, j = 0;
  while (true) {
    while (i < x.size() && skip(x[i].first)) ++i;
    while (j < y.size() && skip(y[j].first)) ++j;
    if (i == x.size() && j == y.size()) return "";
    if (i == x.size() || (j < y.size() && y[j].first < x[i].first)) {
      return absl::StrCat("only the second has attribute ", AttrName(y[j].first));
    }
    if (j == y.size() || x[i].first < y[j].first) {
      return absl::StrCat("only the first has attribute ", AttrName(x[i].first));
    }
    if (x[i].second != y[j].second && !AttrEqual(*x[i].second, *y[j].second)) {
      return absl::StrCat("attribute ", AttrName(x[i].first), " differs");
    }
    ++i;
    ++j;
  }
}

absl::Status DeepEqual(const HloModule& a, const HloModule& b, const EqualityOptions& options) {
  if (a.entry() == nullptr || b.entry() == nullptr) return Differ("a module has no entry computation");
  if (options.config) XC_RETURN_IF_ERROR(CompareConfigs(a.config(), b.config(), options));
  return Comparison(options, OrderOf(a, options), OrderOf(b, options)).Run();
}

absl::Status DeepEqual(const HloComputation& a, const HloComputation& b, const EqualityOptions& options) {
  return Comparison(options, CanonicalComputationOrder({&a}), CanonicalComputationOrder({&b})).Run();
}

}  // namespace xc
