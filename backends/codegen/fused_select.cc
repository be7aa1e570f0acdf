// Selections between values of which one takes functions to compute, and conditions that one flag decides for all
// lanes: they are computed where a lane wants them.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/elementwise.h"
#include "backends/codegen/fused_emitter.h"
#include "compiler/fuse/emittable.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {

// Whether a condition says of few numbers what it says of others: that they are NaN or infinite. What the others take
// is wanted nearly always.
bool IsAboutSpecialNumbers(const HloInstruction* condition) {
  switch (condition->opcode()) {
    case HloOpcode::kIsFinite:
      return true;
    case HloOpcode::kCompare:
      return condition->operand(0) == condition->operand(1);
    case HloOpcode::kNot:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
      return IsAboutSpecialNumbers(condition->operand(0));
    default:
      return false;
  }
}

}  // namespace

// Elementwise instructions that are computed for operand `side` of `select` alone, users before operands; none if there
// are too many, or fewer than two functions among them: where some lanes want one side and some the other, the branch
// comes on top.
std::vector<const HloInstruction*> FusedEmitter::OnlyFor(const HloInstruction* select, int64_t side) const {
  constexpr size_t kMost = 64;
  constexpr int kFewestFunctions = 2;
  std::vector<const HloInstruction*> found;
  absl::flat_hash_set<const HloInstruction*> own;
  int functions = 0;
  const auto take = [&](const HloInstruction* i) {
    if (own.contains(i) || !i->IsElementwise() || i->operand_count() == 0) return;
    if (values_.contains(i) || memory_.contains(i) || alias_.contains(i)) return;
    if (!SameDims(i->shape(), select->shape())) return;
    for (const HloInstruction* user : i->users()) {
      const bool here =
          user == select && select->operand(side) == i && select->operand(3 - side) != i && select->operand(0) != i;
      if (!here && !own.contains(user)) return;
    }
    own.insert(i);
    found.push_back(i);
    functions += IsTranscendental(i->opcode());
  };
  take(select->operand(side));
  for (size_t next = 0; next < found.size(); ++next) {
    if (found.size() > kMost) return {};
    for (const HloInstruction* operand : found[next]->operands()) take(operand);
  }
  return functions >= kFewestFunctions ? found : std::vector<const HloInstruction*>();
}

absl::StatusOr<Element> FusedEmitter::EmitSelect(const HloInstruction* select, const Index& position) {
  auto& b = e_.builder();
  const auto get = [&](const HloInstruction* i) {
    return Get(i, i->shape().IsScalar() && !select->shape().IsScalar() ? Index{} : position);
  };
  XC_ASSIGN_OR_RETURN(const Element condition, get(select->operand(0)));
  Element values[2];
  std::vector<const HloInstruction*> only[2];
  for (int side = 0; side < 2; ++side) {
    if (!IsAboutSpecialNumbers(select->operand(0))) only[side] = OnlyFor(select, side + 1);
    if (only[side].empty()) {
      XC_ASSIGN_OR_RETURN(values[side], get(select->operand(side + 1)));
    }
  }
  for (int side = 0; side < 2; ++side) {
    if (only[side].empty()) continue;
    // What others read as well is computed before the branch, and known after it.
    for (const HloInstruction* i : only[side]) {
      for (const HloInstruction* operand : i->operands()) {
        if (std::find(only[side].begin(), only[side].end(), operand) == only[side].end()) {
          XC_RETURN_IF_ERROR(get(operand).status());
        }
      }
    }
    V wanted = side == 0 ? condition.re : b.CreateNot(condition.re);
    XC_ASSIGN_OR_RETURN(values[side], InBranch(wanted, [&] { return get(select->operand(side + 1)); }));
  }
  return e_.Select(condition.re, values[0], values[1]);
}

absl::StatusOr<Element> FusedEmitter::EmitAnd(const HloInstruction* both, const Index& position) {
  Element values[2];
  for (int side = 0; side < 2; ++side) {
    const HloInstruction *flag = both->operand(side), *other = both->operand(1 - side);
    if (other->user_count() != 1 || !IsCostly(other) || IsCostly(flag)) continue;
    XC_ASSIGN_OR_RETURN(values[side], Get(flag, position));
    if (IsVector(values[side].re)) continue;
    return InBranch(values[side].re, [&]() -> absl::StatusOr<Element> {
      XC_ASSIGN_OR_RETURN(const Element value, Get(other, position));
      return e_.Splat(value, lanes_);
    });
  }
  for (int side = 0; side < 2; ++side) {
    if (values[side]) continue;
    XC_ASSIGN_OR_RETURN(values[side], Get(both->operand(side), position));
  }
  return EmitElementwise(e_, *both, values);
}

}  // namespace xc::codegen
