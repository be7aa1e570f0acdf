#include "compiler/fuse/emittable.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

// Instructions of a computation with control and all that it calls, each as often as it would be written.
constexpr int kMaxInstructions = 2000;

bool StaticArray(const Shape& shape) { return shape.IsArray() && !shape.is_dynamic(); }

Decision NotStaticArray(const HloInstruction& i) {
  return Decision::No(
      absl::StrCat(i.name(), i.shape().IsArray() ? " has a size that only the run knows" : " is not an array"));
}

Decision CanEmitElementwise(const HloInstruction& i) {
  const ElementType type = i.operand_count() > 0 ? i.operand(0)->type() : i.type();
  if (i.opcode() == HloOpcode::kBitcastConvert) {
    const bool same = SameDims(i.shape(), i.operand(0)->shape()) && IsComplex(type) == IsComplex(i.type());
    return same ? Decision::Yes() : Decision::No("it sees the same memory as elements of another number");
  }
  if (IsKnownElementwise(i.opcode(), type)) return Decision::Yes();
  return Decision::No(absl::StrCat("there is no code for ", OpcodeName(i.opcode()), " of ", ElementTypeName(type)));
}

Decision CanEmitComputation(const HloComputation& computation);

Decision CanEmitOne(const HloInstruction& i) {
  for (const HloInstruction* operand : i.operands()) {
    if (i.opcode() != HloOpcode::kGetTupleElement && !StaticArray(operand->shape())) return NotStaticArray(*operand);
  }
  if (i.opcode() == HloOpcode::kReduce || i.opcode() == HloOpcode::kReduceWindow) {
    if (i.shape().is_dynamic()) return NotStaticArray(i);
    return CanApply(*i.to_apply());
  }
  if (!StaticArray(i.shape())) return NotStaticArray(i);
  if (IsElementwise(i.opcode())) return CanEmitElementwise(i);
  if (OpcodeAccess(i.opcode()) == OpAccess::kMoves) return Decision::Yes();
  switch (i.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kReshape:
      return Decision::Yes();
    case HloOpcode::kConstant:
      return i.literal().elided() ? Decision::No("the constant has no elements (`{...}`)") : Decision::Yes();
    case HloOpcode::kBitcast:
      return ElementBits(i.type()) == ElementBits(i.operand(0)->type()) &&
                     IsComplex(i.type()) == IsComplex(i.operand(0)->type()) &&
                     i.shape().ElementCount() == i.operand(0)->shape().ElementCount()
                 ? Decision::Yes()
                 : Decision::No("it sees the same memory as elements of another number");
    case HloOpcode::kGetTupleElement:
      return i.operand(0)->opcode() == HloOpcode::kReduce || i.operand(0)->opcode() == HloOpcode::kReduceWindow ||
                     i.operand(0)->opcode() == HloOpcode::kTuple
                 ? Decision::Yes()
                 : Decision::No(absl::StrCat("it takes an element of ", OpcodeName(i.operand(0)->opcode())));
    case HloOpcode::kMap:
      return CanApply(*i.to_apply());
    case HloOpcode::kFusion:
      return CanEmitComputation(*i.fused_computation());
    default:
      return Decision::No(absl::StrCat(OpcodeName(i.opcode()), " is not computed per element"));
  }
}

// `reason`, said of `i`.
Decision Inside(const HloInstruction& i, const Decision& decision) {
  return Decision::No(absl::StrCat("in ", i.parent()->name(), ", ", i.name(), ": ", decision.reason));
}

Decision CanEmitComputation(const HloComputation& computation) {
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kTuple && i->IsRoot()) {
      for (const HloInstruction* operand : i->operands()) {
        if (!StaticArray(operand->shape())) return NotStaticArray(*operand);
      }
      continue;
    }
    if (Decision one = CanEmitOne(*i); !one) return Inside(*i, one);
  }
  return Decision::Yes();
}

bool HasControlFlow(const HloComputation& computation) {
  return std::any_of(computation.instructions().begin(), computation.instructions().end(), [](const auto& i) {
    return i->opcode() == HloOpcode::kWhile || i->opcode() == HloOpcode::kConditional ||
           i->opcode() == HloOpcode::kCall;
  });
}

bool IsScalarTree(const Shape& shape) {
  for (const Shape& element : shape.tuple_shapes()) {
    if (!IsScalarTree(element)) return false;
  }
  return shape.IsTuple() || shape.IsScalar();
}

Decision CanApplyControl(const HloComputation& computation, int* budget) {
  for (const auto& i : computation.instructions()) {
    if (--*budget < 0) return Decision::No(absl::StrCat(computation.name(), " and what it calls are too long"));
    if (!IsScalarTree(i->shape()) || i->shape().is_dynamic()) return Inside(*i, Decision::No("it is not a scalar"));
    switch (i->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
        break;
      case HloOpcode::kCall:
      case HloOpcode::kConditional:
      case HloOpcode::kWhile:
        if (i->called_computations().empty()) return Inside(*i, Decision::No("it calls nothing"));
        for (const HloComputation* called : i->called_computations()) {
          if (Decision one = CanApplyControl(*called, budget); !one) return one;
        }
        break;
      default:
        if (!i->shape().IsScalar()) return Inside(*i, Decision::No("it is not a scalar"));
        if (i->HasSideEffect()) return Inside(*i, Decision::No("it has a side effect"));
        if (Decision one = CanEmit(*i); !one) return Inside(*i, one);
    }
  }
  return Decision::Yes();
}

}  // namespace

bool IsKnownElementwise(HloOpcode opcode, ElementType type) {
  return opcode != HloOpcode::kStochasticConvert && (OpcodeTypes(opcode) & TypeClassOf(type));
}

bool IsHalfOp(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kAdd:
    case HloOpcode::kCeil:
    case HloOpcode::kClamp:
    case HloOpcode::kCompare:
    case HloOpcode::kDivide:
    case HloOpcode::kFloor:
    case HloOpcode::kIsFinite:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kMultiply:
    case HloOpcode::kNegate:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kSelect:
    case HloOpcode::kSign:
    case HloOpcode::kSubtract:
      return true;
    default:
      return false;
  }
}

Decision CanEmit(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion) return CanEmitOne(instruction);
  for (const HloInstruction* operand : instruction.operands()) {
    if (!StaticArray(operand->shape())) return NotStaticArray(*operand);
  }
  if (instruction.shape().is_dynamic()) return NotStaticArray(instruction);
  return CanEmitComputation(*instruction.fused_computation());
}

Decision CanApply(const HloComputation& computation) {
  if (HasControlFlow(computation)) {
    int budget = kMaxInstructions;
    return CanApplyControl(computation, &budget);
  }
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kTuple && i->IsRoot()) continue;
    if (!i->shape().IsScalar()) return Inside(*i, Decision::No("it is not a scalar"));
    if (i->opcode() == HloOpcode::kParameter) continue;
    if (Decision one = CanEmitOne(*i); !one) return Inside(*i, one);
  }
  return Decision::Yes();
}

HloOpcode SimpleReducer(const HloComputation& computation) {
  const HloInstruction* root = computation.root();
  if (computation.parameter_count() != 2 || root->operand_count() != 2) return HloOpcode::kParameter;
  const HloInstruction *x = root->operand(0), *y = root->operand(1);
  if (x->opcode() != HloOpcode::kParameter || y->opcode() != HloOpcode::kParameter || x == y)
    return HloOpcode::kParameter;
  if (x->type() != root->type() || !x->shape().IsScalar()) return HloOpcode::kParameter;
  switch (root->opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kMultiply:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
      return IsComplex(root->type()) && root->opcode() != HloOpcode::kAdd ? HloOpcode::kParameter : root->opcode();
    default:
      return HloOpcode::kParameter;
  }
}

namespace {

// Whether a reduction of short rows inside a fusion reads, for neighbours in the result's last dimension, neighbours in
// memory or what these share: comparisons of each element of a vector with all of another one, say. Then vectors lie
// across the rows, and nothing has to be added up within them.
bool SharesRows(const HloInstruction& reduce) {
  constexpr int64_t kFewest = 16, kLongest = 64;
  constexpr size_t kMost = 32;  // instructions
  const Shape& from = reduce.operand(0)->shape();
  if (!reduce.parent()->IsFusion() || reduce.shape().rank() == 0 || !from.IsRowMajor()) return false;
  int64_t length = 1, lanes = -1;  // the operand's dimension that the result's last one is
  for (int64_t d = 0; d < from.rank(); ++d) {
    const bool reduced =
        std::find(reduce.dimensions().begin(), reduce.dimensions().end(), d) != reduce.dimensions().end();
    if (reduced) {
      length *= from.dim(d);
    } else {
      lanes = d;
    }
  }
  if (!ChooseAny(length <= kLongest && from.dim(lanes) >= kFewest)) return false;
  std::vector<const HloInstruction*> all = {reduce.operand(0)};
  for (size_t next = 0; next < all.size(); ++next) {
    const HloInstruction* i = all[next];
    if (i->shape().rank() == 0) continue;
    if (i->opcode() == HloOpcode::kIota) continue;
    if (i->opcode() == HloOpcode::kBroadcast) {
      const Int64List& dims = i->dimensions();
      const bool across = std::find(dims.begin(), dims.end(), lanes) != dims.end();
      if (across && (dims.back() != lanes || !i->operand(0)->shape().IsRowMajor())) return false;
      continue;
    }
    if (!i->IsElementwise() || i->operand_count() == 0 || all.size() > kMost) return false;
    all.insert(all.end(), i->operands().begin(), i->operands().end());
  }
  return true;
}

}  // namespace

bool IsRowReduce(const HloInstruction& reduce) {
  // Shorter rows leave vectors half empty, where there are enough results to fill them.
  constexpr int64_t kShortRow = 12, kManyResults = 16;
  // What is so little is added up element by element sooner than the parts of a vector are.
  constexpr int64_t kTinyRow = 8, kFewElements = 64;
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2) return false;
  if (SimpleReducer(*reduce.to_apply()) == HloOpcode::kParameter) return false;
  const Shape& from = reduce.operand(0)->shape();
  for (int64_t d : from.layout_or_default().minor_to_major) {
    if (from.dim(d) == 1) continue;
    const Int64List& dims = reduce.dimensions();
    const bool little = (from.dim(d) < kShortRow && reduce.shape().ElementCount() >= kManyResults) ||
                        (from.dim(d) <= kTinyRow && from.ElementCount() <= kFewElements);
    if (ChooseAny(little)) return false;
    if (SharesRows(reduce)) return false;
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  }
  return false;
}

}  // namespace xc
