// Loops, branches and calls on scalars, as reducers, comparators and map bodies may have them: all branches are
// computed and one is chosen, and a loop runs until the last lane is done.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
using Values = std::vector<Element>;  // the leaves of a value

class ControlEmitter {
 public:
  ControlEmitter(ElementEmitter& element, int lanes) : e_(element), b_(element.builder()), lanes_(lanes) {}

  // The root's leaves. `active` says in which lanes the values are wanted (null: in all); others may hold anything.
  absl::StatusOr<Values> Run(const HloComputation& computation, const std::vector<Values>& arguments, V active) {
    absl::flat_hash_map<const HloInstruction*, Values> values;
    FusedEmitter scalar(e_, lanes_);
    for (const HloInstruction* i : computation.PostOrder()) {
      std::vector<Values> operands;
      for (const HloInstruction* operand : i->operands()) operands.push_back(values[operand]);
      XC_ASSIGN_OR_RETURN(Values value, One(*i, operands, arguments, active, scalar));
      if (i->shape().IsScalar()) scalar.BindValue(i, value[0]);
      values[i] = std::move(value);
    }
    return values[computation.root()];
  }

 private:
  absl::StatusOr<Values> One(const HloInstruction& i, const std::vector<Values>& operands,
                             const std::vector<Values>& arguments, V active, FusedEmitter& scalar) {
    switch (i.opcode()) {
      case HloOpcode::kParameter:
        return arguments[i.parameter_number()];
      case HloOpcode::kTuple: {
        Values all;
        for (const Values& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
        return all;
      }
      case HloOpcode::kGetTupleElement: {
        const Shape& tuple = i.operand(0)->shape();
        auto first = operands[0].begin();
        for (int64_t k = 0; k < i.tuple_index(); ++k) first += tuple.tuple_shape(k).LeafCount();
        return Values(first, first + i.shape().LeafCount());
      }
      case HloOpcode::kCall:
        return Run(*i.to_apply(), operands, active);
      case HloOpcode::kConditional:
        return Conditional(i, operands, active);
      case HloOpcode::kWhile:
        return While(i, operands[0], active);
      default: {
        XC_ASSIGN_OR_RETURN(Element value, scalar.Get(&i, Index{}));
        return Values{value};
      }
    }
  }

  // Out of range, the last branch is taken.
  absl::StatusOr<Values> Conditional(const HloInstruction& i, const std::vector<Values>& operands, V active) {
    const V selector = operands[0][0].re;
    const int64_t branches = static_cast<int64_t>(i.called_computations().size());
    Values result;
    V none_before = nullptr;
    for (int64_t k = branches - 1; k >= 0; --k) {
      // The last branch is for whoever takes none of the others.
      V taken = nullptr;
      if (k + 1 < branches) {
        taken = i.operand(0)->type() == ElementType::kPred
                    ? selector
                    : b_.CreateICmpEQ(selector, llvm::ConstantInt::get(selector->getType(), k));
      } else {
        for (int64_t other = 0; other + 1 < branches; ++other) {
          V skipped = i.operand(0)->type() == ElementType::kPred
                          ? b_.CreateNot(selector)
                          : b_.CreateICmpNE(selector, llvm::ConstantInt::get(selector->getType(), other));
          none_before = And(none_before, skipped);
        }
        taken = none_before;
      }
      XC_ASSIGN_OR_RETURN(Values value, Run(*i.called(k), {operands[k + 1]}, And(active, taken)));
      result = result.empty() ? value : Choose(taken, value, result);
    }
    return result;
  }

  absl::StatusOr<Values> While(const HloInstruction& i, const Values& initial, V active) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function); };
    llvm::BasicBlock *before = b_.GetInsertBlock(), *head = block("while.head"), *body = block("while.body"),
                     *exit = block("while.exit");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    std::vector<llvm::PHINode*> phis;
    auto carry = [&](V first) -> V {
      if (first == nullptr) return nullptr;
      // The first value is made a vector before the loop.
      llvm::IRBuilderBase::InsertPointGuard guard(b_);
      b_.SetInsertPoint(before->getTerminator());
      V splat = e_.Splat(first, lanes_);
      phis.push_back(llvm::PHINode::Create(splat->getType(), 2, "", head));
      phis.back()->addIncoming(splat, before);
      return phis.back();
    };
    Values state;
    for (const Element& x : initial) {
      V re = carry(x.re);
      state.push_back({re, carry(x.im)});
    }
    V running = active == nullptr ? nullptr : carry(active);
    XC_ASSIGN_OR_RETURN(Values more, Run(*i.while_condition(), {state}, running));
    V go_on = e_.Splat(And(running, more[0].re), lanes_);
    b_.CreateCondBr(lanes_ > 1 ? b_.CreateOrReduce(go_on) : go_on, body, exit);
    b_.SetInsertPoint(body);
    XC_ASSIGN_OR_RETURN(Values next, Run(*i.while_body(), {state}, go_on));
    // A lane that is done keeps its state.
    if (lanes_ > 1) next = Choose(go_on, next, state);
    size_t slot = 0;
    auto close = [&](V value) {
      if (value != nullptr) phis[slot++]->addIncoming(e_.Splat(value, lanes_), b_.GetInsertBlock());
    };
    for (const Element& x : next) {
      close(x.re);
      close(x.im);
    }
    if (running != nullptr) close(go_on);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    return state;
  }

  Values Choose(V condition, const Values& yes, const Values& no) {
    Values chosen;
    for (size_t k = 0; k < yes.size(); ++k) chosen.push_back(e_.Select(condition, yes[k], no[k]));
    return chosen;
  }

  V And(V x, V y) {
    if (x == nullptr || y == nullptr) return x == nullptr ? y : x;
    Element both[] = {{x}, {y}};
    e_.Broadcast(absl::MakeSpan(both));
    return b_.CreateAnd(both[0].re, both[1].re);
  }

  ElementEmitter& e_;
  llvm::IRBuilderBase& b_;
  const int lanes_;
};

}  // namespace

bool HasControl(const HloComputation& computation) {
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kWhile || i->opcode() == HloOpcode::kConditional || i->opcode() == HloOpcode::kCall) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<Values> EmitControl(ElementEmitter& element, const HloComputation& computation,
                                   absl::Span<const Element> arguments, int lanes, V active) {
  // Arguments that are the same in all lanes are wanted if any lane wants them.
  if (lanes == 1 && active != nullptr && ElementEmitter::Lanes(active) > 1) {
    active = element.builder().CreateOrReduce(active);
  }
  std::vector<Values> values;
  for (const Element& argument : arguments) values.push_back({argument});
  return ControlEmitter(element, lanes).Run(computation, values, active);
}

}  // namespace xc::codegen
