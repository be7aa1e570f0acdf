#include "backends/plan/planner.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/plan/packed_literals.h"
#include "backends/plan/planner_impl.h"
#include "compiler/fuse/emittable.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/cancel.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc::plan {

Planner::Planner(const HloModule& module, const BufferAssignment& buffers, const TargetInfo& target,
                 absl::Time deadline)
    : module_(module), buffers_(buffers), target_(target), deadline_(deadline) {
  for (size_t i = 0; i < buffers.constants().size(); ++i) constant_index_[buffers.constants()[i].get()] = i;
}

absl::StatusOr<Plan> Planner::Run() {
  XC_RETURN_IF_ERROR(PlanComputation(*module_.entry()).status());
  return std::move(plan_);
}

std::vector<BufferSlice> Planner::Slices(const HloInstruction* instruction) const {
  std::vector<BufferSlice> slices;
  const int64_t leaves = instruction->shape().LeafCount();
  for (int64_t i = 0; i < leaves; ++i) slices.push_back(Slice(instruction, i));
  return slices;
}

void Planner::AddCopy(const HloInstruction* instruction, const BufferSlice& to, const BufferSlice& from) {
  if (!(to == from)) Add(instruction, Copy{to, from, from.size});
}

void Planner::AddCall(const HloInstruction* instruction, std::string function, std::vector<CallArgument> arguments) {
  Add(instruction, LibraryCall{std::move(function), std::move(arguments), LibraryCall::Result::kStatus, {}});
}

BufferSlice Planner::ConstantSlice(const std::shared_ptr<const Literal>& literal) {
  const int64_t next = buffers_.constants().size() + plan_.constants.size();
  auto [it, fresh] = constant_index_.try_emplace(literal.get(), next);
  if (fresh) plan_.constants.push_back(literal);
  return {BufferSlice::Kind::kConstant, it->second, 0, literal->byte_size()};
}

BufferSlice Planner::PackedWeights(const std::shared_ptr<const Literal>& literal, const ConvDesc& desc) {
  // All that decides the order.
  std::string order = absl::StrCat(desc.in_features, ",", desc.out_features, ",", desc.feature_groups);
  for (int s = 0; s < desc.rank; ++s) absl::StrAppend(&order, ",", desc.kernel[s], desc.reversed[s] != 0 ? "r" : "");
  for (int64_t stride : desc.rhs_strides) absl::StrAppend(&order, ",", stride);
  return ConstantSlice(PackedLiteral(literal, order, [&] {
    const ElementType type = literal->shape().type();
    auto packed = std::make_shared<Literal>(Shape(type, {PackedWeightsBytes(desc) / StorageBytes(type)}));
    PackWeights(desc, literal->bytes(), packed->mutable_bytes());
    return packed;
  }));
}

BufferSlice Planner::ColumnBlocks(const std::shared_ptr<const Literal>& literal, const MatmulDesc& desc,
                                  int64_t columns) {
  const std::string order = absl::StrCat("columns,", columns, ",", desc.k, ",", desc.n, ",", desc.b_k, ",", desc.b_n);
  return ConstantSlice(PackedLiteral(literal, order, [&] {
    const ElementType type = literal->shape().type();
    auto packed = std::make_shared<Literal>(Shape(type, {desc.n / columns, desc.k, columns}));
    Relayout(StorageBytes(type), packed->shape().dims(), {columns * desc.b_n, desc.b_k, desc.b_n}, literal->bytes(),
             ElementStrides(packed->shape()), packed->mutable_bytes());
    return packed;
  }));
}

int64_t Planner::CodeOf(const std::string& key) {
  if (key.empty()) return plan_.codes++;
  auto it = codes_.find(key);
  // Kernels that are the same for these sizes need not be for others.
  if (const int64_t known = ChooseSafe(it == codes_.end() ? 0 : it->second + 1); known > 0) return known - 1;
  codes_[key] = plan_.codes;
  return plan_.codes++;
}

absl::StatusOr<int> Planner::PlanComputation(const HloComputation& computation) {
  std::vector<Step> steps;
  std::vector<Step>* const outer = std::exchange(steps_, &steps);
  const auto scheduled = module_.schedule().find(&computation);
  const std::vector<HloInstruction*> sequence =
      scheduled != module_.schedule().end() ? scheduled->second : computation.PostOrder();
  for (const HloInstruction* instruction : sequence) {
    if (const absl::Status status = PlanInstruction(instruction); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(absl::string_view(status.message()), " [planning ", instruction->name(), "]"));
    }
  }
  steps_ = outer;
  if ((target_.direct_convolutions || target_.products_take_kernels) && !ForAllSizes()) AttachEpilogues(*this, &steps);
  plan_.computations.push_back({&computation, std::move(steps)});
  return static_cast<int>(plan_.computations.size()) - 1;
}

absl::Status Planner::PlanControl(const HloInstruction* i) {
  std::vector<int> callees;
  for (const HloComputation* called : i->called_computations()) {
    XC_ASSIGN_OR_RETURN(const int callee, PlanComputation(*called));
    callees.push_back(callee);
  }
  if (i->opcode() == HloOpcode::kWhile) {
    Add(i, Loop{callees[0], callees[1], Slice(i->while_condition()->root())});
  } else if (i->opcode() == HloOpcode::kConditional) {
    Add(i, Branch{Slice(i->operand(0)), i->operand(0)->type() == ElementType::kPred, std::move(callees)});
  } else {
    Add(i, Call{callees[0]});
  }
  return absl::OkStatus();
}

absl::StatusOr<Decision> Planner::PlanOp(const HloInstruction* i) {
  if (i->shape().is_dynamic()) return Decision::No(absl::StrCat(i->name(), " has a size that only the run knows"));
  for (const HloInstruction* operand : i->operands()) {
    if (operand->shape().is_dynamic()) {
      return Decision::No(absl::StrCat(operand->name(), " has a size that only the run knows"));
    }
  }
  switch (i->opcode()) {
    case HloOpcode::kDot:
      return PlanDot(*this, i);
    case HloOpcode::kConvolution:
      return PlanConvolution(*this, i);
    case HloOpcode::kScatter:
      return PlanScatter(*this, i);
    case HloOpcode::kSelectAndScatter:
      return PlanSelectAndScatter(*this, i);
    case HloOpcode::kSort:
      return PlanSort(*this, i);
    case HloOpcode::kTopk:
      return PlanTopK(*this, i);
    case HloOpcode::kCustomCall:
      return PlanCustomCall(*this, i);
    default:
      return PlanLibraryOp(*this, i);
  }
}

absl::Status Planner::PlanInstruction(const HloInstruction* i) {
  XC_RETURN_IF_ERROR(CheckCancel());
  if (deadline_ != absl::InfiniteFuture() && absl::Now() > deadline_) {
    return absl::DeadlineExceededError("planning took longer than the compile deadline allows");
  }
  switch (i->opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      Add(i, Alias{});
      return absl::OkStatus();
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return PlanControl(i);
    default:
      break;
  }
  const bool same_bytes = i->opcode() == HloOpcode::kCopy && i->shape().IsArray() &&
                          (Slice(i) == Slice(i->operand(0)) ||
                           i->shape().layout_or_default() == i->operand(0)->shape().layout_or_default());
  if (IsForwarding(i) || (same_bytes && Slice(i) == Slice(i->operand(0)))) {
    Add(i, Alias{});
    return absl::OkStatus();
  }
  if (same_bytes) {
    Add(i, Copy{Slice(i), Slice(i->operand(0)), i->shape().ByteSize()});
    return absl::OkStatus();
  }
  const Decision expression = CanEmit(*i);
  const bool fusion = i->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? i->fused_root() : i;
  if (expression && root->opcode() == HloOpcode::kDynamicUpdateSlice && (!fusion || UpdatesWindow(*this, i))) {
    PlanUpdate(*this, i, root);
    return absl::OkStatus();
  }
  if (expression) {
    PlanKernel(*this, i);
    return absl::OkStatus();
  }
  Decision op = expression;
  if (!fusion) {
    XC_ASSIGN_OR_RETURN(op, PlanOp(i));
    if (op) return absl::OkStatus();
  }
  Evaluate step{static_cast<int64_t>(plan_.evaluated.size()), {}, Slices(i)};
  for (const HloInstruction* operand : i->operands()) {
    for (const BufferSlice& slice : Slices(operand)) step.inputs.push_back(slice);
  }
  // What is no op of its own fails as an expression.
  plan_.evaluated.push_back({i, op.reason});
  Add(i, std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<Plan> MakePlan(const HloModule& module, const BufferAssignment& buffers, const TargetInfo& target,
                              absl::Time deadline) {
  return Planner(module, buffers, target, deadline).Run();
}

}  // namespace xc::plan
