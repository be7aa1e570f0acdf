#include "jit/lowering/basic/offset.h"

namespace xc {
namespace {

constexpr int kMaxSteps = 64;

// Of scalars, or of the vector's element `i`.
std::optional<Offset> Find(const HloInstruction* x, int64_t i, int steps) {
  if (steps > kMaxSteps || x->shape().rank() > 1) return std::nullopt;
  switch (x->opcode()) {
    case HloOpcode::kConstant:
      if (x->literal().elided()) return std::nullopt;
      return Offset{nullptr, x->literal().GetInt(i)};
    case HloOpcode::kConcatenate:
      for (const HloInstruction* part : x->operands()) {
        if (i < part->shape().dim(0)) return Find(part, i, steps + 1);
        i -= part->shape().dim(0);
      }
      return std::nullopt;
    case HloOpcode::kReshape:
      return Find(x->operand(0), i, steps + 1);
    case HloOpcode::kBroadcast:
      return x->operand(0)->shape().IsScalar() ? Find(x->operand(0), 0, steps + 1) : std::nullopt;
    case HloOpcode::kSlice:
      return Find(x->operand(0), x->slice().starts[0] + i * x->slice().strides[0], steps + 1);
    case HloOpcode::kConvert:
      // Only to a type that holds every value.
      if (x->type() == ElementType::kS64 && x->operand(0)->type() == ElementType::kS32) {
        return Find(x->operand(0), i, steps + 1);
      }
      break;
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract: {
      std::optional<Offset> a = Find(x->operand(0), i, steps + 1), b = Find(x->operand(1), i, steps + 1);
      if (x->opcode() == HloOpcode::kAdd && a && a->base == nullptr) std::swap(a, b);
      if (!a || !b || b->base != nullptr) break;
      int64_t sum;
      const bool wraps = x->opcode() == HloOpcode::kAdd ? __builtin_add_overflow(a->constant, b->constant, &sum)
                                                        : __builtin_sub_overflow(a->constant, b->constant, &sum);
      if (wraps) break;
      return Offset{a->base, sum};
    }
    default:
      break;
  }
  if (!x->shape().IsScalar()) return std::nullopt;
  return Offset{x, 0};
}

}  // namespace

std::optional<Offset> ElementOf(const HloInstruction* vector, int64_t i) { return Find(vector, i, 0); }

}  // namespace xc
