#include "compiler/fuse/fusion_record.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "compiler/fuse/fuse.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

constexpr int64_t kMostInstructions = 1 << 24;

// A hash of all but sizes that fusion goes by.
int64_t FormOf(const std::vector<HloInstruction*>& order) {
  absl::flat_hash_map<const HloInstruction*, int64_t> number;
  size_t hash = order.size();
  for (const HloInstruction* i : order) {
    number[i] = static_cast<int64_t>(number.size());
    hash = absl::HashOf(hash, i->opcode(), i->type(), i->shape().rank(), i->user_count(), i->IsRoot(),
                        i->control_predecessors().size());
    for (const HloInstruction* operand : i->operands()) hash = absl::HashOf(hash, number.at(operand));
    if (const Int64List* dimensions = i->FindAttr<AttrKind::kDimensions>()) {
      for (int64_t d : *dimensions) hash = absl::HashOf(hash, d);
    }
  }
  return static_cast<int64_t>(hash);
}

// Takes a number down, or gives the one that was taken down in its place.
int64_t Number(int64_t n) { return ChooseAny(n); }

std::vector<int> ReplayNumbers(int64_t most) {
  const int64_t count = Number(0);
  std::vector<int> numbers;
  for (int64_t i = 0; i < count && count <= most && !Choices::current()->failed(); ++i) {
    numbers.push_back(static_cast<int>(std::clamp<int64_t>(Number(0), 0, most - 1)));
  }
  if (count > most) Choices::current()->Fail();
  return numbers;
}

// Whether the roots may share a loop and each member may stand in it.
bool IsRight(const std::vector<HloInstruction*>& order, const FusionRecord& fusion, const TargetInfo& target) {
  const ChoicesScope natural(nullptr);
  const HloInstruction* reduce = nullptr;
  for (int m : fusion.members) {
    const HloInstruction* member = order[m];
    const bool is_root = std::find(fusion.roots.begin(), fusion.roots.end(), m) != fusion.roots.end();
    if (is_root ? !CanBeFusionRoot(member, target) : !CanBeFused(member, target)) return false;
    if (member->opcode() != HloOpcode::kReduce || fusion.roots.size() < 2) continue;
    if (reduce != nullptr && !SameDims(reduce->operand(0)->shape(), member->operand(0)->shape())) return false;
    reduce = member;
  }
  return !fusion.roots.empty() && std::all_of(fusion.roots.begin(), fusion.roots.end(), [&](int r) {
    return SameDims(order[r]->shape(), order[fusion.roots[0]]->shape());
  });
}

}  // namespace

bool MayRecordFusions(const HloComputation& computation) {
  return std::none_of(computation.instructions().begin(), computation.instructions().end(),
                      [](const auto& i) { return i->opcode() == HloOpcode::kDynamicUpdateSlice; });
}

void RecordFusions(const std::vector<HloInstruction*>& order, const std::vector<FusionRecord>& fusions) {
  Number(FormOf(order));
  Number(static_cast<int64_t>(fusions.size()));
  for (const FusionRecord& fusion : fusions) {
    for (const std::vector<int>* numbers : {&fusion.members, &fusion.roots}) {
      Number(static_cast<int64_t>(numbers->size()));
      for (int n : *numbers) Number(n);
    }
  }
}

std::vector<FusionRecord> ReplayFusions(const std::vector<HloInstruction*>& order, const TargetInfo& target) {
  Choices& choices = *Choices::current();
  const int64_t most = static_cast<int64_t>(order.size());
  std::vector<FusionRecord> fusions;
  const int64_t form = FormOf(order);
  if (Number(form) != form) choices.Fail();
  const int64_t count = Number(0);
  for (int64_t f = 0; f < count && count <= kMostInstructions && !choices.failed(); ++f) {
    FusionRecord fusion;
    fusion.members = ReplayNumbers(most);
    fusion.roots = ReplayNumbers(most);
    if (!choices.failed() && !IsRight(order, fusion, target)) choices.Fail();
    fusions.push_back(std::move(fusion));
  }
  if (choices.failed()) fusions.clear();
  return fusions;
}

}  // namespace xc
