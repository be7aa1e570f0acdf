// Loop shapes, vector widths and costs of kernels.
#include "backends/cpu/kernel_analysis.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/fused_emitter.h"
#include "compiler/cost_analysis.h"

namespace xc::cpu {
namespace {

// What a scan over an expression finds.
struct Findings {
  bool flat = true;         // every leaf is read in the output's memory order, or is a scalar
  bool row_reduce = false;  // vectors belong along reduced elements
  int widest = 8;           // bits of the widest register type
  bool positions = false;   // coordinates become values (iota, gather, …)
  int64_t contiguous = -1;  // output dimension along which a transposed operand is contiguous
};

class Scan {
 public:
  explicit Scan(const std::vector<int64_t>& dims) : dims_(dims) {}

  // `aligned`: the instruction is read at the output's own positions.
  void Visit(const HloInstruction* i, bool aligned) {
    if (!seen_.insert({i, aligned}).second) return;
    if (i->shape().IsArray()) {
      const ElementType type = ComplexComponent(i->type());
      const int bits = IsFloating(type) ? std::max(32, ElementBits(type)) : ElementBits(type);
      // pred and bytes beside wider values follow those.
      findings.widest = std::max(findings.widest, bits);
      if (aligned && !i->shape().IsScalar() && !SameSize(i->shape())) findings.flat = false;
      if (!i->shape().IsRowMajor()) findings.flat = false;
    }
    switch (i->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
        return;
      case HloOpcode::kBroadcast:
        if (!i->operand(0)->shape().IsScalar() && aligned) findings.flat = false;
        return Visit(i->operand(0), false);
      case HloOpcode::kReshape:
      case HloOpcode::kCopy:
      case HloOpcode::kBitcast:
        return Visit(i->operand(0), aligned);
      case HloOpcode::kFusion:
        findings.flat = false;
        Visit(i->fused_root(), false);
        break;
      case HloOpcode::kReduce:
        if (codegen::IsRowReduce(*i)) findings.row_reduce = true;
        if (aligned) findings.flat = false;
        break;
      case HloOpcode::kTranspose: {
        if (!aligned) break;
        findings.flat = false;
        const Int64List& dims = i->dimensions();
        for (size_t d = 0; d < dims.size(); ++d) {
          if (dims[d] == static_cast<int64_t>(dims.size()) - 1 && i->shape().dims() == dims_) findings.contiguous = d;
        }
        break;
      }
      case HloOpcode::kIota:
      case HloOpcode::kGather:
        findings.positions = true;
        if (aligned) findings.flat = false;
        break;
      case HloOpcode::kMap:
        break;
      default:
        if (!i->IsElementwise() && aligned) findings.flat = false;
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
      const ElementType type = ComplexComponent(operand->type());
      findings.widest =
          std::max(findings.widest, IsFloating(type) ? std::max(32, ElementBits(type)) : ElementBits(type));
      const bool same = i->IsElementwise() || i->opcode() == HloOpcode::kMap || i->opcode() == HloOpcode::kReshape ||
                        i->opcode() == HloOpcode::kCopy || i->opcode() == HloOpcode::kBitcast;
      if (same && !operand->shape().IsScalar() && (!SameSize(operand->shape()) || !operand->shape().IsRowMajor())) {
        findings.flat = false;
      }
    }
    Visit(i, true);
  }

  Findings findings;

 private:
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

int64_t KernelShape::Work() const {
  if (flat || outer.empty()) return inner_size;
  int64_t n = 1;
  for (int64_t d : outer) n *= d == contiguous ? 1 : dims[d];
  return n * Blocks();
}

int64_t KernelShape::Grain() const { return flat || outer.empty() ? lanes : 1; }

void KernelShape::MakeNested() {
  if (!flat) return;
  flat = false;
  inner = -1;
  inner_size = 1;
  outer.clear();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1) outer.push_back(d);
  }
  if (!outer.empty()) {
    inner = outer.back();
    outer.pop_back();
    inner_size = dims[inner];
  }
  while (lanes > 1 && lanes / 2 >= inner_size) lanes /= 2;
}

void KernelShape::TakeVectors() {
  lanes = most_lanes;
  while (lanes > 1 && lanes / 2 >= inner_size) lanes /= 2;
}

void KernelShape::TakeShortRows() {
  constexpr int64_t kShort = 4, kMany = 8;
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  if (flat || contiguous >= 0 || most_lanes == 1 || outer.empty() || inner != last || inner_size > kShort) return;
  if (dims[outer.back()] < kMany) return;
  row = inner_size;
  inner = outer.back();
  outer.pop_back();
  inner_size = dims[inner];
  TakeVectors();
}

KernelShape PlanArray(const Shape& shape, const codegen::CodegenTarget& target) {
  KernelShape plan;
  plan.dims = shape.dims();
  plan.elements = shape.ElementCount();
  const ElementType type = ComplexComponent(shape.type());
  const int width = IsFloating(type) ? std::max(32, ElementBits(type)) : std::max(8, ElementBits(type));
  plan.lanes = plan.most_lanes = std::max(1, std::min(64, target.vector_bytes * 8 / width));
  plan.flat = true;  // turned into loops here
  plan.MakeNested();
  return plan;
}

KernelShape PlanKernel(const std::vector<const HloInstruction*>& values, bool fused,
                       const codegen::CodegenTarget& target) {
  KernelShape plan;
  plan.dims = values[0]->shape().IsTuple() ? values[0]->shape().tuple_shape(0).dims() : values[0]->shape().dims();
  for (int64_t d : plan.dims) plan.elements *= d;
  Scan scan(plan.dims);
  for (const HloInstruction* value : values) {
    if (fused) {
      scan.Visit(value, true);
    } else {
      scan.VisitOp(value);
    }
  }
  Findings& f = scan.findings;
  int width = f.widest;
  if (f.positions) width = std::max(width, 32);
  plan.lanes = std::max(1, std::min(64, target.vector_bytes * 8 / width));
  plan.most_lanes = plan.lanes;
  if (f.row_reduce) plan.lanes = 1;
  plan.flat = f.flat && !f.row_reduce;
  if (plan.flat) {
    plan.inner_size = plan.elements;
    while (plan.lanes > 1 && plan.lanes / 2 >= plan.inner_size) plan.lanes /= 2;
    return plan;
  }
  plan.flat = true;  // turned into loops here
  plan.MakeNested();
  // Short rows and columns stay in the cache anyway.
  if (f.contiguous >= 0 && f.contiguous != plan.inner && !f.row_reduce && plan.inner_size > KernelShape::kBlock &&
      plan.dims[f.contiguous] >= 16) {
    plan.contiguous = f.contiguous;
  }
  return plan;
}

std::vector<const HloInstruction*> RowsBelowFunctions(const std::vector<const HloInstruction*>& values) {
  // Each with whether it is read at the values' own positions.
  std::vector<std::pair<const HloInstruction*, bool>> work;
  absl::flat_hash_set<std::pair<const HloInstruction*, bool>> seen;
  const Shape& shape = values[0]->shape();
  for (const HloInstruction* value : values) work.push_back({value, true});
  std::vector<const HloInstruction*> rows;
  bool costly = false;
  while (!work.empty()) {
    const auto [i, in_place] = work.back();
    work.pop_back();
    if (!seen.insert({i, in_place}).second) continue;
    if (i->opcode() == HloOpcode::kReduce) {
      if (!in_place || !codegen::IsRowReduce(*i) || !(IsFloating(i->type()) || IsComplex(i->type()))) return {};
      rows.push_back(i);
      continue;
    }
    if (i->opcode() == HloOpcode::kReduceWindow || i->opcode() == HloOpcode::kFusion) return {};
    costly |= in_place && (IsTranscendental(i->opcode()) || i->opcode() == HloOpcode::kDivide ||
                           i->opcode() == HloOpcode::kSqrt || i->opcode() == HloOpcode::kRsqrt);
    for (const HloInstruction* operand : i->operands()) {
      work.push_back({operand, in_place && i->IsElementwise() && SameDims(operand->shape(), shape)});
    }
  }
  return costly ? rows : std::vector<const HloInstruction*>();
}

bool IsStitched(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion) return false;
  const auto* kind = instruction.FindAttr<AttrKind::kFusionKind>();
  return kind != nullptr && *kind == FusionKind::kCustom && instruction.fused_root()->opcode() == HloOpcode::kFusion;
}

int64_t ExpressionCost(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kFusion) return std::max<int64_t>(1, CostOf(*instruction.fused_computation()));
  int64_t elements = 0;
  if (instruction.shape().IsArray()) elements = instruction.shape().ElementCount();
  if (instruction.opcode() == HloOpcode::kReduceWindow) return WindowCost(instruction);
  if (instruction.opcode() == HloOpcode::kReduce) elements = instruction.operand(0)->shape().ElementCount();
  return std::max<int64_t>(1, elements * std::max(1, OpWeight(instruction)));
}

bool CanEmitScatter(const HloInstruction& scatter) {
  if (scatter.shape().is_dynamic() || !codegen::CanEmitApply(*scatter.to_apply())) return false;
  absl::flat_hash_set<const HloInstruction*> distinct;
  for (const HloInstruction* operand : scatter.operands()) {
    if (!operand->shape().IsArray() || operand->shape().is_dynamic() || !distinct.insert(operand).second) return false;
  }
  return IsIntegral(scatter.operand((scatter.operand_count() - 1) / 2)->type());
}

std::vector<const HloInstruction*> InnerConstants(const HloComputation& computation) {
  std::vector<const HloInstruction*> constants;
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kConstant && !i->literal().IsSplat()) constants.push_back(i.get());
    if (i->opcode() == HloOpcode::kFusion) {
      for (const HloInstruction* c : InnerConstants(*i->fused_computation())) constants.push_back(c);
    }
  }
  return constants;
}

}  // namespace xc::cpu
