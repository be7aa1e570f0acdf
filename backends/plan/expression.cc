#include "backends/plan/expression.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"

namespace xc::plan {
namespace {

// Bits of (a component of) a value while it is computed with.
int RegisterBits(ElementType type) {
  const ElementType part = ComplexComponent(type);
  return IsFloating(part) ? std::max(32, ElementBits(part)) : ElementBits(part);
}

// The same on machines that compute with f16 itself, if that is all that is done with it.
int HalfBits(const HloInstruction& i, ElementType type) {
  if (type != ElementType::kF16) return RegisterBits(type);
  if (i.IsElementwise()) return IsHalfOp(i.opcode()) ? 16 : 32;
  switch (i.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kCopy:
    case HloOpcode::kBitcast:
    case HloOpcode::kFusion:
      return 16;
    case HloOpcode::kReduceWindow: {
      const HloOpcode op = i.operand_count() == 2 ? SimpleReducer(*i.to_apply()) : HloOpcode::kParameter;
      return op == HloOpcode::kMaximum || op == HloOpcode::kMinimum ? 16 : 32;
    }
    default:
      return OpcodeAccess(i.opcode()) == OpAccess::kMoves ? 16 : 32;
  }
}

class Scan {
 public:
  explicit Scan(const std::vector<int64_t>& dims) : dims_(dims) {}

  // `aligned`: the instruction is read at the output's own positions.
  void Visit(const HloInstruction* i, bool aligned) {
    if (!seen_.insert({i, aligned}).second) return;
    if (i->shape().IsArray()) {
      // pred and bytes beside wider values follow those.
      Widen(*i, i->type());
      if (i->IsElementwise() && i->operand_count() > 0) Widen(*i, i->operand(0)->type());
      if (aligned && !i->shape().IsScalar() && !SameSize(i->shape())) access.in_order = false;
      if (!i->shape().IsRowMajor()) access.in_order = false;
    }
    switch (i->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
        return;
      case HloOpcode::kBroadcast:
        if (!i->operand(0)->shape().IsScalar() && aligned) access.in_order = false;
        return Visit(i->operand(0), false);
      case HloOpcode::kReshape:
      case HloOpcode::kCopy:
      case HloOpcode::kBitcast:
        return Visit(i->operand(0), aligned);
      case HloOpcode::kFusion:
        access.in_order = false;
        Visit(i->fused_root(), false);
        break;
      case HloOpcode::kReduce:
        if (IsRowReduce(*i)) access.row_reduce = true;
        if (aligned) access.in_order = false;
        break;
      case HloOpcode::kTranspose: {
        if (!aligned) break;
        access.in_order = false;
        const Int64List& dims = i->dimensions();
        for (size_t d = 0; d < dims.size(); ++d) {
          if (dims[d] != static_cast<int64_t>(dims.size()) - 1) continue;
          if (ChooseSafe(i->shape().dims() == dims_)) access.contiguous = d;
        }
        break;
      }
      case HloOpcode::kIota:
      case HloOpcode::kGather:
        access.positions = true;
        if (aligned) access.in_order = false;
        break;
      case HloOpcode::kMap:
        break;
      default:
        if (!i->IsElementwise() && aligned) access.in_order = false;
        break;
    }
    const bool same = i->IsElementwise() || i->opcode() == HloOpcode::kMap;
    for (const HloInstruction* operand : i->operands()) Visit(operand, aligned && same && !operand->shape().IsScalar());
  }

  // Leaves of a single op are its operands: they are not looked into.
  void VisitOp(const HloInstruction* i) {
    for (const HloInstruction* operand : i->operands()) {
      seen_.insert({operand, true});
      seen_.insert({operand, false});
      if (!operand->shape().IsArray()) continue;
      Widen(*i, operand->type());
      const bool same = i->IsElementwise() || i->opcode() == HloOpcode::kMap || i->opcode() == HloOpcode::kReshape ||
                        i->opcode() == HloOpcode::kCopy || i->opcode() == HloOpcode::kBitcast;
      if (same && !operand->shape().IsScalar() && (!SameSize(operand->shape()) || !operand->shape().IsRowMajor())) {
        access.in_order = false;
      }
    }
    Visit(i, true);
  }

  Access access;

 private:
  void Widen(const HloInstruction& i, ElementType type) {
    access.widest_bits = std::max(access.widest_bits, RegisterBits(type));
    access.half_bits = std::max(access.half_bits, HalfBits(i, type));
  }
  bool SameSize(const Shape& shape) const {
    int64_t n = 1;
    for (int64_t d : dims_) n *= d;
    return shape.ElementCount() == n;
  }
  const std::vector<int64_t>& dims_;
  absl::flat_hash_set<std::pair<const HloInstruction*, bool>> seen_;
};

int OpWeight(const HloInstruction& i) {
  switch (i.opcode()) {
    case HloOpcode::kBroadcast:
      return 0;
    case HloOpcode::kRemainder:  // a loop
      return 16;
    case HloOpcode::kTranspose:
    case HloOpcode::kGather:
      return 4;
    default:
      break;
  }
  if (OpcodeAccess(i.opcode()) == OpAccess::kStructure) return 0;
  const OpCost cost = OpcodeCost(i.opcode());
  return cost == OpCost::kLongFunction ? 16 : cost == OpCost::kFunction ? 6 : 1;
}

// Elements that the windows of all results cover together.
int64_t WindowCost(const HloInstruction& i) {
  double n = (i.shape().IsTuple() ? i.shape().tuple_shape(0) : i.shape()).ElementCount();
  for (const WindowDim& w : i.window().dims) n *= w.size;
  return static_cast<int64_t>(std::min(n, 1e15));
}

int64_t CostOf(const HloComputation& computation) {
  int64_t cost = 0;
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kFusion) {
      cost += CostOf(*i->fused_computation());
      continue;
    }
    int64_t elements = i->shape().IsArray() ? i->shape().ElementCount() : 0;
    if (i->opcode() == HloOpcode::kReduce) elements = i->operand(0)->shape().ElementCount();
    if (i->opcode() == HloOpcode::kReduceWindow) elements = WindowCost(*i);
    cost += elements * OpWeight(*i);
  }
  return cost;
}

}  // namespace

Access AccessOf(const std::vector<const HloInstruction*>& values, bool fused) {
  Scan scan(DimsOf(*values[0]));
  for (const HloInstruction* value : values) {
    if (fused) {
      scan.Visit(value, true);
    } else {
      scan.VisitOp(value);
    }
  }
  return scan.access;
}

Access AccessOfArray(const Shape& shape) {
  Access access;
  access.in_order = false;
  access.widest_bits = access.half_bits = std::max(8, RegisterBits(shape.type()));
  return access;
}

const std::vector<int64_t>& DimsOf(const HloInstruction& value) {
  return value.shape().IsTuple() ? value.shape().tuple_shape(0).dims() : value.shape().dims();
}

int64_t ExpressionCost(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kFusion) return std::max<int64_t>(1, CostOf(*instruction.fused_computation()));
  int64_t elements = 0;
  if (instruction.shape().IsArray()) elements = instruction.shape().ElementCount();
  if (instruction.opcode() == HloOpcode::kReduceWindow) return WindowCost(instruction);
  if (instruction.opcode() == HloOpcode::kReduce) elements = instruction.operand(0)->shape().ElementCount();
  return std::max<int64_t>(1, elements * std::max(1, OpWeight(instruction)));
}

std::vector<const HloInstruction*> InnerConstants(const HloComputation& computation) {
  std::vector<const HloInstruction*> constants;
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kConstant && !i->literal().IsBroadcastScalar()) constants.push_back(i.get());
    if (i->opcode() == HloOpcode::kFusion) {
      for (const HloInstruction* c : InnerConstants(*i->fused_computation())) constants.push_back(c);
    }
  }
  return constants;
}

TransposedReads FindTransposedReads(const HloInstruction* value, bool fused) {
  constexpr int64_t kMost = 16;  // instructions, as the code stands there for each element of a tile's side
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> left = {value};
  TransposedReads reads;
  while (!left.empty()) {
    const HloInstruction* i = left.back();
    left.pop_back();
    if (!seen.insert(i).second) continue;
    if (static_cast<int64_t>(seen.size()) > kMost || !i->shape().IsArray()) return {};
    if (i->shape().rank() == 0) continue;
    if (!i->shape().IsRowMajor()) return {};
    if (i->opcode() == HloOpcode::kTranspose) {
      if (fused && i->operand(0)->opcode() != HloOpcode::kParameter) return {};
      if (!i->operand(0)->shape().IsRowMajor()) return {};
      if (!reads.transposes.empty() && i->dimensions() != reads.transposes[0]->dimensions()) return {};
      reads.transposes.push_back(i);
      continue;
    }
    if (!fused) return {};
    if (i->opcode() == HloOpcode::kParameter) {
      reads.others = true;
      continue;
    }
    if (i->opcode() == HloOpcode::kBroadcast && i->operand(0)->shape().rank() == 0) continue;
    if (i->opcode() == HloOpcode::kBroadcast && i->operand(0)->opcode() == HloOpcode::kParameter) {
      reads.others = true;
      continue;
    }
    if (!i->IsElementwise() || i->operand_count() == 0) return {};
    left.insert(left.end(), i->operands().begin(), i->operands().end());
  }
  // Tiles of complex numbers are turned as they are stored, which other reads do not allow.
  const bool is_complex = std::any_of(reads.transposes.begin(), reads.transposes.end(),
                                      [](const HloInstruction* i) { return IsComplex(i->type()); });
  return is_complex && reads.others ? TransposedReads() : reads;
}

}  // namespace xc::plan
