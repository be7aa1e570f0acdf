// Concatenations that have code of their own.
#include "compiler/fuse/fuse.h"
#include "hlo/base/choices.h"

namespace xc {

bool JoinsRuns(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kConcatenate) return false;
  // Loops of their own are worth it for parts of so many elements in a row, or, with a few short ones among them, where
  // the whole row has so many.
  constexpr int64_t kShortest = 16, kLongRow = 32;
  const Shape& shape = instruction.shape();
  if (!shape.IsRowMajor() || IsSubByte(shape.type())) return false;
  int64_t behind = 1;
  for (int64_t d = instruction.dimensions()[0] + 1; d < shape.rank(); ++d) behind *= shape.dim(d);
  const int64_t row = shape.dim(instruction.dimensions()[0]) * behind;
  const bool few = instruction.operand_count() <= 4 && row >= kLongRow;
  for (const HloInstruction* operand : instruction.operands()) {
    const int64_t size = operand->shape().dim(instruction.dimensions()[0]);
    if (!operand->shape().IsRowMajor() || ChooseAny(size > 0 && size * behind < kShortest && !few)) return false;
  }
  return true;
}

bool Interleaves(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kConcatenate) return false;
  constexpr int64_t kFewest = 256, kMost = 16, kLongestPart = 4;
  const Shape& shape = instruction.shape();
  if (!shape.IsRowMajor() || IsSubByte(shape.type()) || shape.is_dynamic() || shape.rank() < 2) return false;
  const int64_t d = instruction.dimensions()[0], parts = instruction.operand_count();
  if (parts < 2 || parts > kMost || shape.dim(d) != parts) return false;
  // Behind it there are no elements but those of the last dimension.
  const int64_t last = shape.rank() - 1, length = d == last ? 1 : shape.dim(last);
  for (int64_t e = d + 1; e < last; ++e) {
    if (shape.dim(e) != 1) return false;
  }
  if (length != 1 && ChooseAny(length == 0 || length > kLongestPart || parts * length > kMost)) return false;
  for (const HloInstruction* operand : instruction.operands()) {
    if (!operand->shape().IsRowMajor() || operand->shape().dim(d) != 1) return false;
  }
  return ChooseAny(shape.ElementCount() / (parts * length) >= kFewest);
}

}  // namespace xc
