#include "backends/plan/column_form.h"

#include <algorithm>

#include "backends/plan/expression.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"

namespace xc::plan {
namespace {

// Fewer rows are added element by element.
constexpr int64_t kFewRows = 16;

// Whether the reduced dimensions stand together before the minor ones.
bool FindDims(ColumnReduce* form) {
  const Shape& shape = form->reduce->operand(0)->shape();
  if (!shape.IsRowMajor()) return false;
  std::vector<int64_t>* const parts[] = {&form->batch, &form->rows, &form->columns};
  int stage = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const Int64List& dims = form->reduce->dimensions();
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (reduced && stage == 0) stage = 1;
    if (!reduced && stage == 1) stage = 2;
    if (reduced && stage == 2) return false;
    parts[stage]->push_back(shape.dim(d));
  }
  return stage == 2;
}

// The only reduce of an expression whose root is it, or is computed from it elementwise; null if there is none such.
const HloInstruction* FindReduce(const HloInstruction* root, int depth = 0) {
  if (root->opcode() == HloOpcode::kReduce) return root;
  if (!root->IsElementwise() || depth > 8) return nullptr;
  const HloInstruction* found = nullptr;
  for (const HloInstruction* operand : root->operands()) {
    if (!SameDims(operand->shape(), root->shape())) continue;
    const HloInstruction* reduce = FindReduce(operand, depth + 1);
    if (reduce == nullptr) continue;
    if (found != nullptr && found != reduce) return nullptr;
    found = reduce;
  }
  return found;
}

int64_t CountReduces(const HloComputation& computation) {
  int64_t n = 0;
  for (const auto& i : computation.instructions()) {
    n += i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kReduceWindow;
    if (i->opcode() == HloOpcode::kFusion) n += CountReduces(*i->fused_computation());
  }
  return n;
}

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

}  // namespace

std::optional<ColumnReduce> FindColumnReduce(const HloInstruction& instruction, const TargetInfo& target) {
  const bool fusion = instruction.opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction.fused_root() : &instruction;
  if (!root->shape().IsArray()) return std::nullopt;
  const HloInstruction* reduce = fusion ? FindReduce(root) : root;
  if (reduce == nullptr || reduce->opcode() != HloOpcode::kReduce || reduce->operand_count() != 2) return std::nullopt;
  // The reduce's value must be wanted only where the result is.
  if (fusion &&
      (CountReduces(*instruction.fused_computation()) != 1 || (reduce != root && reduce->user_count() != 1))) {
    return std::nullopt;
  }
  if (SimpleReducer(*reduce->to_apply()) == HloOpcode::kParameter) return std::nullopt;
  const ElementType type = reduce->type();
  const bool plain = IsFloating(type) || (IsIntegral(type) && ElementBits(type) >= 8);
  ColumnReduce form{reduce, {}, {}, {}};
  if (!plain || !FindDims(&form)) return std::nullopt;
  // Sums of narrow types are taken in registers of 32 bits; columns that do not fill a vector of them gain nothing.
  const int64_t lanes = target.vector_bytes / std::max(4, StorageBytes(type));
  if (Count(form.rows) * Count(form.batch) == 0) return std::nullopt;
  if (ChooseAny(Count(form.rows) < kFewRows || Count(form.columns) < lanes)) return std::nullopt;
  // Vectors across the ends of short rows of columns need coordinates for each lane, unless all is read in order.
  if (ChooseAny(form.columns.size() > 1 && form.columns.back() < lanes && form.columns.back() > 1) && fusion &&
      !AccessOf({reduce->operand(0)}, true).in_order) {
    return std::nullopt;
  }
  return form;
}

}  // namespace xc::plan
