// Arrays that are joined of others, of which each position takes one: pads, concatenations, updates of a window.
#include <optional>

#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "hlo/base/choices.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {
using V = llvm::Value*;
}  // namespace

bool ReachesFar(const Shape& part, const Shape& whole) {
  constexpr int64_t kNear = 1024;  // pages beside an array are mostly there
  const int64_t row = whole.rank() == 0 ? 1 : whole.dim(whole.rank() - 1);
  return ChooseAny(row >= kNear && part.ElementCount() < 8 * row);
}

bool FusedEmitter::IsCostly(const HloInstruction* array) {
  // What rows are kept of, and what threads reduce together, is made whatever the lanes want.
  if (array == nullptr || kept_row_ != nullptr || row_reducer_ != nullptr) return false;
  for (auto it = alias_.find(array); it != alias_.end(); it = alias_.find(array)) array = it->second;
  if (values_.contains(array) || memory_.contains(array)) return false;
  if (const auto known = costly_.find(array); known != costly_.end()) return known->second;
  bool costly = IsTranscendental(array->opcode());
  switch (array->opcode()) {
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kMap:
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
      costly = true;
      break;
    case HloOpcode::kDivide:
      costly = IsIntegral(array->type());
      break;
    case HloOpcode::kRemainder:
      costly = true;
      break;
    case HloOpcode::kTranspose:
      // Neighbours are read one by one, unless lanes lie along another dimension.
      costly = lanes_ > 1 && array->dimensions().back() + 1 != array->shape().rank();
      break;
    case HloOpcode::kBroadcast: {
      // What all lanes share is taken out of their loop, unless it is in a branch there.
      const Int64List& kept = array->dimensions();
      if (kept.empty() || kept.back() + 1 != array->shape().rank()) return costly_[array] = false;
      break;
    }
    default:
      break;
  }
  costly_[array] = costly;
  for (int64_t i = 0; i < array->operand_count() && !costly; ++i) costly = IsCostly(array->operand(i));
  return costly_[array] = costly;
}

V FusedEmitter::Any(V condition) {
  return IsVector(condition) ? e_.builder().CreateOrReduce(And(tail_, condition)) : condition;
}

absl::StatusOr<Element> FusedEmitter::InBranch(V condition, absl::FunctionRef<absl::StatusOr<Element>()> body) {
  auto& b = e_.builder();
  V wanted = Any(condition);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "inside", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(wanted, inside, after);
  b.SetInsertPoint(inside);
  // What the branch computes is known only inside it.
  auto cache = cache_;
  auto memo = index_.Snapshot();
  absl::StatusOr<Element> value = body();
  cache_ = std::move(cache);
  index_.Restore(std::move(memo));
  if (!value.ok()) return value;
  V half = e_.target().halves && !llvm::isa<llvm::Constant>(value->re) ? e_.Half(value->re) : nullptr;
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  const auto or_zero = [&](V x) {
    llvm::PHINode* phi = b.CreatePHI(x->getType(), 2);
    phi->addIncoming(x, end);
    phi->addIncoming(llvm::Constant::getNullValue(x->getType()), before);
    return phi;
  };
  // What is at hand as f16 stays so.
  const auto join = [&](V x) -> V { return half != nullptr ? e_.FromHalf(or_zero(half)) : or_zero(x); };
  Element result{join(value->re)};
  if (value->im != nullptr) result.im = join(value->im);
  return result;
}

absl::StatusOr<Element> FusedEmitter::EmitPad(const HloInstruction* pad, const std::vector<Term>& at) {
  auto& b = e_.builder();
  const Shape& from = pad->operand(0)->shape();
  XC_ASSIGN_OR_RETURN(Element outside, Get(pad->operand(1), Index{}));
  if (from.IsZeroSized()) return outside;
  if (const std::optional<int64_t> d = SpreadDimension(pad, at)) return EmitSpread(pad, at, *d, outside);
  std::vector<Term> to;
  V uniform = nullptr, lane = nullptr;
  auto require = [&](V c) {
    (c->getType()->isVectorTy() ? lane : uniform) = And(c->getType()->isVectorTy() ? lane : uniform, c);
  };
  for (size_t i = 0; i < at.size(); ++i) {
    const PaddingDim& p = pad->padding().dims[i];
    Term t = index_.AddConst(at[i], -p.low);
    if (p.interior > 0) {
      const int64_t step = p.interior + 1;
      // Negative places are caught by the unsigned range check after a division that keeps them out of range.
      V x = t.uniform() ? t.base : index_.Lanes(t);
      V limit = llvm::ConstantInt::get(x->getType(), (from.dim(i) - 1) * step + 1);
      require(b.CreateICmpULT(x, limit));
      V width = llvm::ConstantInt::get(x->getType(), step);
      require(b.CreateICmpEQ(b.CreateURem(x, width), llvm::Constant::getNullValue(x->getType())));
      V q = b.CreateUDiv(x, width);
      t = q->getType()->isVectorTy() ? Term{nullptr, 0, q, false} : index_.Uniform(q);
    } else if (!ChooseSafe(p.low == 0 && p.high == 0)) {
      require(InRange(t, from.dim(i)));
    }
    to.push_back(t);
  }
  V inside = And(uniform, lane);
  if (inside == nullptr) return Get(pad->operand(0), Index{to});
  // At a place that is known, as in a slice of one row.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside)) {
    return known->isOne() ? Get(pad->operand(0), Index{to}) : outside;
  }
  const bool far = ReachesFar(from, pad->shape());
  const HloInstruction* operand = pad->operand(0);
  const auto get = [&] { return Get(operand, Index{to}); };
  const auto in_lanes = [&] { return lane == nullptr ? get() : Where(lane, operand, get, far); };
  XC_ASSIGN_OR_RETURN(Element value, uniform == nullptr ? in_lanes() : Where(uniform, operand, in_lanes, far));
  return e_.Select(inside, value, outside);
}

absl::StatusOr<Element> FusedEmitter::EmitConcatenate(const HloInstruction* concatenate, const std::vector<Term>& at) {
  const int64_t d = concatenate->dimensions()[0];
  Element result;
  int64_t start = 0;
  for (const HloInstruction* operand : concatenate->operands()) {
    const int64_t size = operand->shape().dim(d);
    if (size == 0) continue;
    std::vector<Term> to = at;
    to[d] = index_.AddConst(at[d], -start);
    start += size;
    V inside = InRange(to[d], size);
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside)) {
      if (known->isOne()) return Get(operand, Index{to});
      continue;
    }
    XC_ASSIGN_OR_RETURN(Element value, Where(
                                           inside, operand, [&] { return Get(operand, Index{to}); },
                                           ReachesFar(operand->shape(), concatenate->shape())));
    result = result ? e_.Select(inside, value, result) : value;
  }
  // Known to be outside of all: whoever asks does not take it, as around a pad.
  return result ? result : e_.ZeroOf(concatenate->type());
}

absl::StatusOr<Element> FusedEmitter::EmitDynamicUpdateSlice(const HloInstruction* dus, const std::vector<Term>& at) {
  const HloInstruction* update = dus->operand(1);
  XC_ASSIGN_OR_RETURN(std::vector<Term> starts, Starts(dus, 2, update->shape().dims()));
  XC_ASSIGN_OR_RETURN(Element old, Get(dus->operand(0), Index{at}));
  if (update->shape().IsZeroSized()) return old;
  std::vector<Term> to;
  V uniform = nullptr, lane = nullptr;
  for (size_t i = 0; i < at.size(); ++i) {
    Term t = index_.Add(at[i], index_.Negate(starts[i]));
    V c = InRange(t, update->shape().dim(i));
    (c->getType()->isVectorTy() ? lane : uniform) = And(c->getType()->isVectorTy() ? lane : uniform, c);
    to.push_back(t);
  }
  V inside = And(uniform, lane);
  if (inside == nullptr) return Get(update, Index{to});
  XC_ASSIGN_OR_RETURN(Element value, GetWhere(update, to, uniform, lane));
  return e_.Select(inside, value, old);
}

}  // namespace xc::codegen
