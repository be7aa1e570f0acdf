// Transposes that leave their last dimensions where they are move rows of all of these: joined to one dimension, such a
// row is moved in whole vectors, where each of its parts would take a vector that is hardly filled.
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

// The transpose over joined dimensions; null where rows are long anyway, or no longer then.
HloInstruction* Joined(HloInstruction* transpose) {
  constexpr int64_t kLongRow = 64;
  const Shape& shape = transpose->shape();
  if (transpose->opcode() != HloOpcode::kTranspose || shape.is_dynamic() || shape.IsZeroSized()) return nullptr;
  const Int64List& order = transpose->dimensions();
  const int64_t rank = shape.rank();
  int64_t first = rank;  // of those that stay where they are
  while (first > 0 && order[first - 1] == first - 1) --first;
  if (rank - first < 2 || first == 0 || !ChooseAny(shape.dim(rank - 1) < kLongRow)) return nullptr;
  const auto join = [&](const Int64List& dims) {
    Int64List joined(dims.begin(), dims.begin() + first + 1);
    for (int64_t d = first + 1; d < rank; ++d) joined.back() *= dims[d];
    return joined;
  };
  HloInstruction* x = transpose->operand(0);
  const Int64List moved(order.begin(), order.begin() + first + 1);
  return make::Reshape(make::Transpose(make::Reshape(x, join(x->shape().dims())), moved), shape.dims());
}

}  // namespace

absl::StatusOr<bool> JoinTransposedRows(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      HloInstruction* joined = Joined(i);
      if (joined == nullptr) continue;
      computation->Replace(i, joined);
      context.Count("transposes.joined");
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
