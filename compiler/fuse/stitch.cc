// Stitching: reductions of rows and the loop that uses their results become one kernel, which computes what a row has
// in common once and goes over the row again while it is in the cache. Softmax and normalizations are of this form.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "compiler/fuse/fuse.h"
#include "compiler/fuse/fusion_group.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Shorter rows have their own, unrolled code.
constexpr int64_t kMinColumns = 32;
// Where rows are so few that several threads share each, longer ones are worth more threads than share one.
constexpr int64_t kFewRows = 8, kMaxColumnsOfFew = 1 << 14;

using Dims = std::vector<int64_t>;

// Numbers and sizes of the dimensions with more than one element.
Dims Real(const Shape& shape, Dims* numbers = nullptr) {
  Dims sizes;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    sizes.push_back(shape.dim(d));
    if (numbers != nullptr) numbers->push_back(d);
  }
  return sizes;
}

bool StartsWith(const Dims& dims, const Dims& rows) {
  return dims.size() >= rows.size() && std::equal(rows.begin(), rows.end(), dims.begin());
}

// Follows what one instruction or fusion reads while it computes its results of one row. Rows are the leading
// dimensions `rows`; a value is read in its row when only its elements at the same leading coordinates are used.
class RowReads {
 public:
  RowReads(const HloInstruction* instruction, const Dims& rows) : rows_(rows) {
    if (instruction->opcode() == HloOpcode::kFusion) {
      if (instruction->fused_root()->shape().IsArray()) Visit(instruction->fused_root(), true);
      for (const auto& [parameter, in_row] : parameters_) {
        if (!in_row) astray_.insert(instruction->operand(parameter->parameter_number()));
      }
    } else {
      operands_ = true;
      Visit(instruction, true);
    }
  }

  // Whether the operand is read in its row only.
  bool InRow(const HloInstruction* operand) const { return !astray_.contains(operand); }

 private:
  void Visit(const HloInstruction* i, bool in_row) {
    in_row = in_row && ChooseSafe(StartsWith(Real(i->shape()), rows_));
    if (!seen_.insert({i, in_row}).second) return;
    if (i->opcode() == HloOpcode::kParameter) {
      auto [it, fresh] = parameters_.emplace(i, in_row);
      it->second = it->second && in_row;
      return;
    }
    for (int64_t o = 0; o < i->operand_count(); ++o) {
      const HloInstruction* operand = i->operand(o);
      const bool there = in_row && KeepsRow(i, o) && ChooseSafe(StartsWith(Real(operand->shape()), rows_));
      if (!operands_) {
        Visit(operand, there);
      } else if (!there) {
        astray_.insert(operand);
      }
    }
  }

  // Whether the instruction's elements of a row come from operand `o`'s elements of that row.
  bool KeepsRow(const HloInstruction* i, int64_t o) const {
    const HloInstruction* operand = i->operand(o);
    if (!operand->shape().IsArray() || !operand->shape().IsRowMajor() || !i->shape().IsRowMajor()) return false;
    switch (i->opcode()) {
      case HloOpcode::kReshape:
      case HloOpcode::kBitcast:
      case HloOpcode::kCopy:
        return i->shape().ElementCount() == operand->shape().ElementCount();
      case HloOpcode::kBroadcast:
        return Leads(operand->shape(), i->shape(), i->dimensions());
      case HloOpcode::kReduce: {
        if (o != 0 || i->operand_count() != 2) return false;
        Dims kept;
        const Int64List& reduced = i->dimensions();
        for (int64_t d = 0; d < operand->shape().rank(); ++d) {
          if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) kept.push_back(d);
        }
        return Leads(i->shape(), operand->shape(), kept);
      }
      default:
        return i->IsElementwise() && SameDims(i->shape(), operand->shape());
    }
  }

  // Dimension d of `part` is dimension map[d] of `whole`: whether the leading dimensions of both are the same ones.
  template <typename Map>
  bool Leads(const Shape& part, const Shape& whole, const Map& map) const {
    Dims from, to;
    Real(part, &from);
    Real(whole, &to);
    if (from.size() < rows_.size() || to.size() < rows_.size()) return false;
    for (size_t k = 0; k < rows_.size(); ++k) {
      if (map[from[k]] != to[k]) return false;
    }
    return true;
  }

  const Dims& rows_;
  bool operands_ = false;  // an instruction of its own: its operands count, not parameters
  absl::flat_hash_map<const HloInstruction*, bool> parameters_;
  absl::flat_hash_set<const HloInstruction*> astray_;
  absl::flat_hash_set<std::pair<const HloInstruction*, bool>> seen_;
};

// The reduction of a fusion or instruction, if it gives one number for each row of its operand.
const HloInstruction* RowReduction(const HloInstruction* i, const Dims& rows) {
  const HloInstruction* found = nullptr;
  if (i->opcode() == HloOpcode::kReduce) found = i;
  if (i->opcode() == HloOpcode::kFusion) {
    for (const auto& inner : i->fused_computation()->instructions()) {
      if (inner->opcode() == HloOpcode::kReduce) found = inner.get();
    }
  }
  if (found == nullptr || found->operand_count() != 2) return nullptr;
  const Dims from = Real(found->operand(0)->shape());
  // Of sizes that are equal by chance a row is none for all sizes.
  const bool one =
      from.size() == rows.size() + 1 && ChooseSafe(StartsWith(from, rows)) && ChooseAny(from.back() >= kMinColumns);
  return one && ChooseSafe(Real(found->shape()) == rows) ? found : nullptr;
}

// Fusions and reductions with one array as result.
bool CanBeStitched(const HloInstruction* i) {
  if (HasControl(i) || !i->shape().IsArray() || i->shape().is_dynamic() || !i->shape().IsRowMajor()) return false;
  if (i->opcode() == HloOpcode::kReduce) return i->operand_count() == 2;
  if (i->opcode() != HloOpcode::kFusion) return false;
  const auto* kind = i->FindAttr<AttrKind::kFusionKind>();
  if (kind == nullptr || (*kind != FusionKind::kLoop && *kind != FusionKind::kInput)) return false;
  switch (i->fused_root()->opcode()) {
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kConcatenate:
    case HloOpcode::kTranspose:
      return false;
    default:
      return true;
  }
}

// Whether it is a loop over whole rows that does nothing costly for an element.
bool GoesAlong(const HloInstruction* i, const Dims& rows) {
  if (i->opcode() != HloOpcode::kFusion || *i->FindAttr<AttrKind::kFusionKind>() != FusionKind::kLoop) return false;
  const Dims dims = Real(i->shape());
  if (dims.size() != rows.size() + 1 || !ChooseSafe(StartsWith(dims, rows))) return false;
  const auto& inside = i->fused_computation()->instructions();
  return std::all_of(inside.begin(), inside.end(), [](const auto& part) {
    switch (part->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
      case HloOpcode::kIota:
      case HloOpcode::kBroadcast:
      case HloOpcode::kReshape:
      case HloOpcode::kBitcast:
        return true;
      default:
        return part->IsElementwise();
    }
  });
}

class Stitcher {
 public:
  Stitcher(HloComputation* computation, PassContext& context) : computation_(computation), context_(context) {}

  bool Run() {
    bool changed = false;
    std::vector<HloInstruction*> order = computation_->PostOrder();
    for (size_t i = 0; i < order.size(); ++i) number_[order[i]] = static_cast<int>(i);
    for (size_t i = order.size(); i-- > 0;) {
      if (!used_.contains(order[i])) changed |= Try(order[i]);
    }
    if (changed) computation_->RemoveDead();
    return changed;
  }

 private:
  bool Try(HloInstruction* root) {
    if (!CanBeStitched(root) || root->opcode() != HloOpcode::kFusion) return false;
    Dims rows = Real(root->shape());
    int64_t count = 1, columns = 0;
    if (*root->FindAttr<AttrKind::kFusionKind>() == FusionKind::kLoop) {
      // A loop over whole rows.
      if (rows.empty() || ChooseAny(rows.back() < kMinColumns)) return false;
      columns = rows.back();
      rows.pop_back();
    } else if (const HloInstruction* reduce = RowReduction(root, rows)) {
      columns = Real(reduce->operand(0)->shape()).back();
    } else {
      return false;
    }
    for (int64_t size : rows) count *= size;
    if (ChooseAny(count < context_.target.min_stitched_rows)) return false;
    if (ChooseAny(count < kFewRows) && ChooseAny(columns > kMaxColumnsOfFew)) return false;
    // Grows by operands that give one value for each row, or go along the rows, and that nothing else needs.
    std::vector<HloInstruction*> members = {root};
    absl::flat_hash_map<const HloInstruction*, RowReads> reads;
    reads.emplace(root, RowReads(root, rows));
    int64_t size = Size(root);
    bool reduces = false;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t m = 0; m < members.size() && !grown; ++m) {
        for (HloInstruction* operand : members[m]->operands()) {
          if (reads.contains(operand) || used_.contains(operand) || !CanBeStitched(operand)) continue;
          if (operand == computation_->root()) continue;
          const bool common = RowReduction(operand, rows) != nullptr && ChooseSafe(Real(operand->shape()) == rows);
          if (!common && !(context_.target.recomputes_rows && GoesAlong(operand, rows))) continue;
          const bool fits = std::all_of(operand->users().begin(), operand->users().end(), [&](const auto* user) {
            auto it = reads.find(user);
            return it != reads.end() && it->second.InRow(operand);
          });
          if (!fits || size + Size(operand) > context_.target.max_fused_instructions) continue;
          size += Size(operand);
          members.push_back(operand);
          reads.emplace(operand, RowReads(operand, rows));
          grown = true;
          reduces |= common;
          break;
        }
      }
    }
    if (!reduces) return false;
    absl::flat_hash_set<const HloInstruction*> inputs;
    for (const HloInstruction* member : members) inputs.insert(member->operands().begin(), member->operands().end());
    if (static_cast<int64_t>(inputs.size()) > context_.target.max_fusion_parameters) return false;
    Build(root, members);
    return true;
  }

  static int64_t Size(const HloInstruction* i) {
    return i->opcode() == HloOpcode::kFusion ? static_cast<int64_t>(i->fused_computation()->instructions().size()) : 1;
  }

  void Build(HloInstruction* root, std::vector<HloInstruction*> members) {
    std::sort(members.begin(), members.end(),
              [&](const auto* a, const auto* b) { return number_.at(a) < number_.at(b); });
    HloComputation* fused = computation_->module()->AddComputation(absl::StrCat("stitched_", root->name()));
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> map;
    std::vector<HloInstruction*> inputs;
    for (HloInstruction* member : members) {
      used_.insert(member);
      std::vector<HloInstruction*> operands;
      for (HloInstruction* operand : member->operands()) {
        HloInstruction*& inner = map[operand];
        if (inner == nullptr && operand->IsConstant() && operand->shape().IsScalar()) {
          inner = fused->Add(operand->CloneWith(operand->shape(), {}));
        } else if (inner == nullptr) {
          inner = fused->Add(HloInstruction::CreateParameter(static_cast<int64_t>(inputs.size()), operand->shape(),
                                                             absl::StrCat("p", inputs.size())));
          inputs.push_back(operand);
        }
        operands.push_back(inner);
      }
      HloInstruction* inner = fused->Add(member->CloneWith(member->shape(), operands));
      if (inner->opcode() == HloOpcode::kFusion) inner->fused_computation()->set_is_fusion();
      map[member] = inner;
    }
    fused->set_root(map.at(root));
    auto owned = HloInstruction::Create(HloOpcode::kFusion, root->shape(), inputs);
    owned->set_name(absl::StrCat("stitched_", root->name()));
    HloInstruction* fusion = computation_->Add(std::move(owned));
    fusion->set_attr<AttrKind::kFusionKind>(FusionKind::kCustom);
    fusion->AddCalledComputation(fused);
    fused->set_is_fusion();
    if (const Metadata* metadata = root->FindAttr<AttrKind::kMetadata>()) {
      fusion->set_attr<AttrKind::kMetadata>(*metadata);
    }
    if (computation_->root() == root) computation_->set_root(fusion);
    root->ReplaceAllUsesWith(fusion);
    context_.Count("fuse.rows_stitched");
  }

  HloComputation* computation_;
  PassContext& context_;
  absl::flat_hash_map<const HloInstruction*, int> number_;
  absl::flat_hash_set<const HloInstruction*> used_;
};

}  // namespace

absl::StatusOr<bool> StitchRows(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : EmittedComputations(module)) {
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    changed |= Stitcher(computation, context).Run();
  }
  return changed;
}

}  // namespace xc
