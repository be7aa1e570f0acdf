// Decides in which form a nest's code is written.
#include "backends/cpu/nest_form.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/row_groups.h"

namespace xc::cpu {
namespace {

// Whether rows of gathered windows of several rows, which all start at the same indices, are short.
bool GathersWindows(const HloInstruction& instruction) {
  constexpr int64_t kShort = 64;
  const auto gathers = [](const HloInstruction& i) {
    if (i.opcode() != HloOpcode::kGather || i.gather_dims().offset_dims.empty()) return false;
    const Int64List& offsets = i.gather_dims().offset_dims;
    int64_t rows = 1, last = i.shape().rank() - 1;
    for (int64_t d : offsets) rows *= d == last ? 1 : i.shape().dim(d);
    return offsets.back() == last && rows > 1 && i.shape().dim(last) <= kShort;
  };
  if (instruction.opcode() != HloOpcode::kFusion) return gathers(instruction);
  const auto& all = instruction.fused_computation()->instructions();
  return std::any_of(all.begin(), all.end(), [&](const auto& i) { return gathers(*i); });
}

// Sets the rows that are reduced before what is computed from them in vectors, and fits the loops to them.
void ChooseRows(const plan::Nest& nest, bool fused, const codegen::CodegenTarget& target, NestForm* form) {
  bool functions = false;
  form->rows = RowsBelow(nest.values, &functions);
  form->together = RowsTogether(form->rows, fused, target);
  // One by one, short rows take longer than one in each lane.
  const bool alone = functions && std::none_of(form->rows.begin(), form->rows.end(),
                                               [](const HloInstruction* reduce) { return IsShortSum(*reduce); });
  if (form->together == 0 && !alone) form->rows.clear();
  if (!form->rows.empty()) form->shape.TakeVectors();
  if (form->together > 0) form->shape.lanes = std::min(form->shape.lanes, form->together);
}

}  // namespace

bool IsShort(const HloInstruction& value, bool fused) {
  constexpr int64_t kShort = 64;
  std::vector<const HloInstruction*> all = {&value};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!all.empty()) {
    const HloInstruction* i = all.back();
    all.pop_back();
    if (!seen.insert(i).second) continue;
    if (i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kReduceWindow || seen.size() > kShort)
      return false;
    if (i->opcode() == HloOpcode::kMap || i->opcode() == HloOpcode::kCall || IsComplex(i->type())) return false;
    if (i->opcode() == HloOpcode::kFusion) all.push_back(i->fused_root());
    if (fused) all.insert(all.end(), i->operands().begin(), i->operands().end());
  }
  return true;
}

NestForm FormOf(const HloInstruction& instruction, const plan::Nest& nest, const codegen::CodegenTarget& target) {
  const bool fused = instruction.opcode() == HloOpcode::kFusion;
  const auto is = [&](HloOpcode opcode) { return fused || instruction.opcode() == opcode; };
  NestForm form;
  form.shape = ShapeOf(nest, target);
  KernelShape& shape = form.shape;
  const bool is_short = std::all_of(nest.values.begin(), nest.values.end(),
                                    [&](const HloInstruction* value) { return IsShort(*value, fused); });
  if (is_short) shape.TakeShortRows(MostOfShortRow(nest, shape, target));
  const bool several_results = nest.values[0]->shape().IsTuple();
  if (!several_results && !shape.flat && shape.inner >= 0 && is(HloOpcode::kReduce)) {
    ChooseRows(nest, fused, target, &form);
  }
  form.keeps_reciprocals = fused && form.rows.empty();
  if (nest.access.contiguous >= 0 && nest.values.size() == 1) {
    form.transposed = plan::FindTransposedReads(nest.values[0], fused);
    if (!form.transposed.transposes.empty()) shape.TakeTiles(nest.access.contiguous, target);
  }
  const bool plain = !shape.flat && shape.row == 1 && shape.contiguous < 0 && !shape.outer.empty();
  if (plain && nest.values.size() == 1 && is(HloOpcode::kReduceWindow)) {
    form.window = FindSharedWindow(nest.values[0], shape.outer.back());
  }
  if (GathersWindows(instruction)) {
    shape.TakeGroups();
  } else if (is_short || (!fused && OpcodeAccess(instruction.opcode()) == OpAccess::kMoves)) {
    shape.TakeTinyRows();
  }
  return form;
}

}  // namespace xc::cpu
