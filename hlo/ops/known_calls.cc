#include "hlo/ops/known_calls.h"

#include <charconv>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/module.h"

namespace xc {
namespace {

// The number after `name` in JSON (`"name": 1`) or in an MLIR dictionary (`name = 1 : i64`).
std::optional<int64_t> NumberOf(absl::string_view config, absl::string_view name) {
  const size_t found = config.find(name);
  if (found == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = config.substr(found + name.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("\" :=")));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

bool IsAnnotation(const HloInstruction& call) {
  static const auto* const kTargets = new absl::flat_hash_set<std::string>{
      "Sharding",
      "SPMDFullToShardShape",
      "SPMDShardToFullShape",
      "MoveToHost",
      "MoveToDevice",
      "annotate_device_placement",
      "LayoutConstraint",
      "xla.sdy.FuncResultSharding",
      "xla.sdy.PropagationBarrier",
      "xla.sdy.ShardingGroup",
  };
  return call.opcode() == HloOpcode::kCustomCall && kTargets->contains(call.custom_call_target());
}

bool IsKnownCall(const HloInstruction& call) {
  if (call.opcode() != HloOpcode::kCustomCall) return false;
  const std::string& target = call.custom_call_target();
  return IsApproxTopK(call) || target == "PadToStatic" || target == "SliceToDynamic";
}

bool IsApproxTopK(const HloInstruction& call) {
  return call.opcode() == HloOpcode::kCustomCall &&
         (call.custom_call_target() == "ApproxTopK" || call.custom_call_target() == "PartialReduce");
}

absl::StatusOr<ApproxTopKForm> ApproxTopKOf(const HloInstruction& call) {
  const auto bad = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("custom call ", call.custom_call_target(), ": ", parts...));
  };
  ApproxTopKForm form;
  form.arrays = call.operand_count() / 2;
  if (form.arrays == 0 || call.operand_count() % 2 != 0 || !call.shape().IsTuple() ||
      call.shape().tuple_size() != form.arrays) {
    return bad("takes arrays and as many initial values, and gives a tuple of as many arrays");
  }
  const auto* config = call.FindAttr<AttrKind::kBackendConfig>();
  const absl::string_view text = config == nullptr ? absl::string_view() : absl::string_view(config->text);
  const std::optional<int64_t> dimension = NumberOf(text, "reduction_dim");
  if (!dimension) return bad("its backend_config has no reduction_dim");
  form.dimension = *dimension;
  if (absl::StrContains(text, "to_apply_type") && !absl::StrContains(text, "comparator")) {
    return bad("its computation should be a comparator");
  }
  if (call.called_computations().size() != 1) return bad("calls no comparator");
  const HloComputation& comparator = *call.called(0);
  bool fits = comparator.parameter_count() == 2 * form.arrays && comparator.root() != nullptr &&
              comparator.root()->shape().IsScalar() && comparator.root()->type() == ElementType::kPred;
  for (int64_t i = 0; i < form.arrays; ++i) {
    const Shape &x = call.operand(i)->shape(), &init = call.operand(form.arrays + i)->shape();
    const Shape& result = call.shape().tuple_shape(i);
    if (!x.IsArray() || !SameDims(x, call.operand(0)->shape()) || !init.IsScalar() || init.type() != x.type()) {
      return bad("its arrays should have equal sizes, and initial values of their types");
    }
    if (form.dimension < 0 || form.dimension >= x.rank()) {
      return bad("reduction_dim is ", form.dimension, ", should be below ", x.rank());
    }
    bool same = result.IsArray() && result.type() == x.type() && result.rank() == x.rank();
    if (same && i == 0) form.kept = result.dim(form.dimension);
    for (int64_t d = 0; same && d < x.rank(); ++d) {
      same = result.dim(d) == (d == form.dimension ? form.kept : x.dim(d));
    }
    if (!same) return bad("result ", i, " is ", result.ToString(false), " for an array ", x.ToString(false));
    for (int64_t p = 2 * i; fits && p < 2 * i + 2; ++p) {
      fits = comparator.parameter(p)->shape().IsScalar() && comparator.parameter(p)->type() == x.type();
    }
  }
  if (!fits) return bad("its comparator should take two scalars per array and give a pred");
  return form;
}

}  // namespace xc
